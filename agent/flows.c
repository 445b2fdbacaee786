#include "flows.h"

#include "loaded.h"
#include "policy.h"
#include "runner.h"
#include "wake.h"

#include <stdlib.h>
#include <string.h>

struct flows {
    struct flows_options options;
    struct loaded *loaded; /* in force */
    struct runner **runners;
    size_t n, room;
    struct view_flow *views; /* of the last flows_view() */
    bool draining;
    bool cut;         /* one ended without having written everything down */
    int64_t retry_ms; /* when a flow that did not start is tried again */
};

struct flows *
flows_new(const struct flows_options *options, struct err *err)
{
    struct flows *flows = calloc(1, sizeof *flows);

    if (flows == NULL) {
        err_set(err, ERR_MEMORY, "flows");
        return NULL;
    }
    flows->options = *options;
    return flows;
}

void
flows_free(struct flows *flows)
{
    if (flows == NULL)
        return;
    free(flows->views);
    free(flows->runners);
    free(flows);
}

static struct runner *
find(const struct flows *flows, const char *name)
{
    for (size_t i = 0; i < flows->n; i++) {
        if (strcmp(runner_name(flows->runners[i]), name) == 0)
            return flows->runners[i];
    }
    return NULL;
}

/* Room for `n` runners, kept for later. */
static bool
make_room(struct flows *flows, size_t n, struct err *err)
{
    struct runner **runners;

    if (n <= flows->room)
        return true;
    runners = realloc(flows->runners, n * sizeof *runners);
    if (runners == NULL)
        return err_set(err, ERR_MEMORY, "%zu flows", n);
    flows->runners = runners;
    flows->room = n;
    return true;
}

static bool
start_one(struct flows *flows, const struct policy_flow *flow, struct err *err)
{
    const struct runner_options options = {
        .loaded = flows->loaded,
        .flow = flow,
        .agent = flows->options.agent,
        .drain_ms = flows->options.drain_ms,
        .clock = flows->options.clock,
        .log = flows->options.log,
        .watch = flows->options.watch,
    };
    struct runner *runner;

    if (!make_room(flows, flows->n + 1, err))
        return false;
    runner = runner_start(&options, err);
    if (runner == NULL)
        return false;
    flows->runners[flows->n++] = runner;
    return true;
}

/* Each flow of the policy that does not run yet.  One that is still draining
 * under the old policy is started when that has ended. */
static bool
start_missing(struct flows *flows, struct err *err)
{
    const struct policy *policy = loaded_policy(flows->loaded);

    for (size_t i = 0; i < policy->n_flows; i++) {
        if (find(flows, policy->flows[i].name) == NULL &&
            !start_one(flows, &policy->flows[i], err))
            return false;
    }
    return true;
}

static void
use(struct flows *flows, struct loaded *loaded)
{
    struct loaded *before = flows->loaded;

    flows->loaded = loaded_keep(loaded);
    loaded_drop(before);
}

bool
flows_start(struct flows *flows, struct loaded *loaded, struct err *err)
{
    use(flows, loaded);
    if (start_missing(flows, err))
        return true;
    flows_stop(flows);
    return false;
}

/* A flow that cannot be started after a reload: the others go on. */
static void
start_or_retry(struct flows *flows, int64_t now_ms)
{
    struct err err;

    if (start_missing(flows, &err))
        return;
    flows->retry_ms = now_ms + FLOWS_RETRY_MS;
    LOG(flows->options.log, LEVEL_ERROR, "flow.not_started",
        kv_str("why", err.text), kv_int("again_in_ms", FLOWS_RETRY_MS));
}

void
flows_change(struct flows *flows, struct loaded *loaded, int64_t now_ms)
{
    use(flows, loaded);
    for (size_t i = 0; i < flows->n; i++) {
        struct runner *runner = flows->runners[i];
        const struct policy_flow *flow =
            loaded_flow(loaded, runner_name(runner));

        if (runner_draining(runner) ||
            (flow != NULL &&
                loaded_signature(loaded, flow) == runner_signature(runner)))
            continue;
        LOG(flows->options.log, LEVEL_INFO, "flow.drain",
            kv_str("flow", runner_name(runner)),
            kv_str("why", flow == NULL ? "the policy does not have it any more"
                                       : "its settings have changed"));
        runner_drain(runner);
    }
    start_or_retry(flows, now_ms);
}

/* Ends those that have drained.  While the process goes on, that is. */
static bool
end_stopped(struct flows *flows)
{
    bool any = false;

    for (size_t i = 0; i < flows->n;) {
        bool drained = false;

        if (!runner_stopped(flows->runners[i], &drained)) {
            i++;
            continue;
        }
        if (!drained) {
            flows->cut = true;
            LOG(flows->options.log, LEVEL_WARN, "flow.cut",
                kv_str("flow", runner_name(flows->runners[i])),
                kv_str("why", "not everything was acknowledged in time; what "
                              "was not is sent again by whoever has its lanes "
                              "next"));
        }
        runner_free(flows->runners[i]);
        flows->runners[i] = flows->runners[--flows->n];
        any = true;
    }
    return any;
}

void
flows_tick(struct flows *flows, int64_t now_ms)
{
    for (size_t i = 0; i < flows->n; i++)
        runner_tick(flows->runners[i], now_ms);
    if (flows->draining)
        return;
    if (end_stopped(flows) ||
        (flows->retry_ms != 0 && now_ms >= flows->retry_ms)) {
        flows->retry_ms = 0;
        start_or_retry(flows, now_ms);
    }
}

void
flows_drain(struct flows *flows)
{
    flows->draining = true;
    for (size_t i = 0; i < flows->n; i++) {
        if (!runner_draining(flows->runners[i]))
            runner_drain(flows->runners[i]);
    }
}

bool
flows_stopped(const struct flows *flows, bool *drained)
{
    *drained = !flows->cut;
    for (size_t i = 0; i < flows->n; i++) {
        bool one = false;

        if (!runner_stopped(flows->runners[i], &one))
            return false;
        if (!one)
            *drained = false;
    }
    return true;
}

void
flows_stop(struct flows *flows)
{
    flows_drain(flows);
    while (flows->n > 0)
        runner_free(flows->runners[--flows->n]);
    loaded_drop(flows->loaded);
    flows->loaded = NULL;
    flows->draining = false;
}

bool
flows_live(const struct flows *flows, int64_t now_ms, const char **which)
{
    for (size_t i = 0; i < flows->n; i++) {
        if (runner_live(flows->runners[i], now_ms))
            continue;
        if (which != NULL)
            *which = runner_name(flows->runners[i]);
        return false;
    }
    return true;
}

enum flows_done
flows_order(struct flows *flows, const char *name, enum flow_order order)
{
    struct runner *runner = find(flows, name);

    if (runner == NULL)
        return FLOWS_NONE;
    return runner_order(runner, order) ? FLOWS_ORDERED : FLOWS_BUSY;
}

static int
by_name(const void *a, const void *b)
{
    const struct view_flow *left = a, *right = b;

    return strcmp(left->name, right->name);
}

struct view_flow *
flows_view(struct flows *flows, int64_t now_ms, size_t *n)
{
    struct view_flow *views =
        realloc(flows->views, (flows->n + 1) * sizeof *views);

    *n = 0;
    if (views == NULL)
        return NULL;
    flows->views = views;
    for (size_t i = 0; i < flows->n; i++)
        runner_view(flows->runners[i], now_ms, &views[i]);
    *n = flows->n;
    if (*n > 1)
        qsort(views, *n, sizeof *views, by_name);
    return views;
}
