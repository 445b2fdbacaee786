/* Topics: which there are, where they go, and where they end at the target. */
#include "flowset.h"
#include "flowsource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACKED_MS 5000        /* an ack so long ago says nothing of now */
#define SOURCE_AWAY_MS 60000 /* then the group is left: another may reach it */

/* --- what the source has --- */

/* Partitions of a topic that was deleted and made anew, here or there. */
static void
hold_changed(struct flow *flow, const struct topic *topic)
{
    for (int32_t i = 0; i < topic->partitions; i++) {
        struct part *part = parts_get(flow->parts, topic->name, i);

        if (part == NULL || part->phase != PHASE_OPEN ||
            parts_same_topics(part))
            continue;
        if (part->reading)
            flow->o.source.ops->stop(flow->o.source.self, part->number);
        flowsource_hold(flow, part, part->reason);
    }
}

/* Left out for a reason that the policy gives.  Said once in the log. */
void
flowtopics_skip(const struct flow *flow, struct topic *topic, const char *why)
{
    if (strcmp(topic->reason, why) == 0)
        return;
    (void)snprintf(topic->reason, sizeof topic->reason, "%s", why);
    LOG(flow->o.log, LEVEL_INFO, "topic.skipped", kv_str("flow", flow->name),
        kv_str("topic", topic->name), kv_str("why", why));
}

static void
take_topic(struct flow *flow, const struct catalog_topic *found)
{
    struct topic *topic;
    struct err err;
    const char *why = NULL;
    enum flow_wants wants = flow->o.wants(flow->o.wants_ctx, found->name, &why);

    if (wants != FLOW_WANTS && why == NULL)
        return;
    if ((topic = parts_topic(flow->parts, found->name)) == NULL)
        return; /* no memory now: seen again at the next refresh */
    (void)snprintf(topic->id, sizeof topic->id, "%s", found->id);
    topic->exists = true;
    topic->partitions = found->partitions;
    topic->meant = wants == FLOW_EXCLUDES;
    if (topic->absent)
        topic->reason[0] = '\0'; /* it has come */
    topic->absent = false;
    if (wants != FLOW_WANTS) {
        flowtopics_skip(flow, topic, why);
        return;
    }
    topic->selected =
        route_topic(&flow->o.route, found->name, topic->target, &err);
    if (!topic->selected) {
        (void)snprintf(topic->reason, sizeof topic->reason, "%s", err.text);
        return;
    }
    hold_changed(flow, topic);
    flowsource_sure(flow, topic);
}

static void
ensure_targets(struct flow *flow)
{
    struct catalog_want *wants = NULL;
    size_t n = 0;

    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next)
        n += topic->selected && topic->exists;
    if (n == 0 || (wants = calloc(n, sizeof wants[0])) == NULL)
        return;
    n = 0;
    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        if (!topic->selected || !topic->exists)
            continue;
        memcpy(wants[n].source, topic->name, sizeof wants[n].source);
        memcpy(wants[n].target, topic->target, sizeof wants[n].target);
        wants[n].anew = topic->limit_doubted || topic->refused;
        wants[n++].partitions = topic->partitions;
    }
    flow->o.catalog.ops->ensure(flow->o.catalog.self, wants, n);
    free(wants);
}

/* Another cluster answers where the source was.  Nothing of it is read before
 * the headers of the ledger say that this flow is of it: the lanes are given
 * up, and those who find the right one may have them. */
static bool
source_changed(struct flow *flow, const struct catalog_list *list,
    int64_t now_ms)
{
    const char *was = lanes_source(flow->lanes), *is = list->source_cluster_id;

    if (flow->ledger_gone || was[0] == '\0' || strcmp(was, is) == 0)
        return false;
    LOG(flow->o.log, LEVEL_WARN, "source.changed", kv_str("flow", flow->name),
        kv_str("cluster", flow->from), kv_str("was", was), kv_str("is", is));
    lanes_leave(flow->lanes);
    lanes_start(flow->lanes, is, flow->ledger_id, now_ms);
    flow->left = false;
    return true;
}

#define NOT_LISTED                                                         \
    "the source does not list it any more: it was deleted there, or this " \
    "client lost Describe on it, which Read includes"

static bool
is_missed(const struct flow *flow, const struct part *part)
{
    const char *why = NULL;

    return !part->topic->exists &&
           lanes_state(flow->lanes, part->lane) != LANE_ELSEWHERE &&
           (part->known || part->phase != PHASE_IDLE) &&
           flow->o.wants(flow->o.wants_ctx, part->topic->name, &why) ==
               FLOW_WANTS;
}

/* Said when the second list in a row is without it: a broker that has just
 * started may not know all of them. */
static void
miss_topics(struct flow *flow)
{
    for (size_t i = 0; i < parts_count(flow->parts); i++) {
        const struct part *part = parts_at(flow->parts, (int32_t)i);

        if (!part->topic->missed && is_missed(flow, part))
            part->topic->missed = true;
    }
    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        topic->missing = topic->missed ? topic->missing + 1 : 0;
        topic->missed = false;
        if (!topic->exists && !topic->absent && topic->missing < TOPIC_MISSING)
            topic->reason[0] = '\0';
        if (topic->missing != TOPIC_MISSING)
            continue;
        (void)snprintf(topic->reason, sizeof topic->reason, NOT_LISTED);
        LOG(flow->o.log, LEVEL_WARN, "topic.missing",
            kv_str("flow", flow->name), kv_str("topic", topic->name),
            kv_str("why", topic->reason));
    }
}

static void
on_topics(struct flow *flow, struct catalog_list *list, int64_t now_ms)
{
    bool circle = list->source_cluster_id[0] != '\0' &&
                  strcmp(list->source_cluster_id, list->target_cluster_id) == 0;
    bool changed;

    flowtopics_up(flow, true);
    flow->listing = false;
    changed = !flow->draining && source_changed(flow, list, now_ms);
    for (struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next)
        topic->exists = topic->selected = false;
    for (size_t i = 0; i < list->n; i++)
        take_topic(flow, &list->topics[i]);
    flowcircle_look(flow, list);
    miss_topics(flow);
    flownames_look(flow);
    if (circle && !flow->draining) {
        flow->failed = true;
        flow_enter(flow, FLOW_HELD,
            "source and target are the same cluster: correct 'clusters' in "
            "the policy");
    } else if (!flow->draining && !flow->ledger_gone &&
               (!flow->listed || flow->left)) {
        lanes_start(flow->lanes, list->source_cluster_id, flow->ledger_id,
            now_ms);
        flow->listed = true;
        flow->left = false;
    }
    if (!circle && !changed && !flow->brief &&
        lanes_refused(flow->lanes) == NULL)
        ensure_targets(flow); /* else topics of others would be made */
    catalog_list_free(list);
}

void
flowtopics_up(struct flow *flow, bool source_side)
{
    enum flow_link *link =
        source_side ? &flow->source_link : &flow->target_link;

    if (*link == FLOW_LINK_DOWN)
        LOG(flow->o.log, LEVEL_INFO, "cluster.up", kv_str("flow", flow->name),
            kv_str("cluster", source_side ? flow->from : flow->to));
    *link = FLOW_LINK_UP;
    if (source_side)
        flow->source_down_ms = 0;
    else
        flow->silent = false;
}

void
flowtopics_group(struct flow *flow, const struct group_event *event,
    int64_t now_ms)
{
    if (event->kind == GROUP_UP) {
        flow->heard = true;
        if (flow->target_link == FLOW_LINK_DOWN)
            flow->refresh_at_ms = 0; /* topics may wait for it */
        flowtopics_up(flow, false);
    } else if (event->kind == GROUP_DOWN) {
        flow->heard = false;
        if (flow->last_ack_ms != REPORT_UNKNOWN &&
            now_ms - flow->last_ack_ms < ACKED_MS)
            return; /* one broker is silent, and others answer */
        flowtopics_down(flow, false, &event->err, now_ms);
        flow->silent = true;
    }
}

void
flowtopics_acked(struct flow *flow)
{
    if (flow->silent)
        flowtopics_up(flow, false);
}

void
flowtopics_down(struct flow *flow, bool source_side, const struct err *err,
    int64_t now_ms)
{
    enum flow_link *link =
        source_side ? &flow->source_link : &flow->target_link;
    struct flow_away *away =
        source_side ? &flow->source_away : &flow->target_away;
    char why[REPORT_TEXT_MAX];

    /* That it is away may be heard before the reason. */
    if (*link != FLOW_LINK_DOWN ||
        (away->said != err->kind && err->kind != ERR_NET)) {
        away->said = err->kind;
        LOG(flow->o.log, LEVEL_WARN, "cluster.down", kv_str("flow", flow->name),
            kv_str("cluster", source_side ? flow->from : flow->to),
            kv_str("error", err->text));
    }
    *link = FLOW_LINK_DOWN;
    (void)snprintf(away->why, sizeof away->why, "%s", err->text);
    if (source_side && flow->source_down_ms == 0)
        flow->source_down_ms = now_ms;
    if (flow->state != FLOW_CONNECTING)
        return;
    (void)snprintf(why, sizeof why, "cluster %s: %s",
        source_side ? flow->from : flow->to, err->text);
    flow_enter(flow, FLOW_CONNECTING, why);
}

bool
flowtopics_away(const struct err *err)
{
    return err->kind == ERR_NET || err->kind == ERR_CERT ||
           err->kind == ERR_LOGIN;
}

/* Its records wait, though everything is as it should be on our side. */
static void
note_standing(const struct flow *flow, struct topic *topic,
    const struct err *err)
{
    const char *why = err->kind == ERR_NONE ? "" : err->text;
    bool said = topic->stands[0] != '\0';

    if (said != (why[0] != '\0'))
        LOG(flow->o.log, said ? LEVEL_INFO : LEVEL_WARN,
            said ? "topic.moves" : "topic.stands", kv_str("flow", flow->name),
            kv_str("topic", topic->name), kv_str("target", topic->target),
            kv_str("why",
                said ? "the target can take its records again" : why));
    (void)snprintf(topic->stands, sizeof topic->stands, "%s", why);
}

/* As the catalog found it, which may have asked half a minute ago: the group
 * is heard of every few seconds. */
static void
target_away(struct flow *flow, const struct err *err, int64_t now_ms)
{
    if (err->kind != ERR_NET || !flow->heard)
        flowtopics_down(flow, false, err, now_ms);
}

static void
on_target(struct flow *flow, const struct catalog_event *event, int64_t now_ms)
{
    struct topic *topic = parts_topic(flow->parts, event->source);
    bool raised;

    if (event->kind == CATALOG_WAIT && flowtopics_away(&event->err))
        target_away(flow, &event->err, now_ms);
    else if (event->kind == CATALOG_TARGET || !flow->silent)
        flowtopics_up(flow, false);
    if (topic == NULL || topic->circle)
        return;
    if (event->kind == CATALOG_WAIT &&
        strcmp(topic->reason, event->err.text) != 0)
        LOG(flow->o.log, LEVEL_WARN, "topic.waits", kv_str("flow", flow->name),
            kv_str("topic", topic->name), kv_str("target", topic->target),
            kv_str("error", event->err.text));
    (void)snprintf(topic->reason, sizeof topic->reason, "%s",
        event->kind == CATALOG_WAIT ? event->err.text : "");
    if (event->partitions == 0)
        return;
    if (event->kind == CATALOG_TARGET)
        note_standing(flow, topic, &event->err);
    (void)snprintf(topic->target_id, sizeof topic->target_id, "%s", event->id);
    topic->target_partitions = event->partitions;
    raised = event->max_message_bytes > topic->max_message_bytes;
    /* Who could not ask knows of none: what was told before stands. */
    if (event->kind == CATALOG_TARGET || event->max_message_bytes > 0)
        topic->max_message_bytes = event->max_message_bytes;
    topic->limit_doubted = false;
    hold_changed(flow, topic);
    if (raised && topic->refused)
        flowmove_raised(flow, topic);
}

static void
on_ends(struct flow *flow, struct catalog_event *event, int64_t wall_ms,
    int64_t now_ms)
{
    bool newest = --flow->lane[event->lane].ends_owed == 0;

    for (size_t i = 0; newest && i < event->n_ends; i++) {
        struct part *part = parts_at(flow->parts, event->ends[i].number);

        part->target_end = event->ends[i].high == CATALOG_UNKNOWN
                               ? REPORT_UNKNOWN
                               : event->ends[i].high;
    }
    free(event->ends);
    if (newest) /* an older one is of a taking over that was given up */
        lanes_ends(flow->lanes, event->lane, wall_ms, now_ms);
}

static void
on_catalog(struct flow *flow, struct catalog_event *event, int64_t now_ms)
{
    int64_t wall_ms = clock_wall_ms(flow->o.clock);

    switch (event->kind) {
    case CATALOG_TOPICS:
        on_topics(flow, event->list, now_ms);
        break;
    case CATALOG_DOWN:
        flow->listing = false;
        flow->refresh_at_ms = now_ms + FLOW_AGAIN_MS;
        if (event->source_side)
            flowtopics_down(flow, true, &event->err, now_ms);
        else
            target_away(flow, &event->err, now_ms);
        break;
    case CATALOG_TARGET:
    case CATALOG_WAIT:
        on_target(flow, event, now_ms);
        break;
    case CATALOG_LEDGER:
    case CATALOG_LEDGER_WAIT:
    case CATALOG_LEDGER_GONE:
        flowledger_answer(flow, event, now_ms);
        break;
    case CATALOG_ENDS:
        on_ends(flow, event, wall_ms, now_ms);
        break;
    }
}

bool
flowtopics_events(struct flow *flow, int64_t now_ms)
{
    struct catalog_event event;
    bool busy = false;

    for (; flow->o.catalog.ops->event(flow->o.catalog.self, &event);
         busy = true)
        on_catalog(flow, &event, now_ms);
    return flowsource_events(flow, now_ms) || busy;
}

static void
ask_for_list(struct flow *flow, bool brief, int64_t now_ms)
{
    flow->listing = true;
    flow->brief = brief;
    flow->brief_at_ms = 0;
    flow->list_ms = now_ms;
    flow->lists++;
    flow->o.catalog.ops->refresh(flow->o.catalog.self);
}

void
flowtopics_tick(struct flow *flow, int64_t now_ms)
{
    if (flow->draining)
        return;
    if (flow->refresh_at_ms <= now_ms && !flow->listing) {
        flow->refresh_at_ms = now_ms + flow->o.refresh_ms;
        if (flow->ledger_known)
            ask_for_list(flow, false, now_ms);
        flowledger_ask(flow);
    } else if (flow->brief_at_ms != 0 && flow->brief_at_ms <= now_ms &&
               !flow->listing) {
        ask_for_list(flow, true, now_ms);
    }
    flowsource_tick(flow, now_ms);
    if (flow->joined && flow->source_down_ms != 0 &&
        now_ms - flow->source_down_ms >= SOURCE_AWAY_MS) {
        LOG(flow->o.log, LEVEL_WARN, "group.left", kv_str("flow", flow->name),
            kv_str("why", "the source has been away for a minute"));
        lanes_leave(flow->lanes);
        flow->left = true;
    }
}

bool
flowtopics_ask_ends(void *ctx, int32_t lane)
{
    struct flow *flow = ctx;
    struct catalog_partition *asked;
    size_t n = 0, room = parts_count(flow->parts);

    if ((asked = calloc(room + 1, sizeof asked[0])) == NULL)
        return false;
    for (struct part *part = parts_of_lane(flow->parts, lane); part != NULL;
         part = part->next_in_lane) {
        const char *target =
            part->known ? part->entry.target_topic : part->topic->target;

        part->target_end = 0; /* where there is nothing */
        if (target[0] == '\0' ||
            (part->topic->target_partitions > 0 &&
                part->partition >= part->topic->target_partitions))
            continue;
        part->target_end = REPORT_UNKNOWN;
        memcpy(asked[n].topic, target, sizeof asked[n].topic);
        asked[n].number = part->number;
        asked[n++].partition = part->partition;
    }
    flow->lane[lane].ends_owed++;
    flow->o.catalog.ops->ask_ends(flow->o.catalog.self, lane, asked, n);
    free(asked);
    return true;
}
