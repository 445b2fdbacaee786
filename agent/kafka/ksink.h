/* ksink.h - fills sink.h: one idempotent, gapless producer for each lane.
 *
 * Values of 4 kB and more are not copied: the consumed message is held until
 * its report, as long as reports come; while a partition stands still they are
 * copied, since a held message keeps all of the answer it came in.  Headers are
 * handed over as they are.  A record that the library cannot carry unchanged is
 * refused: its time is 0, which the library takes as "now", or negative and not
 * -1.
 *
 * When a batch of several records is refused as a whole because of one of
 * them, nobody says which.  Then none of them is told as the culprit; after
 * the new opening they go one at a time, so that the one that is refused again
 * is it.  A batch too large for the target halves the lane's batches.
 *
 * A partition that the target does not know yet gives SINK_FULL, while the
 * client's picture of the topic is made new.
 *
 * Attachments survive close(): a lane opened anew knows its partitions.
 *
 * Thread: the flow's; free() from any.  poll() goes on from where the library
 *         wakes: when it told of as many as it was asked for, there may be
 *         more without another wake.
 * Memory: about 300 bytes a record besides its bytes; in flight are at most
 *         100 000 records a lane.  free() waits until all held messages are
 *         back, or their clients left behind (kreaper.h), so it comes before
 *         the source's.
 * Cost:   one allocation for a record, inside the library. */
#ifndef KEDGE_KSINK_H
#define KEDGE_KSINK_H

#include "sink.h"

#include <librdkafka/rdkafka.h>

struct clock;
struct kcluster;
struct kwatch;
struct log;
struct wake;

struct ksink_options {
    const struct kcluster *cluster; /* borrowed for the life of the sink, and
                                     * the texts in it */
    const char *agent, *flow;       /* the same */
    const char *compression;        /* the same; NULL: none */
    int64_t linger_ms;              /* 0: the default, 25 */
    sink_done_fn *done;
    sink_failed_fn *failed;
    void *ctx;                 /* borrowed for the life of the sink */
    const struct wake *wake;   /* the same */
    const struct clock *clock; /* the same; NULL: this machine's */
    struct log *log;           /* the same */
    struct kwatch *watch;      /* held, not taken */
    void (*configure)(rd_kafka_conf_t *conf); /* as in kconf.h */
};

bool ksink_open(struct sink *sink, const struct ksink_options *options,
    struct err *err) MUST_CHECK;

#endif
