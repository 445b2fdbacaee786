#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t
mono_ms(void *ctx)
{
    return atomic_load(&((struct memory *)ctx)->now_ms);
}

static int64_t
wall_ms(void *ctx)
{
    return MEMORY_WALL + mono_ms(ctx);
}

struct memory *
memory_new(int32_t lanes)
{
    struct memory *memory = calloc(1, sizeof *memory);
    pthread_mutexattr_t recursive;
    struct err err;
    bool ok;

    assert(memory != NULL && lanes <= MEMORY_LANES);
    (void)pthread_mutexattr_init(&recursive);
    (void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&memory->lock, &recursive);
    (void)pthread_mutexattr_destroy(&recursive);
    ok = wake_open(&memory->wake, &err);
    assert(ok);
    memory->clock = (struct clock){ mono_ms, wall_ms, memory };
    atomic_store(&memory->now_ms, 1000);
    memory->lanes = lanes;
    memory->proof = GROUP_PROVED;
    memory->source_cluster_id = "plant";
    memory->ledger_id = "ledger-id";
    memory->target_cluster_id = "cloud";
    for (int32_t i = 0; i < MEMORY_LANES; i++) {
        memory->lane[i].acks = -1;
        memory->lane[i].hint = GROUP_NO_HINT;
    }
    return memory;
}

void
memory_free(struct memory *memory)
{
    assert(memory->holds == 0);
    for (int32_t i = 0; i < MEMORY_LANES; i++) {
        ledger_batch_free(memory->lane[i].batch);
        free(memory->lane[i].log);
    }
    for (size_t i = 0; i < memory->n_listed; i++) { /* nobody took these */
        free(memory->listed[i].ends);
        catalog_list_free(memory->listed[i].list);
    }
    wake_close(&memory->wake);
    (void)pthread_mutex_destroy(&memory->lock);
    free(memory);
}

void
memory_enter(struct memory *memory)
{
    (void)pthread_mutex_lock(&memory->lock);
}

void
memory_leave(struct memory *memory)
{
    (void)pthread_mutex_unlock(&memory->lock);
}

void
memory_pass(struct memory *memory, int64_t ms)
{
    atomic_fetch_add(&memory->now_ms, ms);
}

struct memory_topic *
memory_find(struct memory *memory, const char *name)
{
    for (int i = 0; i < MEMORY_TOPICS; i++)
        if (memory->topic[i].name[0] != '\0' &&
            strcmp(memory->topic[i].name, name) == 0)
            return &memory->topic[i];
    return NULL;
}

void
memory_append(struct memory_partition *partition, int64_t records,
    int32_t bytes)
{
    assert(partition->high + records <= MEMORY_OFFSETS);
    for (int64_t i = 0; i < records; i++)
        partition->bytes[partition->high++] = bytes;
}

struct memory_topic *
memory_topic(struct memory *memory, const char *name, int32_t partitions,
    int64_t records, int32_t bytes)
{
    struct memory_topic *topic = memory->topic;

    assert(partitions <= MEMORY_WIDTH);
    while (topic->name[0] != '\0')
        topic++;
    assert(topic < memory->topic + MEMORY_TOPICS);
    (void)snprintf(topic->name, sizeof topic->name, "%s", name);
    (void)snprintf(topic->id, sizeof topic->id, "s-%.40s", name);
    (void)snprintf(topic->target_id, sizeof topic->target_id, "t-%.40s", name);
    topic->partitions = partitions;
    for (int32_t i = 0; i < partitions; i++)
        memory_append(&topic->partition[i], records, bytes);
    return topic;
}

bool
memory_arrived(const struct memory_partition *partition, int64_t from,
    int64_t to)
{
    int64_t newest = from - 1;

    for (size_t i = 0; i < partition->n_got; i++) {
        int64_t offset = partition->got[i];

        if (offset < from || offset > newest + 1)
            return false;
        newest = offset > newest ? offset : newest;
    }
    return newest == to - 1;
}

size_t
memory_repeats(const struct memory_partition *partition)
{
    int64_t newest = -1;
    size_t n = 0;

    for (size_t i = 0; i < partition->n_got; i++) {
        n += partition->got[i] <= newest;
        if (partition->got[i] > newest)
            newest = partition->got[i];
    }
    return n;
}

int64_t
memory_entry(const struct memory *memory, const char *topic, int32_t partition)
{
    const struct memory_lane *lane =
        &memory->lane[ledger_lane(topic, partition, memory->lanes)];

    for (size_t i = lane->n_log; i > 0; i--) {
        const struct ledger_record *record = &lane->log[i - 1];

        if (record->kind == LEDGER_ENTRY &&
            record->entry.partition == partition &&
            strcmp(record->entry.topic, topic) == 0)
            return record->entry.next_offset;
    }
    return -2;
}

size_t
memory_entries(const struct memory *memory, enum ledger_kind kind)
{
    size_t n = 0;

    for (int32_t i = 0; i < memory->lanes; i++)
        for (size_t k = 0; k < memory->lane[i].n_log; k++)
            n += memory->lane[i].log[k].kind == kind;
    return n;
}
