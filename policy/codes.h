/* codes.h - what each code of a finding means, and what mends it.
 *
 * A code is for ever: it is documented, tested and searched for, and never
 * given to something else.  `kedge explain` prints this table.
 *
 * Thread: any; constants.   Memory: none. */
#ifndef KEDGE_CODES_H
#define KEDGE_CODES_H

#include <stddef.h>

struct code {
    const char *code; /* "KP045" */
    const char *what; /* the case, as a title */
    const char *why;  /* what goes wrong otherwise */
    const char *mend;
};

size_t codes_count(void);
const struct code *codes_at(size_t i); /* by number */

/* NULL: there is no such code.  Small letters are as good. */
const struct code *codes_find(const char *code);

#endif
