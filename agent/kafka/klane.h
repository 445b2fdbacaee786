/* klane.h - the transactional producer of one lane: the calls that block.
 *
 * What ledgerstore.h's open, claim and commit do, in the words of the client
 * library.  A transaction either is known to be committed, or known to be
 * aborted, or its outcome is unknown; the third is never taken for one of the
 * others.
 *
 * Thread: one worker.  Every call takes the job it runs for, and ends early
 *         when that is cancelled.
 * Memory: a client (threads, sockets, about 0.7 MB) while open.
 * Errors: as a store_result, with the reason in err unless it is STORE_DONE. */
#ifndef KEDGE_KLANE_H
#define KEDGE_KLANE_H

#include "ledgerstore.h"

#include <librdkafka/rdkafka.h>

struct kjob;
struct kledger_options;
struct klane;

/* What open and commit take at most, beside step_ms. */
#define KLANE_ABORT_MS 10000

/* `options` is borrowed for the life of the lane. */
struct klane *klane_new(const struct kledger_options *options, int32_t lane,
    struct err *err) MUST_CHECK;
void klane_free(void *lane); /* a struct klane; NULL is fine */

/* A new client, which fences the one before. */
enum store_result klane_open(struct klane *lane, const struct kjob *job,
    struct err *err);

/* One transaction with the whole batch.  `offset` is of its first record, -1
 * when that is not told. */
enum store_result klane_commit(struct klane *lane, const struct kjob *job,
    const struct ledger_batch *batch, int64_t *offset, struct err *err);

/* Ends the client, if any. */
void klane_close(struct klane *lane);

/* The classes of errors, for those that come as plain codes. */
enum store_result klane_judge(rd_kafka_resp_err_t code);

#endif
