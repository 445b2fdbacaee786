/* ktopics.h - topics, partition counts and settings on both clusters.
 *
 * Fills catalog.h with admin requests, in batches, on a worker with a client
 * for each cluster.  A target topic is made with the source's partition count,
 * the policy's replication factor, and those settings of the source that are
 * not defaults, without the ones that belong to a cluster rather than to its
 * data (MirrorMaker 2's list).  What a broker does not support (settings,
 * topic ids) is done without.
 *
 * Thread: as catalog.h says.
 * Memory: a list of all source topics while it is handed over; what is known
 *         about a target topic is kept for a minute.
 * Errors: a topic that cannot be made waits (CATALOG_WAIT) with the broker's
 *         own words and, where topics may not be created, the command to run. */
#ifndef KEDGE_KTOPICS_H
#define KEDGE_KTOPICS_H

#include "err.h"
#include "kconf.h"

#include <stdint.h>

struct catalog;
struct clock;
struct kcluster;
struct kwatch;
struct log;
struct wake;

struct ktopics_options {
    /* Borrowed for the life of the catalog. */
    const struct kcluster *source, *target;
    const char *agent, *flow;   /* texts are copied */
    int32_t replication_factor; /* -1: the broker's default */
    bool create_topics;
    int64_t step_ms;           /* what one request may take; 0: 30000 */
    const struct clock *clock; /* NULL: the system's */
    const struct wake *wake;   /* this and below: borrowed for the life */
    struct log *log;
    struct kwatch *watch;                            /* held, not taken */
    void (*configure_source)(rd_kafka_conf_t *conf); /* tests; NULL: nothing */
    void (*configure_target)(rd_kafka_conf_t *conf);
};

bool ktopics_open(struct catalog *catalog,
    const struct ktopics_options *options, struct err *err) MUST_CHECK;

#endif
