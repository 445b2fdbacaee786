/* redact.h - showing lines of a file that may have a secret in it.
 *
 * A finding shows the line it is about, and that may be the very line in which
 * somebody wrote a password where none belongs.
 *
 * Thread: any; no state.   Memory: changes the caller's copy. */
#ifndef KEDGE_REDACT_H
#define KEDGE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* Covers with '*', in place, what stands behind a key that sounds like a
 * secret, the user part of URLs, and keys and certificates that were pasted in;
 * line by line, so that it works on what is not YAML, too.  Columns stay where
 * they are. */
void redact_source(char *text, size_t len);

/* Does a key sound as if a secret stood behind it?  Misspelt ones as well. */
bool redact_is_secret(const char *key, size_t len);

#endif
