/* kgroupq.h - what a member has to tell its flow, in order.
 *
 * Thread: the flow's.
 * Memory: grows with what was not taken yet; bounded by the number of lanes,
 *         since each has one assignment and few proofs under way.  Without
 *         memory the process ends: a lane that nobody hears of would never be
 *         given up. */
#ifndef KEDGE_KGROUPQ_H
#define KEDGE_KGROUPQ_H

#include "group.h"

struct kgroupq;

struct kgroupq *kgroupq_new(struct err *err) MUST_CHECK;
void kgroupq_free(struct kgroupq *queue); /* NULL is fine */

void kgroupq_put(struct kgroupq *queue, const struct group_event *event);
bool kgroupq_take(struct kgroupq *queue, struct group_event *event);

/* The membership has ended: nothing of it is told any more but the answers to
 * prove(), which are owed, as refusals. */
void kgroupq_void(struct kgroupq *queue);

#endif
