/* Records that would go in a circle: another flow, of another policy maybe,
 * brings to our source what we bring to our target.
 *
 * That flow's ledger stands at our source, and the catalog says what is in it.
 * A topic of ours is left out when it is written from a topic that we write
 * ourselves.  So who comes second leaves out what the first forwards, and
 * nothing goes round.  Two that begin at one moment see no entries of each
 * other yet; then records go round until the next look, which comes LOOK_MS
 * after the first of them, and whoever sees the other's entries is held: both,
 * maybe, until one of the policies leaves the topic out.
 *
 * A circle over a third cluster is not seen: what would say so is the ledger
 * of a flow between two others.  Who closes it is held by laneends.c, if its
 * target has records by then. */
#include "flowset.h"
#include "flowsource.h"

#include <stdio.h>

#define LOOK_MS 2000

/* Do we write this topic of the target? */
static bool
is_ours(const struct flow *flow, const char *target)
{
    const char *origin = route_origin(&flow->o.route, target);
    const struct topic *topic =
        origin != NULL ? parts_find_topic(flow->parts, origin) : NULL;

    return topic != NULL && topic->exists && (topic->selected || topic->circle);
}

static void
hold_parts(struct flow *flow, const struct topic *topic)
{
    for (int32_t i = 0; i < topic->partitions; i++) {
        struct part *part = parts_get(flow->parts, topic->name, i);

        if (part == NULL || part->phase == PHASE_IDLE ||
            part->phase == PHASE_HELD)
            continue;
        flow->o.source.ops->stop(flow->o.source.self, part->number);
        flowsource_hold(flow, part, topic->reason);
        part->circles = true;
    }
}

static void
leave_out(struct flow *flow, struct topic *topic,
    const struct catalog_return *back)
{
    (void)snprintf(topic->reason, sizeof topic->reason,
        "flow '%s' brings its records here from %s (its ledger is %.90s), so "
        "they would go in a circle; exclude the topic in one of the two "
        "policies, and the other goes on, or delete that ledger if its flow "
        "is gone for good",
        back->flow, flow->to, back->ledger);
    topic->selected = false;
    if (!topic->circle)
        LOG(flow->o.log, LEVEL_WARN, "topic.circle", kv_str("flow", flow->name),
            kv_str("topic", topic->name), kv_str("why", topic->reason));
    topic->circle = true;
    hold_parts(flow, topic);
}

static void
let_in(struct flow *flow, struct topic *topic)
{
    topic->circle = false;
    topic->reason[0] = '\0';
    LOG(flow->o.log, LEVEL_INFO, "topic.circle.ended",
        kv_str("flow", flow->name), kv_str("topic", topic->name));
    for (int32_t i = 0; i < topic->partitions; i++) {
        struct part *part = parts_get(flow->parts, topic->name, i);

        if (part == NULL || !part->circles)
            continue;
        part->circles = false;
        lanes_retry_part(flow->lanes, part);
    }
}

void
flowcircle_look(struct flow *flow, const struct catalog_list *list)
{
    for (size_t i = 0; i < list->n_returns; i++) {
        const struct catalog_return *back = &list->returns[i];
        struct topic *topic = parts_find_topic(flow->parts, back->topic);

        if (topic != NULL && topic->selected && is_ours(flow, back->origin))
            leave_out(flow, topic, back);
    }
    /* What is selected still comes from nowhere, if all could be read. */
    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        if (!topic->circle || !topic->selected)
            continue;
        topic->selected = !list->returns_missed;
        if (topic->selected)
            let_in(flow, topic);
    }
}

void
flowcircle_opened(struct flow *flow, struct topic *topic)
{
    int64_t at_ms = clock_mono_ms(flow->o.clock) + LOOK_MS;

    if (!topic->opened && flow->refresh_at_ms > at_ms)
        flow->refresh_at_ms = at_ms;
    topic->opened = true;
}
