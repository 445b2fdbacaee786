#include "runner.h"

#include "health.h"
#include "kflow.h"
#include "loaded.h"
#include "match.h"
#include "policy.h"
#include "selection.h"

#include <stdlib.h>
#include <string.h>

#define LANES 8

/* Everything but the flow itself is own to the main thread. */
struct runner {
    struct loaded *loaded;
    struct kwatch *watch;
    const struct policy_flow *policy;
    uint64_t signature;
    bool wake_open;
    struct wake wake;
    struct metrics *metrics;
    char selection[LEDGER_SELECTION_MAX];
    struct flow *flow;
    struct flow_report *report; /* the newest, NULL before the first */
    struct health *health;
    bool draining;
};

static enum flow_wants
wants(void *ctx, const char *topic, const char **why)
{
    if (policy_flow_wants(ctx, topic, why))
        return FLOW_WANTS;
    return policy_flow_excludes(ctx, topic) ? FLOW_EXCLUDES : FLOW_WANTS_NOT;
}

static const char *
pattern(void *ctx, size_t i, char *name, size_t size)
{
    const struct policy_flow *flow = ctx;

    if (i >= flow->include.n)
        return NULL;
    if (match_is_loose(flow->include.items[i]))
        (void)snprintf(name, size, "%s", flow->include.items[i]);
    else if (!match_stem(flow->include.items[i], name, size))
        name[0] = '\0';
    return flow->include.items[i];
}

static bool
selected(void *ctx, const char *selection, const char *topic)
{
    (void)ctx;
    return selection_has(selection, topic);
}

/* The names that a flow has in Kafka. */
struct names {
    char ledger[LEDGER_NAME_MAX];
    char group[LEDGER_NAME_MAX];
};

static void
make_names(struct names *names, const struct policy_flow *flow)
{
    (void)snprintf(names->group, sizeof names->group, "kedge.%s.%s",
        flow->from_name, flow->name);
    (void)snprintf(names->ledger, sizeof names->ledger, "kedge.%s.%s.ledger",
        flow->from_name, flow->name);
}

static bool
open_kafka(struct runner *runner, const struct runner_options *options,
    struct flow_inbox *inbox, struct kflow *kflow, struct err *err)
{
    const struct policy_flow *flow = options->flow;
    struct names names;
    struct kflow_options kafka = {
        .flow = flow->name,
        .from = flow->from_name,
        .agent = options->agent,
        .source = loaded_source(options->loaded, flow),
        .target = loaded_target(options->loaded, flow),
        .watch = options->watch,
        .lanes = LANES,
        .replication_factor = flow->replication_factor > 0
                                  ? (int32_t)flow->replication_factor
                                  : -1,
        .create_topics = flow->create_topics,
        .compression = flow->compression,
        .linger_ms = flow->linger_ms,
        .prefetch_bytes = flow->max_in_flight_bytes / FLOW_PREFETCH_SHARE,
        .source_far = flow->at_target,
        .done = flow_on_done,
        .failed = flow_on_failed,
        .sink_ctx = inbox,
        .wake = &runner->wake,
        .log = options->log,
        .metrics = runner->metrics,
    };

    make_names(&names, flow);
    kafka.ledger_topic = names.ledger;
    kafka.group_id = names.group;
    return kflow_open(kflow, &kafka, err);
}

static enum start
start_of(const struct policy_flow *flow)
{
    switch (flow->start) {
    case POLICY_EARLIEST:
        return START_EARLIEST;
    case POLICY_LATEST:
        return START_LATEST;
    case POLICY_AT_TIME:
        return START_TIME;
    }
    return START_EARLIEST;
}

static struct flow *
make_flow(struct runner *runner, const struct runner_options *options,
    struct flow_inbox *inbox, const struct kflow *kflow, struct err *err)
{
    const struct policy_flow *flow = options->flow;
    const struct flow_options made = {
        .name = flow->name,
        .agent = options->agent,
        .route = { .rename = flow->rename == POLICY_PREFIX ? RENAME_PREFIX
                                                           : RENAME_IDENTITY,
            .separator = flow->separator,
            .from = flow->from_name,
            .to = flow->to_name },
        .wants = wants,
        .pattern = pattern,
        .selected = selected,
        .selection = runner->selection,
        .wants_ctx = (void *)(uintptr_t)flow,
        .fingerprint = policy_fingerprint(flow),
        .start = start_of(flow),
        .start_wall_ms = flow->start_wall_ms,
        .refresh_ms = flow->refresh_ms,
        .max_in_flight_bytes = flow->max_in_flight_bytes,
        .bytes_per_second = flow->bytes_per_second,
        .drain_ms = options->drain_ms,
        .lanes = LANES,
        .hold_partition_only = flow->failure_scope == POLICY_STOP_PARTITION,
        .shared_target = flow->shared_target,
        .judge_size = strcmp(flow->compression, "none") == 0,
        .at_source = flow->at_source,
        .source = kflow->source,
        .sink = kflow->sink,
        .group = kflow->group,
        .store = kflow->store,
        .catalog = kflow->catalog,
        .clock = options->clock,
        .wake = &runner->wake,
        .log = options->log,
        .metrics = runner->metrics,
    };

    return flow_new(&made, inbox, err);
}

/* The inbox, Kafka and the flow, which takes both. */
static bool
open_flow(struct runner *runner, const struct runner_options *options,
    struct err *err)
{
    struct flow_inbox *inbox = flow_inbox_new(err);
    struct kflow kflow;

    if (inbox == NULL)
        return false;
    if (!open_kafka(runner, options, inbox, &kflow, err)) {
        flow_inbox_free(inbox);
        return false;
    }
    runner->flow = make_flow(runner, options, inbox, &kflow, err);
    if (runner->flow == NULL) {
        kflow_close(&kflow);
        flow_inbox_free(inbox);
        return false;
    }
    return flow_start(runner->flow, err);
}

static bool
start(struct runner *runner, const struct runner_options *options,
    struct err *err)
{
    if (!wake_open(&runner->wake, err))
        return false;
    runner->wake_open = true;
    runner->metrics = metrics_new();
    runner->health = health_new(clock_mono_ms(options->clock));
    if (runner->metrics == NULL || runner->health == NULL)
        return err_set(err, ERR_MEMORY, "counters");
    return open_flow(runner, options, err);
}

struct runner *
runner_start(const struct runner_options *options, struct err *err)
{
    struct runner *runner = calloc(1, sizeof *runner);

    if (runner == NULL) {
        err_set(err, ERR_MEMORY, "flow %s", options->flow->name);
        return NULL;
    }
    runner->loaded = loaded_keep(options->loaded);
    runner->watch = options->watch;
    runner->policy = options->flow;
    runner->signature = loaded_signature(options->loaded, options->flow);
    selection_text(options->flow, runner->selection, sizeof runner->selection);
    if (!start(runner, options, err)) {
        err_wrap(err, "flow %s", options->flow->name);
        runner_free(runner);
        return NULL;
    }
    return runner;
}

void
runner_free(struct runner *runner)
{
    if (runner == NULL)
        return;
    flow_free(runner->flow);
    report_free(runner->report);
    health_free(runner->health);
    /* A client that was left behind may go on using what it was given: wake,
     * metrics, log and policy, for good. */
    if (runner->watch != NULL && kflow_watch_leaked(runner->watch))
        return;
    metrics_free(runner->metrics);
    if (runner->wake_open)
        wake_close(&runner->wake);
    loaded_drop(runner->loaded);
    free(runner);
}

void
runner_tick(struct runner *runner, int64_t now_ms)
{
    struct flow_report *newer = flow_take_report(runner->flow);

    if (newer == NULL)
        return;
    health_note(runner->health, newer,
        metric_get(runner->metrics, METRIC_RECORDS_ACKED),
        metric_get(runner->metrics, METRIC_BYTES_ACKED), now_ms);
    report_free(runner->report);
    runner->report = newer;
}

const char *
runner_name(const struct runner *runner)
{
    return runner->policy->name;
}

uint64_t
runner_signature(const struct runner *runner)
{
    return runner->signature;
}

bool
runner_order(struct runner *runner, enum flow_order order)
{
    return flow_order(runner->flow, order);
}

void
runner_drain(struct runner *runner)
{
    runner->draining = true;
    flow_drain(runner->flow);
}

bool
runner_draining(const struct runner *runner)
{
    return runner->draining;
}

bool
runner_stopped(const struct runner *runner, bool *drained)
{
    return flow_stopped(runner->flow, drained);
}

bool
runner_live(const struct runner *runner, int64_t now_ms)
{
    return health_live(runner->health, now_ms);
}

void
runner_view(const struct runner *runner, int64_t now_ms, struct view_flow *view)
{
    *view = (struct view_flow){
        .name = runner->policy->name,
        .from = runner->policy->from_name,
        .to = runner->policy->to_name,
        .report = runner->report,
        .metrics = runner->metrics,
        .records_per_s = health_records_per_s(runner->health),
        .bytes_per_s = health_bytes_per_s(runner->health),
    };
    view->ready = health_ready(runner->health, runner->report, now_ms,
        view->why, sizeof view->why);
    view->starting = health_starting(runner->health, runner->report, now_ms);
}
