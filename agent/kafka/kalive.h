/* kalive.h - does any broker of a cluster answer, and with how many bytes?
 *
 * The library says when it has lost its last broker, also for the moment in
 * which an idle connection is made anew, and never says that one is back.  So
 * the loss is only a suspicion, and the connections are counted: the cluster is
 * down when a second later none is up.
 *
 * Producers compress, and what of an answer finds no room unpacked is fetched
 * again.  So what the answers to a consumer have on the wire is counted: with
 * the bytes of the records it says how well they compress, and whether much
 * comes more than once.
 *
 * Thread: one, but for the library's, which report connections under a lock.
 * Memory: a few bytes for each broker; it outlives the client. */
#ifndef KEDGE_KALIVE_H
#define KEDGE_KALIVE_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kalive;
struct metrics;
struct wake;

/* Both are borrowed.  The wake is signalled when a connection comes up;
 * METRIC_BYTES_FETCHED of the set, NULL: none, counts what comes. */
struct kalive *kalive_new(const struct wake *wake, struct metrics *metrics,
    struct err *err) MUST_CHECK;
void kalive_free(struct kalive *kalive); /* NULL is fine */

/* Before the client is made of `conf`. */
void kalive_watch(struct kalive *kalive, rd_kafka_conf_t *conf);

/* Takes in an RD_KAFKA_EVENT_ERROR. */
void kalive_event(struct kalive *kalive, rd_kafka_event_t *event,
    int64_t now_ms);

/* True once after each change: *down, with err if so. */
bool kalive_changed(struct kalive *kalive, int64_t now_ms, bool *down,
    struct err *err);

#endif
