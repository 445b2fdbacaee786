/* kreturns.h - which flows bring records of the target to the source: the
 * calls that block.
 *
 * Such a flow, maybe of another site's policy, has its ledger at our source
 * (kedge.*.*.ledger).  Its header says of which cluster it is, its entries
 * which topics it reads and writes.  A ledger of another cluster is not read
 * again; of the others only what was added since the last look, with a plain
 * consumer and no membership.  A first look begins KRETURNS_TAIL offsets
 * before the end of each lane: the newest snapshot is in there for up to some
 * 400 partitions a lane, and a partition that moves is in there anyway.
 *
 * Thread: one worker.  A look ends early when its job is cancelled.
 * Memory: a ledger's name and positions, and 0.6 kB for each topic that comes
 *         back, KRETURNS_MAX at most.
 * Cost:   without such a ledger nothing; with one a question for its ends at
 *         each look, and a client for as long as there is something to read:
 *         KRETURNS_BYTES and KRETURNS_MS at most, the rest at the next look.
 * Errors: what may not be read is said once in the log and counts as no return:
 *         a client without Describe does not even see that it is there.  What
 *         could not be read for now, or kept, makes the list say so. */
#ifndef KEDGE_KRETURNS_H
#define KEDGE_KRETURNS_H

#include "catalog.h"

#define KRETURNS_TAIL INT64_C(8192)
#define KRETURNS_MAX 8192
#define KRETURNS_BYTES (INT64_C(16) << 20)
#define KRETURNS_MS 10000

struct kadmin;
struct kjob;
struct kreturns;
struct ktopics_options;

/* `options` is borrowed for the life. */
struct kreturns *kreturns_new(const struct ktopics_options *options,
    struct err *err) MUST_CHECK;
void kreturns_free(struct kreturns *returns); /* NULL is fine */

/* Fills in the list's returns; it has the source's topics and both ids. */
void kreturns_look(struct kreturns *returns, struct kadmin *source,
    const struct kjob *job, struct catalog_list *list);

#endif
