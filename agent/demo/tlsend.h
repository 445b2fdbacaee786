/* tlsend.h - the far end of the link: terminates TLS in front of brokers that
 * speak plaintext, and can be cut.
 *
 * One port on 127.0.0.1 for each broker behind it.  Bytes are passed on as
 * they are, both ways, with back-pressure.  While the link is cut, what was
 * connected is reset and what connects is reset at once, so that nothing gets
 * through, not even a handshake.
 *
 * Thread: one of its own does all of it; the calls here are for any thread.
 * Memory: at most TLSEND_CONNECTIONS_MAX connections, 64 KiB each.
 * Errors: ERR_CERT, ERR_IO, ERR_MEMORY. */
#ifndef KEDGE_TLSEND_H
#define KEDGE_TLSEND_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define TLSEND_PORTS_MAX 8
#define TLSEND_CONNECTIONS_MAX 256

struct secret;
struct tlsend;

/* Borrowed until tlsend_start() returns. */
struct tlsend_options {
    const char *cert_pem;
    const struct secret *key_pem;
    const char *client_ca_pem; /* who signs clients; NULL: any may connect */
    uint16_t targets[TLSEND_PORTS_MAX]; /* on 127.0.0.1, plaintext */
    size_t n_targets;
};

struct tlsend_counts {
    int64_t accepted;  /* connections, refused ones too */
    int64_t completed; /* handshakes */
    int64_t refused;   /* while the link was cut, or too many */
    int64_t bytes_in;  /* decrypted, towards the brokers */
    int64_t bytes_out;
    int64_t open; /* connections now */
};

struct tlsend *tlsend_start(const struct tlsend_options *options,
    struct err *err) MUST_CHECK;
void tlsend_stop(struct tlsend *tlsend); /* NULL is fine; waits for the end */

/* Where to reach the `i`-th target through TLS. */
uint16_t tlsend_port(const struct tlsend *tlsend, size_t i);

/* tlsend_cut() returns when nothing gets through any more. */
void tlsend_cut(struct tlsend *tlsend);
void tlsend_restore(struct tlsend *tlsend);

void tlsend_count(const struct tlsend *tlsend, struct tlsend_counts *counts);

#endif
