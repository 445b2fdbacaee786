/* flowfake.h - flows without Kafka, for the tests of what runs them.
 *
 * Defines what flow.h and kflow.h declare, so that the test is linked with
 * these and not with the real ones.  A test finds a flow by its name and says
 * what it does next.  Included once in a test; single-threaded. */
#ifndef KEDGE_FLOWFAKE_H
#define KEDGE_FLOWFAKE_H

#include "flow.h"
#include "kflow.h"
#include "reportfix.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FLOWFAKE_MAX 16

struct flow_inbox {
    int unused;
};

struct flow {
    char name[64];
    struct flow_options options;
    struct flow_inbox *inbox;
    bool started, draining, stopped, drained, busy;
    bool stops_at_drain; /* what most tests want: true */
    enum flow_order last_order;
    int orders;
    struct flow_report *next; /* of flow_take_report() */
    /* What it was opened with. */
    const struct kcluster *source, *target;
    struct kwatch *watch;
};

struct kwatch {
    kflow_tired_fn *tired;
    void *ctx;
};

/* What is alive, and what was ever made. */
static struct flowfake {
    struct flow *flows[FLOWFAKE_MAX];
    atomic_int made; /* ever; another thread may look at it */
    int open_kafka, inboxes;
    const char *fail_kafka, *fail_new, *fail_start; /* names of flows */
    bool hang;    /* draining does not end by itself */
    bool unclean; /* it ends, but not everything was written down */
    bool old_library;
    bool leaked; /* a call of the library did not come back */
    bool tires;  /* ... the third within the hour, when a flow is opened */
    struct kflow_options kafka; /* of the newest */
    char ledger[250], group[250];
} flowfake;

static inline struct flow *
flowfake_find(const char *name)
{
    for (size_t i = 0; i < FLOWFAKE_MAX; i++) {
        if (flowfake.flows[i] != NULL &&
            strcmp(flowfake.flows[i]->name, name) == 0)
            return flowfake.flows[i];
    }
    return NULL;
}

/* Does it want the topic?  `why` as flow.h has it. */
static inline bool
flowfake_wants(const char *name, const char *topic, const char **why)
{
    const struct flow *flow = flowfake_find(name);

    *why = NULL;
    return flow->options.wants(flow->options.wants_ctx, topic, why) ==
           FLOW_WANTS;
}

static inline size_t
flowfake_count(void)
{
    size_t n = 0;

    for (size_t i = 0; i < FLOWFAKE_MAX; i++)
        n += flowfake.flows[i] != NULL;
    return n;
}

/* The flow's next report: that of reportfix.h, made at `mono_ms`. */
static inline struct flow_report *
flowfake_report(const char *name, int64_t mono_ms)
{
    struct flow *flow = flowfake_find(name);

    assert(flow != NULL);
    report_free(flow->next);
    flow->next = reportfix_new();
    assert(flow->next != NULL);
    flow->next->mono_ms = mono_ms;
    return flow->next;
}

static inline bool
flowfake_is(const char *name, const char *other)
{
    return name != NULL && strcmp(name, other) == 0;
}

struct flow_inbox *
flow_inbox_new(struct err *err)
{
    (void)err;
    flowfake.inboxes++;
    return calloc(1, sizeof(struct flow_inbox));
}

void
flow_inbox_free(struct flow_inbox *inbox)
{
    if (inbox != NULL)
        flowfake.inboxes--;
    free(inbox);
}

void
flow_on_done(void *inbox, const struct sink_done *done)
{
    (void)inbox;
    (void)done;
}

void
flow_on_failed(void *inbox, int32_t lane, const struct err *err)
{
    (void)inbox;
    (void)lane;
    (void)err;
}

struct flow *
flow_new(const struct flow_options *options, struct flow_inbox *inbox,
    struct err *err)
{
    struct flow *flow;

    if (flowfake_is(flowfake.fail_new, options->name)) {
        err_set(err, ERR_MEMORY, "no room");
        return NULL;
    }
    flow = calloc(1, sizeof *flow);
    assert(flow != NULL);
    (void)snprintf(flow->name, sizeof flow->name, "%s", options->name);
    flow->options = *options;
    flow->inbox = inbox;
    flow->source = flowfake.kafka.source;
    flow->target = flowfake.kafka.target;
    flow->watch = flowfake.kafka.watch;
    for (size_t i = 0; i < FLOWFAKE_MAX; i++) {
        if (flowfake.flows[i] == NULL) {
            flowfake.flows[i] = flow;
            flowfake.made++;
            return flow;
        }
    }
    abort();
}

bool
flow_start(struct flow *flow, struct err *err)
{
    if (flowfake_is(flowfake.fail_start, flow->name))
        return err_set(err, ERR_IO, "no thread");
    flow->started = true;
    return true;
}

bool
flow_order(struct flow *flow, enum flow_order order)
{
    if (flow->busy)
        return false;
    flow->last_order = order;
    flow->orders++;
    return true;
}

void
flow_drain(struct flow *flow)
{
    flow->draining = true;
    if (!flowfake.hang) {
        flow->stopped = true;
        flow->drained = !flowfake.unclean;
    }
}

bool
flow_stopped(const struct flow *flow, bool *drained)
{
    *drained = flow->drained;
    return flow->stopped;
}

struct flow_report *
flow_take_report(struct flow *flow)
{
    struct flow_report *report = flow->next;

    flow->next = NULL;
    return report;
}

void
flow_free(struct flow *flow)
{
    if (flow == NULL)
        return;
    assert(flow->stopped || !flow->started);
    for (size_t i = 0; i < FLOWFAKE_MAX; i++) {
        if (flowfake.flows[i] == flow)
            flowfake.flows[i] = NULL;
    }
    flowfake.open_kafka--;
    flow_inbox_free(flow->inbox);
    report_free(flow->next);
    free(flow);
}

bool
kflow_open(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    if (flowfake_is(flowfake.fail_kafka, options->flow))
        return err_set(err, ERR_KAFKA, "a setting is refused");
    if (flowfake.tires)
        options->watch->tired(options->watch->ctx);
    *kflow = (struct kflow){ 0 };
    flowfake.open_kafka++;
    flowfake.kafka = *options;
    (void)snprintf(flowfake.ledger, sizeof flowfake.ledger, "%s",
        options->ledger_topic);
    (void)snprintf(flowfake.group, sizeof flowfake.group, "%s",
        options->group_id);
    return true;
}

void
kflow_close(struct kflow *kflow)
{
    (void)kflow;
    flowfake.open_kafka--;
}

struct kwatch *
kflow_watch_new(kflow_tired_fn *tired, void *ctx, struct err *err)
{
    struct kwatch *watch = calloc(1, sizeof *watch);

    (void)err;
    assert(watch != NULL);
    *watch = (struct kwatch){ tired, ctx };
    return watch;
}

void
kflow_watch_drop(struct kwatch *watch)
{
    free(watch);
}

bool
kflow_watch_leaked(struct kwatch *watch)
{
    (void)watch;
    return flowfake.leaked;
}

const char *
kflow_library_version(void)
{
    return "9.9.9";
}

bool
kflow_library_patched(void)
{
    return true;
}

bool
kflow_library_check(struct err *err)
{
    if (flowfake.old_library)
        return err_set(err, ERR_CONFIG, "librdkafka is too old");
    return true;
}

#endif
