/* lanefix.h - lanes over the group and ledger store in memory, turned by hand,
 * with a flow that notes what it was asked.
 *
 * One lane and the two partitions of topic "t".  Included once in a test. */
#ifndef KEDGE_LANEFIX_H
#define KEDGE_LANEFIX_H

#include "laneset.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>

struct lanefix {
    struct memory *memory;
    struct metrics *metrics;
    struct parts *parts;
    struct lanes *lanes;
    struct lanes_options options;
    /* what the lanes asked of the flow */
    int resolves, opens, closes, drops, asks, answered, refusals;
    int64_t ahead_ms; /* this machine's wall clock, of the brokers' */
    bool no_memory;   /* for a question about ends */
    enum start start;
    int64_t start_wall_ms;
    struct part *resolving;
};

static inline void
lanefix_ops_resolve(void *ctx, struct part *part, enum start start,
    int64_t wall_ms)
{
    struct lanefix *fix = ctx;

    fix->resolves++;
    fix->resolving = part;
    fix->start = start;
    fix->start_wall_ms = wall_ms;
}

static inline void
lanefix_ops_open(void *ctx, struct part *part)
{
    assert_non_null(part->tracker);
    assert_int_equal(part->phase, PHASE_OPEN);
    ((struct lanefix *)ctx)->opens++;
}

static inline void
lanefix_ops_close(void *ctx, struct part *part)
{
    assert_non_null(part->tracker);
    ((struct lanefix *)ctx)->closes++;
}

static inline bool
lanefix_ops_selected(void *ctx, const char *selection, const char *topic)
{
    (void)ctx;
    return strstr(selection, topic) != NULL;
}

static inline void
lanefix_ops_drop(void *ctx, int32_t lane)
{
    (void)lane;
    ((struct lanefix *)ctx)->drops++;
}

static inline bool
lanefix_ops_ask_ends(void *ctx, int32_t lane)
{
    struct lanefix *fix = ctx;

    (void)lane;
    if (fix->no_memory) {
        fix->refusals++;
        return false;
    }
    fix->asks++;
    return true;
}

static const struct lanes_ops lanefix_ops = { lanefix_ops_resolve,
    lanefix_ops_open, lanefix_ops_close, lanefix_ops_selected, lanefix_ops_drop,
    lanefix_ops_ask_ends };

static inline void
lanefix_make(struct lanefix *fix)
{
    struct err err;
    struct topic *topic;

    fix->parts = fix->options.parts = parts_new(1, &err);
    assert_non_null(fix->parts);
    for (int32_t i = 0; i < 2; i++)
        assert_non_null(parts_get(fix->parts, "t", i));
    topic = parts_topic(fix->parts, "t");
    topic->selected = topic->exists = true;
    topic->partitions = topic->target_partitions = 2;
    (void)snprintf(topic->target, sizeof topic->target, "t");
    fix->lanes = lanes_new(&fix->options, &err);
    assert_non_null(fix->lanes);
}

static inline void
lanefix_init(struct lanefix *fix)
{
    *fix =
        (struct lanefix){ .memory = memory_new(1), .metrics = metrics_new() };
    fix->options = (struct lanes_options){ .flow = "f",
        .agent = "a",
        .from = "plant",
        .to = "cloud",
        .rename = "identity",
        .fingerprint = 7,
        .selection = "t",
        .commit_interval_ms = 100,
        .n_lanes = 1,
        .group = memory_group(fix->memory),
        .store = memory_store(fix->memory),
        .metrics = fix->metrics,
        .ops = &lanefix_ops,
        .ctx = fix,
        .seed = 1 };
    lanefix_make(fix);
}

static inline void
lanefix_unmake(struct lanefix *fix)
{
    lanes_leave(fix->lanes);
    lanes_free(fix->lanes);
    parts_free(fix->parts);
    fix->memory->n_told = 0;
    memset(fix->memory->proofs_owed, 0, sizeof fix->memory->proofs_owed);
    fix->memory->headers_asked = false;
}

static inline void
lanefix_end(struct lanefix *fix)
{
    lanefix_unmake(fix);
    metrics_free(fix->metrics);
    memory_free(fix->memory);
}

static inline struct lane *
lanefix_lane_of(const struct lanefix *fix)
{
    return &fix->lanes->lane[0];
}

static inline int64_t
lanefix_wall(const struct lanefix *fix, int64_t now_ms)
{
    return MEMORY_WALL + now_ms + fix->ahead_ms;
}

/* Events and answers, one after the other, until there are none. */
static inline void
lanefix_settle(struct lanefix *fix)
{
    struct group_event event;
    struct store_answer answer;
    int64_t now_ms = clock_mono_ms(&fix->memory->clock);
    bool more = true;

    for (int i = 0; more; i++) {
        assert_true(i < 1000);
        more = false;
        if (fix->options.group.ops->event(fix->memory, &event)) {
            lanes_on_group(fix->lanes, &event, now_ms);
            more = true;
        }
        if (fix->options.store.ops->answer(fix->memory, &answer)) {
            lanes_on_answer(fix->lanes, &answer, lanefix_wall(fix, now_ms),
                now_ms);
            assert_null(answer.records);
            more = true;
        }
    }
}

/* Every target partition of the lane ends where the test says, or right behind
 * what it acknowledged. */
static inline void
lanefix_answer_ends(struct lanefix *fix, int64_t now_ms)
{
    if (fix->asks == fix->answered)
        return;
    fix->answered = fix->asks;
    for (struct part *part = parts_of_lane(fix->parts, 0); part != NULL;
         part = part->next_in_lane)
        part->target_end = fix->memory->target_ends != 0
                               ? fix->memory->target_ends
                           : part->known ? part->entry.target_offset + 1
                                         : 0;
    lanes_ends(fix->lanes, 0, lanefix_wall(fix, now_ms), now_ms);
}

static inline void
lanefix_go(struct lanefix *fix, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 20) {
        int64_t now_ms;

        memory_pass(fix->memory, 20);
        lanefix_settle(fix);
        now_ms = clock_mono_ms(&fix->memory->clock);
        lanefix_answer_ends(fix, now_ms);
        lanes_tick(fix->lanes, lanefix_wall(fix, now_ms), now_ms);
        lanefix_settle(fix);
    }
}

static inline void
lanefix_start(struct lanefix *fix)
{
    lanes_start(fix->lanes, "plant-id", "ledger-id",
        clock_mono_ms(&fix->memory->clock));
    lanefix_go(fix, 60);
}

static inline void
lanefix_resolve(struct lanefix *fix, int64_t offset)
{
    for (int32_t i = 0; i < 2; i++)
        lanes_resolved(fix->lanes, parts_at(fix->parts, i), offset);
    lanefix_go(fix, 200);
}

static inline void
lanefix_own(struct lanefix *fix)
{
    lanefix_start(fix);
    assert_int_equal(lanes_state(fix->lanes, 0), LANE_OWNED);
    lanefix_resolve(fix, 0);
    assert_int_equal(fix->opens, 2);
}

/* So many records of partition 0 are read and acknowledged. */
static inline void
lanefix_ack(struct lanefix *fix, int n)
{
    struct tracker *tracker = parts_at(fix->parts, 0)->tracker;

    for (int i = 0; i < n; i++) {
        int64_t offset = tracker_read_next(tracker);

        assert_true(tracker_add(tracker, offset, 10, 0));
        tracker_ack(tracker, offset, offset);
        parts_at(fix->parts, 0)->sent_next = offset + 1;
    }
}

#endif
