/* agent.h - make the parts, connect them, start, reload, drain, stop.
 *
 * One `kedge run`.  It starts a list of parts from the top and stops them from
 * the bottom; a part that fails ends the start, and nothing stays behind.
 *
 *   SIGTERM, SIGINT   drain: stop reading, wait for what is on the wire, write
 *                     the ledger, end; a second one ends at once
 *   SIGHUP            load the policy and its files completely; refused: the
 *                     old ones stay; accepted: flows whose settings changed
 *                     are drained and started anew, the others stay
 *
 * When calls of the Kafka library hang again and again it logs so and ends the
 * process with AGENT_TIRED_EXIT.
 *
 * Thread: the main thread, and the first call is before the second one.
 * Memory: agent_new() gives, agent_free() takes.
 * Errors: those of loaded.h, admin.h and runner.h, the part's name in front. */
#ifndef KEDGE_AGENT_H
#define KEDGE_AGENT_H

#include "err.h"

#include <stdint.h>
#include <stdio.h>

#define AGENT_DRAIN_MS 25000
#define AGENT_TIRED_EXIT 70 /* EX_SOFTWARE: see kflow_watch_new() */

struct agent;
struct clock;
struct log;

struct agent_options {
    const char *policy; /* path; borrowed for the agent's life, as the rest */
    const char *name;   /* NULL: the host's */
    FILE *findings;     /* for those of a policy that a start refuses */
    const struct clock *clock;
    struct log *log;
    int64_t drain_ms; /* 0: AGENT_DRAIN_MS */
};

struct agent *agent_new(const struct agent_options *options,
    struct err *err) MUST_CHECK;
void agent_free(struct agent *agent); /* NULL is fine; of a stopped one */
/* Clients that never end have been left behind: the log stays theirs. */
bool agent_left_clients(const struct agent *agent);

bool agent_start(struct agent *agent, struct err *err) MUST_CHECK;
void agent_stop(struct agent *agent);

/* Was the policy taken, once?  What is to be said then belongs in the log. */
bool agent_begun(const struct agent *agent);

enum agent_end {
    AGENT_DRAINED, /* everything acknowledged and written down: agent_stop() */
    AGENT_CUT,     /* not in time, or told not to wait; what was not written
                    * down is sent again after the next start.  Threads may
                    * hang: agent_abandon(), and end the process */
};

/* Runs until a drain has ended. */
bool agent_run(struct agent *agent, enum agent_end *end,
    struct err *err) MUST_CHECK;

/* Removes the admin socket and joins nothing. */
void agent_abandon(struct agent *agent);

#endif
