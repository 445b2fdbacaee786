/* kalive.h - does any broker of a cluster answer?
 *
 * The library says when it has lost its last broker, also for the moment in
 * which an idle connection is made anew, and never says that one is back.  So
 * the loss is only a suspicion: a broker is asked for a sign of life, again
 * and again, and the cluster is down when none came within a second.
 *
 * Thread: one, which never waits in here.
 * Memory: a plain value, zeroed at the start. */
#ifndef KEDGE_KALIVE_H
#define KEDGE_KALIVE_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kalive {
    bool suspect;         /* all brokers were lost, none answered since */
    bool down, told_down; /* what is so, and what was told */
    bool probing;
    int64_t suspect_ms, probe_due_ms;
    struct err why;
};

/* Takes in an RD_KAFKA_EVENT_ERROR or _DESCRIBECLUSTER_RESULT. */
void kalive_event(struct kalive *kalive, rd_kafka_event_t *event,
    int64_t now_ms);

/* Asks when it is time to; the answer comes on `queue`. */
void kalive_serve(struct kalive *kalive, rd_kafka_t *rk,
    rd_kafka_queue_t *queue, int64_t now_ms);

/* True once after each change: *down, with err if so. */
bool kalive_changed(struct kalive *kalive, bool *down, struct err *err);

#endif
