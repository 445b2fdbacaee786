/* secret.h - bytes that are locked, wiped, and impossible to log.
 *
 * Passwords live here between the file they come from and the library that
 * needs them.  No function of log.h or err.h takes a secret.
 *
 * Thread: one owner.   Memory: locked pages (sodium_malloc), wiped by
 * secret_free().  When locking is refused (RLIMIT_MEMLOCK), it goes on. */
#ifndef KEDGE_SECRET_H
#define KEDGE_SECRET_H

#include "err.h"

#include <stddef.h>

#define SECRET_MAX 4096

struct secret;

/* Reads a file that must be private (file_check_private), at most SECRET_MAX
 * bytes; one trailing line break is not part of it.  Empty, or with a NUL
 * inside: refused.  NULL with err as from file_read_private(). */
struct secret *secret_from_file(const char *path, struct err *err) MUST_CHECK;
struct secret *secret_from_bytes(const void *bytes, size_t len,
    struct err *err) MUST_CHECK;
void secret_free(struct secret *secret); /* NULL is fine */

/* Borrows: NUL-terminated, valid until secret_free(). */
const char *secret_text(const struct secret *secret);
size_t secret_len(const struct secret *secret);

/* In constant time for equal lengths. */
bool secret_equals(const struct secret *secret, const void *bytes, size_t len);

#endif
