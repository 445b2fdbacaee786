/* admin.h - the admin socket, served by the loop and not by a thread.
 *
 * HTTP/1.1 on a Unix socket that the owner and the group may use, so that
 * `curl --unix-socket` works, and /metrics alone on loopback TCP when the
 * policy says so.  What is asked and answered is endpoint.h; here are the
 * sockets, the limits and the connections.
 *
 * Thread: the main thread.
 * Memory: at most ADMIN_CONNECTIONS_MAX connections of 32 KiB each; one that
 *         says nothing for ADMIN_IDLE_S seconds is closed.
 * Errors: ERR_CONFIG for a path that is something else, and when another
 *         agent answers there; ERR_IO. */
#ifndef KEDGE_ADMIN_H
#define KEDGE_ADMIN_H

#include "endpoint.h"
#include "err.h"

#include <stddef.h>

#define ADMIN_CONNECTIONS_MAX 32
#define ADMIN_IDLE_S 5 /* less than a command waits for its answer */

struct admin;

struct admin_options {
    const char *socket;  /* where to listen; copied.  Its folder exists, or is
                          * made with mode 0750; the socket has mode 0660, and
                          * one that nobody answers on is replaced */
    int socket_fd;       /* handed in and listening: used instead, taken;
                          * 0: none */
    const char *metrics; /* loopback host:port for /metrics, or NULL */
    int metrics_fd;      /* as socket_fd */
    const struct endpoint_ops *ops; /* borrowed, and so is self */
    void *self;
};

/* Descriptors handed in are closed when it fails, too. */
struct admin *admin_open(const struct admin_options *options,
    struct err *err) MUST_CHECK;

/* Ends every connection; removes the socket's file if it made it. */
void admin_close(struct admin *admin); /* NULL is fine */

/* What to watch for readability: the i-th descriptor, -1 behind the last. */
int admin_fd(const struct admin *admin, size_t i);

/* Serves what there is to serve, without waiting.  To be called when one of
 * the descriptors is readable, and about once a second besides. */
void admin_run(struct admin *admin);

/* The port of /metrics, for a policy that says 0; 0: not on TCP. */
unsigned admin_metrics_port(const struct admin *admin);

#endif
