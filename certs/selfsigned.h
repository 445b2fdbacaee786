/* selfsigned.h - certificates made on the spot, for the demo and the tests.
 *
 * A CA and what it signs, alive for hours and kept in memory.  Not for
 * production: there is no serial register and no revocation.
 *
 * Thread: any.   Memory: selfsigned_new() gives, selfsigned_free() takes.
 * Cost: one P-256 key each, under a millisecond.   Errors: ERR_CERT. */
#ifndef KEDGE_SELFSIGNED_H
#define KEDGE_SELFSIGNED_H

#include "err.h"

#include <stdint.h>

struct secret;
struct selfsigned;

enum selfsigned_kind {
    SELFSIGNED_CA,
    SELFSIGNED_SERVER,
    SELFSIGNED_CLIENT,
};

struct selfsigned_options {
    enum selfsigned_kind kind;
    const char *common_name;
    const char *names; /* as OpenSSL writes them: "DNS:localhost,
                        * IP:127.0.0.1"; NULL: none */
    int64_t from_wall_ms, until_wall_ms;
    const struct selfsigned *issuer; /* a CA; NULL: it signs itself */
};

struct selfsigned *selfsigned_new(const struct selfsigned_options *options,
    struct err *err) MUST_CHECK;
void selfsigned_free(struct selfsigned *made); /* NULL is fine */

/* Borrowed until selfsigned_free(): one certificate, without its issuers. */
const char *selfsigned_cert_pem(const struct selfsigned *made);
const struct secret *selfsigned_key_pem(const struct selfsigned *made);

#endif
