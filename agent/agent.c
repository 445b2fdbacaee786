#include "agent.h"

#include "admin.h"
#include "clock.h"
#include "diag.h"
#include "flows.h"
#include "kflow.h"
#include "limits.h"
#include "loaded.h"
#include "log.h"
#include "loop.h"
#include "policy.h"
#include "serve.h"
#include "service.h"
#include "tlsio.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TICK_MS INT64_C(1000)
#define DRAIN_TICK_MS 50

/* All of it is own to the main thread. */
struct agent {
    struct agent_options options;
    size_t started; /* parts */
    char name[65];
    int64_t drain_ms;
    struct loaded *loaded;
    const char *tls_floor; /* a constant, or NULL */
    struct loop *loop;
    struct admin *admin;
    struct kwatch *watch;
    struct flows *flows;
    struct serve *serve;
    bool begun; /* agent.start was logged */
    bool draining;
    int64_t deadline_ms;
    int64_t fed_ms;   /* the watchdog, the last time */
    char status[200]; /* what the service manager was told last */
    enum agent_end end;
};

/* A start that is refused has no log yet, but somebody who reads. */
static void
say_found(void *ctx, const char *path, const struct findings *found,
    const char *text)
{
    struct agent *agent = ctx;

    if (agent->begun || !findings_refuse(found)) {
        findings_log(found, agent->options.log, path);
        return;
    }
    findings_print(found, agent->options.findings, path, text, strlen(text));
    (void)fflush(agent->options.findings);
}

static struct loaded *
load(struct agent *agent, struct err *err)
{
    const struct loaded_options options = {
        .path = agent->options.policy,
        .now_wall_ms = clock_wall_ms(agent->options.clock),
        .found = say_found,
        .ctx = agent,
    };

    return loaded_read(&options, err);
}

static bool
start_policy(struct agent *agent, struct err *err)
{
    agent->loaded = load(agent, err);
    if (agent->loaded == NULL)
        return false;
    agent->begun = true;
    LOG(agent->options.log, LEVEL_INFO, "agent.start",
        kv_str("version", KEDGE_VERSION), kv_str("agent", agent->name),
        kv_str("policy", agent->options.policy),
        kv_str("sha256", loaded_digest(agent->loaded)),
        kv_str("librdkafka", kflow_library_version()),
        kv_str("patched", kflow_library_patched() ? "yes" : "no"));
    return true;
}

static void
stop_policy(struct agent *agent)
{
    loaded_drop(agent->loaded);
    agent->loaded = NULL;
}

/* Enough of everything, and no memory with passwords in a core file. */
static bool
start_limits(struct agent *agent, struct err *err)
{
    struct limits limits;

    if (!limits_raise(&limits, err))
        return false;
    LOG(agent->options.log, LEVEL_DEBUG, "agent.limits",
        kv_int("files", (int64_t)limits.files));
#ifndef __SANITIZE_ADDRESS__ /* whose leak checker has to look into us */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
        return err_sys(err, ERR_IO, "PR_SET_DUMPABLE");
#endif
    return true;
}

/* The floor is the process's: the highest that any cluster asks for. */
static bool
start_libraries(struct agent *agent, struct err *err)
{
    const char *floor = loaded_tls_floor(agent->loaded);

    if (!kflow_library_check(err))
        return false;
    if (floor == NULL)
        return true;
    agent->tls_floor = strcmp(floor, "1.3") == 0 ? "1.3" : "1.2";
    return tlsio_process_floor(agent->tls_floor, err);
}

static void
on_admin(void *ctx, int64_t now_ms)
{
    struct agent *agent = ctx;

    (void)now_ms;
    admin_run(agent->admin);
}

static void agent_drain(struct agent *agent, int64_t now_ms);
static void reload(struct agent *agent, int64_t now_ms);

static void
on_signal(void *ctx, int number, int64_t now_ms)
{
    struct agent *agent = ctx;

    if (number == SIGHUP) {
        reload(agent, now_ms);
    } else if (!agent->draining) {
        LOG(agent->options.log, LEVEL_INFO, "agent.drain",
            kv_str("signal", number == SIGINT ? "SIGINT" : "SIGTERM"),
            kv_int("at_most_ms", agent->drain_ms));
        agent_drain(agent, now_ms);
    } else {
        LOG(agent->options.log, LEVEL_WARN, "agent.cut",
            kv_str("why", "told not to wait"));
        loop_quit(agent->loop);
    }
}

static void on_tick(void *ctx, int64_t now_ms);

static bool
start_loop(struct agent *agent, struct err *err)
{
    return loop_on_signal(agent->loop, on_signal, agent, err) &&
           loop_every(agent->loop, TICK_MS, on_tick, agent, err);
}

static bool
start_admin(struct agent *agent, struct err *err)
{
    const struct policy *policy = loaded_policy(agent->loaded);
    struct service_sockets sockets;
    struct admin_options options = {
        .socket = policy->admin_socket,
        .metrics = policy->metrics,
        .ops = serve_ops(),
        .self = agent->serve,
    };

    if (!service_sockets_take(&sockets, err))
        return false;
    options.socket_fd = sockets.admin == -1 ? 0 : sockets.admin;
    options.metrics_fd = sockets.metrics == -1 ? 0 : sockets.metrics;
    agent->admin = admin_open(&options, err);
    if (agent->admin == NULL)
        return false;
    for (size_t i = 0; admin_fd(agent->admin, i) != -1; i++) {
        if (!loop_watch(agent->loop, admin_fd(agent->admin, i), on_admin, agent,
                err)) {
            admin_close(agent->admin);
            agent->admin = NULL;
            return false;
        }
    }
    LOG(agent->options.log, LEVEL_INFO, "admin.listen",
        kv_str("socket", policy->admin_socket),
        kv_int("metrics_port", admin_metrics_port(agent->admin)));
    return true;
}

static void
stop_admin(struct agent *agent)
{
    if (agent->admin == NULL) /* agent_abandon() was here */
        return;
    for (size_t i = 0; admin_fd(agent->admin, i) != -1; i++)
        loop_unwatch(agent->loop, admin_fd(agent->admin, i));
    admin_close(agent->admin);
    agent->admin = NULL;
}

static bool
start_flows(struct agent *agent, struct err *err)
{
    serve_policy(agent->serve, agent->options.policy,
        loaded_digest(agent->loaded));
    return flows_start(agent->flows, agent->loaded, err);
}

static void
stop_flows(struct agent *agent)
{
    flows_stop(agent->flows);
}

/* Started from the top, stopped from the bottom. */
static const struct part {
    const char *name;
    bool (*start)(struct agent *agent, struct err *err);
    void (*stop)(struct agent *agent);
} parts[] = {
    { "policy", start_policy, stop_policy }, { "limits", start_limits, NULL },
    { "libraries", start_libraries, NULL }, { "loop", start_loop, NULL },
    { "admin", start_admin, stop_admin },
    { "flows", start_flows, stop_flows }, /* the first thread, and the link */
};

bool
agent_start(struct agent *agent, struct err *err)
{
    while (agent->started < sizeof parts / sizeof parts[0]) {
        const struct part *part = &parts[agent->started];

        if (!part->start(agent, err)) {
            err_wrap(err, "%s", part->name);
            agent_stop(agent);
            return false;
        }
        agent->started++;
    }
    service_ready();
    return true;
}

bool
agent_begun(const struct agent *agent)
{
    return agent->begun;
}

void
agent_stop(struct agent *agent)
{
    while (agent->started > 0) {
        const struct part *part = &parts[--agent->started];

        if (part->stop != NULL)
            part->stop(agent);
    }
}

/* On a flow's thread.  What hangs cannot be joined, so there is no drain: what
 * was not written down is sent again after the next start. */
static void
on_tired(void *ctx)
{
    struct agent *agent = ctx;

    LOG(agent->options.log, LEVEL_ERROR, "agent.tired",
        kv_str("agent", agent->name),
        kv_str("why", "three calls of the Kafka library within an hour did "
                      "not come back"),
        kv_str("help", "nothing is lost: start the agent again, if the service "
                       "manager does not do it"),
        kv_int("status", AGENT_TIRED_EXIT));
    _exit(AGENT_TIRED_EXIT);
}

static bool
make(struct agent *agent, struct err *err)
{
    struct flows_options flows = {
        .agent = agent->name,
        .drain_ms = agent->drain_ms,
        .clock = agent->options.clock,
        .log = agent->options.log,
    };

    agent->watch = kflow_watch_new(on_tired, agent, err);
    if (agent->watch == NULL)
        return false;
    flows.watch = agent->watch;
    agent->loop = loop_new(agent->options.clock, err);
    if (agent->loop == NULL)
        return false;
    agent->flows = flows_new(&flows, err);
    if (agent->flows == NULL)
        return false;
    agent->serve =
        serve_new(agent->flows, agent->name, agent->options.clock, err);
    return agent->serve != NULL;
}

struct agent *
agent_new(const struct agent_options *options, struct err *err)
{
    struct agent *agent = calloc(1, sizeof *agent);

    if (agent == NULL) {
        err_set(err, ERR_MEMORY, "agent");
        return NULL;
    }
    agent->options = *options;
    agent->drain_ms =
        options->drain_ms == 0 ? AGENT_DRAIN_MS : options->drain_ms;
    agent->end = AGENT_CUT;
    if (options->name != NULL)
        (void)snprintf(agent->name, sizeof agent->name, "%s", options->name);
    else if (gethostname(agent->name, sizeof agent->name - 1) == -1)
        (void)snprintf(agent->name, sizeof agent->name, "unnamed");
    if (!make(agent, err)) {
        agent_free(agent);
        return NULL;
    }
    return agent;
}

bool
agent_left_clients(const struct agent *agent)
{
    return kflow_watch_leaked(agent->watch);
}

void
agent_free(struct agent *agent)
{
    if (agent == NULL)
        return;
    serve_free(agent->serve);
    flows_free(agent->flows);
    kflow_watch_drop(agent->watch);
    loop_free(agent->loop);
    free(agent);
}

/* Has the drain ended, well or not? */
static void
on_drain_tick(void *ctx, int64_t now_ms)
{
    struct agent *agent = ctx;
    bool drained = false;

    if (flows_stopped(agent->flows, &drained)) {
        agent->end = drained ? AGENT_DRAINED : AGENT_CUT;
        if (drained)
            LOG(agent->options.log, LEVEL_INFO, "agent.drained",
                kv_str("agent", agent->name));
        else
            LOG(agent->options.log, LEVEL_WARN, "agent.cut",
                kv_str("why", "not everything was acknowledged in time; what "
                              "was not is sent again after the next start"));
        loop_quit(agent->loop);
    } else if (now_ms >= agent->deadline_ms) {
        LOG(agent->options.log, LEVEL_WARN, "agent.cut",
            kv_str("why", "a flow did not end in time; what it had under way "
                          "is sent again after the next start"));
        loop_quit(agent->loop);
    }
}

static void
agent_drain(struct agent *agent, int64_t now_ms)
{
    struct err err;

    agent->draining = true;
    agent->deadline_ms = now_ms + agent->drain_ms + TICK_MS;
    service_stopping(agent->drain_ms + 5 * TICK_MS);
    service_status("draining");
    flows_drain(agent->flows);
    /* Without it, the end is seen by on_tick(), a little later. */
    if (!loop_every(agent->loop, DRAIN_TICK_MS, on_drain_tick, agent, &err))
        LOG(agent->options.log, LEVEL_WARN, "agent.drain",
            kv_str("why", err.text));
}

/* Only a process whose flows turn is alive. */
static void
feed_watchdog(struct agent *agent, int64_t now_ms)
{
    int64_t every_ms = service_watchdog_ms();

    if (every_ms == 0 || now_ms - agent->fed_ms < every_ms / 3 ||
        !flows_live(agent->flows, now_ms, NULL))
        return;
    agent->fed_ms = now_ms;
    service_alive();
}

static void
on_tick(void *ctx, int64_t now_ms)
{
    struct agent *agent = ctx;
    char text[200];

    flows_tick(agent->flows, now_ms);
    admin_run(agent->admin);
    feed_watchdog(agent, now_ms);
    if (agent->draining) {
        on_drain_tick(agent, now_ms);
        return;
    }
    serve_line(agent->serve, text, sizeof text);
    if (strcmp(text, agent->status) != 0)
        service_status(text);
    memcpy(agent->status, text, sizeof agent->status);
}

/* What cannot change while the process runs. */
static void
warn_fixed(struct agent *agent, const struct loaded *newer)
{
    const struct policy *was = loaded_policy(agent->loaded);
    const struct policy *is = loaded_policy(newer);
    const char *floor = loaded_tls_floor(newer);
    const char *metrics_was = was->metrics == NULL ? "" : was->metrics;
    const char *metrics_is = is->metrics == NULL ? "" : is->metrics;

    if (strcmp(was->admin_socket, is->admin_socket) != 0 ||
        strcmp(metrics_was, metrics_is) != 0)
        LOG(agent->options.log, LEVEL_WARN, "reload.restart_needed",
            kv_str("setting", "admin"));
    if (floor != NULL &&
        (agent->tls_floor == NULL || strcmp(floor, agent->tls_floor) != 0))
        LOG(agent->options.log, LEVEL_WARN, "reload.restart_needed",
            kv_str("setting", "tls.min_version"));
}

static void
reload(struct agent *agent, int64_t now_ms)
{
    struct loaded *newer;
    struct err err;

    if (agent->draining)
        return;
    service_reloading(now_ms);
    newer = load(agent, &err);
    if (newer == NULL) {
        LOG(agent->options.log, LEVEL_ERROR, "reload.refused",
            kv_str("policy", agent->options.policy), kv_str("why", err.text),
            kv_str("in_force", loaded_digest(agent->loaded)));
        serve_note(agent->serve, err.text);
    } else {
        LOG(agent->options.log, LEVEL_INFO, "reload.accepted",
            kv_str("policy", agent->options.policy),
            kv_str("sha256", loaded_digest(newer)),
            kv_str("was", loaded_digest(agent->loaded)));
        warn_fixed(agent, newer);
        loaded_drop(agent->loaded);
        agent->loaded = newer;
        serve_note(agent->serve, NULL);
        serve_policy(agent->serve, agent->options.policy, loaded_digest(newer));
        flows_change(agent->flows, newer, now_ms);
    }
    service_ready();
}

bool
agent_run(struct agent *agent, enum agent_end *end, struct err *err)
{
    bool ok = loop_run(agent->loop, err);

    *end = agent->end;
    return ok;
}

void
agent_abandon(struct agent *agent)
{
    stop_admin(agent);
}
