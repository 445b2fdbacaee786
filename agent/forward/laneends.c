/* What the ends of the target's partitions say about a lane that is being
 * taken over: without a header, whether the flow is new; with one, whether
 * what was acknowledged is still there, and how much will be sent again. */
#include "laneset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_MS 1000
#define DOUBT_MS 30000 /* a leader that was stopped may answer from the past */

static struct part *
first_of(const struct lanes *lanes, const struct lane *lane)
{
    return parts_of_lane(lanes->o.parts, lane->number);
}

static void
ask(struct lanes *lanes, struct lane *lane, int64_t now_ms)
{
    lane->ends_ms = INT64_MAX; /* until the answer says otherwise */
    for (struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane)
        part->target_end = REPORT_UNKNOWN;
    if (!lanes->o.ops->ask_ends(lanes->o.ctx, lane->number))
        lane->ends_ms = now_ms + AGAIN_MS;
}

void
laneends_ask(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    if (first_of(lanes, lane) == NULL) {
        lanetake_snapshot(lanes, lane, wall_ms, now_ms);
        return;
    }
    for (struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane) {
        part->doubted = part->known;
        part->short_ms = 0;
        if (part->phase == PHASE_IDLE)
            part->reason[0] = '\0';
    }
    lanes_enter(lanes, lane, LANE_P_ENDS,
        "the target is asked how many records it has, so that what is missing "
        "there or sent again can be told");
    ask(lanes, lane, now_ms);
}

/* Does one wait for nothing but its end at the target? */
static bool
any_doubted(const struct lanes *lanes, const struct lane *lane)
{
    for (const struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane)
        if (part->doubted && part->phase == PHASE_IDLE && parts_ready(part))
            return true;
    return false;
}

void
laneends_tick(struct lanes *lanes, struct lane *lane, int64_t now_ms)
{
    if (lane->ends_ms <= now_ms &&
        (lane->phase == LANE_P_ENDS || any_doubted(lanes, lane)))
        ask(lanes, lane, now_ms);
}

void
laneends_retry(struct lanes *lanes, struct part *part)
{
    if (!part->gone && !part->doubted)
        return;
    part->gone = false;
    part->doubted = true;
    part->reason[0] = '\0';
    lanes->lane[part->lane].ends_ms = 0;
}

/* No header.  The flow is new only if nothing was ever written here. */
static void
new_or_lost(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    char why[REPORT_TEXT_MAX];
    const struct part *example = NULL;
    int64_t high = 0;
    bool unknown = false;

    for (const struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane) {
        unknown = unknown || part->target_end == REPORT_UNKNOWN;
        if (part->target_end <= 0)
            continue;
        high += part->target_end;
        example = part;
    }
    if (example != NULL) {
        (void)snprintf(why, sizeof why,
            "the target has %" PRId64 " records here (%.80s) and the ledger "
            "knows nothing of them; if others write these topics too, and "
            "not with records that they have from here, set shared_target: "
            "true; if a flow of another name wrote them, give this one that "
            "name; else let 'rename' make new names",
            high, example->topic->target);
        lanes_hold(lanes, lane, why, now_ms);
    } else if (unknown) {
        lane->ends_ms = now_ms + AGAIN_MS;
        (void)snprintf(lane->reason, sizeof lane->reason,
            "the target does not say how many records it has: it is asked "
            "again each second; look at its brokers if this lasts");
    } else {
        lanetake_snapshot(lanes, lane, wall_ms, now_ms);
    }
}

/* Does the target end before what it once acknowledged? */
static bool
too_short(const struct part *part)
{
    const char *was = part->entry.target_topic_id, *is = part->topic->target_id;

    if (was[0] != '\0' && is[0] != '\0' && strcmp(was, is) != 0)
        return false; /* another topic: said when it is opened */
    return part->target_end <= part->entry.target_offset;
}

/* What lies behind the newest entry is sent again: the predecessor had it on
 * the wire and did not come to write it down.  Gives how many records that
 * are, each of them once, however often the lane is taken over. */
static int64_t
count_repeats(const struct lanes *lanes, struct part *part)
{
    int64_t from = part->entry.target_offset + 1;

    if (part->sent_next > part->entry.next_offset)
        return 0; /* this agent sent it, and counts it when it is sent again */
    if (lanes->o.shared_target)
        return 0;
    if (from < part->counted_end)
        from = part->counted_end;
    if (from >= part->target_end)
        return 0;
    part->counted_end = part->target_end;
    return part->target_end - from;
}

/* Ends the doubt about one partition, if what the target said does: that it has
 * what it acknowledged, or, half a minute apart, that it has not.  No answer is
 * none.  Gives how many records are sent again. */
static int64_t
judge(const struct lanes *lanes, struct part *part, int64_t now_ms)
{
    bool unknown = part->target_end == REPORT_UNKNOWN;
    bool less = !unknown && too_short(part);

    if (less && part->short_ms == 0)
        part->short_ms = now_ms;
    part->gone = less && now_ms - part->short_ms >= DOUBT_MS;
    part->doubted = unknown || (less && !part->gone);
    if (!part->doubted)
        return part->gone ? 0 : count_repeats(lanes, part);
    if (part->phase == PHASE_IDLE)
        (void)snprintf(part->reason, sizeof part->reason, "%s",
            less ? "the target has less than it acknowledged once: it is asked "
                   "again after half a minute, for a broker that has just come "
                   "back may not know all of it yet"
                 : "the target does not say how much it has: it is asked again "
                   "each half minute, and nothing is sent before; look at the "
                   "leader of this partition there if it lasts");
    return 0;
}

void
laneends_answer(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    int64_t repeats = 0;

    if (lane->phase != LANE_P_ENDS && lane->phase != LANE_P_RUN)
        return; /* of a taking over that was given up */
    if (!lane->has_header) {
        new_or_lost(lanes, lane, wall_ms, now_ms);
        return;
    }
    for (struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane)
        if (part->doubted)
            repeats += judge(lanes, part, now_ms);
    if (repeats > 0) {
        metric_add(lanes->o.metrics, METRIC_RECORDS_REPEATED, repeats);
        LOG(lanes->o.log, LEVEL_INFO, "lane.repeats",
            kv_str("flow", lanes->o.flow), kv_int("lane", lane->number),
            kv_int("term", lane->term), kv_int("records", repeats),
            kv_str("why", "the predecessor ended before it wrote them down"));
    }
    lane->ends_ms = now_ms + DOUBT_MS;
    if (lane->phase == LANE_P_ENDS)
        lanetake_snapshot(lanes, lane, wall_ms, now_ms);
}
