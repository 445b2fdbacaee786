/* Records: from the source into the lanes' queues, from there into the sink,
 * and the acks that come back.  The only code that runs once for each record. */
#include "flowset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACKS_MAX 4096
#define RESEND_FIRST_MS 500
#define RESEND_LAST_MS 60000
#define QUOTA_RATE_S 10               /* the sink may have this much of rate */
#define QUOTA_PART (INT64_C(2) << 20) /* and at least so much a partition */
#define BATCH_OVERHEAD 200            /* of a batch with one record, at most */

static int64_t
cost_of(const struct record *record)
{
    return record_bytes(record) + FLOW_RECORD_COST;
}

/* --- the lanes' queues --- */

static bool
ring_push(struct flow *flow, struct flow_lane *lane, struct record *record)
{
    int64_t cost = cost_of(record);

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
    flow->cost += cost;
    return true;
}

static void
ring_clear(struct flow *flow, struct flow_lane *lane)
{
    for (; lane->n > 0; lane->n--) {
        record_release(&lane->ring[lane->head]);
        lane->head = (lane->head + 1) & (lane->room - 1);
    }
    flow->cost -= lane->queued_cost;
    lane->queued_cost = 0;
}

/* --- failing --- */

/* A person has to act on this record.  Nothing behind it is sent. */
static void
refuse(struct flow *flow, struct part *part, int64_t offset,
    const struct err *err)
{
    char why[REPORT_TEXT_MAX];

    (void)snprintf(why, sizeof why, "%.60s [%d] offset %" PRId64 ": %.150s",
        part->topic->name, part->partition, offset, err->text);
    metric_add(flow->o.metrics, METRIC_RECORDS_FAILED, 1);
    LOG(flow->o.log, LEVEL_ERROR, "record.refused", kv_str("flow", flow->name),
        kv_str("topic", part->topic->name),
        kv_int("partition", part->partition), kv_int("offset", offset),
        kv_str("error", err->text),
        kv_str("scope", flow->o.hold_partition_only ? "partition" : "flow"));
    parts_hold(part, "%s", why);
    if (part->reading)
        flow->o.source.ops->stop(flow->o.source.self, part->number);
    part->reading = false;
    if (flow->o.hold_partition_only || flow->draining)
        return;
    flow->failed = true;
    flow_enter(flow, FLOW_HELD, why);
}

void
flowmove_failed(struct flow *flow, int32_t lane, const struct err *err)
{
    struct flow_lane *of = &flow->lane[lane];

    if (of->resend)
        return;
    LOG(flow->o.log, LEVEL_WARN, "sink.failed", kv_str("flow", flow->name),
        kv_int("lane", lane), kv_str("error", err->text));
    of->resend = true;
    of->resend_ms = clock_mono_ms(flow->o.clock) +
                    backoff_next(&of->backoff, RESEND_FIRST_MS, RESEND_LAST_MS);
}

/* --- acks --- */

void
flowmove_done(struct flow *flow, const struct sink_done *done)
{
    struct part *part = parts_at(flow->parts, done->part);
    struct flow_lane *lane = &flow->lane[part->lane];
    int64_t bytes, cost;
    size_t records;

    if (part->tracker == NULL)
        return; /* given up meanwhile */
    if (done->err != NULL) {
        if (!done->err->retry)
            refuse(flow, part, done->offset, done->err);
        flowmove_failed(flow, part->lane, done->err);
        return;
    }
    bytes = tracker_in_flight_bytes(part->tracker);
    records = tracker_in_flight(part->tracker);
    tracker_ack(part->tracker, done->offset, done->target_offset);
    bytes -= tracker_in_flight_bytes(part->tracker);
    records -= tracker_in_flight(part->tracker);
    cost = bytes + (int64_t)records * FLOW_RECORD_COST;
    lane->sink_cost -= cost;
    lane->acked_cost += cost;
    lane->backoff = (struct backoff){ 0 };
    flow->cost -= cost;
    metric_add(flow->o.metrics, METRIC_RECORDS_ACKED, (int64_t)records);
    metric_add(flow->o.metrics, METRIC_BYTES_ACKED, bytes);
}

bool
flowmove_acks(struct flow *flow, int64_t now_ms)
{
    if (flow->lanes == NULL ||
        flow->o.sink.ops->poll(flow->o.sink.self, ACKS_MAX) == 0)
        return false;
    flow->last_ack_ms = now_ms;
    return true;
}

/* --- lanes: open, drop, begin again --- */

/* What the smallest topic of the lane takes in one batch. */
static int64_t
batch_bytes(const struct flow *flow, int32_t lane)
{
    int64_t least = 0;

    for (const struct part *part = parts_of_lane(flow->parts, lane);
         part != NULL; part = part->next_in_lane) {
        int64_t max = part->topic->max_message_bytes;

        if (max > 0 && (least == 0 || max < least))
            least = max;
    }
    return least;
}

static void
close_sink(struct flow *flow, int32_t number)
{
    struct flow_lane *lane = &flow->lane[number];

    if (lane->open)
        flow->o.sink.ops->close(flow->o.sink.self, number);
    lane->open = false;
    flow->cost -= lane->sink_cost;
    lane->sink_cost = 0;
    ring_clear(flow, lane);
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
        flowmove_failed(flow, number, &err);
        return false;
    }
    lane->open = true;
    return true;
}

void
flowmove_open(void *ctx, struct part *part)
{
    struct flow *flow = ctx;
    struct flow_lane *lane = &flow->lane[part->lane];
    struct err err;

    if (lane->resend || !open_sink(flow, part->lane))
        return; /* opened when the lane begins again */
    part->read_next = tracker_read_next(part->tracker);
    if (!flow->o.sink.ops->attach(flow->o.sink.self, part->number, part->lane,
            part->topic->target, part->partition, &err) ||
        !flow->o.source.ops->read(flow->o.source.self, part->number,
            part->topic->name, part->partition, part->read_next,
            parts_epoch(part, part->read_next), &err)) {
        parts_hold(part, "%s", err.text);
        return;
    }
    part->reading = true;
    if (lane->batch_bytes != batch_bytes(flow, part->lane)) {
        err_set_retry(&err, ERR_KAFKA, "a topic takes smaller batches only");
        flowmove_failed(flow, part->lane, &err);
    }
}

void
flowmove_close(void *ctx, struct part *part)
{
    struct flow *flow = ctx;

    if (part->reading)
        flow->o.source.ops->stop(flow->o.source.self, part->number);
    part->reading = false;
    /* All of a lane's partitions are closed together, so that what was never
     * given to the sink is simply dropped: the source has it. */
    ring_clear(flow, &flow->lane[part->lane]);
}

void
flowmove_drop(void *ctx, int32_t lane)
{
    struct flow *flow = ctx;

    close_sink(flow, lane);
    flow->lane[lane].resend = false;
    for (struct part *part = parts_of_lane(flow->parts, lane); part != NULL;
         part = part->next_in_lane) {
        if (part->reading)
            flow->o.source.ops->stop(flow->o.source.self, part->number);
        part->reading = false;
        flow->o.sink.ops->detach(flow->o.sink.self, part->number);
    }
}

/* The client of a lane failed: what it had is read and sent again, each
 * partition from its own unbroken run of acks. */
static void
resend(struct flow *flow, int32_t number)
{
    flowmove_drop(flow, number);
    for (struct part *part = parts_of_lane(flow->parts, number); part != NULL;
         part = part->next_in_lane) {
        if (part->tracker == NULL)
            continue;
        tracker_rewind(part->tracker);
        if (part->phase == PHASE_OPEN)
            flowmove_open(flow, part);
    }
}

void
flowmove_retry(struct flow *flow)
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

/* --- reading and sending --- */

static bool
may_move(const struct flow *flow)
{
    return flow->lanes != NULL && !flow->failed && !flow->paused &&
           !flow->draining;
}

/* True when the sink has room for more of the lane. */
static bool
send_one(struct flow *flow, struct flow_lane *lane, struct record *record,
    struct part *part)
{
    int64_t bytes = record_bytes(record);
    int64_t offset = record->offset, wall_ms = record->timestamp_wall_ms;
    struct err err;

    switch (flow->o.sink.ops->send(flow->o.sink.self, record, &err)) {
    case SINK_FULL:
        return false;
    case SINK_REFUSED:
        refuse(flow, part, offset, &err);
        record_release(record);
        return true;
    case SINK_TAKEN:
        break;
    }
    if (!tracker_add(part->tracker, offset, bytes, wall_ms)) {
        err_set_retry(&err, ERR_MEMORY, "no memory for what is in flight");
        flowmove_failed(flow, part->lane, &err);
        close_sink(flow, part->lane); /* its ack would find no slot */
        return false;
    }
    lane->sink_cost += bytes + FLOW_RECORD_COST;
    flow->cost += bytes + FLOW_RECORD_COST;
    if (offset < part->sent_next)
        metric_add(flow->o.metrics, METRIC_RECORDS_REPEATED, 1);
    else
        part->sent_next = offset + 1;
    return true;
}

static bool
send_lane(struct flow *flow, struct flow_lane *lane)
{
    bool busy = false;

    while (lane->n > 0 && lane->sink_cost < lane->quota && !lane->resend) {
        struct record *record = &lane->ring[lane->head];
        struct part *part = parts_at(flow->parts, record->part);
        int64_t cost = cost_of(record);

        if (part->phase != PHASE_OPEN)
            record_release(record); /* held meanwhile: read again later */
        else if (!send_one(flow, lane, record, part))
            break;
        lane->head = (lane->head + 1) & (lane->room - 1);
        lane->n--;
        lane->queued_cost -= cost;
        flow->cost -= cost;
        busy = true;
    }
    return busy;
}

bool
flowmove_send(struct flow *flow)
{
    bool busy = false;
    int64_t now_ms;

    if (!may_move(flow))
        return false;
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        struct flow_lane *lane = &flow->lane[i];

        if (lane->n > 0)
            busy = send_lane(flow, lane) || busy;
        if (!lane->resend)
            continue;
        now_ms = clock_mono_ms(flow->o.clock);
        if (lane->resend_ms <= now_ms) {
            resend(flow, i);
            busy = true;
        }
    }
    return busy;
}

static void
note_epoch(struct part *part, const struct record *record)
{
    if (part->epoch == record->leader_epoch)
        return;
    part->epoch_before =
        part->epoch == -1 ? part->entry.leader_epoch : part->epoch;
    part->epoch_since = record->offset;
    part->epoch = record->leader_epoch;
}

static void
take(struct flow *flow, struct record *record)
{
    struct part *part = parts_at(flow->parts, record->part);
    struct flow_lane *lane = &flow->lane[part->lane];
    int64_t max = part->topic->max_message_bytes;
    struct err err;

    if (part->phase != PHASE_OPEN || !part->reading || lane->resend ||
        record->offset < part->read_next) {
        record_release(record);
        return;
    }
    if (flow->o.judge_size && max > 0 &&
        record_bytes(record) + BATCH_OVERHEAD > max) {
        err_set(&err, ERR_KAFKA,
            "%" PRId64 " bytes, %s takes %" PRId64
            " (max.message.bytes): raise it there, then 'kedge flow restart "
            "%s'",
            record_bytes(record), part->topic->target, max, flow->name);
        record_release(record);
        refuse(flow, part, record->offset, &err);
        return;
    }
    note_epoch(part, record);
    part->read_next = record->offset + 1;
    if (lane->n == 0 && lane->sink_cost < lane->quota &&
        send_one(flow, lane, record, part))
        return;
    if (record->hold == NULL || ring_push(flow, lane, record))
        return;
    record_release(record);
    err_set_retry(&err, ERR_MEMORY, "no memory for what was read");
    flowmove_failed(flow, part->lane, &err);
}

bool
flowmove_read(struct flow *flow, int64_t now_ms)
{
    int64_t max = flow->o.max_in_flight_bytes -
                  flow->o.max_in_flight_bytes / FLOW_PREFETCH_SHARE;
    int64_t bytes = 0;
    size_t n;

    if (!may_move(flow) || flow->cost >= max || flow->read_at_ms > now_ms)
        return false;
    n = flow->o.source.ops->next(flow->o.source.self, flow->next,
        FLOW_NEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        bytes += record_bytes(&flow->next[i]);
        take(flow, &flow->next[i]);
    }
    if (n == 0)
        return false;
    metric_add(flow->o.metrics, METRIC_RECORDS_READ, (int64_t)n);
    metric_add(flow->o.metrics, METRIC_BYTES_READ, bytes);
    if (flow->pace.bytes_per_s > 0)
        flow->read_at_ms = now_ms + pace_charge(&flow->pace, bytes, now_ms);
    return true;
}

/* How much the sink may have of each lane: what the link carries in some
 * seconds, so that a hand-over or a wake-up after a long stop repeats little. */
void
flowmove_rates(struct flow *flow, int64_t now_ms)
{
    if (flow->rate_at_ms > now_ms || flow->lanes == NULL)
        return;
    flow->rate_at_ms = now_ms + 1000;
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        struct flow_lane *lane = &flow->lane[i];
        int64_t parts = 0;

        for (const struct part *part = parts_of_lane(flow->parts, i);
             part != NULL; part = part->next_in_lane)
            parts += part->reading;
        lane->rate = (3 * lane->rate + lane->acked_cost) / 4;
        lane->acked_cost = 0;
        lane->quota = lane->rate * QUOTA_RATE_S;
        if (lane->quota < parts * QUOTA_PART)
            lane->quota = parts * QUOTA_PART;
        if (lane->quota < QUOTA_PART)
            lane->quota = QUOTA_PART;
    }
}

void
flowmove_free(struct flow *flow)
{
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        ring_clear(flow, &flow->lane[i]);
        free(flow->lane[i].ring);
        flow->lane[i].ring = NULL;
        flow->lane[i].room = 0;
    }
}
