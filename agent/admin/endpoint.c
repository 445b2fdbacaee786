#include "endpoint.h"

#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

static const char TYPE_JSON[] = "application/json";
static const char TYPE_TEXT[] = "text/plain; charset=utf-8";
static const char TYPE_HTML[] = "text/html; charset=utf-8";
static const char TYPE_METRICS[] = "text/plain; version=0.0.4; charset=utf-8";

/* One request on its way to its answer. */
struct call {
    const struct endpoint_ops *ops;
    void *self;
    const struct endpoint_request *request;
    char flow[ENDPOINT_PATH_MAX]; /* of the path */
    FILE *out;                    /* the body of a reply in text */
    struct endpoint_reply *reply;
};

typedef void endpoint_fn(struct call *call);

/* Takes the JSON. */
static void
reply_json(struct call *call, unsigned status, struct json *json)
{
    struct endpoint_reply *reply = call->reply;

    reply->body = json == NULL ? NULL : json_render(json, &reply->len);
    reply->status = reply->body == NULL ? 500 : status;
    reply->type = TYPE_JSON;
    json_free(json);
}

/* Kafka Connect's ErrorMessage. */
static void
reply_error(struct call *call, unsigned status, const char *message)
{
    struct json *json = json_new_object();

    json_put_int(json, "error_code", status);
    json_put_text(json, "message", message);
    reply_json(call, status, json);
}

static void
reply_no_flow(struct call *call)
{
    char message[ENDPOINT_PATH_MAX + 64];

    (void)snprintf(message, sizeof message, "The policy has no flow '%s'",
        call->flow);
    reply_error(call, 404, message);
}

/* Opens call->out; end_text() makes it the body. */
static bool
begin_text(struct call *call, const char *type)
{
    call->reply->type = type;
    call->out = open_memstream(&call->reply->body, &call->reply->len);
    if (call->out == NULL)
        call->reply->status = 500;
    return call->out != NULL;
}

static void
end_text(struct call *call, unsigned status)
{
    bool bad = ferror(call->out) != 0;

    if (fclose(call->out) != 0 || bad) {
        endpoint_reply_free(call->reply);
        status = 500;
    }
    call->out = NULL;
    call->reply->status = status;
}

static void
get_livez(struct call *call)
{
    bool live;

    if (!begin_text(call, TYPE_TEXT))
        return;
    live = call->ops->live(call->self, call->out);
    if (live)
        (void)fputs("ok\n", call->out);
    end_text(call, live ? 200 : 503);
}

static void
get_readyz(struct call *call)
{
    bool ready;

    if (!begin_text(call, TYPE_TEXT))
        return;
    ready = call->ops->ready(call->self, call->out);
    if (ready)
        (void)fputs("ok\n", call->out);
    end_text(call, ready ? 200 : 503);
}

/* KIP-1017: 200 healthy, 503 starting, 500 unhealthy, with the reason. */
static void
get_health(struct call *call)
{
    char *why = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&why, &len);
    struct json *json = json_new_object();
    unsigned status = 500;
    const char *word = "unhealthy";

    if (out != NULL && call->ops->live(call->self, out)) {
        if (call->ops->ready(call->self, out)) {
            status = 200;
            word = "healthy";
        } else if (call->ops->starting(call->self)) {
            status = 503;
            word = "starting";
        }
    }
    if (out != NULL)
        (void)fclose(out);
    while (why != NULL && len > 0 && why[len - 1] == '\n')
        why[--len] = '\0';
    json_put_text(json, "status", word);
    json_put_text(json, "message",
        why == NULL || *why == '\0' ? "every flow forwards or is paused" : why);
    reply_json(call, status, json);
    free(why);
}

static bool
accepts(const struct endpoint_request *request, const char *type)
{
    return request->accept != NULL && strstr(request->accept, type) != NULL;
}

/* A browser gets a page, a tool what it asks for, a person with curl text. */
static void
get_root(struct call *call)
{
    if (accepts(call->request, "text/html")) {
        if (!begin_text(call, TYPE_HTML))
            return;
        call->ops->html(call->self, call->out);
        end_text(call, 200);
    } else if (accepts(call->request, TYPE_JSON)) {
        struct json *json = json_new_object();

        json_put_text(json, "version", call->ops->version(call->self));
        reply_json(call, 200, json);
    } else if (begin_text(call, TYPE_TEXT)) {
        call->ops->text(call->self, call->out);
        end_text(call, 200);
    }
}

static void
get_metrics(struct call *call)
{
    if (!begin_text(call, TYPE_METRICS))
        return;
    call->ops->metrics(call->self, call->out);
    end_text(call, 200);
}

static void
get_flows(struct call *call)
{
    const char *expand = call->request->expand;

    if (expand == NULL)
        reply_json(call, 200, call->ops->list(call->self));
    else if (strcmp(expand, "status") == 0)
        reply_json(call, 200, call->ops->expand(call->self));
    else
        reply_error(call, 400, "expand=status is the only one there is");
}

static void
get_flow(struct call *call)
{
    struct json *json = call->ops->info(call->self, call->flow);

    if (json == NULL)
        reply_no_flow(call);
    else
        reply_json(call, 200, json);
}

static void
get_status(struct call *call)
{
    struct json *json = call->ops->status(call->self, call->flow);

    if (json == NULL)
        reply_no_flow(call);
    else
        reply_json(call, 200, json);
}

static void
order(struct call *call, enum endpoint_order order, unsigned status)
{
    switch (call->ops->order(call->self, call->flow, order)) {
    case ENDPOINT_ORDERED:
        call->reply->status = status;
        break;
    case ENDPOINT_NO_FLOW:
        reply_no_flow(call);
        break;
    case ENDPOINT_BUSY:
        reply_error(call, 409, "The flow has orders waiting; try again later");
        break;
    }
}

static void
put_pause(struct call *call)
{
    order(call, ENDPOINT_PAUSE, 202);
}

static void
put_resume(struct call *call)
{
    order(call, ENDPOINT_RESUME, 202);
}

static void
post_restart(struct call *call)
{
    order(call, ENDPOINT_RESTART, 204);
}

/* What Connect can do and kedge must not. */
static void
refuse_change(struct call *call)
{
    reply_error(call, 405,
        "Flows come from the policy file: change it and send SIGHUP");
}

/* A segment {flow} of the path matches any one. */
static const struct endpoint {
    const char *method, *path;
    endpoint_fn *answer;
    bool tcp; /* served on the TCP port for metrics, too */
    const char *help;
} endpoints[] = {
    { "GET", "/", get_root, false,
        "What `kedge status` prints; a page for browsers." },
    { "GET", "/livez", get_livez, false,
        "200 while every thread turns. Never looks at a cluster." },
    { "GET", "/readyz", get_readyz, false,
        "200 while every flow forwards, else 503 and each reason." },
    { "GET", "/health", get_health, false,
        "The same as Kafka Connect says it: 200, 503 starting, 500." },
    { "GET", "/metrics", get_metrics, true, "Prometheus' text format." },
    { "GET", "/connectors", get_flows, false,
        "The names of the flows; with ?expand=status, all of it." },
    { "POST", "/connectors", refuse_change, false, NULL },
    { "GET", "/connectors/{flow}", get_flow, false, "What the flow does." },
    { "DELETE", "/connectors/{flow}", refuse_change, false, NULL },
    { "PUT", "/connectors/{flow}/config", refuse_change, false, NULL },
    { "GET", "/connectors/{flow}/status", get_status, false,
        "State, lanes, partitions, lags and what is held." },
    { "PUT", "/connectors/{flow}/pause", put_pause, false,
        "Stop reading; lanes are kept. 202." },
    { "PUT", "/connectors/{flow}/resume", put_resume, false, "Go on. 202." },
    { "POST", "/connectors/{flow}/restart", post_restart, false,
        "Let what is held try the same record again. 204." },
};

/* Does the path fit?  Then the segment at {flow} is in `flow`. */
static bool
fits(const char *pattern, const char *path, char flow[ENDPOINT_PATH_MAX])
{
    size_t n;

    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '{') {
            if (*path++ != *pattern)
                return false;
            continue;
        }
        n = strcspn(path, "/");
        if (n == 0 || n >= ENDPOINT_PATH_MAX)
            return false;
        memcpy(flow, path, n);
        flow[n] = '\0';
        path += n;
        pattern = strchr(pattern, '}');
    }
    return *path == '\0';
}

/* The row that fits; else NULL, and which methods the path has. */
static const struct endpoint *
find(struct call *call, char *allow, size_t size)
{
    const struct endpoint_request *request = call->request;

    allow[0] = '\0';
    for (size_t i = 0; i < N(endpoints); i++) {
        const struct endpoint *row = &endpoints[i];
        size_t used = strlen(allow);

        if ((request->metrics_only && !row->tcp) ||
            !fits(row->path, request->path, call->flow))
            continue;
        if (strcmp(row->method, request->method) == 0 ||
            (strcmp(request->method, "HEAD") == 0 &&
                strcmp(row->method, "GET") == 0))
            return row;
        if (row->answer != refuse_change)
            (void)snprintf(allow + used, size - used, "%s%s",
                used == 0 ? "" : ", ", row->method);
    }
    return NULL;
}

/* The header's text has to outlive the call: one of a few constants. */
static const char *
allow_constant(const char *allow)
{
    static const char *const known[] = { "GET", "PUT", "POST" };

    for (size_t i = 0; i < N(known); i++) {
        if (strcmp(known[i], allow) == 0)
            return known[i];
    }
    return NULL;
}

void
endpoint_answer(struct endpoint_reply *reply, const struct endpoint_ops *ops,
    void *self, const struct endpoint_request *request)
{
    struct call call = { .ops = ops,
        .self = self,
        .request = request,
        .reply = reply };
    const struct endpoint *row;
    char allow[64];

    *reply = (struct endpoint_reply){ 0 };
    if (strlen(request->path) >= ENDPOINT_PATH_MAX) {
        reply_error(&call, 414, "The path is too long");
        return;
    }
    if (request->body_len > ENDPOINT_BODY_MAX) {
        reply_error(&call, 413, "The body is too long");
        return;
    }
    row = find(&call, allow, sizeof allow);
    if (row != NULL) {
        row->answer(&call);
    } else if (allow[0] != '\0') {
        reply_error(&call, 405, "HTTP 405 Method Not Allowed");
        reply->allow = allow_constant(allow);
    } else {
        reply_error(&call, 404, "HTTP 404 Not Found");
    }
}

void
endpoint_reply_free(struct endpoint_reply *reply)
{
    free(reply->body);
    reply->body = NULL;
    reply->len = 0;
}

void
endpoint_document(FILE *out)
{
    for (size_t i = 0; i < N(endpoints); i++) {
        const struct endpoint *row = &endpoints[i];

        if (row->help != NULL)
            (void)fprintf(out, "| %s | `%s` | %s |\n", row->method, row->path,
                row->help);
    }
}
