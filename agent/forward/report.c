#include "report.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>

/* Each part of the block is as aligned as the one in front of it. */
static_assert(sizeof(struct flow_report) % alignof(struct report_part) == 0,
    "parts follow the report");
static_assert(sizeof(struct report_part) % alignof(struct report_lane) == 0,
    "lanes follow the parts");

struct flow_report *
report_new(size_t n_lanes, size_t n_parts, size_t n_skips)
{
    const size_t most = SIZE_MAX / 4;
    struct flow_report *report;

    if (n_lanes > most / sizeof report->lanes[0] ||
        n_parts > most / sizeof report->parts[0] ||
        n_skips > most / sizeof report->skips[0])
        return NULL;
    report = calloc(1, sizeof *report + n_parts * sizeof report->parts[0] +
                           n_lanes * sizeof report->lanes[0] +
                           n_skips * sizeof report->skips[0]);
    if (report == NULL)
        return NULL;
    report->n_lanes = n_lanes;
    report->n_parts = n_parts;
    report->n_skips = n_skips;
    report->parts = (struct report_part *)(report + 1);
    report->lanes = (struct report_lane *)(report->parts + n_parts);
    report->skips = (struct report_skip *)(report->lanes + n_lanes);
    return report;
}

void
report_free(struct flow_report *report)
{
    free(report);
}

/* The end was asked a while ago, what was read since may be beyond it. */
static int64_t
behind(const struct report_part *part, int64_t next)
{
    if (part->source_end == REPORT_UNKNOWN || next == REPORT_UNKNOWN)
        return REPORT_UNKNOWN;
    return part->source_end > next ? part->source_end - next : 0;
}

/* LANE_ELSEWHERE for one that is not there. */
static enum lane_state
lane_state(const struct flow_report *report, int32_t lane)
{
    return lane >= 0 && (size_t)lane < report->n_lanes
               ? report->lanes[lane].state
               : LANE_ELSEWHERE;
}

static bool
is_owned(enum lane_state state)
{
    return state == LANE_OWNED || state == LANE_STANDING ||
           state == LANE_FINISHING;
}

size_t
report_lanes_owned(const struct flow_report *report)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n_lanes; i++)
        n += is_owned(report->lanes[i].state);
    return n;
}

size_t
report_parts_owned(const struct flow_report *report)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n_parts; i++)
        n += is_owned(lane_state(report, report->parts[i].lane));
    return n;
}

size_t
report_parts_held(const struct flow_report *report)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n_parts; i++)
        n += report->parts[i].state == PART_HELD &&
             lane_state(report, report->parts[i].lane) != LANE_ELSEWHERE;
    return n;
}

int64_t
report_true_lag(const struct report_part *part)
{
    /* Markers behind the last record are neither unread nor in flight. */
    if (behind(part, part->read_next) == 0 && part->in_flight_records == 0)
        return 0;
    return behind(part, part->acked_next);
}

int64_t
report_least_lag(const struct report_part *part)
{
    int64_t lag = report_true_lag(part);

    if (lag != REPORT_UNKNOWN)
        return lag;
    if (part->acked_next != REPORT_UNKNOWN && part->acked_next >= 0 &&
        part->seen_next > part->acked_next)
        return part->seen_next - part->acked_next;
    return part->in_flight_records;
}

int64_t
report_open(const struct report_part *part)
{
    if (part->source_high == REPORT_UNKNOWN ||
        part->source_end == REPORT_UNKNOWN)
        return REPORT_UNKNOWN;
    return part->source_high > part->source_end
               ? part->source_high - part->source_end
               : 0; /* it was read on since both were asked */
}

int64_t
report_read_lag(const struct report_part *part)
{
    return behind(part, part->read_next);
}

int64_t
report_committed_lag(const struct report_part *part)
{
    return behind(part, part->ledger_next);
}

const char *
report_part_state(enum part_state state)
{
    static const char *const names[PART_N_STATES] = {
        [PART_WAITING] = "waiting",
        [PART_RUNNING] = "running",
        [PART_PAUSED] = "paused",
        [PART_HELD] = "held",
    };

    return names[state];
}

const char *
report_lane_state(enum lane_state state)
{
    static const char *const names[LANE_N_STATES] = {
        [LANE_ELSEWHERE] = "elsewhere",
        [LANE_LOST] = "lost",
        [LANE_TAKING] = "taking",
        [LANE_OWNED] = "owned",
        [LANE_STANDING] = "standing",
        [LANE_FINISHING] = "finishing",
        [LANE_RETAKING] = "retaking",
        [LANE_HELD] = "held",
    };

    return names[state];
}

const char *
report_flow_state(enum flow_state state)
{
    static const char *const names[FLOW_N_STATES] = {
        [FLOW_IDLE] = "idle",
        [FLOW_CONNECTING] = "connecting",
        [FLOW_RUNNING] = "running",
        [FLOW_PAUSED] = "paused",
        [FLOW_HELD] = "held",
        [FLOW_DRAINING] = "draining",
        [FLOW_STOPPED] = "stopped",
    };

    return names[state];
}
