/* endpoint.h - a request to the admin socket into an answer.
 *
 * The table of endpoints, in the shape of Kafka Connect's REST API where the
 * idea is the same, so that habits and scripts carry over: paths, status codes
 * and {"error_code":..,"message":..}.  What they show comes from a table of
 * functions that the agent fills in; nothing here knows what a flow is.
 *
 * Thread: the main thread.
 * Memory: an answer is the caller's, endpoint_reply_free().  A request is
 *         borrowed; what is in it was sent by somebody else.
 * Limits: a path of ENDPOINT_PATH_MAX bytes; no endpoint reads a body, so a
 *         longer one than ENDPOINT_BODY_MAX is refused by the caller. */
#ifndef KEDGE_ENDPOINT_H
#define KEDGE_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define ENDPOINT_PATH_MAX 512
#define ENDPOINT_BODY_MAX 65536

struct json;

enum endpoint_order { ENDPOINT_PAUSE, ENDPOINT_RESUME, ENDPOINT_RESTART };

enum endpoint_done {
    ENDPOINT_ORDERED,
    ENDPOINT_NO_FLOW, /* no flow has that name */
    ENDPOINT_BUSY,    /* it has more orders waiting than it takes */
};

/* What the agent answers.  A flow's name is as it came, and may be anything.
 * The JSON is the caller's; NULL: no such flow. */
struct endpoint_ops {
    /* The three write why not, in a line each. */
    bool (*live)(void *self, FILE *out);
    bool (*ready)(void *self, FILE *out);
    bool (*starting)(void *self); /* not ready because it has just begun */
    const char *(*version)(void *self);
    struct json *(*list)(void *self);   /* names */
    struct json *(*expand)(void *self); /* name -> {"status":..} */
    struct json *(*info)(void *self, const char *flow);
    struct json *(*status)(void *self, const char *flow);
    enum endpoint_done (
        *order)(void *self, const char *flow, enum endpoint_order order);
    void (*metrics)(void *self, FILE *out);
    void (*text)(void *self, FILE *out);
    void (*html)(void *self, FILE *out);
};

struct endpoint_request {
    const char *method; /* "GET" */
    const char *path;   /* as it came, without the query */
    const char *expand; /* the query's "expand", NULL: none */
    const char *accept; /* the header, NULL: none */
    size_t body_len;    /* of the body that came or is announced */
    bool metrics_only;  /* by TCP: nothing else is served there */
};

struct endpoint_reply {
    unsigned status;   /* of HTTP; 500 and no body without memory */
    const char *type;  /* of the body; a constant */
    const char *allow; /* of a 405: which methods there are; else NULL */
    char *body;        /* NULL: none */
    size_t len;
};

void endpoint_answer(struct endpoint_reply *reply,
    const struct endpoint_ops *ops, void *self,
    const struct endpoint_request *request);
void endpoint_reply_free(struct endpoint_reply *reply);

/* The table as Markdown rows, for the manual. */
void endpoint_document(FILE *out);

#endif
