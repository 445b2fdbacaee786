/* ktext.h - the texts of an option struct, kept for as long as they are used.
 *
 * Options borrow their texts until the opening returns; a module that makes
 * clients later copies the struct and keeps the texts.
 *
 * Thread: any; no state.   Memory: one block for all, for free(3). */
#ifndef KEDGE_KTEXT_H
#define KEDGE_KTEXT_H

#include "err.h"

#include <stddef.h>

/* Copies the `n` texts that the pointers point at, and points them at the
 * copies.  NULL texts stay NULL.  Gives the block, NULL without memory. */
char *ktext_keep(const char **const *texts, size_t n,
    struct err *err) MUST_CHECK;

#endif
