/* pemfile.h - what a file that should be PEM really is.
 *
 * Splits PEM into its blocks, and says of everything else what it is and which
 * command mends it: a Java keystore, PKCS#12, DER, an encrypted key, blocks
 * joined without a line break, a block in the wrong place.  It knows blocks,
 * not their contents.
 *
 * Thread: any; no state.
 * Memory: none; blocks are views of the file's bytes.
 * Errors: ERR_CERT, one line: "PATH: WHAT; mend: COMMAND". */
#ifndef KEDGE_PEMFILE_H
#define KEDGE_PEMFILE_H

#include "err.h"

#include <stddef.h>

enum pemfile_slot {
    PEMFILE_KEY,  /* one private key; certificates beside it are passed over */
    PEMFILE_CERT, /* certificates and nothing else */
    PEMFILE_CA,   /* the same; text around them is fine */
};

struct pemfile {
    const char *path; /* for messages */
    const char *bytes;
    size_t len;
    enum pemfile_slot slot;
};

/* From the B of BEGIN's dashes to the last dash of END. */
struct pemfile_block {
    const char *text;
    size_t len;
    int line; /* from 1 */
};

/* Is it PEM at all?  Before the first pemfile_next(). */
bool pemfile_check(const struct pemfile *file, struct err *err) MUST_CHECK;

/* The next block that belongs in the slot; *at starts with 0 and is moved
 * behind it.  At the end the block's text is NULL.  False: a block that is
 * damaged or does not belong here. */
bool pemfile_next(const struct pemfile *file, size_t *at,
    struct pemfile_block *block, struct err *err) MUST_CHECK;

/* "PATH: WHAT; mend: BEFORE NAME AFTER" into err, where NAME is the last part
 * of the path; gives false.  Line 0: none is named. */
struct pemfile_advice {
    const char *what, *before, *after;
};
bool pemfile_refuse(const struct pemfile *file, int line,
    const struct pemfile_advice *advice, struct err *err);

#endif
