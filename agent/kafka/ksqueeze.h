/* ksqueeze.h - of ledger records with the same key, the newest.
 *
 * What compaction at the broker might have done already with the records of
 * one lane, done while they are read: so that memory follows the number of
 * partitions and not the age of the log.
 *
 * Thread: any; no state.
 * Memory: a pointer for each record while it works; without that nothing is
 *         thrown away.
 * Cost:   O(n log n). */
#ifndef KEDGE_KSQUEEZE_H
#define KEDGE_KSQUEEZE_H

#include "ledgerstore.h"

/* Keeps the record with the highest offset of each key, tombstones too, in the
 * order they are in.  All are of one lane. */
void ksqueeze_batch(struct ledger_batch *batch);

#endif
