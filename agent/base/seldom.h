/* seldom.h - which lines are too much alike to be written again.
 *
 * When a link is cut, a score of clients say so in nearly the same words.  A
 * line is let through if there was none of its kind for a while, with the
 * number of those that were held back before it.
 *
 * Thread: any, under a lock.
 * Memory: a table of SELDOM_KINDS, some 8 kB. */
#ifndef KEDGE_SELDOM_H
#define KEDGE_SELDOM_H

#include "err.h"

#include <stdint.h>

#define SELDOM_KINDS 64 /* all that are beyond share the last */

struct seldom;

/* `every_ms`: from one line of a kind to the next. */
struct seldom *seldom_new(int64_t every_ms, struct err *err) MUST_CHECK;
void seldom_free(struct seldom *seldom); /* NULL is fine */

/* True if the line is to be written; *held_back: so many since the last.  A
 * kind is told by two names, 90 bytes of them. */
bool seldom_may(struct seldom *seldom, const char *what, const char *of,
    int64_t now_ms, int64_t *held_back);

#endif
