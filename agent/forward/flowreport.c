/* What a flow says of itself. */
#include "flowset.h"
#include "flowsource.h"

#include <stdio.h>
#include <string.h>

#define REPORT_MS 1000

static enum part_state
part_state(const struct flow *flow, const struct part *part)
{
    if (part->phase == PHASE_HELD ||
        lanes_state(flow->lanes, part->lane) == LANE_HELD)
        return PART_HELD;
    if (part->phase != PHASE_OPEN || part->topic->missing >= TOPIC_MISSING)
        return PART_WAITING;
    return flow->paused ? PART_PAUSED : PART_RUNNING;
}

static void
report_one(const struct flow *flow, const struct part *part,
    struct report_part *to)
{
    memcpy(to->topic, part->topic->name, sizeof to->topic);
    memcpy(to->target, part->topic->target, sizeof to->target);
    to->partition = part->partition;
    to->lane = part->lane;
    to->state = part_state(flow, part);
    to->source_end = part->source_end;
    to->source_high = part->source_high;
    to->ledger_next = part->entry.next_offset;
    to->read_next = to->acked_next = part->entry.next_offset;
    to->seen_next = part->tracker != NULL && part->read_next > part->sent_next
                        ? part->read_next
                        : part->sent_next;
    to->oldest_wall_ms = REPORT_UNKNOWN;
    to->records = part->entry.records;
    to->bytes = part->entry.bytes;
    if (to->state == PART_HELD)
        (void)snprintf(to->reason, sizeof to->reason, "%s",
            part->phase == PHASE_HELD ? part->reason
                                      : lanes_reason(flow->lanes, part->lane));
    else if (to->state == PART_WAITING)
        (void)snprintf(to->reason, sizeof to->reason, "%s",
            part->topic->reason[0] == '\0' &&
                    (part->doubted || part->phase == PHASE_RESOLVING)
                ? part->reason
                : part->topic->reason);
    else if (to->state == PART_RUNNING)
        memcpy(to->reason, part->topic->stands, sizeof to->reason);
    if (part->tracker == NULL)
        return;
    to->acked_next = tracker_next(part->tracker);
    to->read_next =
        part->reading ? part->read_next : tracker_read_next(part->tracker);
    to->in_flight_records = (int64_t)tracker_in_flight(part->tracker);
    to->in_flight_bytes = tracker_in_flight_bytes(part->tracker);
    to->oldest_wall_ms = tracker_oldest_wall_ms(part->tracker);
    to->records = part->base_records + tracker_run_records(part->tracker);
    to->bytes = part->base_bytes + tracker_run_bytes(part->tracker);
    /* What was acknowledged was there: the end asked for may be older. */
    if (to->source_end != REPORT_UNKNOWN && to->source_end < to->read_next)
        to->source_end = to->read_next;
}

/* Those whose lane is here; another agent reports the rest.  One whose topic
 * is gone from the source may be held for that. */
static bool
ours(const struct flow *flow, const struct part *part)
{
    return lanes_state(flow->lanes, part->lane) != LANE_ELSEWHERE &&
           (part->topic->selected || part->phase != PHASE_IDLE);
}

static void
header(const struct flow *flow, struct flow_report *report, int64_t now_ms)
{
    struct sink_closed closed;

    memcpy(report->flow, flow->name, sizeof report->flow);
    memcpy(report->from, flow->from, sizeof report->from);
    memcpy(report->to, flow->to, sizeof report->to);
    memcpy(report->agent, flow->agent, sizeof report->agent);
    (void)snprintf(report->reason, sizeof report->reason, "%s%.355s",
        flow->paused && flow->state == FLOW_CONNECTING
            ? "an operator paused it, and: "
            : "",
        flow->reason);
    report->state = flow->state;
    report->wall_ms = clock_wall_ms(flow->o.clock);
    report->mono_ms = now_ms;
    report->state_since_wall_ms = flow->state_since_wall_ms;
    report->last_ack_mono_ms = flow->last_ack_ms;
    report->source_up = flow->source_link == FLOW_LINK_UP;
    report->target_up = flow->target_link == FLOW_LINK_UP;
    if (flow->source_link == FLOW_LINK_DOWN)
        memcpy(report->source_reason, flow->source_away.why,
            sizeof report->source_reason);
    if (flow->target_link == FLOW_LINK_DOWN)
        memcpy(report->target_reason, flow->target_away.why,
            sizeof report->target_reason);
    report->at_source = flow->o.at_source;
    flow->o.sink.ops->closed(flow->o.sink.self, &closed);
    report->in_flight_bytes = flow->cost + closed.ending;
    report->leaked_bytes = flowshare_leaked(flow);
    report->max_in_flight_bytes = flow->o.max_in_flight_bytes;
}

static void
set_gauges(const struct flow *flow, const struct flow_report *report)
{
    struct metrics *metrics = flow->o.metrics;
    int64_t records = 0, bytes = 0;

    for (size_t i = 0; i < report->n_parts; i++) {
        records += report->parts[i].in_flight_records;
        bytes += report->parts[i].in_flight_bytes;
    }
    metric_set(metrics, METRIC_IN_FLIGHT_RECORDS, records);
    metric_set(metrics, METRIC_IN_FLIGHT_BYTES, bytes);
    metric_set(metrics, METRIC_LEAKED_BYTES, report->leaked_bytes);
    metric_set(metrics, METRIC_PARTITIONS_HELD,
        (int64_t)report_parts_held(report));
    metric_set(metrics, METRIC_PARTITIONS_OWNED,
        (int64_t)report_parts_owned(report));
    metric_set(metrics, METRIC_LANES_OWNED,
        (int64_t)report_lanes_owned(report));
    metric_set(metrics, METRIC_SOURCE_UP, report->source_up);
    metric_set(metrics, METRIC_TARGET_UP, report->target_up);
    if (report->last_ack_mono_ms != REPORT_UNKNOWN)
        metric_set(metrics, METRIC_LAST_ACK,
            (report->wall_ms - (report->mono_ms - report->last_ack_mono_ms)) /
                1000);
}

static struct flow_report *
make(struct flow *flow)
{
    size_t n_parts = 0, n_skips = 0;
    struct flow_report *report;

    if (flow->lanes == NULL)
        return report_new(0, 0, 0);
    for (size_t i = 0; i < parts_count(flow->parts); i++)
        n_parts += ours(flow, parts_at(flow->parts, (int32_t)i));
    for (const struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next)
        n_skips += topic->reason[0] != '\0';
    report = report_new((size_t)flow->n_lanes, n_parts, n_skips);
    if (report == NULL)
        return NULL;
    for (int32_t i = 0; i < flow->n_lanes; i++) {
        report->lanes[i].state = lanes_state(flow->lanes, i);
        report->lanes[i].term = lanes_term(flow->lanes, i);
        (void)snprintf(report->lanes[i].reason, sizeof report->lanes[i].reason,
            "%s", lanes_reason(flow->lanes, i));
    }
    n_parts = n_skips = 0;
    for (size_t i = 0; i < parts_count(flow->parts); i++) {
        const struct part *part = parts_at(flow->parts, (int32_t)i);

        report->n_selected += part->topic->selected && part->topic->exists;
        if (ours(flow, part))
            report_one(flow, part, &report->parts[n_parts++]);
    }
    for (const struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        if (topic->reason[0] == '\0')
            continue;
        report->skips[n_skips].quiet =
            topic->meant || (topic->selected && topic->exists);
        memcpy(report->skips[n_skips].topic, topic->name,
            sizeof report->skips[n_skips].topic);
        memcpy(report->skips[n_skips++].reason, topic->reason,
            sizeof report->skips[0].reason);
    }
    return report;
}

void
flowreport_publish(struct flow *flow, int64_t now_ms)
{
    struct flow_report *report;

    if (flow->report_at_ms > now_ms && flow->state != FLOW_STOPPED)
        return;
    flow->report_at_ms = now_ms + REPORT_MS;
    for (int32_t i = 0; i < flow->n_lanes; i++)
        flowsource_tell(flow, i);
    if ((report = make(flow)) == NULL)
        return; /* no memory now: the next one */
    header(flow, report, now_ms);
    set_gauges(flow, report);
    report_free(atomic_exchange(&flow->report, report));
}
