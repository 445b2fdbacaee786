/* How much of max_in_flight each lane may have, looked at once a second: what
 * its client is given, what may wait behind that, and whose turn it is when
 * one lane stands or is slow.
 *
 * A client is given what it can use and no more: the library sends one batch
 * of a partition at a time, so a few batches for each keep it busy, however
 * far the target is; the rest would only lie there, to be sent again after a
 * crash.  What waits is kept short as well, since each record that waits keeps
 * all of the answer of the source that it came in. */
#include "flowset.h"

#include <stdlib.h>

#define BATCH INT64_C(1000000) /* bytes, where the sink's default holds */
#define BATCHES_MOST 3         /* of a partition that the sink may have */
#define RATE_S 10              /* and no more than what is acked in this time */
#define QUEUE_SHARE 20         /* part of what all may share that may wait */
#define LEAST_SHARE 16         /* part of it that is left whatever leaked */
#define STUCK_S 2              /* without an ack, or in the way of others */
#define SLOW_S 10              /* what waits takes longer than this */
#define ASK_AFTER_S 10         /* without an ack the target is asked why */
#define ASK_EVERY_S 30         /* and again */
#define RING_KEEP 1024         /* slots that an empty queue may keep */

/* Of closed clients: what those hold that are still ending, and those that were
 * left behind, the store's included. */
static struct sink_closed
look_at_closed(const struct flow *flow)
{
    struct sink_closed closed;

    flow->o.sink.ops->closed(flow->o.sink.self, &closed);
    closed.leaked += flow->o.store.ops->leaked(flow->o.store.self);
    return closed;
}

int64_t
flowshare_leaked(const struct flow *flow)
{
    return look_at_closed(flow).leaked;
}

/* What all lanes may share.  However much was leaked, some is left, so that
 * records move until the process is started anew. */
static int64_t
share_without(const struct flow *flow, int64_t leaked)
{
    int64_t max = flow->o.max_in_flight_bytes, least = max / LEAST_SHARE;
    int64_t rest = max - max / FLOW_PREFETCH_SHARE - leaked;

    return rest > least ? rest : least;
}

static int64_t
share(const struct flow *flow)
{
    return share_without(flow, flowshare_leaked(flow));
}

static int64_t
queue_share(const struct flow *flow)
{
    return share(flow) / QUEUE_SHARE;
}

bool
flowshare_may_read(const struct flow *flow)
{
    struct sink_closed closed = look_at_closed(flow);
    int64_t all = share_without(flow, closed.leaked);

    return flow->queued_cost < all / QUEUE_SHARE &&
           flow->cost < all - closed.ending;
}

static void
look_at_acks(struct flow *flow, struct flow_lane *lane)
{
    if (lane->acked_bytes > 0 || lane->sink_cost == 0) {
        lane->quiet_s = 0;
        lane->quiet_at = flow->read_bytes;
    } else {
        lane->quiet_s++;
        if (lane->quiet_s % ASK_EVERY_S == ASK_AFTER_S)
            flow->refresh_at_ms = 0; /* the target may say why */
    }
    lane->rate = lane->rate == 0 ? lane->acked_bytes
                                 : (3 * lane->rate + lane->acked_bytes) / 4;
    lane->acked_bytes = 0;
}

static void
look_at_quota(struct flow *flow, int32_t number, int32_t sharers)
{
    struct flow_lane *lane = &flow->lane[number];
    int64_t batches = lane->batch_bytes > 0 ? lane->batch_bytes : BATCH;

    batches *= lane->reading > 0 ? lane->reading : 1;
    lane->quota = lane->rate * RATE_S;
    if (lane->quota < batches)
        lane->quota = batches;
    if (lane->quota > BATCHES_MOST * batches)
        lane->quota = BATCHES_MOST * batches;
    /* One part is left, so that a lane can move though all others stand. */
    lane->cost_most = share(flow) / (sharers + 1);
}

static int32_t
count_reading(struct flow *flow)
{
    int32_t sharers = 0;

    for (int32_t i = 0; i < flow->n_lanes; i++) {
        struct flow_lane *lane = &flow->lane[i];

        lane->reading = 0;
        for (const struct part *part = parts_of_lane(flow->parts, i);
             part != NULL; part = part->next_in_lane)
            lane->reading += part->reading;
        sharers += lane->reading > 0 || lane->sink_cost > 0;
    }
    return sharers > 0 ? sharers : flow->n_lanes; /* who knows yet */
}

static bool
others_could_move(const struct flow *flow, int32_t number)
{
    for (int32_t i = 0; i < flow->n_lanes; i++)
        if (i != number && flow->lane[i].reading > 0 &&
            flow->lane[i].quiet_s == 0)
            return true;
    return false;
}

static bool
has_unread(const struct flow *flow, int32_t number)
{
    for (const struct part *part = parts_of_lane(flow->parts, number);
         part != NULL; part = part->next_in_lane)
        if (part->reading && part->source_high > part->read_next)
            return true;
    return false;
}

/* Is there another that has room and nothing to fill it with, though its
 * source has? */
static bool
others_wait(const struct flow *flow, int32_t number)
{
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        const struct flow_lane *lane = &flow->lane[i];

        if (i != number && lane->n == 0 && lane->quiet_s == 0 &&
            lane->sink_bytes < lane->quota / 2 && has_unread(flow, i))
            return true;
    }
    return false;
}

/* More than what is left for all others, or all that may wait; or it has been
 * quiet for so long that what it has may hold too much: those that came in the
 * same answers have moved on. */
static bool
has_too_much(const struct flow *flow, const struct flow_lane *lane)
{
    return lane->queued_cost + lane->sink_cost > share(flow) - flow->cost ||
           flow->queued_cost >= queue_share(flow) ||
           flow->read_bytes - lane->quiet_at > flow->o.max_in_flight_bytes;
}

/* Nobody is read because of what waits for this one, and it would take long. */
static bool
is_in_the_way(const struct flow *flow, int32_t number)
{
    const struct flow_lane *lane = &flow->lane[number];
    int64_t waits = lane->queued_cost - (int64_t)lane->n * FLOW_RECORD_COST;

    return flow->queued_cost >= queue_share(flow) &&
           lane->queued_cost >= queue_share(flow) / 2 &&
           waits > lane->rate * SLOW_S && others_wait(flow, number);
}

void
flowshare_give_way(struct flow *flow, int32_t number)
{
    struct flow_lane *lane = &flow->lane[number];

    flowlane_unread(flow, number);
    lane->stuck = true;
    if (lane->slow_s > 0)
        lane->slow_s = SLOW_S;
}

static void
say(const struct flow *flow, int32_t number, const char *event, const char *why)
{
    LOG(flow->o.log, LEVEL_WARN, event, kv_str("flow", flow->name),
        kv_int("lane", number), kv_int("queued", (int64_t)flow->lane[number].n),
        kv_str("why", why));
}

/* A lane whose target stands (a leader that is dead) and which has too much:
 * its queue is dropped, the source has it, and it is not read until the sink is
 * nearly done with the rest.  The same for one whose ledger stands, until it
 * does not; and for one that is so slow that others wait; for some seconds of
 * reading nothing of it may wait then. */
static void
look_at_queue(struct flow *flow, int32_t number)
{
    struct flow_lane *lane = &flow->lane[number];
    bool stands = lanes_state(flow->lanes, number) == LANE_STANDING;

    lane->in_way_s = is_in_the_way(flow, number) ? lane->in_way_s + 1 : 0;
    if (lane->stuck) {
        lane->stuck = stands || lane->quiet_s > 0 ||
                      lane->sink_bytes > lane->quota / BATCHES_MOST;
        if (!lane->stuck)
            flowlane_reread(flow, number);
    } else if (lane->resend) {
        return;
    } else if (stands) {
        flowshare_give_way(flow, number); /* lane.stands was said */
    } else if (lane->n > 0 && lane->quiet_s >= STUCK_S &&
               has_too_much(flow, lane) && others_could_move(flow, number)) {
        say(flow, number, "lane.stuck",
            "no acks: it is not read until there are some");
        flowshare_give_way(flow, number);
    } else if (lane->in_way_s >= STUCK_S) {
        say(flow, number, "lane.slow", "slower than the others: they go first");
        lane->slow_s = SLOW_S;
        flowshare_give_way(flow, number);
    } else if (lane->slow_s > 0) {
        lane->slow_s--;
    }
}

/* Each lane may have its turn to be the busy one. */
static void
give_room_back(struct flow_lane *lane)
{
    if (lane->n > 0 || lane->room <= RING_KEEP)
        return;
    free(lane->ring);
    lane->ring = NULL;
    lane->room = lane->head = 0;
}

void
flowshare_look(struct flow *flow, int64_t now_ms)
{
    int32_t sharers;

    if (flow->share_at_ms > now_ms || flow->lanes == NULL)
        return;
    flow->share_at_ms = now_ms + 1000;
    sharers = count_reading(flow);
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        look_at_acks(flow, &flow->lane[i]);
        look_at_quota(flow, i, sharers);
    }
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        look_at_queue(flow, i);
        give_room_back(&flow->lane[i]);
    }
}
