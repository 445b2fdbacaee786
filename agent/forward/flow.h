/* flow.h - one stream from a source to a target cluster, and its thread.
 *
 * A flow finds the topics that the policy selects, shares their partitions out
 * with the other agents by lanes, takes its lanes over, and moves records from
 * the source to the sink until it is told to stop.  What may be lost is
 * nothing; what stops it is said in its report with the remedy.
 *
 * Thread: flow_new() to flow_start() and everything below on the main thread;
 *         inside, one thread of its own owns all of the flow and never waits
 *         longer than 100 ms.
 * Memory: records in flight are bounded by max_in_flight_bytes, prefetch,
 *         FLOW_RECORD_COST for each record's books, and what abandoned clients
 *         hold included; a sixteenth of it moves on however much that is.
 *         Less than that is used where the target needs less (flowshare.c). */
#ifndef KEDGE_FLOW_H
#define KEDGE_FLOW_H

#include "catalog.h"
#include "clock.h"
#include "group.h"
#include "ledgerstore.h"
#include "log.h"
#include "metric.h"
#include "report.h"
#include "route.h"
#include "sink.h"
#include "source.h"
#include "wake.h"

#define FLOW_RECORD_COST 512 /* bytes that a record's books count for */

/* A sixth of max_in_flight_bytes is for the source's prefetch: open the source
 * with that much. */
#define FLOW_PREFETCH_SHARE 6

enum flow_wants {
    FLOW_WANTS_NOT,
    FLOW_WANTS,
    FLOW_EXCLUDES, /* it is left out on purpose */
};

/* Does the policy select this source topic?  Called on the flow's thread, for
 * every topic of the source at each refresh.  *why NULL: nothing was
 * said about it.  Not wanted and *why a clause that lives as long as the flow:
 * it was meant to be left out, or it cannot be told; the topic is listed as
 * skipped, with this reason. */
typedef enum flow_wants flow_wants_fn(void *ctx, const char *topic,
    const char **why);

/* The i-th pattern that selects topics, NULL behind the last one.  `name` gets
 * the one topic that it is for, "" when that may be several. */
typedef const char *flow_pattern_fn(void *ctx, size_t i, char *name,
    size_t size);

/* Did that selection, of this policy or an earlier one, have the topic?  True
 * as well when it cannot be told.  Called on the flow's thread, after a change
 * of topics. */
typedef bool flow_selected_fn(void *ctx, const char *selection,
    const char *topic);

struct flow_options {
    const char *name, *agent; /* copied */
    struct route route;       /* its texts are copied */
    flow_wants_fn *wants;
    flow_selected_fn *selected;
    flow_pattern_fn *pattern;   /* to say what matches nothing; NULL is fine */
    void *wants_ctx;            /* of all three */
    const char *selection;      /* what selected() reads; as long as the flow */
    uint64_t fingerprint;       /* of topics and start */
    enum start start;           /* for what exists at the first start */
    int64_t start_wall_ms;      /* of START_TIME */
    int64_t refresh_ms;         /* how often topics are looked at */
    int64_t commit_interval_ms; /* 0: 500 */
    int64_t max_in_flight_bytes; /* at least 1 MiB */
    int64_t bytes_per_second;    /* 0: no limit */
    int64_t drain_ms;            /* how long draining may take; 0: 25000 */
    int32_t lanes;               /* of a new ledger; 0: 8 */
    bool hold_partition_only;    /* failure_scope: partition */
    bool shared_target;          /* others write the target topics too */
    bool judge_size;             /* nothing is compressed on the way: a record
                                    * above the target's max.message.bytes is
                                    * refused before it is sent */
    bool at_source;              /* for the report alone */
    /* Taken by flow_new() when it succeeds; freed by the flow. */
    struct source source;
    struct sink sink;
    struct group group;
    struct ledgerstore store;
    struct catalog catalog;
    /* Borrowed for the life of the flow. */
    const struct clock *clock;
    const struct wake *wake; /* the one the five were opened with */
    struct log *log;
    struct metrics *metrics;
};

struct flow;

enum flow_order { FLOW_PAUSE, FLOW_RESUME, FLOW_RESTART };

/* The sink's callbacks are these, with a struct flow_inbox as context that the
 * caller makes before the sink and gives to flow_new(). */
struct flow_inbox;
struct flow_inbox *flow_inbox_new(struct err *err) MUST_CHECK;
void flow_inbox_free(struct flow_inbox *inbox); /* NULL; unused ones alone */
void flow_on_done(void *inbox, const struct sink_done *done);
void flow_on_failed(void *inbox, int32_t lane, const struct err *err);

/* NULL with err; then the five interfaces are still the caller's, and so is
 * the inbox. */
struct flow *flow_new(const struct flow_options *options,
    struct flow_inbox *inbox, struct err *err) MUST_CHECK;

/* Starts the thread. */
bool flow_start(struct flow *flow, struct err *err) MUST_CHECK;

/* Pause keeps the lanes; restart lets a held flow or partition try the same
 * record again.  False when sixteen orders are waiting already. */
bool flow_order(struct flow *flow, enum flow_order order) MUST_CHECK;

/* Stop reading, wait for what is on the wire, write the entries, give the
 * lanes up.  Returns at once; a second call does not wait for anything. */
void flow_drain(struct flow *flow);

/* True once the thread has ended by flow_drain(); `drained` says whether
 * everything on the wire was acknowledged and written down. */
bool flow_stopped(const struct flow *flow, bool *drained);

/* Gives the newest report, once; NULL when there is no newer one. */
struct flow_report *flow_take_report(struct flow *flow);

/* Joins a stopped (or never started) flow and frees all it owns. */
void flow_free(struct flow *flow);

#endif
