/* kposition.h - a group at the source shows how far a flow is.
 *
 * For those who look at lag with Kafka's usual tools: what is told here is
 * committed as the offset of the flow's group at the source, by a consumer
 * that is no member of it.  What moved goes out in one request (or one for each
 * thousand partitions), every five seconds at most; what did not move goes
 * again every hour, while it is still told, since a broker forgets the offsets
 * of a group without members.  Nothing depends on any of it: the log is told
 * once who could mend what fails.  A request that is refused for want of a
 * permission is tried again every hour (each time the library loses some 200
 * bytes over it), one that fails otherwise after five seconds and up to ten
 * minutes; a partition whose topic is gone or out of sight after ten minutes,
 * and no other waits for it.
 *
 * Thread: one, which never waits in here but for kposition_last().
 * Memory: grows with the highest number of a partition.
 * Cost:   kposition_told() is a few stores; a look at every number every five
 *         seconds; an allocation for each partition in a request. */
#ifndef KEDGE_KPOSITION_H
#define KEDGE_KPOSITION_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct clock;
struct kcluster;
struct kposition;
struct log;

struct kposition_options {
    rd_kafka_t *rk;                 /* borrowed for life */
    rd_kafka_queue_t *queue;        /* gets the results; the same */
    const struct kcluster *cluster; /* copied of it: its alias */
    const char *group_id, *flow;    /* copied */
    struct log *log;                /* borrowed for life; NULL is fine */
};

#define KPOSITION_LAST_MS 1000

struct kposition *kposition_new(const struct kposition_options *options,
    struct err *err) MUST_CHECK;
void kposition_free(struct kposition *kposition); /* NULL is fine */

/* A successor would begin at `offset` (not negative) of this partition, whose
 * number is `part` from now on.  Without memory it is as if not told. */
void kposition_told(struct kposition *kposition, int32_t part,
    const char *topic, int32_t partition, int64_t offset);

/* Sends what is due. */
void kposition_serve(struct kposition *kposition, int64_t now_ms);

/* Takes in RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT from the queue; the
 * event stays the caller's. */
void kposition_result(struct kposition *kposition, rd_kafka_event_t *event,
    int64_t now_ms);

/* Before the end: sends what moved since, and waits for the answer for
 * KPOSITION_LAST_MS at most, or not at all if the newest request failed.  Other
 * events of the queue are lost. */
void kposition_last(struct kposition *kposition, const struct clock *clock);

#endif
