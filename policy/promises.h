/* promises.h - what a flow has to say in so many words.
 *
 * A flow that produces remotely can lose records where one that consumes
 * remotely cannot: so it has to say why it does, for how long the link may be
 * away, and that it waits for all replicas, retries without end, and passes
 * no record over.  A default is not enough; somebody has to have decided it.
 * What lacks is one finding each, and one block that can be pasted.
 *
 * Thread: one owner.   Memory: none. */
#ifndef KEDGE_PROMISES_H
#define KEDGE_PROMISES_H

#include "policy.h"

/* Refuses for a flow at the source, warns for another.  `node` is the flow in
 * the tree. */
void promises_check(const struct policy *policy, const struct policy_flow *flow,
    const struct yaml *node, struct findings *found);

#endif
