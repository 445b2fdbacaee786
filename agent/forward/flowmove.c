/* Records: from the source into the lanes' queues, from there into the sink,
 * and the acks that come back.  The only code that runs once for each record. */
#include "flowset.h"
#include "flowsource.h"

#include <inttypes.h>
#include <stdio.h>

#define ACKS_MAX 4096
#define BATCH_OVERHEAD 200 /* of a batch with one record, at most */

/* --- failing --- */

/* A person has to act on this record.  Nothing behind it is sent. */
static void
refuse(struct flow *flow, struct part *part, int64_t offset,
    const struct err *err)
{
    char why[REPORT_TEXT_MAX];

    (void)snprintf(why, sizeof why, "%.60s [%d] offset %" PRId64 ": %s",
        part->topic->name, part->partition, offset, err->text);
    metric_add(flow->o.metrics, METRIC_RECORDS_FAILED, 1);
    LOG(flow->o.log, LEVEL_ERROR, "record.refused", kv_str("flow", flow->name),
        kv_str("topic", part->topic->name),
        kv_int("partition", part->partition), kv_int("offset", offset),
        kv_str("error", err->text),
        kv_str("scope", flow->o.hold_partition_only ? "partition" : "flow"));
    parts_hold(part, "%s", why);
    part->topic->refused = true;
    if (part->reading)
        flow->o.source.ops->stop(flow->o.source.self, part->number);
    part->reading = false;
    if (flow->o.hold_partition_only || flow->draining || flow->failed)
        return;
    flow->failed = true;
    flow_enter(flow, FLOW_HELD, why);
}

void
flowmove_raised(struct flow *flow, struct topic *topic)
{
    flowlane_retry(flow);
    topic->refused = false;
    for (int32_t i = 0; i < topic->partitions; i++) {
        struct part *part = parts_get(flow->parts, topic->name, i);

        if (part != NULL)
            lanes_retry_part(flow->lanes, part);
    }
    for (topic = parts_topics(flow->parts); topic != NULL; topic = topic->next)
        if (topic->refused)
            return; /* another one stops the flow still */
    flow->failed = false;
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
        flowlane_failed(flow, part->lane, done->err);
        return;
    }
    bytes = tracker_in_flight_bytes(part->tracker);
    records = tracker_in_flight(part->tracker);
    tracker_ack(part->tracker, done->offset, done->target_offset);
    bytes -= tracker_in_flight_bytes(part->tracker);
    records -= tracker_in_flight(part->tracker);
    cost = bytes + (int64_t)records * FLOW_RECORD_COST;
    lane->sink_cost -= cost;
    lane->sink_bytes -= bytes;
    lane->acked_bytes += bytes;
    lane->backoff = (struct backoff){ 0 };
    flow->cost -= cost;
    flow->acked = true;
    flow->acked_records += (int64_t)records;
    flow->acked_bytes += bytes;
}

bool
flowmove_acks(struct flow *flow, int64_t now_ms)
{
    flow->acked = false;
    flow->acked_records = flow->acked_bytes = 0;
    if (flow->lanes == NULL ||
        flow->o.sink.ops->poll(flow->o.sink.self, ACKS_MAX) == 0)
        return false;
    metric_add(flow->o.metrics, METRIC_RECORDS_ACKED, flow->acked_records);
    metric_add(flow->o.metrics, METRIC_BYTES_ACKED, flow->acked_bytes);
    if (flow->acked) {
        flow->last_ack_ms = now_ms;
        flowtopics_acked(flow);
    }
    return true;
}

/* --- reading and sending --- */

static bool
may_move(const struct flow *flow)
{
    return flow->lanes != NULL && !flow->failed && !flow->paused &&
           !flow->draining;
}

/* What the target would refuse, found before the sink sees it. */
static enum sink_answer
offer(struct flow *flow, const struct part *part, struct record *record,
    struct err *err)
{
    int64_t max = part->topic->max_message_bytes;

    if (!flow->o.judge_size || max == 0 ||
        record_bytes(record) + BATCH_OVERHEAD <= max)
        return flow->o.sink.ops->send(flow->o.sink.self, record, err);
    if (part->topic->limit_doubted)
        return SINK_FULL; /* it waits for the target's answer */
    err_set(err, ERR_KAFKA,
        "%" PRId64 " bytes, %.60s takes %" PRId64
        " (max.message.bytes): raise it there, and it goes on soon after",
        record_bytes(record), part->topic->target, max);
    return SINK_REFUSED;
}

static bool
has_room(const struct flow_lane *lane)
{
    return lane->sink_bytes < lane->quota && lane->sink_cost < lane->cost_most;
}

/* True when the sink has room for more of the lane. */
static bool
send_one(struct flow *flow, struct flow_lane *lane, struct record *record,
    struct part *part)
{
    int64_t bytes = record_bytes(record);
    int64_t offset = record->offset, wall_ms = record->timestamp_wall_ms;
    struct err err;

    switch (offer(flow, part, record, &err)) {
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
        flowlane_failed(flow, part->lane, &err);
        flowlane_shut(flow, part->lane); /* its ack would find no slot */
        return false;
    }
    lane->sink_bytes += bytes;
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

    while (lane->n > 0 && has_room(lane) && !lane->resend && !flow->failed) {
        struct record *record = &lane->ring[lane->head];
        struct part *part = parts_at(flow->parts, record->part);
        int64_t cost = flow_cost_of(record);

        if (part->phase != PHASE_OPEN)
            record_release(record); /* held meanwhile: read again later */
        else if (!send_one(flow, lane, record, part))
            break;
        flowlane_pop(flow, lane, cost);
        busy = true;
    }
    return busy;
}

bool
flowmove_send(struct flow *flow)
{
    bool moving = may_move(flow), busy = false;

    if (flow->lanes == NULL)
        return false;
    for (int32_t i = 0; moving && i < flow->n_lanes; i++)
        if (flow->lane[i].n > 0)
            busy = send_lane(flow, &flow->lane[i]) || busy;
    return flowlane_resend(flow, moving) || busy;
}

static void
note_epoch(struct part *part, const struct record *record)
{
    if (part->epoch == record->leader_epoch)
        return;
    part->epoch_before = parts_epoch(part, part->read_next);
    part->epoch_since = record->offset;
    part->epoch = record->leader_epoch;
}

static void
take(struct flow *flow, struct record *record)
{
    struct part *part = parts_at(flow->parts, record->part);
    struct flow_lane *lane = &flow->lane[part->lane];
    struct err err;

    if (part->phase != PHASE_OPEN || !part->reading || lane->resend ||
        record->offset < part->read_next) {
        record_release(record);
        return;
    }
    if (lane->slow_s > 0 && !has_room(lane)) {
        record_release(record); /* read again behind what was sent */
        flowshare_give_way(flow, part->lane);
        return;
    }
    if (!part->topic->sure && flowsource_doubts(flow, part)) {
        record_release(record); /* read again when it is known what it is of */
        return;
    }
    note_epoch(part, record);
    part->read_next = record->offset + 1;
    if (lane->n == 0 && has_room(lane) && !flow->failed &&
        send_one(flow, lane, record, part))
        return;
    if (record->hold == NULL || flowlane_push(flow, lane, record))
        return;
    record_release(record);
    err_set_retry(&err, ERR_MEMORY, "no memory for what was read");
    flowlane_failed(flow, part->lane, &err);
}

bool
flowmove_read(struct flow *flow, int64_t now_ms)
{
    int64_t bytes = 0;
    size_t n;

    if (!may_move(flow) || flow->read_at_ms > now_ms ||
        !flowshare_may_read(flow))
        return false;
    n = flow->o.source.ops->next(flow->o.source.self, flow->next,
        flow->pace.bytes_per_s > 0 ? FLOW_NEXT_PACED : FLOW_NEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        bytes += record_bytes(&flow->next[i]);
        take(flow, &flow->next[i]);
    }
    if (n == 0)
        return false;
    flow->read_bytes += bytes;
    metric_add(flow->o.metrics, METRIC_RECORDS_READ, (int64_t)n);
    metric_add(flow->o.metrics, METRIC_BYTES_READ, bytes);
    if (flow->pace.bytes_per_s > 0)
        flow->read_at_ms = now_ms + pace_charge(&flow->pace, bytes, now_ms);
    return true;
}
