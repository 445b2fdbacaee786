/* The ledger as the catalog found it: from then on the lanes are known. */
#include "flowset.h"
#include "flowsource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_MS 90000    /* more than joining takes, whatever others do */
#define LEDGER_MISSED 2 /* answers, until it is believed to be gone */

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
refuse_ledger(struct flow *flow, const char *why)
{
    flow->failed = true;
    flow_enter(flow, FLOW_HELD, why);
}

/* Where somebody has to do something it is said once. */
static void
ledger_waits(struct flow *flow, const struct err *err)
{
    if (flow->state != FLOW_CONNECTING || strcmp(flow->reason, err->text) == 0)
        return;
    if (!err->retry)
        LOG(flow->o.log, LEVEL_WARN, "ledger.waits", kv_str("flow", flow->name),
            kv_str("cluster", flow->to), kv_str("error", err->text));
    flow_enter(flow, FLOW_CONNECTING, err->text);
}

/* Nothing is sent without a place to write down how far it is. */
static void
hold(struct flow *flow, const char *why)
{
    const char *was = lanes_refused(flow->lanes);

    if (was != NULL && strcmp(was, why) == 0)
        return;
    flow->ledger_gone = true;
    flow->left = true; /* a list brings it back, once the ledger is */
    lanes_quit(flow->lanes, why);
}

/* Positions are gone: nothing is made in its place before somebody has read
 * what that means. */
static void
lost(struct flow *flow, const char *what)
{
    char why[REPORT_TEXT_MAX];

    (void)snprintf(why, sizeof why,
        "the ledger %.70s was deleted at %.30s%.16s: how far it had come is "
        "not known any more, and nothing is sent. 'kedge flow restart %.40s' "
        "%s; %s",
        flow->ledger, flow->to, what, flow->name,
        flow->ledger_missed > 0 ? "makes it anew" : "takes the new one",
        flow->o.shared_target
            ? "all that 'start' selects is sent again then"
            : "what has copies there is held then: delete those too, or "
              "forward by a flow of another name");
    hold(flow, why);
}

/* A broker that has just started may not know all topics: once is never. */
static void
missed(struct flow *flow, int64_t now_ms)
{
    if (flow->ledger_missed < LEDGER_MISSED)
        flow->ledger_missed++;
    if (flow->ledger_missed == LEDGER_MISSED)
        lost(flow, "");
    else
        flow->refresh_at_ms = now_ms + FLOW_AGAIN_MS;
}

/* The target answers.  A member that stays out of its group all the same may
 * have a client that waits for a broker and does not look for it any more, as
 * when the target was frozen and had no brokers for a moment: another is made,
 * as when the source was away. */
static void
rejoin(struct flow *flow, int64_t now_ms)
{
    if (!flow->joined || flow->group_refuses ||
        (flow->member && flow->group_reason[0] == '\0')) {
        flow->out_ms = 0;
    } else if (flow->out_ms == 0) {
        flow->out_ms = now_ms;
    } else if (now_ms - flow->out_ms >= OUT_MS) {
        LOG(flow->o.log, LEVEL_WARN, "group.left", kv_str("flow", flow->name),
            kv_str("why", "the target answers, and its group does not let this "
                          "agent in: it is joined anew"));
        lanes_leave(flow->lanes);
        flow->left = true;
        flow->out_ms = flow->refresh_at_ms = 0;
    }
}

/* It is there.  The one that was found? */
static void
looked(struct flow *flow, const char *id)
{
    flow->ledger_missed = 0;
    if (flow->ledger_id[0] == '\0' || id[0] == '\0')
        return; /* cannot be told */
    if (strcmp(flow->ledger_id, id) != 0) {
        lost(flow, " and made anew");
    } else if (flow->ledger_gone) {
        flow->ledger_gone = false;
        flow->refresh_at_ms = 0;
    }
}

/* The first one, or the one that an operator's restart takes or makes. */
static void
found(struct flow *flow, const struct catalog_event *event)
{
    char why[REPORT_TEXT_MAX];
    struct err err;

    if (event->partitions > LEDGER_LANES_MAX) {
        (void)snprintf(why, sizeof why,
            "the ledger %.90s has %d partitions, %d is the most that a flow's "
            "lanes can be: forward, in the policy, by a flow of another name, "
            "or delete the topic if nothing was forwarded yet; then 'kedge "
            "flow restart %s'",
            flow->ledger, event->partitions, LEDGER_LANES_MAX, flow->name);
        refuse_ledger(flow, why);
        return;
    }
    if (flow->lanes != NULL && event->partitions != flow->n_lanes) {
        (void)snprintf(why, sizeof why,
            "the ledger %.90s was made anew with %d partitions, and had %d: "
            "delete it and say 'kedge flow restart %s' again, or stop the "
            "agent and start it to take it as it is",
            flow->ledger, event->partitions, flow->n_lanes, flow->name);
        refuse_ledger(flow, why);
        return;
    }
    if (flow->lanes == NULL && !make_lanes(flow, event->partitions, &err)) {
        LOG(flow->o.log, LEVEL_ERROR, "flow.lanes", kv_str("flow", flow->name),
            kv_str("error", err.text));
        return;
    }
    (void)snprintf(flow->ledger_id, sizeof flow->ledger_id, "%s", event->id);
    flow->ledger_known = true;
    flow->ledger_gone = false;
    flow->refresh_at_ms = 0;
}

/* While the target is away there is no answer, and others wait behind it. */
void
flowledger_ask(struct flow *flow)
{
    if (flow->ledger_asked || flow->failed ||
        (flow->ledger_known && flow->target_link == FLOW_LINK_DOWN))
        return;
    flow->ledger_asked = true;
    flow->o.catalog.ops->ensure_ledger(flow->o.catalog.self, flow->ledger,
        flow->ledger_known ? 0 : flow->o.lanes);
}

void
flowledger_restart(struct flow *flow)
{
    if (!flow->ledger_gone)
        return;
    flow->ledger_known = false;
    flow->ledger_missed = 0;
}

void
flowledger_answer(struct flow *flow, const struct catalog_event *event,
    int64_t now_ms)
{
    flow->ledger_asked = false;
    if (event->kind == CATALOG_LEDGER && !flow->ledger_known)
        flowtopics_up(flow, false);
    if (flow->draining)
        return;
    if (event->kind == CATALOG_LEDGER && flow->ledger_known) {
        looked(flow, event->id);
        rejoin(flow, now_ms);
    } else if (event->kind == CATALOG_LEDGER) {
        found(flow, event);
    } else if (event->kind == CATALOG_LEDGER_GONE && flow->ledger_known) {
        missed(flow, now_ms);
    } else if (event->kind == CATALOG_LEDGER_GONE) {
        flow->refresh_at_ms = 0; /* was asked before the restart */
    } else if (!flow->ledger_known) {
        flow->refresh_at_ms = now_ms + FLOW_AGAIN_MS;
        if (flowtopics_away(&event->err))
            flowtopics_down(flow, false, &event->err, now_ms);
        else if (flow->ledger_gone)
            hold(flow, event->err.text);
        else
            ledger_waits(flow, &event->err);
    }
}
