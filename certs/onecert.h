/* onecert.h - one certificate: out of its PEM block, its dates, back to PEM.
 *
 * What identity and chain have in common; for this folder only, since it
 * speaks OpenSSL's types.
 *
 * Thread: any; no state.   Memory: what is returned is the caller's. */
#ifndef KEDGE_ONECERT_H
#define KEDGE_ONECERT_H

#include "err.h"

#include <openssl/x509.h>

#include <stddef.h>
#include <stdint.h>

struct pemfile;
struct pemfile_block;

/* Every certificate of the file, at least one and at most `max`, in order.
 * Freed by sk_X509_pop_free(certs, X509_free). */
STACK_OF(X509) * onecert_read_all(const struct pemfile *file, size_t max,
                     struct err *err) MUST_CHECK;

int64_t onecert_begins_wall_ms(const X509 *cert);
int64_t onecert_ends_wall_ms(const X509 *cert);

/* False when it is not valid at `now_wall_ms`: "PATH: certificate N ended on
 * DATE; ...".  `number` from 1. */
bool onecert_check_dates(const X509 *cert, int number, const char *path,
    int64_t now_wall_ms, struct err *err) MUST_CHECK;

/* Signed by the key inside it. */
bool onecert_is_selfsigned(X509 *cert);

/* Blocks alone, NUL-terminated. */
char *onecert_pem(STACK_OF(X509) * certs, struct err *err) MUST_CHECK;

#endif
