/* demo.h - a whole kedge on one machine: what `kedge demo` plays and proves.
 *
 * Records are produced into an embedded cluster and forwarded by an agent, a
 * process of its own on a policy of its own, over TLS into another; the link
 * is cut in the middle and comes back; what arrived is compared with what was
 * produced, record by record.  No network beyond 127.0.0.1, no root, no Java.
 *
 * Thread: the main thread.  SIGINT, SIGTERM and SIGHUP end it, unless they
 *         were ignored before.
 * Memory: everything is freed, every process ended, when demo_run() returns.
 * Errors: one line; what was found out is on the page as well.  `retry` when
 *         it was interrupted, and nothing is left of it; the folder stays
 *         after any other failure. */
#ifndef KEDGE_DEMO_H
#define KEDGE_DEMO_H

#include "err.h"

#include <stdint.h>
#include <stdio.h>

#define DEMO_RECORDS 100000

/* What the agent says of its flow, in records; -1: it does not. */
struct demo_status {
    int64_t true_lag, in_flight;
};

/* Asks the agent behind the admin socket; with every line of progress. */
typedef void demo_status_fn(void *ctx, const char *socket, const char *flow,
    struct demo_status *status);

struct demo_options {
    int64_t records;        /* 0: DEMO_RECORDS */
    bool keep;              /* all stays as it is until one of them */
    const char *program;    /* the agent's; NULL: this one */
    FILE *out;              /* borrowed for the call */
    demo_status_fn *status; /* NULL: lag from counts alone */
    void *status_ctx;
};

/* True only when all of it held. */
bool demo_run(const struct demo_options *options, struct err *err) MUST_CHECK;

#endif
