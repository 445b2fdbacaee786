/* kledger.h - the ledger topic of a flow, on a Kafka cluster.
 *
 * Fills ledgerstore.h.  Each lane has a worker and, while it is open, a
 * transactional producer of its own (transactional.id is GROUP.LANE), so that
 * whoever opens a lane fences whoever had it.  The ledger is read with plain
 * consumers: no membership, read_committed.
 *
 * Thread: as ledgerstore.h says; the calls that block run on workers.
 * Memory: one batch under way for each lane.
 * Errors: STORE_REFUSED names what a person has to grant or mend; what a
 *         transaction's fate is unknown of is STORE_UNKNOWN, never a guess. */
#ifndef KEDGE_KLEDGER_H
#define KEDGE_KLEDGER_H

#include "err.h"
#include "kconf.h"

#include <stdint.h>

struct clock;
struct kcluster;
struct kwatch;
struct ledgerstore;
struct log;
struct wake;

/* Texts are copied unless said otherwise. */
struct kledger_options {
    const struct kcluster *target; /* borrowed for the life of the store */
    const char *agent, *flow;
    const char *topic;    /* of the ledger */
    const char *group_id; /* also the beginning of each transactional.id */
    int64_t step_ms;      /* what an open, claim, commit may take; 0: 30000 */
    int64_t read_ms;      /* how long a read may stand still; 0: 90000 */
    const struct clock *clock; /* NULL: the system's */
    const struct wake *wake;   /* this and below: borrowed for the life */
    struct log *log;
    struct kwatch *watch;                     /* held, not taken */
    void (*configure)(rd_kafka_conf_t *conf); /* tests; NULL: nothing */
};

bool kledger_open(struct ledgerstore *store,
    const struct kledger_options *options, struct err *err) MUST_CHECK;

#endif
