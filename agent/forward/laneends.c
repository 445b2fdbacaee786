/* What the ends of the target's partitions say about a lane that is being
 * taken over: without a header, whether the flow is new; with one, whether
 * what was acknowledged is still there, and how much will be sent again. */
#include "laneset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DOUBT_MS 30000 /* a leader that was stopped may answer from the past */
#define AGAIN_MS 1000

static struct part *
first_of(const struct lanes *lanes, const struct lane *lane)
{
    return parts_of_lane(lanes->o.parts, lane->number);
}

static void
ask(struct lanes *lanes, struct lane *lane, int64_t now_ms)
{
    lane->due_ms = INT64_MAX; /* until the answer says otherwise */
    for (struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane)
        part->target_end = REPORT_UNKNOWN;
    if (!lanes->o.ops->ask_ends(lanes->o.ctx, lane->number))
        lane->due_ms = now_ms + AGAIN_MS;
}

void
laneends_ask(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    lane->doubted = false;
    if (first_of(lanes, lane) == NULL) {
        lanetake_snapshot(lanes, lane, wall_ms, now_ms);
        return;
    }
    lanes_enter(lanes, lane, LANE_P_ENDS,
        "the target is asked how many records it has, so that what is missing "
        "there or sent again can be told");
    ask(lanes, lane, now_ms);
}

void
laneends_tick(struct lanes *lanes, struct lane *lane, int64_t now_ms)
{
    if (lane->due_ms <= now_ms)
        ask(lanes, lane, now_ms);
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
        lane->due_ms = now_ms + AGAIN_MS;
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
    return part->known && part->target_end != REPORT_UNKNOWN &&
           part->entry.target_offset >= 0 &&
           part->target_end <= part->entry.target_offset;
}

static bool
any_too_short(const struct lanes *lanes, const struct lane *lane)
{
    for (const struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane)
        if (too_short(part))
            return true;
    return false;
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
    if (!part->known || part->target_end == REPORT_UNKNOWN || from <= 0 ||
        lanes->o.shared_target)
        return 0;
    if (from < part->counted_end)
        from = part->counted_end;
    if (from >= part->target_end)
        return 0;
    part->counted_end = part->target_end;
    return part->target_end - from;
}

void
laneends_answer(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    int64_t repeats = 0;

    if (!lane->has_header) {
        new_or_lost(lanes, lane, wall_ms, now_ms);
        return;
    }
    if (any_too_short(lanes, lane) && !lane->doubted) {
        lane->doubted = true;
        lane->due_ms = now_ms + DOUBT_MS;
        (void)snprintf(lane->reason, sizeof lane->reason,
            "the target has less than it acknowledged once: it is asked again "
            "after half a minute, for a broker that has just come back may "
            "not know all of it yet");
        return;
    }
    for (struct part *part = first_of(lanes, lane); part != NULL;
         part = part->next_in_lane) {
        part->gone = too_short(part);
        if (!part->gone)
            repeats += count_repeats(lanes, part);
    }
    if (repeats > 0) {
        metric_add(lanes->o.metrics, METRIC_RECORDS_REPEATED, repeats);
        LOG(lanes->o.log, LEVEL_INFO, "lane.repeats",
            kv_str("flow", lanes->o.flow), kv_int("lane", lane->number),
            kv_int("term", lane->term), kv_int("records", repeats),
            kv_str("why", "the predecessor ended before it wrote them down"));
    }
    lanetake_snapshot(lanes, lane, wall_ms, now_ms);
}
