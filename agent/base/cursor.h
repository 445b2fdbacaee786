/* cursor.h - reading bytes somebody else sent; checked size arithmetic.
 *
 * A borrowed view that only moves forward.  The first read past the end sets
 * `bad`, and from then on every read gives zero or NULL, so that a parser
 * reads a whole message and asks once at the end.
 *
 * Thread: one owner.  Memory: borrows.  A header alone: leaf helpers. */
#ifndef KEDGE_CURSOR_H
#define KEDGE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static inline const uint8_t *
cursor_take(struct cursor *cursor, size_t n)
{
    const uint8_t *bytes = cursor->at;

    if (cursor->bad || n > cursor->left) {
        cursor->bad = true;
        return NULL;
    }
    cursor->at += n;
    cursor->left -= n;
    return bytes;
}

/* Sizes that come from outside are added with this, never with '+'. */
static inline bool
size_add(size_t *sum, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return false;
    *sum = a + b;
    return true;
}

#endif
