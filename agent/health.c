#include "health.h"

#include "report.h"
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 10

/* What is remembered of a partition between two reports. */
struct mark {
    uint64_t name; /* see name_of() */
    int64_t acked_next;
    int64_t moved_ms; /* when it was last without lag, or was acknowledged */
};

struct sample {
    int64_t at_ms, records, bytes;
};

struct health {
    int64_t made_ms;
    int64_t noted_ms; /* of the newest report */
    struct mark *marks;
    size_t n_marks;
    int64_t *lanes_ms; /* when each was last ours, or another agent's */
    size_t n_lanes;
    struct sample samples[SAMPLES]; /* a ring */
    size_t n_samples;               /* ever taken */
};

struct health *
health_new(int64_t now_ms)
{
    struct health *health = calloc(1, sizeof *health);

    if (health == NULL)
        return NULL;
    health->made_ms = now_ms;
    health->noted_ms = now_ms;
    return health;
}

void
health_free(struct health *health)
{
    if (health == NULL)
        return;
    free(health->marks);
    free(health->lanes_ms);
    free(health);
}

/* FNV-1a over topic and partition: a collision costs a late alarm at worst. */
static uint64_t
name_of(const struct report_part *part)
{
    uint64_t sum = UINT64_C(14695981039346656037);

    for (const char *at = part->topic; *at != '\0'; at++)
        sum = (sum ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return (sum ^ (uint32_t)part->partition) * UINT64_C(1099511628211);
}

/* The old mark of the partition; `guess` is where it would be if the order is
 * the same, and moves along. */
static const struct mark *
find(const struct health *health, uint64_t name, size_t *guess)
{
    for (size_t i = 0; i < health->n_marks; i++) {
        size_t at = (*guess + i) % health->n_marks;

        if (health->marks[at].name == name) {
            *guess = at + 1;
            return &health->marks[at];
        }
    }
    return NULL;
}

/* What waits for its target topic is not read, so nobody knows how much. */
static bool
has_to_send(const struct report_part *part)
{
    int64_t lag = report_true_lag(part);

    return lag > 0 || (lag == REPORT_UNKNOWN && part->state == PART_WAITING);
}

static void
mark_parts(struct health *health, const struct flow_report *report,
    int64_t now_ms)
{
    struct mark *marks = calloc(report->n_parts + 1, sizeof *marks);
    size_t n = marks == NULL ? 0 : report->n_parts;
    size_t guess = 0;

    for (size_t i = 0; i < n; i++) {
        const struct report_part *part = &report->parts[i];
        const struct mark *old;

        marks[i].name = name_of(part);
        marks[i].acked_next = part->acked_next;
        marks[i].moved_ms = now_ms;
        old = find(health, marks[i].name, &guess);
        if (old != NULL && old->acked_next == part->acked_next &&
            has_to_send(part) && view_is_ours(report, part))
            marks[i].moved_ms = old->moved_ms;
    }
    free(health->marks);
    health->marks = marks;
    health->n_marks = n;
}

static void
mark_lanes(struct health *health, const struct flow_report *report,
    int64_t now_ms)
{
    int64_t *lanes_ms = calloc(report->n_lanes + 1, sizeof *lanes_ms);
    size_t n = lanes_ms == NULL ? 0 : report->n_lanes;

    for (size_t i = 0; i < n; i++) {
        enum lane_state state = report->lanes[i].state;
        bool under_way = state == LANE_TAKING || state == LANE_RETAKING ||
                         state == LANE_STANDING;

        lanes_ms[i] =
            under_way && i < health->n_lanes ? health->lanes_ms[i] : now_ms;
    }
    free(health->lanes_ms);
    health->lanes_ms = lanes_ms;
    health->n_lanes = n;
}

void
health_note(struct health *health, const struct flow_report *report,
    int64_t records_acked, int64_t bytes_acked, int64_t now_ms)
{
    health->noted_ms = report->mono_ms;
    mark_parts(health, report, now_ms);
    mark_lanes(health, report, now_ms);
    health->samples[health->n_samples++ % SAMPLES] =
        (struct sample){ .at_ms = now_ms,
            .records = records_acked,
            .bytes = bytes_acked };
}

bool
health_live(const struct health *health, int64_t now_ms)
{
    return now_ms - health->noted_ms < HEALTH_LIVE_MS;
}

bool
health_starting(const struct health *health, const struct flow_report *report,
    int64_t now_ms)
{
    return now_ms - health->made_ms < HEALTH_START_MS &&
           (report == NULL || report->state == FLOW_IDLE ||
               report->state == FLOW_CONNECTING || report->n_selected == 0);
}

/* What nothing gets on for, to stand behind a clause: a cluster that is down
 * explains all, and a lane that is ours explains nothing. */
static void
add_reason(const struct flow_report *report, const char *reason, size_t lane,
    char *why, size_t size)
{
    size_t len = strlen(why);

    if (report->target_reason[0] != '\0')
        (void)snprintf(why + len, size - len, ": %s is down: %s", report->to,
            report->target_reason);
    else if (report->source_reason[0] != '\0')
        (void)snprintf(why + len, size - len, ": %s is down: %s", report->from,
            report->source_reason);
    else if (reason[0] != '\0')
        (void)snprintf(why + len, size - len, ": %s", reason);
    else if (report->lanes[lane].state != LANE_OWNED &&
             report->lanes[lane].reason[0] != '\0')
        (void)snprintf(why + len, size - len, ": %s",
            report->lanes[lane].reason);
}

static bool
part_ready(const struct health *health, const struct flow_report *report,
    size_t i, int64_t now_ms, char *why, size_t size)
{
    const struct report_part *part = &report->parts[i];
    char lag[24] = "records";

    if (!view_is_ours(report, part) || part->state == PART_PAUSED)
        return true;
    if (part->state == PART_HELD) {
        (void)snprintf(why, size, "%s %" PRId32 " is held: %s", part->topic,
            part->partition, part->reason);
        return false;
    }
    if (i < health->n_marks &&
        now_ms - health->marks[i].moved_ms >= HEALTH_STUCK_MS) {
        if (report_true_lag(part) > 0)
            (void)snprintf(lag, sizeof lag, "%" PRId64, report_true_lag(part));
        (void)snprintf(why, size,
            "%s %" PRId32 " has %s to send and none was acknowledged for "
            "%" PRId64 " s",
            part->topic, part->partition, lag,
            (now_ms - health->marks[i].moved_ms) / 1000);
        add_reason(report, part->reason, (size_t)part->lane, why, size);
        return false;
    }
    return true;
}

static bool
lane_held(const struct flow_report *report, size_t i, char *why, size_t size)
{
    if (report->lanes[i].state != LANE_HELD)
        return false;
    (void)snprintf(why, size, "lane %zu is held: %s", i,
        report->lanes[i].reason);
    return true;
}

static bool
lane_ready(const struct health *health, const struct flow_report *report,
    size_t i, int64_t now_ms, char *why, size_t size)
{
    int64_t since_ms = i < health->n_lanes ? health->lanes_ms[i] : now_ms;

    if (now_ms - since_ms < HEALTH_STUCK_MS)
        return true;
    (void)snprintf(why, size, "lane %zu could not %s for %" PRId64 " s", i,
        report->lanes[i].state == LANE_STANDING ? "write down how far it is"
                                                : "be taken over",
        (now_ms - since_ms) / 1000);
    add_reason(report, "", i, why, size);
    return false;
}

/* Of one that is paused it is all there is to judge. */
static bool
both_answer(const struct flow_report *report, char *why, size_t size)
{
    const char *reason;

    if (report->source_up && report->target_up)
        return true;
    reason = report->target_up ? report->source_reason : report->target_reason;
    (void)snprintf(why, size, "it is paused, and %s does not answer%s%s",
        report->target_up ? report->from : report->to,
        reason[0] == '\0' ? "" : ": ", reason);
    return false;
}

bool
health_ready(const struct health *health, const struct flow_report *report,
    int64_t now_ms, char *why, size_t size)
{
    why[0] = '\0';
    if (report == NULL) {
        (void)snprintf(why, size, "it has not said anything yet");
        return false;
    }
    if (report->state == FLOW_PAUSED)
        return both_answer(report, why, size);
    if (report->state != FLOW_RUNNING) {
        (void)snprintf(why, size, "it is %s%s%s",
            report_flow_state(report->state),
            report->reason[0] == '\0' ? "" : ": ", report->reason);
        return false;
    }
    if (report->n_selected == 0) {
        (void)snprintf(why, size, "nothing is forwarded: %s",
            report->reason[0] == '\0' ? "no partition of any topic is selected"
                                      : report->reason);
        return false;
    }
    for (size_t i = 0; i < report->n_lanes; i++) {
        if (lane_held(report, i, why, size))
            return false;
    }
    /* what a partition waits for says more than that its lane waits */
    for (size_t i = 0; i < report->n_parts; i++) {
        if (!part_ready(health, report, i, now_ms, why, size))
            return false;
    }
    for (size_t i = 0; i < report->n_lanes; i++) {
        if (!lane_ready(health, report, i, now_ms, why, size))
            return false;
    }
    return true;
}

/* The newest sample and the oldest that is kept; false before there are two. */
static bool
span(const struct health *health, const struct sample **oldest,
    const struct sample **newest)
{
    size_t n = health->n_samples;

    if (n < 2)
        return false;
    *newest = &health->samples[(n - 1) % SAMPLES];
    *oldest = &health->samples[n < SAMPLES ? 0 : n % SAMPLES];
    return (*newest)->at_ms > (*oldest)->at_ms;
}

int64_t
health_records_per_s(const struct health *health)
{
    const struct sample *oldest, *newest;

    if (!span(health, &oldest, &newest))
        return 0;
    return (newest->records - oldest->records) * 1000 /
           (newest->at_ms - oldest->at_ms);
}

int64_t
health_bytes_per_s(const struct health *health)
{
    const struct sample *oldest, *newest;

    if (!span(health, &oldest, &newest))
        return 0;
    return (newest->bytes - oldest->bytes) * 1000 /
           (newest->at_ms - oldest->at_ms);
}
