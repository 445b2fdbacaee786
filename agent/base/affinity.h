/* affinity.h - "one thread only", checked in every build.
 *
 * A module that one thread owns claims it when that thread starts, and asserts
 * it at its entry points.  A header alone: two leaf helpers.
 *
 * Thread: claim once, on the owner; assert on the owner.  Memory: none. */
#ifndef KEDGE_AFFINITY_H
#define KEDGE_AFFINITY_H

#include <assert.h>
#include <pthread.h>

struct affinity {
    pthread_t owner;
};

static inline void
affinity_claim(struct affinity *affinity)
{
    affinity->owner = pthread_self();
}

static inline void
affinity_assert(const struct affinity *affinity)
{
    assert(pthread_equal(affinity->owner, pthread_self()));
}

#endif
