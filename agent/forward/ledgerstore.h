/* ledgerstore.h - the ledger at the target, as one lane's owner writes it.
 *
 * Taking a lane over is open (fences the predecessor), claim (a record of our
 * own), read until one's own claim is seen; from then on commit.  No end
 * offset is ever asked: a stale leader answers one that misses committed
 * records, one's own claim cannot be missed.  kafka/kledger fills it with a
 * transactional producer for each lane and a worker thread for the calls that
 * block; tests with a log in memory.
 *
 * Thread: the flow's thread, which never waits in here; the wake given at
 *         opening is signalled when answer() has something.
 * Order:  one order at a time for each lane, except close(), which may come at
 *         any time and drops the answer that is under way.
 * Memory: batches belong to whoever holds the pointer. */
#ifndef KEDGE_LEDGERSTORE_H
#define KEDGE_LEDGERSTORE_H

#include "err.h"
#include "ledger.h"

#include <stddef.h>
#include <stdint.h>

struct ledger_batch {
    size_t n, room;
    struct ledger_record *records;
};

enum store_step {
    STORE_HEADERS,
    STORE_OPEN,
    STORE_CLAIM,
    STORE_READ,
    STORE_COMMIT
};

enum store_result {
    STORE_DONE,
    STORE_RETRY,      /* nothing was written; the same order may work later */
    STORE_FENCED,     /* somebody, or a time-out, took the producer's right */
    STORE_UNKNOWN,    /* it may have been written or not: take over anew */
    STORE_SUPERSEDED, /* read: a claim later than ours came first */
    STORE_BROKEN,     /* read: a record that cannot be understood; err has
                       * lane and offset */
    STORE_REFUSED,    /* a person has to act; err says what */
    STORE_OVERDUE,    /* the call overran its own time-out and was abandoned
                       * with its client */
};

struct store_answer {
    int32_t lane; /* -1 for STORE_HEADERS */
    enum store_step step;
    enum store_result result;
    struct ledger_batch *records; /* HEADERS, READ: the reader's to free */
    int64_t offset;  /* READ: of our claim.  COMMIT: of the first record of the
                     * batch, -1 unknown */
    int64_t wall_ms; /* READ: of our claim, as the ledger has it: the brokers'
                      * time, which is the same for every agent; 0 unknown */
    struct err err;
};

struct store_ops {
    /* The newest header of every lane, with a plain read_committed consumer
     * and no membership.  Answer: lane -1. */
    void (*headers)(void *self);
    /* A new client for the lane; init_transactions. */
    void (*open)(void *self, int32_t lane);
    /* One transaction with this claim alone. */
    void (*claim)(void *self, int32_t lane, const struct ledger_claim *claim);
    /* All records of the lane from `hint` (GROUP_NO_HINT, or not at a mark:
     * from the beginning), read_committed, until the claim with this nonce. */
    void (*read)(void *self, int32_t lane, int64_t hint, const char *nonce);
    /* One transaction with all of the batch, in its order.  Takes *batch. */
    void (*commit)(void *self, int32_t lane, struct ledger_batch **batch);
    /* Ends the lane's client, if any, elsewhere. */
    void (*close)(void *self, int32_t lane);
    bool (*answer)(void *self, struct store_answer *answer);
    /* Bytes of batches that were left behind with a client that is stuck. */
    int64_t (*leaked)(void *self);
    void (*free)(void *self); /* may take seconds */
};

struct ledgerstore {
    const struct store_ops *ops;
    void *self;
};

/* An empty batch with room for `room` records, which grows by doubling. */
struct ledger_batch *ledger_batch_new(size_t room, struct err *err) MUST_CHECK;
void ledger_batch_free(struct ledger_batch *batch); /* NULL is fine */

/* Appends a zeroed record and gives it; NULL without memory.  The pointer is
 * valid until the next append. */
struct ledger_record *ledger_batch_add(struct ledger_batch *batch);

#endif
