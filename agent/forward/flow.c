#include "flow.h"

#include "flowset.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 16
#define SLEEP_MS 50
#define TICK_MS 20
#define SAY_EVERY_MS 60000 /* other reasons of the same state, at INFO: */
#define SAY_MOST 3         /* texts of clients differ from try to try */
#define DRAIN_MS 25000
#define DRAIN_ENTRIES 5 /* a fifth of draining is for the last entries */

#define TO(state) (1u << (state))

static const struct {
    unsigned next; /* the states that may follow; the names: report.h */
} states[FLOW_N_STATES] = {
    [FLOW_IDLE] = { TO(FLOW_CONNECTING) | TO(FLOW_STOPPED) },
    [FLOW_CONNECTING] = { TO(FLOW_RUNNING) | TO(FLOW_PAUSED) | TO(FLOW_HELD) |
                          TO(FLOW_DRAINING) },
    [FLOW_RUNNING] = { TO(FLOW_CONNECTING) | TO(FLOW_PAUSED) | TO(FLOW_HELD) |
                       TO(FLOW_DRAINING) },
    [FLOW_PAUSED] = { TO(FLOW_CONNECTING) | TO(FLOW_RUNNING) | TO(FLOW_HELD) |
                      TO(FLOW_DRAINING) },
    [FLOW_HELD] = { TO(FLOW_CONNECTING) | TO(FLOW_RUNNING) | TO(FLOW_PAUSED) |
                    TO(FLOW_DRAINING) },
    [FLOW_DRAINING] = { TO(FLOW_STOPPED) },
    [FLOW_STOPPED] = { 0 },
};

struct flow_inbox {
    struct flow *flow;
};

struct flow_inbox *
flow_inbox_new(struct err *err)
{
    struct flow_inbox *inbox = calloc(1, sizeof *inbox);

    if (inbox == NULL)
        err_set(err, ERR_MEMORY, "inbox of a flow");
    return inbox;
}

void
flow_inbox_free(struct flow_inbox *inbox)
{
    free(inbox);
}

void
flow_on_done(void *inbox, const struct sink_done *done)
{
    flowmove_done(((struct flow_inbox *)inbox)->flow, done);
}

void
flow_on_failed(void *inbox, int32_t lane, const struct err *err)
{
    flowlane_failed(((struct flow_inbox *)inbox)->flow, lane, err);
}

void
flow_enter(struct flow *flow, enum flow_state next, const char *why)
{
    int64_t now_ms = clock_mono_ms(flow->o.clock);
    bool news = flow->state != next || next == FLOW_HELD;

    if (flow->state == next && strcmp(flow->reason, why) == 0)
        return;
    assert(flow->state == next || (states[flow->state].next & TO(next)) != 0);
    if (news || now_ms - flow->said_ms >= SAY_EVERY_MS) {
        flow->said = 0;
        flow->said_ms = now_ms;
    }
    news = flow->said++ < SAY_MOST;
    LOG(flow->o.log,
        next == FLOW_HELD ? LEVEL_ERROR
        : news            ? LEVEL_INFO
                          : LEVEL_DEBUG,
        "flow.state", kv_str("flow", flow->name),
        kv_str("from", report_flow_state(flow->state)),
        kv_str("to", report_flow_state(next)), kv_str("why", why));
    if (flow->state != next)
        flow->state_since_wall_ms = clock_wall_ms(flow->o.clock);
    flow->state = next;
    (void)snprintf(flow->reason, sizeof flow->reason, "%s", why);
    flow->report_at_ms = 0; /* the news at once */
}

static void
copy_options(struct flow *flow, const struct flow_options *options)
{
    flow->o = *options;
    (void)snprintf(flow->name, sizeof flow->name, "%s", options->name);
    (void)snprintf(flow->agent, sizeof flow->agent, "%s", options->agent);
    (void)snprintf(flow->from, sizeof flow->from, "%s", options->route.from);
    (void)snprintf(flow->to, sizeof flow->to, "%s", options->route.to);
    (void)snprintf(flow->separator, sizeof flow->separator, "%s",
        options->route.separator);
    flow->o.name = flow->name;
    flow->o.agent = flow->agent;
    flow->o.route.from = flow->from;
    flow->o.route.to = flow->to;
    flow->o.route.separator = flow->separator;
    route_describe(&flow->o.route, flow->rename, sizeof flow->rename);
    (void)snprintf(flow->ledger, sizeof flow->ledger, "kedge.%s.%s.ledger",
        flow->from, flow->name);
    if (flow->o.commit_interval_ms == 0)
        flow->o.commit_interval_ms = 500;
    if (flow->o.drain_ms == 0)
        flow->o.drain_ms = DRAIN_MS;
    if (flow->o.lanes == 0)
        flow->o.lanes = 8;
    flow->pace.bytes_per_s = flow->o.bytes_per_second;
}

struct flow *
flow_new(const struct flow_options *options, struct flow_inbox *inbox,
    struct err *err)
{
    struct flow *flow = calloc(1, sizeof *flow);

    if (flow == NULL) {
        err_set(err, ERR_MEMORY, "flow %s", options->name);
        return NULL;
    }
    copy_options(flow, options);
    flow->last_ack_ms = REPORT_UNKNOWN;
    flow->orders = queue_new(ORDERS_MAX, options->wake, err);
    if (flow->orders == NULL) {
        free(flow);
        return NULL;
    }
    flow->inbox = inbox;
    inbox->flow = flow;
    return flow;
}

/* A person mended something.  At the target it may be a topic's limit, and the
 * one that is known must not judge the record again. */
static void
doubt_limits(struct flow *flow)
{
    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        topic->limit_doubted = true;
        topic->refused = false;
    }
}

static void
obey(struct flow *flow, enum flow_order order)
{
    switch (order) {
    case FLOW_PAUSE:
        flow->paused = true;
        break;
    case FLOW_RESUME:
        flow->paused = false;
        break;
    case FLOW_RESTART:
        flow->failed = false;
        flowledger_restart(flow);
        if (flow->lanes != NULL) {
            flowlane_retry(flow);
            if (!flow->ledger_gone)
                lanes_retry(flow->lanes, clock_mono_ms(flow->o.clock));
            doubt_limits(flow);
        }
        flow->refresh_at_ms = 0;
        break;
    }
}

/* What the facts add up to. */
static void
judge(struct flow *flow)
{
    if (flow->draining)
        return;
    if (flow->failed)
        return; /* entered when it happened, with the reason */
    if (flow->lanes != NULL && lanes_refused(flow->lanes) != NULL)
        flow_enter(flow, FLOW_HELD, lanes_refused(flow->lanes));
    else if (flow->joined && flow->group_reason[0] != '\0')
        flow_enter(flow, FLOW_CONNECTING, flow->group_reason);
    else if (flow->joined && flow->member && flow->paused)
        flow_enter(flow, FLOW_PAUSED, "an operator paused it");
    else if (flow->joined && flow->member)
        flow_enter(flow, FLOW_RUNNING,
            flow->none[0] != '\0' ? flow->none : "a member of the group");
    else if (flow->joined)
        flow_enter(flow, FLOW_CONNECTING,
            "the group is being joined: up to half a minute when an agent "
            "ended without leaving it (killed, or cut off), for the target "
            "still waits for that one");
    else if (flow->state != FLOW_CONNECTING)
        flow_enter(flow, FLOW_CONNECTING, "clusters are being reached");
}

/* A group that cannot be joined says so again until it can. */
static void
on_group(struct flow *flow, const struct group_event *event, int64_t now_ms)
{
    if (event->kind == GROUP_FAILED) {
        (void)snprintf(flow->group_reason, sizeof flow->group_reason, "%s",
            event->err.text);
        flow->group_refuses = event->err.kind != ERR_NET;
    } else if (event->kind == GROUP_IN) {
        flow->member = true;
        flow->group_refuses = false;
        flow->group_reason[0] = '\0';
    } else if (event->kind == GROUP_UNSURE)
        flowledger_ask(flow); /* as it is when the ledger is gone */
    flowtopics_group(flow, event, now_ms);
    if (flow->lanes != NULL)
        lanes_on_group(flow->lanes, event, now_ms);
}

static bool
control(struct flow *flow, int64_t now_ms)
{
    int64_t wall_ms = clock_wall_ms(flow->o.clock);
    struct group_event event;
    struct store_answer answer;
    bool busy = false;
    void *order;

    while ((order = queue_pop(flow->orders, 0)) != NULL)
        obey(flow, (enum flow_order)((uintptr_t)order - 1));
    busy = flowtopics_events(flow, now_ms);
    while (flow->o.group.ops->event(flow->o.group.self, &event)) {
        busy = true;
        on_group(flow, &event, now_ms);
    }
    while (flow->o.store.ops->answer(flow->o.store.self, &answer)) {
        busy = true;
        if (flow->lanes != NULL)
            lanes_on_answer(flow->lanes, &answer, wall_ms, now_ms);
        else
            ledger_batch_free(answer.records);
    }
    flowtopics_tick(flow, now_ms);
    if (flow->lanes != NULL) {
        lanes_tick(flow->lanes, wall_ms, now_ms);
        flow->joined = lanes_joined(flow->lanes);
        flow->member = flow->member && flow->joined;
        flow->heard = flow->heard && flow->joined;
    }
    judge(flow);
    return busy;
}

static bool
wound_down(struct flow *flow, int64_t now_ms)
{
    int asked = atomic_load(&flow->drain);
    bool clean = true;

    if (asked == 0)
        return false;
    if (!flow->draining) {
        flow->draining = true;
        flow->drain_by_ms = now_ms + flow->o.drain_ms;
        flow_enter(flow, FLOW_DRAINING, "told to stop");
        if (flow->lanes != NULL)
            lanes_drain(flow->lanes,
                flow->drain_by_ms - flow->o.drain_ms / DRAIN_ENTRIES);
    }
    if (flow->lanes != NULL && !lanes_idle(flow->lanes, &clean) && asked == 1 &&
        now_ms < flow->drain_by_ms + TICK_MS)
        return false;
    atomic_store(&flow->drained, clean && asked == 1);
    return true;
}

static void
end(struct flow *flow, int64_t now_ms)
{
    bool all, drained = atomic_load(&flow->drained) || flow->lanes == NULL;

    if (flow->lanes != NULL)
        lanes_leave(flow->lanes);
    flow_enter(flow, FLOW_STOPPED,
        drained ? "drained"
                : "not everything that was sent was acknowledged and written "
                  "down: it is sent again by whoever has its lanes next");
    flowreport_publish(flow, now_ms);
    flowlane_free(flow);
    all = flow->o.sink.ops->free(flow->o.sink.self);
    flow->o.store.ops->free(flow->o.store.self);
    flow->o.group.ops->free(flow->o.group.self);
    if (all) /* else it is left behind, with the client that holds its records */
        flow->o.source.ops->free(flow->o.source.self);
    flow->o.catalog.ops->free(flow->o.catalog.self);
    atomic_store(&flow->stopped, true);
}

bool
flow_turn(struct flow *flow, bool *busy)
{
    int64_t now_ms = clock_mono_ms(flow->o.clock);

    flow->opened = false;
    if (flow->state == FLOW_IDLE)
        flow_enter(flow, FLOW_CONNECTING, "clusters are being reached");
    *busy = flowmove_acks(flow, now_ms);
    if (!*busy || flow->control_at_ms <= now_ms) {
        *busy = control(flow, now_ms) || *busy;
        flow->control_at_ms = now_ms + TICK_MS;
    }
    *busy = flowmove_send(flow) || *busy;
    *busy = flowmove_read(flow, now_ms) || *busy;
    flowshare_look(flow, now_ms);
    flowreport_publish(flow, now_ms);
    if (!wound_down(flow, now_ms))
        return true;
    end(flow, now_ms);
    return false;
}

static void *
run(void *arg)
{
    struct flow *flow = arg;
    bool busy = true;

    affinity_claim(&flow->owner);
    while (flow_turn(flow, &busy))
        if (!busy)
            wake_wait(flow->o.wake, SLEEP_MS);
    return NULL;
}

bool
flow_start(struct flow *flow, struct err *err)
{
    int error = pthread_create(&flow->thread, NULL, run, flow);

    errno = error;
    if (error != 0)
        return err_sys(err, ERR_IO, "thread of flow %s", flow->name);
    flow->started = true;
    return true;
}

bool
flow_order(struct flow *flow, enum flow_order order)
{
    void *item = (void *)((uintptr_t)order + 1);

    return queue_push(flow->orders, &item);
}

void
flow_drain(struct flow *flow)
{
    if (atomic_fetch_add(&flow->drain, 1) > 1)
        atomic_store(&flow->drain, 2);
    wake_signal(flow->o.wake);
}

bool
flow_stopped(const struct flow *flow, bool *drained)
{
    *drained = atomic_load(&flow->drained);
    return atomic_load(&flow->stopped);
}

struct flow_report *
flow_take_report(struct flow *flow)
{
    return atomic_exchange(&flow->report, NULL);
}

void
flow_free(struct flow *flow)
{
    if (flow == NULL)
        return;
    if (flow->started)
        (void)pthread_join(flow->thread, NULL);
    else if (!atomic_load(&flow->stopped))
        end(flow, clock_mono_ms(flow->o.clock));
    report_free(atomic_exchange(&flow->report, NULL));
    queue_free(flow->orders, NULL);
    lanes_free(flow->lanes);
    parts_free(flow->parts);
    free(flow->lane);
    flow_inbox_free(flow->inbox);
    free(flow);
}
