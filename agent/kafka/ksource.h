/* ksource.h - fills source.h: the consumer of the `from` cluster.
 *
 * Partitions are read by assignment, without a membership.  Orders to read and
 * to stop are collected and given to the library in one go, by the next()
 * that follows; an order that replaces another costs nothing in between.
 * Records of an earlier place cannot come: the library raises the version of a
 * partition before such an order returns and drops what is older, and this
 * module gives only offsets that rise from the one asked for.
 *
 * next() goes on from where the library wakes: when it gave as many as it was
 * asked for, there may be more without another wake, so it is called again.
 * event() also repeats what has to be asked again, and shows positions in the
 * group (kposition.h), so it is called at least every second.
 *
 * Thread: the flow's.  next() may wait for the library's own thread, not for a
 *         broker, when orders have been collected; free() waits a second at
 *         most for the last positions.
 * Memory: grows with topics and partitions; what is read ahead is bounded by
 *         prefetch_bytes of values and by a record for every 512 of them, and
 *         for each broker by what one answer more has, or one batch of a
 *         producer unpacked (docs/librdkafka-patch.md, "full").  All records
 *         must be released before free(), which else never returns.
 * Cost:   no allocation for a record without headers; those of one with
 *         headers are parsed once. */
#ifndef KEDGE_KSOURCE_H
#define KEDGE_KSOURCE_H

#include "source.h"

#include <librdkafka/rdkafka.h>

struct clock;
struct kcluster;
struct log;
struct metrics;
struct wake;

struct ksource_options {
    const struct kcluster *cluster; /* borrowed until ksource_open() returns */
    const char *agent, *flow;       /* the same */
    const char *group_id;    /* the same; nobody joins it, it shows positions */
    int64_t prefetch_bytes;  /* 0: the default, 64 MiB */
    bool far;                /* the cluster is at another site */
    const struct wake *wake; /* borrowed for the life of the source */
    const struct clock *clock; /* the same; NULL: this machine's */
    struct log *log;           /* the same */
    struct metrics *metrics;   /* the same; NULL: nothing is counted */
    void (*configure)(rd_kafka_conf_t *conf); /* as in kconf.h */
};

bool ksource_open(struct source *source, const struct ksource_options *options,
    struct err *err) MUST_CHECK;

#endif
