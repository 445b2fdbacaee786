/* adminc.h - the other end of the admin socket, for the commands.
 *
 * One request, one answer, one connection.  The agent may be hanging, of
 * another version, or no agent at all: the answer has limits and a deadline,
 * and is read as something that somebody else sent.
 *
 * Thread: any; waits in the call, until the deadline.
 * Memory: the reply is the caller's, adminc_reply_free(); at most
 *         ADMINC_BYTES_MAX bytes.
 * Errors: ERR_NET when no agent answers, or not HTTP; with `retry` when there
 *         is one and it does not answer in time; ERR_DENIED when we may not. */
#ifndef KEDGE_ADMINC_H
#define KEDGE_ADMINC_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define ADMINC_BYTES_MAX (16u << 20)
#define ADMINC_HEAD_MAX 16384
#define ADMINC_DEADLINE_MS 10000

struct clock;

struct adminc_request {
    const char *socket; /* path */
    const char *method; /* "GET" */
    const char *path;   /* with the query; nothing in it needs escaping */
    const char *accept; /* NULL: anything */
};

struct adminc_reply {
    int status;
    char *body; /* NUL behind it, which is not counted */
    size_t len;
};

/* True for any answer, also one that says 500. */
bool adminc_call(const struct adminc_request *request,
    const struct clock *clock, struct adminc_reply *reply,
    struct err *err) MUST_CHECK;
void adminc_reply_free(struct adminc_reply *reply);

/* All bytes of a connection that the other side has closed into a reply. */
bool adminc_parse(const void *bytes, size_t len, struct adminc_reply *reply,
    struct err *err) MUST_CHECK;

#endif
