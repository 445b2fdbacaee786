/* flowfix.h - a flow over the five interfaces in memory, turned by hand.
 *
 * Time stands still but for flowfix_go(), and the books of the flow are looked
 * at after every turn.   Included once in a test. */
#ifndef KEDGE_FLOWFIX_H
#define KEDGE_FLOWFIX_H

#include "flowset.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct flowfix {
    struct memory *memory;
    struct metrics *metrics;
    struct flow_inbox *inbox;
    struct flow_options options;
    struct flow *flow;
    struct flow_report *report; /* the newest */
    bool ended;
    const char *unwanted;  /* a topic that the policy does not select */
    const char *excluded;  /* one that it leaves out on purpose */
    const char *named;     /* one that it names, with options.pattern */
    const char *undecided; /* one of which it cannot be told */
};

/* A selection is the names of the topics here. */
static inline bool
flowfix_selected(void *ctx, const char *selection, const char *topic)
{
    (void)ctx;
    return strstr(selection, topic) != NULL;
}

static inline enum flow_wants
flowfix_wants(void *ctx, const char *topic, const char **why)
{
    const struct flowfix *fix = ctx;

    *why = NULL;
    if (fix->undecided != NULL && strcmp(fix->undecided, topic) == 0) {
        *why = "a pattern gives up on it";
        return FLOW_WANTS_NOT;
    }
    if (fix->excluded != NULL && strcmp(fix->excluded, topic) == 0) {
        *why = "it is excluded";
        return FLOW_EXCLUDES;
    }
    return fix->unwanted == NULL || strcmp(fix->unwanted, topic) != 0
               ? FLOW_WANTS
               : FLOW_WANTS_NOT;
}

/* A plain name, and a pattern for many. */
static inline const char *
flowfix_pattern(void *ctx, size_t i, char *name, size_t size)
{
    const struct flowfix *fix = ctx;

    (void)snprintf(name, size, "%s", i == 0 ? fix->named : "");
    return i == 0 ? fix->named : i == 1 ? "u.*" : NULL;
}

/* Options that a test may change before flowfix_start(). */
static inline void
flowfix_init(struct flowfix *fix, int32_t lanes)
{
    *fix = (struct flowfix){ .memory = memory_new(lanes),
        .metrics = metrics_new() };
    fix->options = (struct flow_options){ .name = "orders",
        .agent = "agent-1",
        .route = { RENAME_IDENTITY, ".", "plant", "cloud" },
        .wants = flowfix_wants,
        .selected = flowfix_selected,
        .selection = "t",
        .wants_ctx = fix,
        .fingerprint = 7,
        .refresh_ms = 5000,
        .commit_interval_ms = 100,
        .max_in_flight_bytes = INT64_C(16) << 20,
        .source = memory_source(fix->memory),
        .sink = memory_sink(fix->memory),
        .group = memory_group(fix->memory),
        .store = memory_store(fix->memory),
        .catalog = memory_catalog(fix->memory),
        .clock = &fix->memory->clock,
        .wake = &fix->memory->wake,
        .metrics = fix->metrics };
}

/* How many lines of this event, at INFO and above. */
struct flowfix_lines {
    const char *event;
    int n;
};

static inline void
flowfix_on_line(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    struct flowfix_lines *lines = ctx;

    (void)level;
    (void)fields;
    lines->n += strcmp(event, lines->event) == 0;
}

/* Before the flow is made; the log is freed by the test, after it. */
static inline struct log *
flowfix_count(struct flowfix *fix, struct flowfix_lines *lines)
{
    struct err err;
    struct log *log =
        log_new(STDERR_FILENO, LEVEL_INFO, &fix->memory->clock, &err);

    assert_non_null(log);
    log_set_sink(log, flowfix_on_line, lines);
    fix->options.log = log;
    return log;
}

static inline void
flowfix_make(struct flowfix *fix)
{
    struct err err;

    fix->inbox = flow_inbox_new(&err);
    assert_non_null(fix->inbox);
    fix->memory->ctx = fix->inbox;
    fix->memory->done = flow_on_done;
    fix->memory->failed = flow_on_failed;
    fix->flow = flow_new(&fix->options, fix->inbox, &err);
    assert_non_null(fix->flow);
    fix->ended = false;
}

/* A new topic with one partition, which belongs to that lane. */
static inline struct memory_topic *
flowfix_in_lane(struct flowfix *fix, int32_t lane, int64_t records,
    int32_t bytes)
{
    char name[16];
    int i = 0;

    do
        (void)snprintf(name, sizeof name, "t%d", i++);
    while (ledger_lane(name, 0, fix->memory->lanes) != lane ||
           memory_find(fix->memory, name) != NULL);
    return memory_topic(fix->memory, name, 1, records, bytes);
}

static inline void
flowfix_check_books(const struct flowfix *fix)
{
    int64_t cost = 0;

    for (int32_t i = 0; i < fix->flow->n_lanes; i++) {
        const struct flow_lane *lane = &fix->flow->lane[i];

        assert_true(lane->queued_cost >= 0 && lane->sink_cost >= 0);
        assert_true((lane->n == 0) == (lane->queued_cost == 0));
        cost += lane->queued_cost + lane->sink_cost;
    }
    assert_int_equal(fix->flow->cost, cost);
}

/* Turns until there is nothing to do at this moment. */
static inline void
flowfix_turn(struct flowfix *fix)
{
    struct flow_report *report;
    bool busy = true;

    for (int i = 0; i < 2000 && busy && !fix->ended; i++) {
        fix->ended = !flow_turn(fix->flow, &busy);
        flowfix_check_books(fix);
    }
    assert_false(busy && !fix->ended);
    if ((report = flow_take_report(fix->flow)) == NULL)
        return;
    report_free(fix->report);
    fix->report = report;
}

static inline void
flowfix_go(struct flowfix *fix, int64_t ms)
{
    for (int64_t passed = 0; passed < ms && !fix->ended; passed += 20) {
        memory_pass(fix->memory, 20);
        flowfix_turn(fix);
    }
}

/* A flow that has found its topics and owns its lanes. */
static inline void
flowfix_start(struct flowfix *fix)
{
    flowfix_make(fix);
    flowfix_go(fix, 1500);
}

static inline void
flowfix_stop(struct flowfix *fix)
{
    flow_drain(fix->flow);
    flowfix_go(fix, 30000);
    assert_true(fix->ended);
    assert_int_equal(fix->flow->cost, 0);
    /* The source stays, when a client that was left behind has records of it. */
    assert_int_equal(fix->memory->freed,
        fix->memory->closed.leaked > 0 ? 4 : 5);
    flow_free(fix->flow);
    fix->memory->freed = 0;
    report_free(fix->report);
    fix->report = NULL;
}

static inline void
flowfix_free(struct flowfix *fix)
{
    flowfix_stop(fix);
    metrics_free(fix->metrics);
    memory_free(fix->memory);
}

static inline void
flowfix_order(struct flowfix *fix, enum flow_order order)
{
    assert_true(flow_order(fix->flow, order));
    flowfix_turn(fix);
}

static inline const struct report_part *
flowfix_part(const struct flowfix *fix, const char *topic, int32_t partition)
{
    for (size_t i = 0; fix->report != NULL && i < fix->report->n_parts; i++) {
        const struct report_part *part = &fix->report->parts[i];

        if (part->partition == partition && strcmp(part->topic, topic) == 0)
            return part;
    }
    return NULL;
}

static inline struct part *
flowfix_inside(const struct flowfix *fix, const char *topic, int32_t partition)
{
    struct part *part = parts_get(fix->flow->parts, topic, partition);

    assert_non_null(part);
    return part;
}

#endif
