/* reportfix.h - a flow's report for the tests of what is made of one: three
 * partitions of two topics, the first two ours, a skipped topic. */
#ifndef KEDGE_REPORTFIX_H
#define KEDGE_REPORTFIX_H

#include "report.h"
#include "view.h"

#include <stdio.h>

#define REPORTFIX_WALL_MS INT64_C(1790000000000)

static inline void
reportfix_part(struct report_part *part, const char *topic, int32_t partition,
    int32_t lane)
{
    (void)snprintf(part->topic, sizeof part->topic, "%s", topic);
    (void)snprintf(part->target, sizeof part->target, "plant7.%s", topic);
    part->partition = partition;
    part->lane = lane;
    part->state = PART_RUNNING;
    part->source_end = part->source_high = 8;
    part->read_next = part->acked_next = part->ledger_next = 8;
    part->oldest_wall_ms = REPORT_UNKNOWN;
}

/* The worked example of the three lags is partition 0: true 2, read 1,
 * committed 5. */
static inline struct flow_report *
reportfix_new(void)
{
    struct flow_report *report = report_new(3, 3, 1);

    if (report == NULL)
        return NULL;
    (void)snprintf(report->flow, sizeof report->flow, "telemetry");
    (void)snprintf(report->from, sizeof report->from, "plant7");
    (void)snprintf(report->to, sizeof report->to, "cloud");
    (void)snprintf(report->agent, sizeof report->agent, "edge1");
    report->state = FLOW_RUNNING;
    report->wall_ms = REPORTFIX_WALL_MS;
    report->mono_ms = 1000;
    report->state_since_wall_ms = REPORTFIX_WALL_MS - 5000;
    report->last_ack_mono_ms = 400;
    report->source_up = report->target_up = true;
    report->at_source = true;
    report->n_selected = 3;
    report->in_flight_bytes = 1536;
    report->max_in_flight_bytes = INT64_C(64) << 20;
    report->lanes[0].state = LANE_OWNED;
    report->lanes[0].term = 77;
    report->lanes[1].state = LANE_TAKING;
    report->lanes[1].term = REPORT_UNKNOWN;
    report->lanes[2].state = LANE_ELSEWHERE;
    report->lanes[2].term = REPORT_UNKNOWN;
    reportfix_part(&report->parts[0], "orders", 0, 0);
    report->parts[0].read_next = 7;
    report->parts[0].acked_next = 6;
    report->parts[0].ledger_next = 3;
    report->parts[0].source_high = 11;
    report->parts[0].in_flight_records = 1;
    report->parts[0].in_flight_bytes = 1536;
    report->parts[0].oldest_wall_ms = REPORTFIX_WALL_MS - 1500;
    report->parts[0].records = 6;
    report->parts[0].bytes = 6000;
    reportfix_part(&report->parts[1], "orders", 1, 1);
    report->parts[1].state = PART_WAITING;
    report->parts[1].source_end = report->parts[1].source_high = REPORT_UNKNOWN;
    report->parts[1].read_next = report->parts[1].acked_next =
        report->parts[1].ledger_next = REPORT_UNKNOWN;
    reportfix_part(&report->parts[2], "sales", 0, 2);
    (void)snprintf(report->skips[0].topic, sizeof report->skips[0].topic,
        "__consumer_offsets");
    (void)snprintf(report->skips[0].reason, sizeof report->skips[0].reason,
        "internal to Kafka");
    return report;
}

/* One flow with that report (or none), as agent.c would show it. */
static inline struct view_flow
reportfix_flow(const struct flow_report *report)
{
    return (struct view_flow){ .name = "telemetry",
        .from = "plant7",
        .to = "cloud",
        .report = report,
        .ready = true,
        .records_per_s = 120,
        .bytes_per_s = 2048 };
}

static inline struct view_agent
reportfix_agent(const struct view_flow *flows, size_t n)
{
    return (struct view_agent){ .name = "edge1",
        .policy = "/etc/kedge/policy.yaml",
        .digest = "0123456789abcdef0123456789abcdef0123456789abcdef012345678"
                  "9abcdef",
        .started_wall_ms = REPORTFIX_WALL_MS - 90500,
        .now_wall_ms = REPORTFIX_WALL_MS,
        .flows = flows,
        .n_flows = n };
}

#endif
