#include "kmember.h"

#include "clock.h"
#include "kgroupq.h"
#include "kproof.h"
#include "kpulse.h"
#include "ktext.h"
#include "ledger.h"
#include "log.h"
#include "pace.h"
#include "wake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 10000
#define AGAIN_FIRST_MS 1000
#define AGAIN_LAST_MS 30000
#define SILENT_MS 8000 /* two heartbeats, and time to answer */

struct lane {
    bool assigned;  /* also while it is being given back */
    bool revoked;   /* asked back, not released yet */
    uint64_t stint; /* how often it was assigned */
};

struct kmember {
    /* fixed */
    struct kmember_options o;
    char *texts;
    /* own to the flow's thread */
    bool joined;
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;                  /* all that the client tells */
    rd_kafka_topic_partition_list_t *revoked; /* to be answered; NULL: none */
    rd_kafka_resp_err_t said; /* the last that was told as GROUP_FAILED */
    struct lane *lanes;
    size_t n_lanes;
    struct kproof_desk *desk; /* for what blocks */
    struct kgroupq *out;      /* what is to be told */
    struct kpulse *pulse;     /* of all clients that there were */
    int64_t again_ms;         /* not before is a lost client made anew */
    struct backoff backoff;
};

static void
tell_lane(struct kmember *member, enum group_event_kind kind, int32_t lane)
{
    kgroupq_put(member->out, &(struct group_event){ .kind = kind,
                                 .lane = lane,
                                 .hint = GROUP_NO_HINT });
}

static void
tell_why(struct kmember *member, const struct err *err)
{
    kgroupq_put(member->out, &(struct group_event){ .kind = GROUP_FAILED,
                                 .lane = -1,
                                 .hint = GROUP_NO_HINT,
                                 .err = *err });
}

static void
tell_failed(struct kmember *member, rd_kafka_resp_err_t code,
    const char *detail)
{
    struct err err;

    if (member->said == code)
        return;
    member->said = code;
    kconf_err(&err, code, detail);
    tell_why(member, &err);
}

/* NULL: no such lane. */
static struct lane *
lane_of(struct kmember *member, int32_t lane)
{
    if (lane < 0 || (size_t)lane >= member->n_lanes)
        return NULL;
    return &member->lanes[lane];
}

static struct lane *
make_lane(struct kmember *member, int32_t lane)
{
    size_t n = (size_t)lane + 1;

    assert(lane >= 0 && lane < LEDGER_LANES_MAX);
    if (n > member->n_lanes) {
        struct lane *lanes = reallocarray(member->lanes, n, sizeof *lanes);

        if (lanes == NULL)
            abort(); /* as in kgroupq_put() */
        memset(lanes + member->n_lanes, 0,
            (n - member->n_lanes) * sizeof *lanes);
        member->lanes = lanes;
        member->n_lanes = n;
    }
    return &member->lanes[lane];
}

static void
ignore(struct kmember *member, rd_kafka_error_t *error, const char *what)
{
    if (error == NULL)
        return;
    LOG(member->o.log, LEVEL_DEBUG, "group.call",
        kv_str("flow", member->o.flow), kv_str("what", what),
        kv_str("error", rd_kafka_error_string(error)));
    rd_kafka_error_destroy(error);
}

/* What is assigned is read by nobody: it stands still at its end. */
static void
on_assign(struct kmember *member, rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = RD_KAFKA_OFFSET_END;
    ignore(member, rd_kafka_incremental_assign(member->rk, list), "assign");
    (void)rd_kafka_pause_partitions(member->rk, list);
    member->said = RD_KAFKA_RESP_ERR_NO_ERROR;
    member->backoff = (struct backoff){ 0 };
    tell_lane(member, GROUP_IN, -1);
    for (int i = 0; i < list->cnt; i++) {
        struct lane *lane;

        if (list->elems[i].partition >= LEDGER_LANES_MAX)
            continue; /* the ledger was widened: no flow has such a lane */
        lane = make_lane(member, list->elems[i].partition);
        lane->assigned = true;
        lane->revoked = false;
        lane->stint++;
        tell_lane(member, GROUP_ASSIGNED, list->elems[i].partition);
    }
}

/* Gives back what was asked for, and the group goes on. */
static void
answer_revocation(struct kmember *member)
{
    rd_kafka_topic_partition_list_t *list = member->revoked;

    ignore(member, rd_kafka_incremental_unassign(member->rk, list), "unassign");
    rd_kafka_topic_partition_list_destroy(list);
    member->revoked = NULL;
}

/* The group has given these lanes away, or will at any moment. */
static void
lose(struct kmember *member, const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++) {
        struct lane *lane = lane_of(member, list->elems[i].partition);

        if (lane != NULL && lane->assigned)
            tell_lane(member, GROUP_LOST, list->elems[i].partition);
        if (lane != NULL)
            lane->assigned = lane->revoked = false;
    }
}

static void
on_revoke(struct kmember *member, const rd_kafka_topic_partition_list_t *list)
{
    bool lost = rd_kafka_assignment_lost(member->rk) != 0;
    bool owed = false;

    if (member->revoked != NULL) { /* only after a loss */
        lose(member, member->revoked);
        answer_revocation(member);
    }
    member->revoked = rd_kafka_topic_partition_list_copy(list);
    if (lost) {
        tell_failed(member, RD_KAFKA_RESP_ERR__TIMED_OUT,
            "the target has not heard of this agent for half a minute: the "
            "link or the target is away");
        lose(member, list);
    }
    for (int i = 0; i < list->cnt; i++) {
        struct lane *lane = lane_of(member, list->elems[i].partition);

        if (lane == NULL || !lane->assigned)
            continue;
        lane->revoked = true;
        owed = true;
        tell_lane(member, GROUP_REVOKED, list->elems[i].partition);
    }
    if (!owed)
        answer_revocation(member);
}

static void
on_rebalance(struct kmember *member, rd_kafka_event_t *event)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_event_topic_partition_list(event);

    switch (rd_kafka_event_error(event)) {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        on_assign(member, list);
        break;
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        on_revoke(member, list);
        break;
    default:
        (void)rd_kafka_assign(member->rk, NULL);
        break;
    }
}

static void
on_error(struct kmember *member, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);

    kpulse_trouble(member->pulse, code, rd_kafka_event_error_string(event));
    if (kproof_keeps_out(code))
        tell_failed(member, code, rd_kafka_event_error_string(event));
}

/* Its client's lanes are void, without a word to the flow. */
static void
forget(struct kmember *member)
{
    for (size_t i = 0; i < member->n_lanes; i++)
        member->lanes[i].assigned = member->lanes[i].revoked = false;
    member->rk = NULL;
    member->queue = NULL;
    member->revoked = NULL;
}

static bool
join_group(struct kmember *member, struct err *err)
{
    static const uint64_t one = 1;
    const struct kconf_options options = {
        .client = KCONF_MEMBER,
        .cluster = member->o.target,
        .agent = member->o.agent,
        .flow = member->o.flow,
        .group_id = member->o.group_id,
        .events = RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR |
                  RD_KAFKA_EVENT_OFFSET_COMMIT,
        .pulse = member->pulse,
        .log = member->o.log,
        .configure = member->o.configure,
    };
    rd_kafka_topic_partition_list_t *topics = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    kpulse_forget(member->pulse);
    if ((member->rk = kconf_open(&options, err)) == NULL)
        return false;
    (void)rd_kafka_poll_set_consumer(member->rk);
    member->queue = rd_kafka_queue_get_consumer(member->rk);
    if (member->o.wake != NULL)
        rd_kafka_queue_io_event_enable(member->queue, member->o.wake->fd, &one,
            sizeof one);
    topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, member->o.topic,
        RD_KAFKA_PARTITION_UA);
    code = rd_kafka_subscribe(member->rk, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR || kconf_err(err, code, NULL);
}

static void
end_client(struct kmember *member)
{
    struct kproof *proof = NULL;

    if (member->rk == NULL)
        return;
    if (member->o.wake != NULL)
        rd_kafka_queue_io_event_enable(member->queue, -1, NULL, 0);
    proof = kproof_new_leave(member->rk, member->queue, member->revoked);
    if (proof == NULL)
        abort(); /* a member that nobody polls would keep its lanes */
    forget(member);
    kproof_desk_push(member->desk, proof);
}

static bool
kmember_join(void *self, struct err *err)
{
    struct kmember *member = self;

    if (member->rk == NULL && !join_group(member, err)) {
        end_client(member);
        return false;
    }
    member->joined = true;
    return true;
}

static void
kmember_leave(void *self)
{
    struct kmember *member = self;

    member->joined = false;
    member->said = RD_KAFKA_RESP_ERR_NO_ERROR;
    kgroupq_void(member->out);
    end_client(member);
}

/* An answer holds if the lane was ours all the while. */
static void
told(struct kmember *member, struct kproof *proof)
{
    struct lane *lane = lane_of(member, proof->event.lane);

    if (proof->event.kind == GROUP_PROVED &&
        (member->rk == NULL || proof->rk != member->rk || lane == NULL ||
            !lane->assigned || lane->stint != proof->stint ||
            rd_kafka_assignment_lost(member->rk) != 0))
        proof->event.kind = GROUP_REFUSED;
    kgroupq_put(member->out, &proof->event);
}

/* The worker sits in a call that does not come back.  The client that it is
 * in is lost with it; if that is the present one, the lanes are too. */
static void
on_stuck(void *ctx, const struct kproof *proof, bool cause)
{
    struct kmember *member = ctx;

    if (proof->leave)
        return;
    tell_lane(member, GROUP_UNSURE, proof->event.lane);
    if (!cause || proof->rk != member->rk)
        return;
    for (size_t i = 0; i < member->n_lanes; i++) {
        if (member->lanes[i].assigned)
            tell_lane(member, GROUP_LOST, (int32_t)i);
    }
    forget(member); /* the client stays where it is */
}

/* After its client was lost. */
static void
join_anew(struct kmember *member, int64_t now_ms)
{
    struct err err;

    if (now_ms < member->again_ms || join_group(member, &err))
        return;
    end_client(member);
    tell_why(member, &err);
    member->again_ms =
        now_ms + backoff_next(&member->backoff, AGAIN_FIRST_MS, AGAIN_LAST_MS);
}

static void
look(struct kmember *member)
{
    rd_kafka_event_t *event = NULL;
    struct kproof *proof = NULL;
    struct group_event news;

    while ((proof = kproof_desk_take(member->desk, on_stuck, member)) != NULL) {
        if (!proof->leave)
            told(member, proof);
        kproof_free(proof);
    }
    if (member->joined && member->rk == NULL)
        join_anew(member, clock_mono_ms(member->o.clock));
    while (member->rk != NULL &&
           (event = rd_kafka_queue_poll(member->queue, 0)) != NULL) {
        if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE)
            on_rebalance(member, event);
        else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
            on_error(member, event);
        rd_kafka_event_destroy(event);
    }
    if (member->rk != NULL && kpulse_event(member->pulse, member->rk, &news))
        kgroupq_put(member->out, &news);
    /* A session that ends while a revocation waits comes without an event. */
    if (member->revoked != NULL && rd_kafka_assignment_lost(member->rk) != 0) {
        lose(member, member->revoked);
        answer_revocation(member);
    }
}

static bool
kmember_event(void *self, struct group_event *event)
{
    struct kmember *member = self;

    if (kgroupq_take(member->out, event))
        return true;
    look(member);
    return kgroupq_take(member->out, event);
}

static void
kmember_release(void *self, int32_t number)
{
    struct kmember *member = self;
    struct lane *lane = lane_of(member, number);

    if (lane == NULL || !lane->revoked)
        return;
    lane->assigned = lane->revoked = false;
    for (int i = 0; i < member->revoked->cnt; i++) {
        lane = lane_of(member, member->revoked->elems[i].partition);
        if (lane != NULL && lane->revoked)
            return; /* the others first */
    }
    answer_revocation(member);
}

static void
kmember_prove(void *self, int32_t number, int64_t hint)
{
    struct kmember *member = self;
    struct lane *lane = lane_of(member, number);
    struct kproof *proof = NULL;

    if (member->rk == NULL || lane == NULL || !lane->assigned ||
        rd_kafka_assignment_lost(member->rk) != 0) {
        tell_lane(member, GROUP_REFUSED, number);
    } else if ((proof = kproof_new(member->rk, member->o.step_ms)) == NULL) {
        tell_lane(member, GROUP_UNSURE, number);
    } else {
        proof->topic = member->o.topic;
        proof->stint = lane->stint;
        proof->event.lane = number;
        proof->event.hint = hint;
        kproof_desk_push(member->desk, proof);
    }
    if (proof == NULL && member->o.wake != NULL)
        wake_signal(member->o.wake);
}

static void
kmember_free(void *self)
{
    struct kmember *member = self;

    end_client(member);
    if (kproof_desk_free(member->desk)) {
        free(member->texts); /* else an abandoned job may look at them */
        kpulse_free(member->pulse);
    }
    kworker_watch_drop(member->o.watch);
    free(member->lanes);
    kgroupq_free(member->out);
    free(member);
}

static const struct group_ops ops = {
    .join = kmember_join,
    .leave = kmember_leave,
    .event = kmember_event,
    .release = kmember_release,
    .prove = kmember_prove,
    .free = kmember_free,
};

bool
kmember_open(struct group *group, const struct kmember_options *options,
    struct err *err)
{
    struct kmember *member = calloc(1, sizeof *member);

    if (member == NULL)
        return err_set(err, ERR_MEMORY, "group member");
    member->o = *options;
    if (options->clock == NULL)
        member->o.clock = clock_system();
    member->o.step_ms = options->step_ms > 0 ? options->step_ms : STEP_MS;
    member->texts =
        ktext_keep((const char **const[]){ &member->o.agent, &member->o.flow,
                       &member->o.topic, &member->o.group_id },
            4, err);
    if (member->texts != NULL)
        member->out = kgroupq_new(err);
    if (member->out != NULL)
        member->pulse = kpulse_new(member->o.wake,
            options->silent_ms > 0 ? options->silent_ms : SILENT_MS, err);
    if (member->pulse != NULL)
        member->desk = kproof_desk_new(member->o.wake, member->o.clock,
            member->o.watch, err);
    if (member->desk == NULL) {
        kgroupq_free(member->out);
        kpulse_free(member->pulse);
        free(member->texts);
        free(member);
        return false;
    }
    (void)kworker_watch_hold(member->o.watch);
    *group = (struct group){ .ops = &ops, .self = member };
    return true;
}
