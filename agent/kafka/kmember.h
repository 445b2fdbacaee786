/* kmember.h - membership of a flow's group at the target cluster.
 *
 * Fills group.h with a consumer that is subscribed to the ledger topic
 * (cooperative-sticky) and reads none of it: what it is assigned is paused at
 * the end.  A revocation is answered when the lanes are released, while
 * polling goes on; it is event() that polls, so that a flow which stops
 * looking loses its lanes after 45 s to one that works.
 *
 * Thread: as group.h says; proofs and leaving run on a worker.  event() is to
 *         be called every few hundred milliseconds.
 * Memory: bounded by the number of lanes.
 * Errors: what passes is retried inside; what a person has to mend comes as
 *         GROUP_FAILED, once until it changes. */
#ifndef KEDGE_KMEMBER_H
#define KEDGE_KMEMBER_H

#include "err.h"
#include "kconf.h"

#include <stdint.h>

struct clock;
struct group;
struct kcluster;
struct kwatch;
struct log;
struct wake;

struct kmember_options {
    const struct kcluster *target; /* borrowed for the life of the group */
    const char *agent, *flow;      /* texts are copied */
    const char *topic;             /* of the ledger */
    const char *group_id;
    int64_t step_ms;   /* what a proof may take; 0: 10000 */
    int64_t silent_ms; /* without an answer, until GROUP_DOWN; 0: 8000 */
    const struct clock *clock; /* NULL: the system's */
    const struct wake *wake;   /* this and below: borrowed for the life */
    struct log *log;
    struct kwatch *watch;                     /* held, not taken */
    void (*configure)(rd_kafka_conf_t *conf); /* tests; NULL: nothing */
};

bool kmember_open(struct group *group, const struct kmember_options *options,
    struct err *err) MUST_CHECK;

#endif
