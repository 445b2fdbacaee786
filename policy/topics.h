/* topics.h - what a flow's patterns select, and whether two flows' records can
 * come to lie in one topic or go round in a circle.
 *
 * Thread: one owner, while the policy is made.
 * Memory: topics_compile() puts a struct match into the flow; the policy frees
 *         it.
 * Errors: findings. */
#ifndef KEDGE_TOPICS_H
#define KEDGE_TOPICS_H

#include "policy.h"

/* Compiles include and exclude of a flow, and judges each pattern.  `node` is
 * the flow in the tree. */
void topics_compile(struct policy_flow *flow, const struct yaml *node,
    struct findings *found);

/* True for Kafka's own topics, and those of mirroring tools and of kedge. */
bool topics_is_internal(const char *name);

/* True unless it can be shown that no topic that `a` forwards gets the name of
 * one that `b` forwards; both go to one cluster. */
bool topics_meet(const struct policy_flow *a, const struct policy_flow *b);

/* True unless it can be shown that no record comes back to where it was by
 * going through these flows one after another; each begins at the cluster
 * where the one before ends, and the last ends where the first begins.  With
 * `again` it counts only if the first flow takes it once more.  Takes what it
 * needs of *steps; nothing can be shown without. */
bool topics_circle(const struct policy_flow *const *flows, size_t n, bool again,
    int *steps);

#endif
