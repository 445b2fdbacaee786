/* kreader.h - reads the ledger with a plain consumer: the calls that block.
 *
 * What ledgerstore.h's read and headers do.  No membership, nothing is
 * committed.  Of records with the same key only the newest is kept, as
 * compaction at the broker might have done already, so that memory follows
 * the number of partitions and not the age of the log.  So a record that
 * cannot be understood counts only while no later one takes its place
 * (kbroken.h); headers are not concerned with what is no header, each lane
 * judges its own when it is taken over.
 *
 * Thread: one worker.  A call ends early when its job is cancelled.
 * Memory: a client during the call, and the batch it gives.
 * Errors: as a store_result, with the reason in err unless it is STORE_DONE. */
#ifndef KEDGE_KREADER_H
#define KEDGE_KREADER_H

#include "ledgerstore.h"

struct kjob;
struct kledger_options;

/* What a call takes at most beyond the time-outs in the options. */
#define KREADER_END_MS 10000

struct kreader_wanted {
    int32_t lane;
    int64_t hint; /* GROUP_NO_HINT, or not at a mark: from the beginning */
    char nonce[LEDGER_ID_MAX]; /* of our claim */
    int64_t claim_offset;      /* where it was written; -1 unknown */
};

/* Reads a lane until our own claim, whose place and time the answer then has,
 * or until something later than it.  With STORE_BROKEN, `offset` is of the
 * record.  Gives a batch when it is STORE_DONE. */
enum store_result kreader_lane(const struct kledger_options *options,
    const struct kjob *job, const struct kreader_wanted *wanted,
    struct store_answer *answer);

/* The newest header of each lane; none when there is no ledger. */
enum store_result kreader_headers(const struct kledger_options *options,
    const struct kjob *job, struct ledger_batch **batch, struct err *err);

#endif
