/* relay.h - one connection of the demo's far end: TLS on one side, plaintext
 * on the other, bytes as they are.
 *
 * Thread: one.
 * Memory: 64 KiB and the session; relay_new() gives, relay_free() takes. */
#ifndef KEDGE_RELAY_H
#define KEDGE_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct relay;
struct tlsio_side;

struct relay_counts {
    int64_t in, out; /* bytes, since the last relay_serve() */
    bool completed;  /* the handshake, in this call */
};

/* Takes the descriptor `outer`, which does not block, also when it fails:
 * NULL.  Bytes go to 127.0.0.1:`target`. */
struct relay *relay_new(const struct tlsio_side *side, int outer,
    uint16_t target);

/* `reset`: the other side sees a reset and not an end. */
void relay_free(struct relay *relay, bool reset);

/* Moves what can be moved now, with an end to it, so that others have their
 * turn.  False: the connection is at its end. */
bool relay_serve(struct relay *relay, struct relay_counts *counts);

/* It was not at the end of what it could move: serve it again, and do not
 * wait before. */
bool relay_busy(const struct relay *relay);

/* What it waits for: two places. */
void relay_wants(const struct relay *relay, struct pollfd polls[2]);

/* A socket of 127.0.0.1: connected to `port`, or listening on it (0: any).
 * -1 with errno. */
int relay_connect(uint16_t port);
int relay_listen(uint16_t port);

#endif
