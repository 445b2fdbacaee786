/* tlsio.h - a TLS session over a descriptor, and the process-wide floor.
 *
 * The session never blocks on a descriptor that does not: each call says what
 * it waits for, and the caller polls.  Both ends are here: the client verifies
 * the other side's chain and name, always.
 *
 * The floor is for the Kafka library, which has no setting for the lowest TLS
 * version: OpenSSL is configured for the whole process, in memory.
 *
 * Thread: a side may be shared once it is made; a session has one owner.
 *         tlsio_process_floor() before the first thread.
 * Memory: at most two records (16 KiB each) and one handshake a session; the
 *         descriptor stays the caller's.
 * Errors: ERR_CERT when a side is not what it should be, ERR_NET otherwise.
 * SIGPIPE is ignored by the process, or blocked by the session's thread. */
#ifndef KEDGE_TLSIO_H
#define KEDGE_TLSIO_H

#include "err.h"

#include <stddef.h>

struct secret;
struct tlsio;
struct tlsio_side;

/* PEM texts, borrowed until tlsio_side_new() returns. */
struct tlsio_options {
    bool server;
    const char *ca_pem;   /* client: who may sign the server (NULL: the
                           * system's); server: who may sign clients, which
                           * then need a certificate (NULL: they need none) */
    const char *cert_pem; /* our chain, leaf first; NULL: none (client only) */
    const struct secret *key_pem;
};

struct tlsio_side *tlsio_side_new(const struct tlsio_options *options,
    struct err *err) MUST_CHECK;
void tlsio_side_free(struct tlsio_side *side); /* NULL is fine */

/* `name`, for a client: the host name or address that the server's
 * certificate must be for.  The side outlives the session. */
struct tlsio *tlsio_new(const struct tlsio_side *side, int fd, const char *name,
    struct err *err) MUST_CHECK;
void tlsio_free(struct tlsio *tls); /* NULL is fine; says no goodbye */

enum tlsio_state {
    TLSIO_OK,
    TLSIO_WANT_READ,  /* call again when the descriptor is readable */
    TLSIO_WANT_WRITE, /* call again, with the same bytes, when it is writable */
    TLSIO_CLOSED,     /* the other side said goodbye; not by a mere cut */
    TLSIO_FAILED,     /* err says why; only tlsio_free() is left */
};

enum tlsio_state tlsio_handshake(struct tlsio *tls, struct err *err) MUST_CHECK;

/* Both do the handshake by themselves when there was none. */
enum tlsio_state tlsio_read(struct tlsio *tls, void *bytes, size_t size,
    size_t *n, struct err *err) MUST_CHECK;
enum tlsio_state tlsio_write(struct tlsio *tls, const void *bytes, size_t len,
    size_t *n, struct err *err) MUST_CHECK;

/* Says goodbye; what the other side still sends can be read. */
enum tlsio_state tlsio_close(struct tlsio *tls, struct err *err) MUST_CHECK;

/* Bytes are decrypted and waiting: poll() does not tell. */
bool tlsio_pending(const struct tlsio *tls);

/* "TLSv1.3" once the handshake is done; a constant. */
const char *tlsio_version(const struct tlsio *tls);

/* Every TLS session of this process, the Kafka library's too, uses at least
 * `min_version` ("1.2" or "1.3") from now on, with forward secrecy and
 * authenticated encryption.  Tried on a new context: ERR_CERT when OpenSSL
 * does not do as told.  Before the first TLS session. */
bool tlsio_process_floor(const char *min_version, struct err *err) MUST_CHECK;

#endif
