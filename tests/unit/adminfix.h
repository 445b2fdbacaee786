/* adminfix.h - an agent for the tests of the admin plane: one flow "orders",
 * which is as the test says. */
#ifndef KEDGE_ADMINFIX_H
#define KEDGE_ADMINFIX_H

#include "endpoint.h"
#include "json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct adminfix {
    bool dead, unready, starting, busy;
    int orders[3]; /* how many of each came */
};

static inline bool
adminfix_live(void *self, FILE *out)
{
    struct adminfix *fix = self;

    if (fix->dead)
        (void)fputs("orders: silent\n", out);
    return !fix->dead;
}

static inline bool
adminfix_ready(void *self, FILE *out)
{
    struct adminfix *fix = self;

    if (fix->unready)
        (void)fputs("orders: held\nsales: held\n", out);
    return !fix->unready;
}

static inline bool
adminfix_starting(void *self)
{
    return ((struct adminfix *)self)->starting;
}

static inline const char *
adminfix_version(void *self)
{
    (void)self;
    return "9.9";
}

static inline struct json *
adminfix_list(void *self)
{
    struct json *json = json_new_array();

    (void)self;
    json_add_text(json, "orders");
    return json;
}

static inline struct json *
adminfix_info(void *self, const char *flow)
{
    struct json *json;

    (void)self;
    if (strcmp(flow, "orders") != 0)
        return NULL;
    json = json_new_object();
    json_put_text(json, "name", flow);
    return json;
}

static inline struct json *
adminfix_status(void *self, const char *flow)
{
    struct json *json = adminfix_info(self, flow);

    if (json != NULL)
        json_put_text(json, "type", "source");
    return json;
}

static inline struct json *
adminfix_expand(void *self)
{
    struct json *json = json_new_object();
    struct json *status = adminfix_status(self, "orders");

    json_put(json, "orders", &status);
    return json;
}

static inline enum endpoint_done
adminfix_order(void *self, const char *flow, enum endpoint_order order)
{
    struct adminfix *fix = self;

    if (strcmp(flow, "orders") != 0)
        return ENDPOINT_NO_FLOW;
    if (fix->busy)
        return ENDPOINT_BUSY;
    fix->orders[order]++;
    return ENDPOINT_ORDERED;
}

static inline void
adminfix_metrics(void *self, FILE *out)
{
    (void)self;
    (void)fputs("kedge_up 1\n", out);
}

static inline void
adminfix_text(void *self, FILE *out)
{
    (void)self;
    (void)fputs("FLOW\norders\n", out);
}

static inline void
adminfix_html(void *self, FILE *out)
{
    (void)self;
    (void)fputs("<html></html>\n", out);
}

static const struct endpoint_ops adminfix_ops = {
    .live = adminfix_live,
    .ready = adminfix_ready,
    .starting = adminfix_starting,
    .version = adminfix_version,
    .list = adminfix_list,
    .expand = adminfix_expand,
    .info = adminfix_info,
    .status = adminfix_status,
    .order = adminfix_order,
    .metrics = adminfix_metrics,
    .text = adminfix_text,
    .html = adminfix_html,
};

#endif
