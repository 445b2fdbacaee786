/* serve.h - what the admin socket is answered with.
 *
 * Fills endpoint_ops from the flows: JSON by view.h, text by page.h, metrics
 * by scrape.h; and the line for the service manager.
 *
 * Thread: the main thread.
 * Memory: serve_new() gives, serve_free() takes; borrows the flows. */
#ifndef KEDGE_SERVE_H
#define KEDGE_SERVE_H

#include "err.h"

#include <stddef.h>

struct clock;
struct endpoint_ops;
struct flows;
struct serve;

struct serve *serve_new(struct flows *flows, const char *agent,
    const struct clock *clock, struct err *err) MUST_CHECK;
void serve_free(struct serve *serve); /* NULL is fine */

/* A constant, for admin_options; `self` is the struct serve. */
const struct endpoint_ops *serve_ops(void);

/* Path and SHA-256 of the policy in force; the path is borrowed. */
void serve_policy(struct serve *serve, const char *path, const char *digest);

/* Why the last reload was refused; NULL: it was not. */
void serve_note(struct serve *serve, const char *why);

/* "2 flows, 1 not ready: NAME: WHY" */
void serve_line(struct serve *serve, char *text, size_t size);

#endif
