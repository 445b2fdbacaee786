/* lanes.h - which source partitions are ours, taking them over and giving
 * them up: the lane protocol (docs/architecture.md has the picture).
 *
 * A lane goes: assigned by the group -> proved to be ours (the hint is
 * committed as a member) -> a new client fences the predecessor -> a claim of
 * ours is committed -> the lane is read until that claim is seen -> header and
 * entries are checked -> a snapshot is committed -> owned.  A partition's entry
 * is committed before its first record is sent.  From then on the entries
 * follow the unbroken run of acks.  After anything whose outcome is unknown
 * the lane is taken over anew, never continued from memory.
 *
 * Nothing in here waits, reads a clock or knows a thread: events go in, orders
 * to the group, the store and the flow come out, so that a test can explore
 * every interleaving of the code that ships.
 *
 * Thread: the flow's.
 * Memory: bounded by the number of lanes and partitions.
 * Errors: what a person has to mend is a reason of the lane or partition. */
#ifndef KEDGE_LANES_H
#define KEDGE_LANES_H

#include "group.h"
#include "ledgerstore.h"
#include "log.h"
#include "metric.h"
#include "parts.h"
#include "report.h"

/* What lanes ask of the flow.  None of these may call lanes back. */
struct lanes_ops {
    /* Ask the source where `start` is; answer with lanes_resolved(). */
    void (*resolve)(void *ctx, struct part *part, enum start start,
        int64_t wall_ms);
    /* Read from tracker_next(part->tracker) and send. */
    void (*open)(void *ctx, struct part *part);
    /* Stop reading; what is on the wire may still be acknowledged. */
    void (*close)(void *ctx, struct part *part);
    /* Did that selection, of a header, have the topic?  True as well when it
     * cannot be told. */
    bool (*selected)(void *ctx, const char *selection, const char *topic);
    /* The lane is gone: what is queued or on the wire is given up. */
    void (*drop)(void *ctx, int32_t lane);
    /* Where do the lane's target partitions end?  Note it as target_end of
     * each and answer with lanes_ends().  False: cannot be asked now. */
    bool (*ask_ends)(void *ctx, int32_t lane);
};

struct lanes_options {
    const char *flow, *agent, *from, *to, *rename; /* borrowed for life */
    uint64_t fingerprint;                          /* of topics and start */
    const char *selection; /* borrowed for life; what selected() reads; one
                            * that is too long for the header is not told */
    enum start start;      /* for what exists at the first start */
    int64_t start_wall_ms;
    int64_t commit_interval_ms; /* at least 1 */
    int32_t n_lanes;            /* partitions of the ledger */
    bool shared_target;
    struct group group;       /* borrowed */
    struct ledgerstore store; /* borrowed */
    struct parts *parts;      /* borrowed */
    struct log *log;          /* borrowed; NULL is fine */
    struct metrics *metrics;  /* borrowed; NULL is fine */
    const struct lanes_ops *ops;
    void *ctx;
    uint64_t seed; /* makes this agent's nonces its own */
};

struct lanes;

struct lanes *lanes_new(const struct lanes_options *options,
    struct err *err) MUST_CHECK;
void lanes_free(struct lanes *lanes); /* says nothing to group or store */

/* Reads the headers, and joins the group if they fit.  The ids are of the
 * source cluster and of the ledger topic. */
void lanes_start(struct lanes *lanes, const char *source_cluster_id,
    const char *ledger_topic_id, int64_t now_ms);

/* The source cluster of the newest lanes_start(); empty: none. */
const char *lanes_source(const struct lanes *lanes);

/* Why the flow may not join (a wrong site, a ledger that cannot be read);
 * NULL: nothing. */
const char *lanes_refused(const struct lanes *lanes);

/* A member of the group? */
bool lanes_joined(const struct lanes *lanes);

/* Events.  lanes_on_answer() takes what the answer carries. */
void lanes_on_group(struct lanes *lanes, const struct group_event *event,
    int64_t now_ms);
void lanes_on_answer(struct lanes *lanes, struct store_answer *answer,
    int64_t wall_ms, int64_t now_ms);
void lanes_resolved(struct lanes *lanes, struct part *part, int64_t offset);
void lanes_ends(struct lanes *lanes, int32_t lane, int64_t wall_ms,
    int64_t now_ms);

/* What is due: entries, snapshots, retries, partitions that became ready,
 * lanes that are finished.  Several times a second. */
void lanes_tick(struct lanes *lanes, int64_t wall_ms, int64_t now_ms);

/* Finish everything; no partition is opened any more.  What is on the wire is
 * waited for until `deadline_ms`, the last entries two seconds longer. */
void lanes_drain(struct lanes *lanes, int64_t deadline_ms);
/* Leave the group at once (the source is away) and void everything. */
void lanes_leave(struct lanes *lanes);
/* The same, and for good: `why` is what lanes_refused() says until
 * lanes_start(). */
void lanes_quit(struct lanes *lanes, const char *why);
/* All given up?  `clean`: everything that was sent is acked and entered, that
 * of lanes which were lost meanwhile too; of those that were not taken again
 * it is known once another agent must have them. */
bool lanes_idle(const struct lanes *lanes, bool *clean);

/* An operator said restart: held lanes and partitions try again. */
void lanes_retry(struct lanes *lanes, int64_t now_ms);
/* The same for one partition: what held it is gone. */
void lanes_retry_part(struct lanes *lanes, struct part *part);

enum lane_state lanes_state(const struct lanes *lanes, int32_t lane);
const char *lanes_reason(const struct lanes *lanes, int32_t lane);
int64_t lanes_term(const struct lanes *lanes, int32_t lane);

#endif
