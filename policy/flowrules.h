/* flowrules.h - what must hold for one flow; each is a row in rules.c.
 *
 * Where the agent of the flow runs, what it has to say because of it, and what
 * nobody may take back.
 *
 * Thread: one owner, while the policy is made.
 * Memory: none.
 * Errors: findings; nothing about what was not understood. */
#ifndef KEDGE_FLOWRULES_H
#define KEDGE_FLOWRULES_H

#include "judge.h"

/* Looks at one flow of judge->policy, and adds what it finds; a flow whose
 * clusters are not known is left to flowrules_cluster_known(). */
typedef void flowrules_fn(const struct judge *judge,
    const struct policy_flow *flow);

/* Where the agent of the flow runs, and what it has to say for it. */
flowrules_fn flowrules_cluster_known;
flowrules_fn flowrules_one_side_here;
flowrules_fn flowrules_runs_at;
flowrules_fn flowrules_promises;
flowrules_fn flowrules_encryption;
flowrules_fn flowrules_measured;

/* What nobody may take back, in each placement. */
flowrules_fn flowrules_assertions; /* KP050, KP052 to KP055, KP059 */
flowrules_fn flowrules_in_flight;

/* Where it begins. */
flowrules_fn flowrules_start;

/* Names and copies at the target. */
flowrules_fn flowrules_separator;
flowrules_fn flowrules_replicas;

#endif
