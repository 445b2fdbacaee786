#include "parts.h"

#include "digest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parts {
    int32_t lanes;
    size_t n, room; /* of `all` */
    struct part **all;
    struct part **by_lane; /* heads of the lanes' lists */
    size_t slots;          /* of both hash tables; a power of two */
    struct part **hash;
    size_t n_topics, topic_slots;
    struct topic **topic_hash;
    struct topic *first, *last;
};

struct parts *
parts_new(int32_t lanes, struct err *err)
{
    struct parts *parts = calloc(1, sizeof *parts);

    assert(lanes > 0);
    if (parts != NULL) {
        parts->lanes = lanes;
        parts->slots = 64;
        parts->topic_slots = 64;
        parts->hash = calloc(parts->slots, sizeof parts->hash[0]);
        parts->topic_hash =
            calloc(parts->topic_slots, sizeof parts->topic_hash[0]);
        parts->by_lane = calloc((size_t)lanes, sizeof parts->by_lane[0]);
    }
    if (parts == NULL || parts->hash == NULL || parts->topic_hash == NULL ||
        parts->by_lane == NULL) {
        parts_free(parts);
        err_set(err, ERR_MEMORY, "table of partitions");
        return NULL;
    }
    return parts;
}

void
parts_free(struct parts *parts)
{
    struct topic *topic;

    if (parts == NULL)
        return;
    for (size_t i = 0; i < parts->n; i++) {
        tracker_free(parts->all[i]->tracker);
        free(parts->all[i]);
    }
    while ((topic = parts->first) != NULL) {
        parts->first = topic->next;
        free(topic);
    }
    free(parts->all);
    free(parts->hash);
    free(parts->topic_hash);
    free(parts->by_lane);
    free(parts);
}

static size_t
part_slot(const struct parts *parts, const char *topic, int32_t partition)
{
    uint64_t hash = digest_xxh64(topic, strlen(topic));

    hash += (uint64_t)(uint32_t)partition * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash ^ (hash >> 32)) & (parts->slots - 1);
}

static void
put_part(struct parts *parts, struct part *part)
{
    size_t slot = part_slot(parts, part->topic->name, part->partition);

    while (parts->hash[slot] != NULL)
        slot = (slot + 1) & (parts->slots - 1);
    parts->hash[slot] = part;
}

/* Keeps the table of partitions at most half full. */
static bool
grow_parts(struct parts *parts)
{
    size_t room = parts->room == 0 ? 32 : parts->room * 2;
    struct part **all = realloc(parts->all, room * sizeof all[0]);
    struct part **hash;

    if (all == NULL)
        return false;
    parts->all = all;
    if ((hash = calloc(room * 2, sizeof hash[0])) == NULL)
        return false;
    free(parts->hash);
    parts->hash = hash;
    parts->room = room;
    parts->slots = room * 2;
    for (size_t i = 0; i < parts->n; i++)
        put_part(parts, parts->all[i]);
    return true;
}

static size_t
topic_slot(const struct parts *parts, const char *name)
{
    size_t slot =
        (size_t)digest_xxh64(name, strlen(name)) & (parts->topic_slots - 1);

    while (parts->topic_hash[slot] != NULL &&
           strcmp(parts->topic_hash[slot]->name, name) != 0)
        slot = (slot + 1) & (parts->topic_slots - 1);
    return slot;
}

static bool
grow_topics(struct parts *parts)
{
    size_t slots = parts->topic_slots * 2;
    struct topic **hash = calloc(slots, sizeof hash[0]);

    if (hash == NULL)
        return false;
    free(parts->topic_hash);
    parts->topic_hash = hash;
    parts->topic_slots = slots;
    for (struct topic *topic = parts->first; topic != NULL; topic = topic->next)
        hash[topic_slot(parts, topic->name)] = topic;
    return true;
}

struct topic *
parts_topic(struct parts *parts, const char *name)
{
    size_t slot = topic_slot(parts, name);
    struct topic *topic = parts->topic_hash[slot];

    if (topic != NULL)
        return topic;
    if (strlen(name) >= sizeof topic->name)
        return NULL;
    if ((parts->n_topics + 1) * 2 > parts->topic_slots) {
        if (!grow_topics(parts))
            return NULL;
        slot = topic_slot(parts, name);
    }
    if ((topic = calloc(1, sizeof *topic)) == NULL)
        return NULL;
    (void)snprintf(topic->name, sizeof topic->name, "%s", name);
    parts->topic_hash[slot] = topic;
    parts->n_topics++;
    if (parts->last == NULL)
        parts->first = topic;
    else
        parts->last->next = topic;
    parts->last = topic;
    return topic;
}

struct topic *
parts_find_topic(const struct parts *parts, const char *name)
{
    return parts->topic_hash[topic_slot(parts, name)];
}

struct topic *
parts_topics(const struct parts *parts)
{
    return parts->first;
}

static struct part *
find_part(const struct parts *parts, const char *topic, int32_t partition)
{
    size_t slot = part_slot(parts, topic, partition);
    struct part *part;

    while ((part = parts->hash[slot]) != NULL) {
        if (part->partition == partition &&
            strcmp(part->topic->name, topic) == 0)
            return part;
        slot = (slot + 1) & (parts->slots - 1);
    }
    return NULL;
}

struct part *
parts_get(struct parts *parts, const char *topic, int32_t partition)
{
    struct part *part = find_part(parts, topic, partition);
    struct topic *of;

    if (part != NULL)
        return part;
    if (parts->n >= parts->room && !grow_parts(parts))
        return NULL;
    if ((of = parts_topic(parts, topic)) == NULL ||
        (part = calloc(1, sizeof *part)) == NULL)
        return NULL;
    part->topic = of;
    part->partition = partition;
    part->number = (int32_t)parts->n;
    part->lane = ledger_lane(topic, partition, parts->lanes);
    part->epoch = part->epoch_before = -1;
    part->source_end = part->source_high = REPORT_UNKNOWN;
    part->target_end = REPORT_UNKNOWN;
    part->next_in_lane = parts->by_lane[part->lane];
    parts->by_lane[part->lane] = part;
    parts->all[parts->n++] = part;
    put_part(parts, part);
    return part;
}

size_t
parts_count(const struct parts *parts)
{
    return parts->n;
}

struct part *
parts_at(const struct parts *parts, int32_t number)
{
    assert(number >= 0 && (size_t)number < parts->n);
    return parts->all[number];
}

struct part *
parts_of_lane(const struct parts *parts, int32_t lane)
{
    assert(lane >= 0 && lane < parts->lanes);
    return parts->by_lane[lane];
}

bool
parts_ready(const struct part *part)
{
    const struct topic *topic = part->topic;

    return topic->selected && topic->exists &&
           part->partition < topic->partitions &&
           part->partition < topic->target_partitions;
}

static void
copy_text(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from);
}

int32_t
parts_epoch(const struct part *part, int64_t offset)
{
    if (part->epoch != -1)
        return offset <= part->epoch_since ? part->epoch_before : part->epoch;
    return offset == part->entry.next_offset ? part->entry.leader_epoch : -1;
}

void
parts_entry(const struct part *part, struct ledger_entry *entry)
{
    const struct topic *topic = part->topic;

    *entry = part->entry;
    copy_text(entry->topic, sizeof entry->topic, topic->name);
    entry->partition = part->partition;
    if (entry->topic_id[0] == '\0')
        copy_text(entry->topic_id, sizeof entry->topic_id, topic->id);
    if (entry->target_topic[0] == '\0')
        copy_text(entry->target_topic, sizeof entry->target_topic,
            topic->target);
    if (entry->target_topic_id[0] == '\0')
        copy_text(entry->target_topic_id, sizeof entry->target_topic_id,
            topic->target_id);
    entry->target_partition = part->partition;
    copy_text(entry->idle, sizeof entry->idle,
        topic->selected || topic->circle ? "" : "yes");
    if (part->tracker == NULL)
        return;
    entry->next_offset = tracker_next(part->tracker);
    entry->records = part->base_records + tracker_run_records(part->tracker);
    entry->bytes = part->base_bytes + tracker_run_bytes(part->tracker);
    if (tracker_target_offset(part->tracker) != TRACKER_NOTHING)
        entry->target_offset = tracker_target_offset(part->tracker);
    entry->leader_epoch = parts_epoch(part, entry->next_offset);
}

void
parts_hold(struct part *part, const char *fmt, ...)
{
    va_list args;

    if (part->phase == PHASE_HELD)
        return;
    part->phase = PHASE_HELD;
    va_start(args, fmt);
    (void)vsnprintf(part->reason, sizeof part->reason, fmt, args);
    va_end(args);
}

bool
parts_same_topics(struct part *part)
{
    const struct topic *topic = part->topic;
    const struct ledger_entry *entry = &part->entry;

    if (topic->id[0] != '\0' && entry->topic_id[0] != '\0' &&
        strcmp(topic->id, entry->topic_id) != 0)
        parts_hold(part,
            "the source topic was deleted and made anew (its id was %s and "
            "is %s); the ledger stands at offset %" PRId64
            " of the old one, and nothing of the new one is sent: forward it, "
            "in the policy, by a flow of another name",
            entry->topic_id, topic->id, entry->next_offset);
    else if (topic->target_id[0] != '\0' && entry->target_topic_id[0] != '\0' &&
             strcmp(topic->target_id, entry->target_topic_id) != 0)
        parts_hold(part,
            "the target topic was deleted and made anew (its id was %s and "
            "is %s): what was acknowledged before offset %" PRId64
            " is gone there, and nothing more is sent: forward it again, in "
            "the policy, by a flow of another name",
            entry->target_topic_id, topic->target_id, entry->next_offset);
    else if (part->gone)
        parts_hold(part,
            "the target ends at offset %" PRId64 " and acknowledged %" PRId64
            ": records that it had are gone there (an unclean leader, or "
            "deleted), and nothing more is sent: forward the topic again, in "
            "the policy, by a flow of another name",
            part->target_end, entry->target_offset);
    else
        return true;
    return false;
}
