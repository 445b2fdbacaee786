/* The source: what it is asked and told, and what it says of partitions. */
#include "flowsource.h"

#include "flowset.h"

#include <inttypes.h>
#include <stdio.h>

#define ENDS_MS 10000
#define UNLED_MS 10000 /* a leader that answers does so at once */
#define SURE_MS 1000   /* between lists that are asked for first records */

void
flowsource_hold(struct flow *flow, struct part *part, const char *why)
{
    part->reading = false; /* the source has stopped it */
    parts_hold(part, "%s", why);
    LOG(flow->o.log, LEVEL_ERROR, "partition.held", kv_str("flow", flow->name),
        kv_str("topic", part->topic->name),
        kv_int("partition", part->partition), kv_str("why", part->reason));
}

/* --- what it says --- */

/* What is lost is for a person to accept, and this version has no order for
 * it: so the reason says what is gone, and the one way on that there is. */
#define WAY_ON                                                       \
    "; nothing behind it is sent: to go on without it, forward the " \
    "topic, in the policy, by a flow of another name with "          \
    "'shared_target: true' (see 'When a flow is held' in kedge-agent(8))"

/* Counted once, however often it is tried again. */
static void
count_lost(struct flow *flow, struct part *part, int64_t from, int64_t to)
{
    if (from < part->lost_to)
        from = part->lost_to;
    if (from >= to)
        return;
    metric_add(flow->o.metrics, METRIC_OFFSETS_LOST, to - from);
    part->lost_to = to;
}

static void
out_of_range(struct flow *flow, struct part *part,
    const struct source_event *event)
{
    char why[REPORT_TEXT_MAX];

    /* What was written in the place of what was cut off is not read. */
    if (event->cut >= 0)
        count_lost(flow, part, event->cut,
            event->high < event->offset ? event->high : event->offset);
    if (event->low > event->offset) {
        count_lost(flow, part, event->offset, event->low);
        (void)snprintf(why, sizeof why,
            "%" PRId64 " offsets are gone at the source before they could be "
            "read: %" PRId64 " to %" PRId64 " (retention or deletion)" WAY_ON,
            event->low - event->offset, event->offset, event->low - 1);
    } else if (event->high < 0) {
        (void)snprintf(why, sizeof why,
            "the position %" PRId64
            " does not exist any more at the source" WAY_ON,
            event->offset);
    } else if (event->offset > event->high) {
        (void)snprintf(why, sizeof why,
            "the position %" PRId64
            " lies beyond the end of the source (%" PRId64
            "): the log was truncated or the topic made anew" WAY_ON,
            event->offset, event->high);
    } else {
        (void)snprintf(why, sizeof why,
            "the source's log was truncated below the position %" PRId64
            " and written anew (it ends at %" PRId64
            "): what now stands before the position was never read" WAY_ON,
            event->offset, event->high);
    }
    flowsource_hold(flow, part, why);
}

/* The err says who has to act, and what tries again. */
static void
cannot_be_read(struct flow *flow, struct part *part, const struct err *err)
{
    char why[REPORT_TEXT_MAX];

    if (err->kind == ERR_DENIED)
        (void)snprintf(why, sizeof why,
            "the source refuses to be read: grant this client Read on topic "
            "%.150s at %s, then 'kedge flow restart %s'",
            part->topic->name, flow->from, flow->name);
    else
        (void)snprintf(why, sizeof why, "the source cannot be read: %s",
            err->text);
    flowsource_hold(flow, part, why);
}

/* Markers behind the last record count as read: without this the lag of a
 * transactional topic would never reach 0. */
static void
ends(struct part *part, const struct source_event *event)
{
    part->source_end = event->stable;
    part->source_high = event->high;
    if (part->tracker == NULL || !part->reading ||
        tracker_in_flight(part->tracker) > 0 ||
        part->read_next != tracker_next(part->tracker) ||
        event->offset <= part->read_next)
        return;
    tracker_advance(part->tracker, event->offset);
    part->read_next = event->offset;
    part->epoch = -1; /* markers do not tell theirs */
}

static void
is_up(struct flow *flow)
{
    flowtopics_up(flow, true);
    if (flow->left)
        flow->refresh_at_ms = 0; /* and the group is joined again */
}

static void
on_source(struct flow *flow, const struct source_event *event, int64_t now_ms)
{
    struct part *part =
        event->part >= 0 ? parts_at(flow->parts, event->part) : NULL;

    if (event->kind != SOURCE_DOWN && event->kind != SOURCE_UP &&
        (part == NULL || part->phase == PHASE_IDLE))
        return; /* of a lane that was given up meanwhile */
    switch (event->kind) {
    case SOURCE_RESOLVED:
        if (flow->lanes != NULL)
            lanes_resolved(flow->lanes, part, event->offset);
        break;
    case SOURCE_ENDS:
        ends(part, event);
        break;
    case SOURCE_OUT_OF_RANGE:
        out_of_range(flow, part, event);
        break;
    case SOURCE_FAILED:
        cannot_be_read(flow, part, &event->err);
        break;
    case SOURCE_DOWN:
        flowtopics_down(flow, true, &event->err, now_ms);
        break;
    case SOURCE_UP:
        is_up(flow);
        break;
    }
}

bool
flowsource_events(struct flow *flow, int64_t now_ms)
{
    struct source_event event;
    bool busy = false;

    for (; flow->o.source.ops->event(flow->o.source.self, &event); busy = true)
        on_source(flow, &event, now_ms);
    return busy;
}

/* --- what it is asked and told --- */

void
flowsource_tell(struct flow *flow, int32_t number)
{
    enum lane_state state = lanes_state(flow->lanes, number);

    if (state != LANE_OWNED && state != LANE_FINISHING)
        return; /* what is known of it may be of long ago */
    for (const struct part *part = parts_of_lane(flow->parts, number);
         part != NULL; part = part->next_in_lane)
        if (part->known && part->entry.next_offset != LEDGER_UNRESOLVED)
            flow->o.source.ops->stored(flow->o.source.self, part->number,
                part->topic->name, part->partition, part->entry.next_offset);
}

/* Said once for a topic, and when it is over. */
static void
note_unled(struct flow *flow, int64_t now_ms)
{
    for (size_t i = 0; i < parts_count(flow->parts); i++) {
        struct part *part = parts_at(flow->parts, (int32_t)i);

        if (part->phase != PHASE_RESOLVING ||
            now_ms - part->asked_ms < UNLED_MS)
            continue;
        (void)snprintf(part->reason, sizeof part->reason,
            "the leader of this partition at %s does not say where it begins: "
            "whoever runs that cluster has to bring the broker back; it is "
            "asked until it answers, and then goes on by itself",
            flow->from);
        if (part->topic->unled_ms == 0)
            LOG(flow->o.log, LEVEL_WARN, "source.stands",
                kv_str("flow", flow->name), kv_str("topic", part->topic->name),
                kv_int("partition", part->partition),
                kv_str("why", part->reason));
        part->topic->unled_ms = now_ms;
    }
    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        if (topic->unled_ms == 0 || topic->unled_ms == now_ms)
            continue;
        topic->unled_ms = 0;
        LOG(flow->o.log, LEVEL_INFO, "source.moves", kv_str("flow", flow->name),
            kv_str("topic", topic->name),
            kv_str("why", "no partition of it waits for its leader here"));
    }
}

void
flowsource_tick(struct flow *flow, int64_t now_ms)
{
    if (flow->ends_at_ms > now_ms || !flow->joined)
        return;
    flow->ends_at_ms = now_ms + ENDS_MS;
    flow->o.source.ops->ask_ends(flow->o.source.self);
    if (flow->source_link == FLOW_LINK_UP) /* else it is said of all of it */
        note_unled(flow, now_ms);
}

bool
flowsource_doubts(struct flow *flow, struct part *part)
{
    if (part->topic->sure_by == 0)
        part->topic->sure_by = flow->lists + 1;
    if (!part->unsure)
        return false;
    flow->o.source.ops->stop(flow->o.source.self, part->number);
    part->reading = false;
    if (part->topic->sure_by > flow->lists)
        flow->brief_at_ms = flow->list_ms + SURE_MS;
    return true;
}

void
flowsource_sure(struct flow *flow, struct topic *topic)
{
    if (topic->sure || topic->sure_by == 0 || topic->sure_by > flow->lists)
        return;
    topic->sure = true;
    for (int32_t i = 0; i < topic->partitions; i++) {
        struct part *part = parts_get(flow->parts, topic->name, i);

        if (part == NULL || !part->unsure)
            continue;
        part->unsure = false;
        if (part->phase == PHASE_OPEN && !part->reading &&
            lanes_state(flow->lanes, part->lane) == LANE_OWNED)
            flowlane_open(flow, part);
    }
}

/* Without memory it is not asked now, and the next tick tries again. */
void
flowsource_resolve(void *ctx, struct part *part, enum start start,
    int64_t wall_ms)
{
    struct flow *flow = ctx;

    part->asked_ms = clock_mono_ms(flow->o.clock);
    part->reason[0] = '\0';
    if (!flow->o.source.ops->resolve(flow->o.source.self, part->number,
            part->topic->name, part->partition, start, wall_ms))
        part->phase = PHASE_IDLE;
}
