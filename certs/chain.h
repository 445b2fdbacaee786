/* chain.h - whom we trust: a bundle of CA certificates.
 *
 * A bundle that cannot verify anybody is found here, with what is wrong, and
 * not by a handshake that fails every minute.  Comments between the
 * certificates are fine, as the distributions' bundles have them.
 *
 * Thread: any; a chain does not change once it is loaded.
 * Memory: chain_load() gives, chain_free() takes; at most CHAIN_BYTES_MAX
 *         bytes and CHAIN_CERTS_MAX certificates are read.
 * Errors: ERR_MISSING, ERR_CERT with the command that mends it. */
#ifndef KEDGE_CHAIN_H
#define KEDGE_CHAIN_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define CHAIN_BYTES_MAX (1u << 20)
#define CHAIN_CERTS_MAX 1024

struct chain;

/* Refused: not PEM, a private key in it, no certificate that can be a root
 * (self-signed), all of those ended at `now_wall_ms`. */
struct chain *chain_load(const char *path, int64_t now_wall_ms,
    struct err *err) MUST_CHECK;

/* The same from memory; `name` stands for the path in messages. */
struct chain *chain_parse(const char *name, const void *bytes, size_t len,
    int64_t now_wall_ms, struct err *err) MUST_CHECK;
void chain_free(struct chain *chain); /* NULL is fine */

/* Borrowed until chain_free(): the certificates alone, one block each. */
const char *chain_pem(const struct chain *chain);

size_t chain_count(const struct chain *chain);
size_t chain_count_ended(const struct chain *chain); /* worth a warning */

/* When the last root to end does so: from then on nothing verifies. */
int64_t chain_ends_wall_ms(const struct chain *chain);

#endif
