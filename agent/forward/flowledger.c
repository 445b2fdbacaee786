/* The ledger as the catalog found it: from then on the lanes are known. */
#include "flowset.h"
#include "flowsource.h"

#include <stdio.h>
#include <stdlib.h>

static bool
selected(void *ctx, const char *selection, const char *topic)
{
    const struct flow *flow = ctx;

    return flow->o.selected(flow->o.wants_ctx, selection, topic);
}

static const struct lanes_ops lanes_ops = {
    .resolve = flowsource_resolve,
    .open = flowlane_open,
    .close = flowlane_close,
    .selected = selected,
    .drop = flowlane_drop,
    .ask_ends = flowtopics_ask_ends,
};

static uint64_t
seed_of(const struct flow *flow)
{
    uint64_t seed = (uint64_t)clock_wall_ms(flow->o.clock);

    return (seed << 20) ^ (uint64_t)(uintptr_t)flow ^
           ((uint64_t)clock_mono_ms(flow->o.clock) << 40);
}

/* The ledger is there: from now on the number of lanes is known. */
static bool
make_lanes(struct flow *flow, int32_t n_lanes, struct err *err)
{
    struct lanes_options options = {
        .flow = flow->name,
        .agent = flow->agent,
        .from = flow->from,
        .to = flow->to,
        .rename = flow->rename,
        .fingerprint = flow->o.fingerprint,
        .selection = flow->o.selection,
        .start = flow->o.start,
        .start_wall_ms = flow->o.start_wall_ms,
        .commit_interval_ms = flow->o.commit_interval_ms,
        .n_lanes = n_lanes,
        .shared_target = flow->o.shared_target,
        .group = flow->o.group,
        .store = flow->o.store,
        .log = flow->o.log,
        .metrics = flow->o.metrics,
        .ops = &lanes_ops,
        .ctx = flow,
        .seed = seed_of(flow),
    };

    if ((flow->parts = parts_new(n_lanes, err)) == NULL)
        return false;
    options.parts = flow->parts;
    flow->lane = calloc((size_t)n_lanes, sizeof flow->lane[0]);
    if (flow->lane == NULL)
        err_set(err, ERR_MEMORY, "%d lanes", n_lanes);
    else
        flow->lanes = lanes_new(&options, err);
    if (flow->lanes != NULL) {
        flow->n_lanes = n_lanes;
        return true;
    }
    free(flow->lane);
    parts_free(flow->parts);
    flow->lane = NULL;
    flow->parts = NULL;
    return false;
}

/* It is asked for again when an operator says restart. */
static void
refuse_ledger(struct flow *flow, int32_t partitions)
{
    char why[REPORT_TEXT_MAX];

    (void)snprintf(why, sizeof why,
        "the ledger %.90s has %d partitions, %d is the most that a flow's "
        "lanes can be: forward, in the policy, by a flow of another name, or "
        "delete the topic if nothing was forwarded yet; then 'kedge flow "
        "restart %s'",
        flow->ledger, partitions, LEDGER_LANES_MAX, flow->name);
    flow->failed = true;
    flow_enter(flow, FLOW_HELD, why);
}

void
flowledger_found(struct flow *flow, const struct catalog_event *event)
{
    struct err err;

    flowtopics_up(flow, false);
    if (flow->ledger_known || flow->draining)
        return;
    if (event->partitions > LEDGER_LANES_MAX) {
        refuse_ledger(flow, event->partitions);
        flow->ledger_asked = false;
        return;
    }
    if (event->partitions < 1)
        err_set(&err, ERR_KAFKA, "the ledger has no partitions");
    if (event->partitions < 1 || !make_lanes(flow, event->partitions, &err)) {
        LOG(flow->o.log, LEVEL_ERROR, "flow.lanes", kv_str("flow", flow->name),
            kv_str("error", err.text));
        flow->ledger_asked = false;
        return;
    }
    (void)snprintf(flow->ledger_id, sizeof flow->ledger_id, "%s", event->id);
    flow->ledger_known = true;
    flow->refresh_at_ms = 0;
}
