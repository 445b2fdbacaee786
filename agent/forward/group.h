/* group.h - which lanes are this agent's to try.
 *
 * The agents of a flow are members of one consumer group at the target,
 * subscribed to the ledger; a lane is one partition of it.
 * Membership says who should try; that nobody else writes is made sure by the
 * ledger store's fencing and claim.  kafka/kmember fills it.
 *
 * Thread: the flow's thread, which never waits in here; the wake given at
 *         opening is signalled when event() has something.
 * Memory: bounded by the number of lanes. */
#ifndef KEDGE_GROUP_H
#define KEDGE_GROUP_H

#include "err.h"

#include <stdint.h>

#define GROUP_NO_HINT INT64_C(-1)

enum group_event_kind {
    GROUP_ASSIGNED, /* `lane` is ours to take over */
    GROUP_REVOKED,  /* `lane` is wanted back: finish, then release() it */
    GROUP_LOST,     /* `lane` is not ours any more, at once */
    GROUP_PROVED,   /* answer to prove(): we are the member that has it;
                     * `hint` is where to begin to read the lane */
    GROUP_REFUSED,  /* answer to prove(): not ours; wait for an assignment */
    GROUP_UNSURE,   /* answer to prove(): could not be asked; try later */
    GROUP_IN,     /* lane -1: the group has let us in, with lanes or without */
    GROUP_FAILED, /* lane -1: it does not let us in, or has lost us; err says
                     * why, and GROUP_IN follows when that is over */
    GROUP_DOWN,   /* lane -1: the target does not answer it; err.  Said again
                   * every second while it lasts */
    GROUP_UP,     /* lane -1: the target answers, at first or again */
};

struct group_event {
    enum group_event_kind kind;
    int32_t lane;
    int64_t hint; /* GROUP_NO_HINT: none was ever committed */
    struct err err;
};

struct group_ops {
    /* Joins; assignments come as events.  Joined already: fine. */
    bool (*join)(void *self, struct err *err);
    /* Leaves; what was assigned is void without further events. */
    void (*leave)(void *self);
    bool (*event)(void *self, struct group_event *event);
    /* Answers GROUP_REVOKED when the lane is finished. */
    void (*release)(void *self, int32_t lane);
    /* Commits the lane's hint as a member, which a broker accepts in the
     * present generation only.  GROUP_NO_HINT: the hint as it stands.  One
     * answer for each call. */
    void (*prove)(void *self, int32_t lane, int64_t hint);
    void (*free)(void *self); /* leaves; may take seconds */
};

struct group {
    const struct group_ops *ops;
    void *self;
};

#endif
