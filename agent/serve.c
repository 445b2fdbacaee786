#include "serve.h"

#include "clock.h"
#include "endpoint.h"
#include "flows.h"
#include "json.h"
#include "loaded.h"
#include "page.h"
#include "scrape.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct serve {
    struct flows *flows;
    const struct clock *clock;
    struct view_agent agent; /* the flows are filled in for each answer */
    char digest[LOADED_DIGEST_SIZE];
    char note[256];
    char refused[LOADED_DIGEST_SIZE]; /* of the file when `note` was made */
};

struct serve *
serve_new(struct flows *flows, const char *agent, const struct clock *clock,
    struct err *err)
{
    struct serve *serve = calloc(1, sizeof *serve);

    if (serve == NULL) {
        err_set(err, ERR_MEMORY, "admin");
        return NULL;
    }
    serve->flows = flows;
    serve->clock = clock;
    serve->agent.name = agent;
    serve->agent.policy = "";
    serve->agent.digest = serve->digest;
    serve->agent.started_wall_ms = clock_wall_ms(clock);
    return serve;
}

void
serve_free(struct serve *serve)
{
    free(serve);
}

void
serve_policy(struct serve *serve, const char *path, const char *digest)
{
    serve->agent.policy = path;
    (void)snprintf(serve->digest, sizeof serve->digest, "%s", digest);
}

void
serve_note(struct serve *serve, const char *why)
{
    serve->agent.note = why == NULL ? NULL : serve->note;
    (void)snprintf(serve->note, sizeof serve->note, "%s",
        why == NULL ? "" : why);
    loaded_file_digest(serve->agent.policy, serve->refused);
}

/* The agent as it is now. */
static const struct view_agent *
look(struct serve *serve)
{
    serve->agent.now_wall_ms = clock_wall_ms(serve->clock);
    serve->agent.flows = flows_view(serve->flows, clock_mono_ms(serve->clock),
        &serve->agent.n_flows);
    return &serve->agent;
}

/* As look(), and is the file still what is in force? */
static const struct view_agent *
look_at_file(struct serve *serve)
{
    char now[LOADED_DIGEST_SIZE];

    loaded_file_digest(serve->agent.policy, now);
    serve->agent.edited = strcmp(now, serve->digest) != 0;
    serve->agent.refused =
        serve->agent.note != NULL && strcmp(now, serve->refused) == 0;
    return look(serve);
}

static const struct view_flow *
look_for(struct serve *serve, const char *name)
{
    const struct view_agent *agent = look_at_file(serve);

    for (size_t i = 0; i < agent->n_flows; i++) {
        if (strcmp(agent->flows[i].name, name) == 0)
            return &agent->flows[i];
    }
    return NULL;
}

void
serve_line(struct serve *serve, char *text, size_t size)
{
    const struct view_agent *agent = look(serve);
    const struct view_flow *first = NULL;
    int64_t rate = 0;
    size_t bad = 0;

    for (size_t i = 0; i < agent->n_flows; i++) {
        rate += agent->flows[i].records_per_s;
        if (agent->flows[i].ready)
            continue;
        if (bad++ == 0)
            first = &agent->flows[i];
    }
    if (first == NULL)
        (void)snprintf(text, size,
            "forwarding %zu flows, %" PRId64 " records/s", agent->n_flows,
            rate);
    else
        (void)snprintf(text, size,
            "%zu of %zu flows not ready, %" PRId64 " records/s; %s: %s", bad,
            agent->n_flows, rate, first->name, first->why);
}

static bool
op_live(void *self, FILE *out)
{
    struct serve *serve = self;
    const char *which = NULL;

    if (flows_live(serve->flows, clock_mono_ms(serve->clock), &which))
        return true;
    (void)fprintf(out, "%s: its thread has not said anything for 10 s\n",
        which);
    return false;
}

static bool
op_ready(void *self, FILE *out)
{
    const struct view_agent *agent = look(self);
    bool ready = agent->n_flows > 0;

    if (!ready)
        (void)fputs("no flow is running\n", out);
    for (size_t i = 0; i < agent->n_flows; i++) {
        if (agent->flows[i].ready)
            continue;
        (void)fprintf(out, "%s: %s\n", agent->flows[i].name,
            agent->flows[i].why);
        ready = false;
    }
    return ready;
}

/* Everything that is not ready has only just begun. */
static bool
op_starting(void *self)
{
    const struct view_agent *agent = look(self);

    for (size_t i = 0; i < agent->n_flows; i++) {
        if (!agent->flows[i].ready && !agent->flows[i].starting)
            return false;
    }
    return true;
}

static const char *
op_version(void *self)
{
    (void)self;
    return KEDGE_VERSION;
}

static struct json *
op_list(void *self)
{
    const struct view_agent *agent = look(self);
    struct json *json = json_new_array();

    for (size_t i = 0; i < agent->n_flows; i++)
        json_add_text(json, agent->flows[i].name);
    return json;
}

static struct json *
op_expand(void *self)
{
    return view_all(look_at_file(self));
}

static struct json *
op_info(void *self, const char *name)
{
    const struct view_flow *flow = look_for(self, name);

    return flow == NULL ? NULL : view_info(flow);
}

static struct json *
op_status(void *self, const char *name)
{
    struct serve *serve = self;
    const struct view_flow *flow = look_for(serve, name);

    return flow == NULL ? NULL : view_status(&serve->agent, flow);
}

static enum endpoint_done
op_order(void *self, const char *name, enum endpoint_order order)
{
    static const enum flow_order orders[] = {
        [ENDPOINT_PAUSE] = FLOW_PAUSE,
        [ENDPOINT_RESUME] = FLOW_RESUME,
        [ENDPOINT_RESTART] = FLOW_RESTART,
    };
    struct serve *serve = self;

    switch (flows_order(serve->flows, name, orders[order])) {
    case FLOWS_ORDERED:
        return ENDPOINT_ORDERED;
    case FLOWS_NONE:
        return ENDPOINT_NO_FLOW;
    case FLOWS_BUSY:
        return ENDPOINT_BUSY;
    }
    return ENDPOINT_BUSY;
}

static void
op_metrics(void *self, FILE *out)
{
    scrape_render(out, look(self));
}

static void
op_text(void *self, FILE *out)
{
    page_text(out, look_at_file(self));
}

static void
op_html(void *self, FILE *out)
{
    page_html(out, look_at_file(self));
}

const struct endpoint_ops *
serve_ops(void)
{
    static const struct endpoint_ops ops = {
        .live = op_live,
        .ready = op_ready,
        .starting = op_starting,
        .version = op_version,
        .list = op_list,
        .expand = op_expand,
        .info = op_info,
        .status = op_status,
        .order = op_order,
        .metrics = op_metrics,
        .text = op_text,
        .html = op_html,
    };

    return &ops;
}
