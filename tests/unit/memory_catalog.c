/* The catalog: lists the source's topics, makes what is asked for. */
#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
put(struct memory *memory, const struct catalog_event *event)
{
    assert(memory->n_listed < MEMORY_EVENTS);
    memory->listed[memory->n_listed++] = *event;
    wake_signal(&memory->wake);
}

static void
do_refresh(void *self)
{
    ((struct memory *)self)->refresh_asked = true;
}

/* As the real one: not asked again for a minute, but when it is told to. */
static int64_t
limit_of(struct memory *memory, struct memory_topic *topic, bool anew)
{
    int64_t now_ms = clock_mono_ms(&memory->clock);

    if (anew || topic->known_until_ms <= now_ms) {
        topic->known_bytes = topic->max_message_bytes;
        topic->known_until_ms = now_ms + 60000;
    }
    return topic->known_bytes;
}

static void
do_ensure(void *self, const struct catalog_want *wants, size_t n)
{
    struct memory *memory = self;

    memory_enter(memory);
    memory->ensures++;
    for (size_t i = 0; i < n; i++) {
        struct memory_topic *topic = memory_find(memory, wants[i].source);
        struct catalog_event event = { .kind = CATALOG_TARGET,
            .partitions = wants[i].partitions };

        assert(topic != NULL);
        memcpy(event.source, wants[i].source, sizeof event.source);
        memcpy(event.target, wants[i].target, sizeof event.target);
        memcpy(event.id, topic->target_id, sizeof event.id);
        event.max_message_bytes = limit_of(memory, topic, wants[i].anew);
        if (topic->unasked)
            event.max_message_bytes = 0;
        if (topic->waits || topic->unasked) {
            event.kind = CATALOG_WAIT;
            event.partitions = topic->unasked ? topic->partitions : 0;
            err_set_retry(&event.err,
                topic->waits_for != ERR_NONE ? topic->waits_for : ERR_KAFKA,
                "it may not be made");
        } else if (topic->stands)
            err_set_retry(&event.err, ERR_KAFKA, "1 of 3 replicas in sync");
        put(memory, &event);
    }
    memory_leave(memory);
}

static void
do_ensure_ledger(void *self, const char *name, int32_t lanes)
{
    struct memory *memory = self;

    assert(strstr(name, ".ledger") != NULL);
    memory->ledger_asked = true;
    memory->ledger_wanted = lanes;
}

static void
do_ask_ends(void *self, int32_t lane,
    const struct catalog_partition *partitions, size_t n)
{
    struct memory *memory = self;
    struct catalog_event event = { .kind = CATALOG_ENDS,
        .lane = lane,
        .n_ends = n };

    memory_enter(memory);
    event.ends = calloc(n + 1, sizeof event.ends[0]);
    assert(event.ends != NULL);
    for (size_t i = 0; i < n; i++) {
        const struct memory_topic *topic =
            memory_find(memory, partitions[i].topic);

        event.ends[i] = partitions[i];
        event.ends[i].high =
            topic == NULL
                ? 0
                : (int64_t)topic->partition[partitions[i].partition].n_got;
        if (memory->target_ends != 0)
            event.ends[i].high = memory->target_ends;
    }
    put(memory, &event);
    memory_leave(memory);
}

static struct catalog_list *
list(const struct memory *memory)
{
    struct catalog_list *list =
        calloc(1, sizeof *list + MEMORY_TOPICS * sizeof list->topics[0]);

    assert(list != NULL);
    (void)snprintf(list->source_cluster_id, sizeof list->source_cluster_id,
        "%s", memory->source_cluster_id);
    (void)snprintf(list->target_cluster_id, sizeof list->target_cluster_id,
        "%s", memory->target_cluster_id);
    for (int i = 0; i < MEMORY_TOPICS; i++) {
        const struct memory_topic *topic = &memory->topic[i];
        struct catalog_topic *to = &list->topics[list->n];

        if (topic->name[0] == '\0' || topic->gone)
            continue;
        memcpy(to->name, topic->name, sizeof to->name);
        memcpy(to->id, topic->id, sizeof to->id);
        to->partitions = topic->partitions;
        list->n++;
    }
    list->returns = calloc(MEMORY_TOPICS, sizeof list->returns[0]);
    assert(list->returns != NULL);
    memcpy(list->returns, memory->returns, sizeof memory->returns);
    list->n_returns = memory->n_returns;
    list->returns_missed = memory->returns_missed;
    return list;
}

static void
answer_refresh(struct memory *memory, struct catalog_event *event)
{
    memory->refresh_asked = false;
    memory->refreshes++;
    *event = (struct catalog_event){ .kind = CATALOG_DOWN,
        .source_side = memory->source_down };
    if (memory->source_down || memory->target_down)
        err_set_retry(&event->err, ERR_NET, "no broker answers");
    else
        *event = (struct catalog_event){ .kind = CATALOG_TOPICS,
            .list = list(memory) };
}

/* As the client library's texts have times in them. */
static void
make_differ(struct memory *memory, struct catalog_event *event)
{
    if (memory->texts_differ && event->err.kind != ERR_NONE)
        (void)snprintf(event->err.text, sizeof event->err.text, "after %d ms",
            memory->texts_made++);
}

static void
answer_ledger(struct memory *memory, struct catalog_event *event)
{
    memory->ledger_asked = false;
    *event = (struct catalog_event){
        .kind = CATALOG_LEDGER,
        .partitions =
            memory->ledger_lanes != 0 ? memory->ledger_lanes : memory->lanes,
    };
    (void)snprintf(event->id, sizeof event->id, "%s", memory->ledger_id);
    if (memory->ledger_gone && memory->ledger_wanted == 0)
        *event = (struct catalog_event){ .kind = CATALOG_LEDGER_GONE };
    if (!memory->ledger_waits && !memory->target_down) {
        memory->ledger_gone = event->kind == CATALOG_LEDGER_GONE;
        return;
    }
    event->kind = CATALOG_LEDGER_WAIT;
    if (memory->target_down)
        err_set_retry(&event->err, ERR_NET, "no broker answers");
    else
        err_set(&event->err, ERR_KAFKA, "the ledger may not be made");
}

static bool
do_event(void *self, struct catalog_event *event)
{
    struct memory *memory = self;
    bool some = true;

    memory_enter(memory);
    if (memory->n_listed > 0) {
        *event = memory->listed[0];
        memmove(memory->listed, memory->listed + 1,
            --memory->n_listed * sizeof memory->listed[0]);
    } else if (memory->refresh_asked) {
        answer_refresh(memory, event);
        make_differ(memory, event);
    } else if (memory->ledger_asked) {
        answer_ledger(memory, event);
        make_differ(memory, event);
    } else {
        some = false;
    }
    memory_leave(memory);
    return some;
}

static void
do_free(void *self)
{
    ((struct memory *)self)->freed++;
}

struct catalog
memory_catalog(struct memory *memory)
{
    static const struct catalog_ops ops = { do_refresh, do_ensure,
        do_ensure_ledger, do_ask_ends, do_event, do_free };

    return (struct catalog){ &ops, memory };
}
