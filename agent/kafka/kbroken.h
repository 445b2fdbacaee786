/* kbroken.h - records of a lane that cannot be understood, until a later one
 * with the same key takes their place.
 *
 * The newest record of a key is what counts: compaction leaves nothing else,
 * so that a reader who comes after it never sees the others.  Hence a record
 * that cannot be understood decides nothing once a good one of its key follows
 * before our own claim, and holding the lane for it would only wait for the
 * broker to clean up.  What follows must be more than later in the log:
 *
 *   - its key must be one of ours and of this lane.  A record whose key cannot
 *     be read might have been any partition's, and always counts;
 *   - an entry must be of the term that was in force when the broken one was
 *     written, or of a later one.  In the log of one lane the terms rise,
 *     since whoever claims it fences those before; an older entry behind a
 *     broken one means that somebody wrote who is not fenced, and is believed
 *     as little as the broken one;
 *   - a tombstone has no term, and takes nobody's place.
 *
 * Thread: one.
 * Memory: one record for each broken key, KBROKEN_MAX at most.
 * Errors: the reason of a broken record is the caller's, and comes back. */
#ifndef KEDGE_KBROKEN_H
#define KEDGE_KBROKEN_H

#include "ledger.h"

#define KBROKEN_MAX 16

/* Zeroed at the start of a reading. */
struct kbroken {
    int n;
    int64_t term; /* of the newest claim that was read, and 1; 0: none yet */
    struct {
        struct ledger_record key; /* of it only the key means something */
        int64_t term;
        struct err why;
    } record[KBROKEN_MAX];
};

/* Notes a record that has a key, at key->offset.  False: there are too many to
 * remember; it counts. */
bool kbroken_note(struct kbroken *broken, const struct ledger_record *key,
    const struct err *why) MUST_CHECK;

/* A record that was understood: it may take a broken one's place. */
void kbroken_pass(struct kbroken *broken, const struct ledger_record *record);

/* Does one count?  The first of them, with its reason; NULL: none. */
const struct err *kbroken_left(const struct kbroken *broken, int64_t *offset);

#endif
