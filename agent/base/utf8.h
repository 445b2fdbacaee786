/* utf8.h - text that somebody else wrote, before a person or a terminal sees
 * it.
 *
 * Names of topics, lines of a policy and answers of brokers may hold anything:
 * line breaks, terminal controls, marks that turn the direction of writing,
 * bytes that are no UTF-8 at all.  Here is the one place that knows which of
 * it may be shown as it is.
 *
 * Thread: any; no state.   Memory: none. */
#ifndef KEDGE_UTF8_H
#define KEDGE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes (1 to 4) the character at `text` takes, and which it is;
 * 0 when `left` is 0 or the bytes there are not UTF-8: then skip one. */
size_t utf8_next(const char *text, size_t left, uint32_t *point);

/* False for controls (C0, DEL, C1), line and paragraph separators, and marks
 * that turn the direction of writing. */
bool utf8_is_safe(uint32_t point);

/* Columns that a terminal gives to a character: 0, 1 or 2 (about). */
size_t utf8_width(uint32_t point);

/* Copies text into `out`, ends it with NUL, and writes each byte that is not
 * safe or not UTF-8 as \xNN.  What does not fit is left out, whole characters
 * at a time.  Gives the length. */
size_t utf8_escape(char *out, size_t size, const char *text, size_t len);

/* Writes the \xNN of `n` bytes (at most 4) into `out` (17 bytes). */
void utf8_hex(char *out, const char *bytes, size_t n);

#endif
