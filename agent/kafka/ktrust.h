/* ktrust.h - why a client refused the certificate of a broker.
 *
 * The library says "certificate verify failed" once, and then that no broker
 * answers.  What OpenSSL had against the certificate is kept here for as long
 * as it explains the silence: until a certificate of the same broker is taken,
 * or for two minutes, in which the broker would have been dialled again.
 *
 * Thread: any, under a lock.   Memory: a few hundred bytes.
 * Errors: nothing in here decides whom to trust. */
#ifndef KEDGE_KTRUST_H
#define KEDGE_KTRUST_H

#include "err.h"
#include "kflow.h"

#include <stdint.h>

#define KTRUST_KEEP_MS 120000

struct ktrust;

/* `explain` NULL: an error is a number. */
struct ktrust *ktrust_new(kcert_explain_fn *explain,
    struct err *err) MUST_CHECK;
void ktrust_free(struct ktrust *trust); /* NULL is fine */

/* Takes in what was found of a certificate; error 0: it was taken.  Fills
 * `why` if not. */
void ktrust_note(struct ktrust *trust, const struct kcert *cert, int64_t now_ms,
    char *why, size_t size);

/* True with err (ERR_CERT, retry) while the newest refusal holds. */
bool ktrust_refused(struct ktrust *trust, int64_t now_ms, struct err *err);

#endif
