/* judge.h - what every rule needs to look at a policy.
 *
 * A rule asks for values that somebody wrote and that were understood: what
 * was not has its finding already.
 *
 * Thread: one owner, while the policy is made.
 * Memory: nodes are borrowed from the policy's tree. */
#ifndef KEDGE_JUDGE_H
#define KEDGE_JUDGE_H

#include "policy.h"

struct judge {
    const struct policy *policy;
    int64_t now_wall_ms;
    struct findings *found;
};

void judge_refuse(const struct judge *judge, const char *code, struct span at,
    const char *text);

/* False when no cluster is at the agent's site, and there are sites to tell. */
bool judge_site_is_known(const struct judge *judge);

/* The named thing of "clusters" or "flows". */
struct yaml *judge_node(const struct judge *judge, const char *section,
    const char *name);
struct yaml *judge_flow(const struct judge *judge,
    const struct policy_flow *flow);

/* The text of flow.section.key; NULL when it is not there, or not
 * understood. */
const struct yaml *judge_said(const struct judge *judge,
    const struct policy_flow *flow, const char *section, const char *key);

/* The same of a cluster, of any kind; section NULL: of the cluster itself. */
const struct yaml *judge_cluster_said(const struct judge *judge,
    const struct policy_cluster *cluster, const char *section, const char *key);

#endif
