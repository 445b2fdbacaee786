/* identity.h - the agent's own key and certificate, checked as a pair.
 *
 * What people hand over is a keystore of a Java client, DER, a key in the
 * certificate's place, a chain in the wrong order, a key of another
 * certificate.  Each of these is one error with one line that says which file,
 * what it is, and the command that mends it; nothing of it is found out later
 * by a handshake that fails.  Judged by content, never by the file's name.
 *
 * Thread: any; an identity does not change once it is loaded.
 * Memory: identity_load() gives, identity_free() takes; the key lies in a
 *         secret, and the copies made while reading are wiped.
 * Errors: ERR_MISSING, ERR_CONFIG (a key file open to others), ERR_CERT. */
#ifndef KEDGE_IDENTITY_H
#define KEDGE_IDENTITY_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

struct identity;
struct secret;

/* Where the two come from.  The texts are borrowed for the call. */
struct identity_files {
    const char *key;  /* one private key; PEM, not encrypted, private */
    const char *cert; /* PEM: our certificate first, each issuer behind it */
};

/* The certificate must be valid at `now_wall_ms` and fit for a TLS client.
 * An encrypted key is refused; no passphrase is ever asked for. */
struct identity *identity_load(const struct identity_files *files,
    int64_t now_wall_ms, struct err *err) MUST_CHECK;
void identity_free(struct identity *identity); /* NULL is fine */

/* Borrowed until identity_free().  The chain, leaf first, blocks only; and
 * the key as PKCS#8 in PEM. */
const char *identity_cert_pem(const struct identity *identity);
const struct secret *identity_key_pem(const struct identity *identity);

/* Certificates in the chain, and when the first of them to end does so. */
size_t identity_count(const struct identity *identity);
int64_t identity_ends_wall_ms(const struct identity *identity);

#endif
