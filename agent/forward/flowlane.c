/* What a flow keeps for each lane: its queue, and its client at the sink,
 * which is opened, given up and begun again. */
#include "flowset.h"
#include "flowsource.h"

#include <stdlib.h>

#define RESEND_FIRST_MS 500
#define RESEND_LAST_MS 60000

/* --- queues --- */

bool
flowlane_push(struct flow *flow, struct flow_lane *lane, struct record *record)
{
    int64_t cost = flow_cost_of(record);

    if (lane->n == lane->room) {
        size_t room = lane->room == 0 ? 64 : lane->room * 2;
        struct record *ring = malloc(room * sizeof ring[0]);

        if (ring == NULL)
            return false;
        for (size_t i = 0; i < lane->n; i++)
            ring[i] = lane->ring[(lane->head + i) & (lane->room - 1)];
        free(lane->ring);
        lane->ring = ring;
        lane->room = room;
        lane->head = 0;
    }
    lane->ring[(lane->head + lane->n) & (lane->room - 1)] = *record;
    record->hold = NULL;
    lane->n++;
    lane->queued_cost += cost;
    flow->queued_cost += cost;
    flow->cost += cost;
    return true;
}

void
flowlane_pop(struct flow *flow, struct flow_lane *lane, int64_t cost)
{
    lane->head = (lane->head + 1) & (lane->room - 1);
    lane->n--;
    lane->queued_cost -= cost;
    flow->queued_cost -= cost;
    flow->cost -= cost;
}

static void
clear(struct flow *flow, struct flow_lane *lane)
{
    while (lane->n > 0) {
        int64_t cost = flow_cost_of(&lane->ring[lane->head]);

        record_release(&lane->ring[lane->head]);
        flowlane_pop(flow, lane, cost);
    }
}

/* A partition is read again from its acks on: what is still queued of it, from
 * before it was held, would come twice. */
static void
forget(struct flow *flow, const struct part *part)
{
    struct flow_lane *lane = &flow->lane[part->lane];

    for (size_t left = lane->n; left > 0; left--) {
        struct record record = lane->ring[lane->head];
        int64_t cost = flow_cost_of(&record);

        flowlane_pop(flow, lane, cost);
        if (record.part == part->number)
            record_release(&record);
        else
            (void)flowlane_push(flow, lane, &record); /* there is room */
    }
}

static void
stop_reading(struct flow *flow, int32_t number)
{
    for (struct part *part = parts_of_lane(flow->parts, number); part != NULL;
         part = part->next_in_lane) {
        if (part->reading)
            flow->o.source.ops->stop(flow->o.source.self, part->number);
        part->reading = false;
    }
}

void
flowlane_unread(struct flow *flow, int32_t number)
{
    clear(flow, &flow->lane[number]);
    stop_reading(flow, number);
}

/* --- clients: open, drop, begin again --- */

void
flowlane_failed(struct flow *flow, int32_t number, const struct err *err)
{
    struct flow_lane *lane = &flow->lane[number];

    if (lane->resend && !lane->awaits)
        return;
    lane->awaits = false;
    LOG(flow->o.log, LEVEL_WARN, "sink.failed", kv_str("flow", flow->name),
        kv_int("lane", number), kv_str("error", err->text));
    lane->resend = true;
    lane->resend_ms =
        clock_mono_ms(flow->o.clock) +
        backoff_next(&lane->backoff, RESEND_FIRST_MS, RESEND_LAST_MS);
    flowlane_unread(flow, number); /* or it would be in the way of others */
}

/* Its client is to be another one, and this one is well: what it has is waited
 * for, so that nothing is sent twice. */
static void
renew(struct flow *flow, int32_t number, const char *why)
{
    struct flow_lane *lane = &flow->lane[number];

    LOG(flow->o.log, LEVEL_INFO, "sink.renewed", kv_str("flow", flow->name),
        kv_int("lane", number), kv_str("why", why));
    lane->resend = lane->awaits = true;
    lane->resend_ms = 0;
    flowlane_unread(flow, number);
}

/* What the smallest topic of the lane takes in one batch.  One that is held is
 * sent nothing. */
static int64_t
batch_bytes(const struct flow *flow, int32_t number)
{
    int64_t least = 0;

    for (const struct part *part = parts_of_lane(flow->parts, number);
         part != NULL; part = part->next_in_lane) {
        int64_t max = part->topic->max_message_bytes;

        if (part->phase == PHASE_HELD)
            continue;
        if (max > 0 && (least == 0 || max < least))
            least = max;
    }
    return least;
}

void
flowlane_shut(struct flow *flow, int32_t number)
{
    struct flow_lane *lane = &flow->lane[number];

    if (lane->open)
        flow->o.sink.ops->close(flow->o.sink.self, number, lane->sink_cost);
    lane->open = false;
    flow->cost -= lane->sink_cost;
    lane->sink_cost = lane->sink_bytes = 0;
    clear(flow, lane);
}

static bool
open_sink(struct flow *flow, int32_t number)
{
    struct flow_lane *lane = &flow->lane[number];
    struct err err;

    if (lane->open)
        return true;
    lane->batch_bytes = batch_bytes(flow, number);
    if (!flow->o.sink.ops->open(flow->o.sink.self, number, lane->batch_bytes,
            &err)) {
        flowlane_failed(flow, number, &err);
        return false;
    }
    lane->open = flow->opened = true;
    return true;
}

/* A client is made on this thread, which takes some 50 ms: one in a turn. */
static bool
must_wait(const struct flow *flow, struct flow_lane *lane)
{
    if (lane->open || !flow->opened)
        return false;
    lane->resend = true;
    lane->resend_ms = 0; /* in the next turn */
    return true;
}

void
flowlane_open(void *ctx, struct part *part)
{
    struct flow *flow = ctx;
    struct flow_lane *lane = &flow->lane[part->lane];
    struct err err;

    forget(flow, part);
    if (lane->resend || lane->stuck || must_wait(flow, lane) ||
        !open_sink(flow, part->lane))
        return; /* opened when the lane begins again */
    part->read_next = tracker_read_next(part->tracker);
    if (!flow->o.sink.ops->attach(flow->o.sink.self, part->number, part->lane,
            part->topic->target, part->partition, &err) ||
        !flow->o.source.ops->read(flow->o.source.self, part->number,
            part->topic->name, part->partition, part->read_next,
            parts_epoch(part, part->read_next), &err)) {
        if (err.retry || err.kind == ERR_MEMORY)
            flowlane_failed(flow, part->lane, &err);
        else
            flowsource_hold(flow, part, err.text);
        return;
    }
    part->reading = true;
    part->unsure = !part->topic->sure && part->read_next > 0;
    flowcircle_opened(flow, part->topic);
    if (lane->batch_bytes != batch_bytes(flow, part->lane))
        renew(flow, part->lane, "its topics take batches of another size");
}

void
flowlane_close(void *ctx, struct part *part)
{
    struct flow *flow = ctx;

    if (part->reading)
        flow->o.source.ops->stop(flow->o.source.self, part->number);
    part->reading = false;
    /* All of a lane's partitions are closed together, so that what was never
     * given to the sink is simply dropped: the source has it. */
    clear(flow, &flow->lane[part->lane]);
    flow->lane[part->lane].stuck = false;
}

/* The sink has nothing of the lane any more, and nothing of it is read. */
static void
begin_again(struct flow *flow, int32_t number)
{
    struct flow_lane *lane = &flow->lane[number];

    flowlane_shut(flow, number);
    lane->resend = lane->awaits = lane->stuck = false;
    lane->quiet_s = 0;
    stop_reading(flow, number);
    for (struct part *part = parts_of_lane(flow->parts, number); part != NULL;
         part = part->next_in_lane)
        flow->o.sink.ops->detach(flow->o.sink.self, part->number);
}

void
flowlane_drop(void *ctx, int32_t number)
{
    struct flow *flow = ctx;

    flowsource_tell(flow, number);
    begin_again(flow, number);
    /* Who was asked where to begin shall not answer a later owner. */
    for (struct part *part = parts_of_lane(flow->parts, number); part != NULL;
         part = part->next_in_lane)
        flow->o.source.ops->stop(flow->o.source.self, part->number);
}

void
flowlane_reread(struct flow *flow, int32_t number)
{
    for (struct part *part = parts_of_lane(flow->parts, number); part != NULL;
         part = part->next_in_lane)
        if (part->tracker != NULL && part->phase == PHASE_OPEN)
            flowlane_open(flow, part);
}

/* The client of a lane failed: what it had is read and sent again, each
 * partition from its own unbroken run of acks.  A lane that is being given up
 * does not send again; whoever has it next does. */
static void
resend(struct flow *flow, int32_t number)
{
    bool finishing = lanes_state(flow->lanes, number) == LANE_FINISHING;

    begin_again(flow, number);
    for (struct part *part = parts_of_lane(flow->parts, number); part != NULL;
         part = part->next_in_lane)
        if (part->tracker != NULL)
            tracker_rewind(part->tracker);
    if (!finishing)
        flowlane_reread(flow, number);
}

bool
flowlane_resend(struct flow *flow, bool moving)
{
    bool busy = false;

    for (int32_t i = 0; i < flow->n_lanes; i++) {
        if (!flow->lane[i].resend ||
            (flow->lane[i].awaits && flow->lane[i].sink_cost > 0) ||
            flow->lane[i].resend_ms > clock_mono_ms(flow->o.clock) ||
            (!moving && lanes_state(flow->lanes, i) != LANE_FINISHING))
            continue;
        if (!flow->opened)
            resend(flow, i);
        busy = true;
    }
    return busy;
}

void
flowlane_retry(struct flow *flow)
{
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        bool held = false;

        for (const struct part *part = parts_of_lane(flow->parts, i);
             part != NULL; part = part->next_in_lane)
            held = held || part->phase == PHASE_HELD;
        if (held && flow->lane[i].resend)
            flow->lane[i].resend_ms = 0;
    }
}

void
flowlane_free(struct flow *flow)
{
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        clear(flow, &flow->lane[i]);
        free(flow->lane[i].ring);
        flow->lane[i].ring = NULL;
        flow->lane[i].room = 0;
    }
}
