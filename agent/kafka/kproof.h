/* kproof.h - a member's proof that a lane is its own, and its leaving: the
 * calls of kmember that block.
 *
 * A broker takes a member's offset in the present generation only, so an
 * offset that is committed proves membership.  What is committed is the hint
 * where to begin to read the lane.
 *
 * Thread: jobs run on the member's worker.
 * Memory: a few hundred bytes a job.
 * Errors: in the event of a proof; leaving has none. */
#ifndef KEDGE_KPROOF_H
#define KEDGE_KPROOF_H

#include "group.h"
#include "kworker.h"

#include <librdkafka/rdkafka.h>

#define KPROOF_LEAVE_MS 15000

/* Either `leave` is true, or it is a proof. */
struct kproof {
    struct kjob job;     /* first; of this module */
    struct kproof *next; /* the same */
    rd_kafka_t *rk;
    bool leave;
    /* of a proof */
    const char *topic;        /* borrowed until the job is back */
    uint64_t stint;           /* of the assignment that it is for */
    struct group_event event; /* lane and hint in, the answer out */
    /* of leaving; taken and freed */
    rd_kafka_queue_t *queue;
    rd_kafka_topic_partition_list_t *revoked; /* not answered yet; or NULL */
};

/* NULL without memory.  `timeout_ms` is what it may take. */
struct kproof *kproof_new(rd_kafka_t *rk, int64_t timeout_ms);
/* One that leaves: closes and destroys `rk`, which is taken. */
struct kproof *kproof_new_leave(rd_kafka_t *rk, rd_kafka_queue_t *queue,
    rd_kafka_topic_partition_list_t *revoked);
/* One that was to leave and has not, does so now. */
void kproof_free(struct kproof *proof);

/* Where they are handed in, and done in that order. */
struct kproof_desk;

/* Borrows the wake and the clock. */
struct kproof_desk *kproof_desk_new(const struct wake *wake,
    const struct clock *clock, struct kwatch *watch,
    struct err *err) MUST_CHECK;
/* Does what is there yet.  False when something was abandoned. */
bool kproof_desk_free(struct kproof_desk *desk);

void kproof_desk_push(struct kproof_desk *desk, struct kproof *proof);

/* Gives one that is done; NULL: none now.  When the worker is stuck it is
 * abandoned with what it has in hand: `stuck` is called for each of these,
 * which must not be changed or freed, the first being the cause. */
struct kproof *kproof_desk_take(struct kproof_desk *desk,
    void (*stuck)(void *ctx, const struct kproof *proof, bool cause),
    void *ctx);

/* PROVED, REFUSED or UNSURE for the error of a commit. */
enum group_event_kind kproof_judge(rd_kafka_resp_err_t code);
/* Is it a no to the member itself, which does not pass by itself? */
bool kproof_keeps_out(rd_kafka_resp_err_t code);

#endif
