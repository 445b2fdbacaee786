#include "kproof.h"

#include "clock.h"
#include "kconf.h"

#include <assert.h>
#include <stdlib.h>

#define SLICE_MS 500
#define CLOSE_SLICE_MS 100

struct kproof_desk {
    /* fixed */
    const struct wake *wake;
    const struct clock *clock;
    struct kwatch *watch;
    /* own to the owner */
    struct kworker *worker;
    struct kproof *waiting; /* for the worker, oldest first */
    struct kproof *working; /* in its hands, oldest first */
    bool leaked;
};

enum group_event_kind
kproof_judge(rd_kafka_resp_err_t code)
{
    switch (code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return GROUP_PROVED;
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
    case RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST:
        return GROUP_REFUSED;
    default: /* a rebalance, a coordinator that moves, a link that is down */
        return GROUP_UNSURE;
    }
}

static const rd_kafka_resp_err_t kept_out[] = {
    RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
    RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
    RD_KAFKA_RESP_ERR__AUTHENTICATION,
    RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL,
    RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT,
    RD_KAFKA_RESP_ERR_INVALID_GROUP_ID,
    RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED,
    RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION,
    RD_KAFKA_RESP_ERR__FATAL,
};

bool
kproof_keeps_out(rd_kafka_resp_err_t code)
{
    for (size_t i = 0; i < sizeof kept_out / sizeof kept_out[0]; i++)
        if (kept_out[i] == code)
            return true;
    return false;
}

static bool
over(const struct kproof *proof, int64_t deadline_ms)
{
    return clock_mono_ms(clock_system()) >= deadline_ms ||
           kworker_cancelled(&proof->job);
}

/* The offset that is committed; RD_KAFKA_OFFSET_INVALID for none. */
static rd_kafka_resp_err_t
ask_hint(struct kproof *proof, rd_kafka_topic_partition_list_t *list,
    int64_t deadline_ms)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;

    do
        code = rd_kafka_committed(proof->rk, list, SLICE_MS);
    while (code != RD_KAFKA_RESP_ERR_NO_ERROR && !over(proof, deadline_ms));
    return code != RD_KAFKA_RESP_ERR_NO_ERROR ? code : list->elems[0].err;
}

static rd_kafka_resp_err_t
answer_of(rd_kafka_event_t *event)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_event_topic_partition_list(event);
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);

    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && list != NULL && list->cnt == 1)
        code = list->elems[0].err;
    return code;
}

/* As rd_kafka_commit(), which has no time-out of its own. */
static rd_kafka_resp_err_t
commit_hint(struct kproof *proof, rd_kafka_topic_partition_list_t *list,
    int64_t deadline_ms)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(proof->rk);
    rd_kafka_event_t *event = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    code = rd_kafka_commit_queue(proof->rk, list, queue, NULL, NULL);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        code = RD_KAFKA_RESP_ERR__TIMED_OUT;
        while (event == NULL && !over(proof, deadline_ms))
            event = rd_kafka_queue_poll(queue, SLICE_MS);
    }
    if (event != NULL) {
        code = answer_of(event);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    return code;
}

static void
prove(struct kproof *proof)
{
    struct group_event *event = &proof->event;
    int64_t deadline_ms = clock_mono_ms(clock_system()) + proof->job.timeout_ms;
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *lane =
        rd_kafka_topic_partition_list_add(list, proof->topic, event->lane);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    lane->offset = event->hint;
    if (event->hint == GROUP_NO_HINT) {
        code = ask_hint(proof, list, deadline_ms);
        if (lane->offset >= 0)
            event->hint = lane->offset;
        else
            lane->offset = 0;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        event->kind = GROUP_UNSURE;
    } else {
        code = commit_hint(proof, list, deadline_ms);
        event->kind = kproof_judge(code);
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        kconf_err(&event->err, code, NULL);
    rd_kafka_topic_partition_list_destroy(list);
}

static void
give_back(rd_kafka_t *rk, rd_kafka_event_t *event)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_event_topic_partition_list(event);

    if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS)
        rd_kafka_error_destroy(rd_kafka_incremental_unassign(rk, list));
    else
        (void)rd_kafka_assign(rk, NULL);
}

/* Leaves the group: whatever is taken away is given up at once. */
static void
leave(struct kproof *proof)
{
    rd_kafka_t *rk = proof->rk;
    rd_kafka_queue_t *closing = rd_kafka_queue_new(rk);
    rd_kafka_event_t *event = NULL;

    if (proof->revoked != NULL)
        rd_kafka_error_destroy(
            rd_kafka_incremental_unassign(rk, proof->revoked));
    rd_kafka_error_destroy(rd_kafka_consumer_close_queue(rk, closing));
    while (!rd_kafka_consumer_closed(rk)) {
        event = rd_kafka_queue_poll(closing, CLOSE_SLICE_MS);
        if (event == NULL)
            continue;
        if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE)
            give_back(rk, event);
        rd_kafka_event_destroy(event);
    }
    if (proof->revoked != NULL)
        rd_kafka_topic_partition_list_destroy(proof->revoked);
    rd_kafka_queue_destroy(closing);
    rd_kafka_queue_destroy(proof->queue);
    kconf_close(rk);
    proof->revoked = NULL;
    proof->queue = NULL;
    proof->rk = NULL;
}

static void
run(struct kjob *job, void *held)
{
    struct kproof *proof = (struct kproof *)job;

    (void)held;
    if (proof->leave)
        leave(proof);
    else
        prove(proof);
}

void
kproof_free(struct kproof *proof)
{
    if (proof->leave && proof->rk != NULL)
        leave(proof);
    free(proof);
}

static void
free_job(struct kjob *job)
{
    kproof_free((struct kproof *)job);
}

struct kproof *
kproof_new(rd_kafka_t *rk, int64_t timeout_ms)
{
    struct kproof *proof = calloc(1, sizeof *proof);

    if (proof == NULL)
        return NULL;
    proof->job.run = run;
    proof->job.free = free_job;
    proof->job.timeout_ms = timeout_ms;
    proof->rk = rk;
    return proof;
}

struct kproof *
kproof_new_leave(rd_kafka_t *rk, rd_kafka_queue_t *queue,
    rd_kafka_topic_partition_list_t *revoked)
{
    struct kproof *proof = kproof_new(rk, KPROOF_LEAVE_MS);

    if (proof == NULL)
        return NULL;
    proof->leave = true;
    proof->queue = queue;
    proof->revoked = revoked;
    return proof;
}

struct kproof_desk *
kproof_desk_new(const struct wake *wake, const struct clock *clock,
    struct kwatch *watch, struct err *err)
{
    struct kproof_desk *desk = calloc(1, sizeof *desk);

    if (desk == NULL) {
        err_set(err, ERR_MEMORY, "group member");
        return NULL;
    }
    desk->wake = wake;
    desk->clock = clock;
    desk->watch = kworker_watch_hold(watch);
    return desk;
}

bool
kproof_desk_free(struct kproof_desk *desk)
{
    struct kproof *proof = NULL;
    bool clean = true;

    if (desk == NULL)
        return true;
    clean = kworker_stop(desk->worker) && !desk->leaked;
    while ((proof = desk->waiting) != NULL) {
        desk->waiting = proof->next;
        kproof_free(proof);
    }
    kworker_watch_drop(desk->watch);
    free(desk);
    return clean;
}

static void
append(struct kproof **list, struct kproof *proof)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = proof;
    proof->next = NULL;
}

/* Gives the worker what waits for it, as much as it takes. */
static void
pump(struct kproof_desk *desk)
{
    const struct kworker_options options = {
        .name = "member",
        .wake = desk->wake,
        .clock = desk->clock,
        .watch = desk->watch,
    };
    struct err err;

    while (desk->waiting != NULL) {
        struct kproof *proof = desk->waiting;
        struct kproof *next = proof->next;
        struct kjob *job = &proof->job;

        if (desk->worker == NULL &&
            (desk->worker = kworker_start(&options, &err)) == NULL)
            return; /* tried again at the next look */
        if (!kworker_push(desk->worker, &job))
            return;
        desk->waiting = next;
        append(&desk->working, proof);
    }
}

void
kproof_desk_push(struct kproof_desk *desk, struct kproof *proof)
{
    append(&desk->waiting, proof);
    pump(desk);
}

struct kproof *
kproof_desk_take(struct kproof_desk *desk,
    void (*stuck)(void *ctx, const struct kproof *proof, bool cause), void *ctx)
{
    struct kjob *job = NULL;

    if (desk->worker != NULL && (job = kworker_take(desk->worker)) != NULL) {
        struct kproof *proof = (struct kproof *)job;

        assert(desk->working == proof);
        desk->working = proof->next;
        return proof;
    }
    if (desk->worker != NULL && kworker_overdue(desk->worker)) {
        for (struct kproof *proof = desk->working; proof != NULL;
             proof = proof->next)
            stuck(ctx, proof, proof == desk->working);
        desk->working = NULL;
        desk->leaked = !kworker_stop(desk->worker) || desk->leaked;
        desk->worker = NULL;
    }
    pump(desk);
    return NULL;
}
