/* runner.h - one flow of the policy, running.
 *
 * Makes everything a flow needs, from the policy: the wake, the counters, the
 * five interfaces of Kafka, the flow and its thread; keeps its newest report
 * and what is judged from it; ends all of it in reverse.
 *
 * Thread: the main thread.
 * Memory: runner_start() gives, runner_free() takes; keeps a reference to the
 *         loaded policy it was started with, whose clusters its Kafka clients
 *         are made of: to the end, and for good when one was left behind.
 * Errors: whatever keeps a flow from being made; the name is in front. */
#ifndef KEDGE_RUNNER_H
#define KEDGE_RUNNER_H

#include "err.h"
#include "flow.h"
#include "view.h"

#include <stdint.h>

struct kwatch;
struct loaded;
struct policy_flow;
struct runner;

struct runner_options {
    struct loaded *loaded;          /* one reference more is kept */
    const struct policy_flow *flow; /* of that policy */
    const char *agent;              /* copied */
    int64_t drain_ms;
    const struct clock *clock; /* borrowed for its life, and so is the rest */
    struct log *log;
    struct kwatch *watch; /* of the process, see kflow.h */
};

struct runner *runner_start(const struct runner_options *options,
    struct err *err) MUST_CHECK;

/* Only of one that has stopped; joins its thread, which may take seconds. */
void runner_free(struct runner *runner); /* NULL is fine */

/* Takes the newest report; about once a second. */
void runner_tick(struct runner *runner, int64_t now_ms);

const char *runner_name(const struct runner *runner);
uint64_t runner_signature(const struct runner *runner);
bool runner_order(struct runner *runner, enum flow_order order) MUST_CHECK;
void runner_drain(struct runner *runner);
bool runner_draining(const struct runner *runner);
bool runner_stopped(const struct runner *runner, bool *drained);

/* Has its thread said something in the last 10 s? */
bool runner_live(const struct runner *runner, int64_t now_ms);

/* What there is to show; borrowed until the next runner_tick(). */
void runner_view(const struct runner *runner, int64_t now_ms,
    struct view_flow *view);

#endif
