/* The source: records by number, in memory. */
#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void
put(struct memory *memory, const struct source_event *event)
{
    assert(memory->n_said < MEMORY_EVENTS);
    memory->said[memory->n_said++] = *event;
    wake_signal(&memory->wake);
}

void
memory_say(struct memory *memory, enum source_event_kind kind, int32_t part,
    const char *why)
{
    struct source_event event = { .kind = kind, .part = part };

    (void)err_set(&event.err, ERR_KAFKA, "%s", why);
    memory_enter(memory);
    put(memory, &event);
    memory_leave(memory);
}

static struct memory_reader *
reader_of(struct memory *memory, int32_t part, const char *topic,
    int32_t partition)
{
    struct memory_topic *of = memory_find(memory, topic);

    assert(part >= 0 && part < MEMORY_PARTS && of != NULL && partition >= 0 &&
           partition < MEMORY_WIDTH);
    memory->reader[part].of = &of->partition[partition];
    return &memory->reader[part];
}

/* Wherever there is a marker the leader has changed: it is the first of a new
 * epoch. */
static int32_t
epoch_at(const struct memory_partition *of, int64_t offset)
{
    int32_t epoch = 1;

    for (int64_t i = 0; i <= offset && i < of->high; i++)
        epoch += of->bytes[i] < 0;
    return epoch;
}

/* A broker takes the log for truncated when its end under the leader of the
 * record before lies in front of the position. */
static bool
looks_truncated(const struct memory_partition *of, int64_t offset,
    int32_t leader_epoch)
{
    return leader_epoch >= 0 && offset > 0 && offset <= of->high &&
           epoch_at(of, offset - 1) > leader_epoch;
}

static bool
/* NOLINTNEXTLINE(readability-function-size): source.h has it so */
do_read(void *self, int32_t part, const char *topic, int32_t partition,
    int64_t offset, int32_t leader_epoch, struct err *err)
{
    struct memory *memory = self;
    struct memory_reader *reader;

    memory_enter(memory);
    reader = reader_of(memory, part, topic, partition);
    assert(offset >= 0 && !looks_truncated(reader->of, offset, leader_epoch));
    reader->reading = !memory->read_refused && memory->source_no_memory == 0;
    reader->asked = false;
    reader->next = offset;
    reader->reads++;
    if (memory->source_no_memory > 0 && memory->source_no_memory-- > 0)
        err_set(err, ERR_MEMORY, "no room");
    else
        err_set(err, ERR_KAFKA, "reading is refused");
    memory_leave(memory);
    return reader->reading;
}

static void
do_stop(void *self, int32_t part)
{
    struct memory *memory = self;

    memory_enter(memory);
    memory->reader[part].reading = false;
    memory->reader[part].asked = false;
    memory_leave(memory);
}

/* The hold counts how many are out. */
static void
release(void *hold)
{
    struct memory *memory = hold;

    memory_enter(memory);
    assert(memory->holds > 0);
    memory->holds--;
    memory_leave(memory);
}

static bool
give(struct memory *memory, int32_t part, struct record *record)
{
    struct memory_reader *reader = &memory->reader[part];
    int64_t offset;

    if (!reader->reading || reader->of->leaderless)
        return false;
    while (reader->next < reader->of->high && reader->next >= 0 &&
           reader->of->bytes[reader->next] < 0)
        reader->next++;
    if (reader->next < reader->of->low || reader->next > reader->of->high) {
        reader->reading = false;
        put(memory, &(struct source_event){ .kind = SOURCE_OUT_OF_RANGE,
                        .part = part,
                        .offset = reader->next,
                        .low = reader->of->low,
                        .high = reader->of->high,
                        .cut = -1 });
        return false;
    }
    if (reader->next == reader->of->high)
        return false;
    offset = reader->next++;
    *record = (struct record){ .part = part,
        .leader_epoch = epoch_at(reader->of, offset),
        .offset = offset,
        .timestamp_wall_ms = MEMORY_WALL + offset,
        .value = "",
        .value_len = (size_t)reader->of->bytes[offset],
        .hold = memory,
        .release = release };
    memory->holds++;
    memory->given++;
    return true;
}

/* One of each partition in turn. */
static size_t
do_next(void *self, struct record *records, size_t max)
{
    struct memory *memory = self;
    size_t n = 0, before;

    memory_enter(memory);
    do {
        before = n;
        for (int32_t i = 0; i < MEMORY_PARTS && n < max; i++)
            if (!memory->source_away && give(memory, i, &records[n]))
                n++;
    } while (n > before && n < max);
    memory_leave(memory);
    return n;
}

static bool
resolve_one(struct memory *memory, struct source_event *event)
{
    for (int32_t i = 0; i < MEMORY_PARTS && !memory->source_away; i++) {
        struct memory_reader *reader = &memory->reader[i];

        if (!reader->asked || reader->of->leaderless)
            continue;
        reader->asked = false;
        *event = (struct source_event){ .kind = SOURCE_RESOLVED, .part = i };
        event->offset = reader->start == START_EARLIEST ? reader->of->low
                                                        : reader->of->high;
        if (reader->start == START_TIME)
            event->offset = reader->of->high / 2;
        return true;
    }
    return false;
}

static bool
do_event(void *self, struct source_event *event)
{
    struct memory *memory = self;
    bool some = false;

    memory_enter(memory);
    while (!some && memory->n_said > 0) {
        const struct memory_reader *reader;

        *event = memory->said[0];
        memmove(memory->said, memory->said + 1,
            --memory->n_said * sizeof memory->said[0]);
        some = true;
        if (event->kind != SOURCE_ENDS)
            continue;
        reader = &memory->reader[event->part];
        some = reader->reading;
        event->offset = reader->next;
    }
    some = some || resolve_one(memory, event);
    memory_leave(memory);
    return some;
}

static bool
do_resolve(void *self, int32_t part, const char *topic, int32_t partition,
    enum start start, int64_t start_wall_ms)
{
    struct memory *memory = self;
    struct memory_reader *reader;
    bool taken;

    memory_enter(memory);
    reader = reader_of(memory, part, topic, partition);
    taken = memory->source_no_memory == 0;
    if (!taken)
        memory->source_no_memory--;
    reader->asked = taken;
    reader->start = start;
    reader->start_wall_ms = start_wall_ms;
    memory_leave(memory);
    return taken;
}

/* What is stored never goes back. */
static void
do_stored(void *self, int32_t part, const char *topic, int32_t partition,
    int64_t offset)
{
    struct memory *memory = self;
    struct memory_reader *reader;

    memory_enter(memory);
    reader = reader_of(memory, part, topic, partition);
    assert(offset >= reader->stored);
    reader->stored = offset;
    reader->stored_told++;
    memory_leave(memory);
}

static void
do_ask_ends(void *self)
{
    struct memory *memory = self;

    memory_enter(memory);
    for (int32_t i = 0; i < MEMORY_PARTS; i++)
        if (memory->reader[i].reading)
            put(memory, &(struct source_event){ .kind = SOURCE_ENDS,
                            .part = i,
                            .low = memory->reader[i].of->low,
                            .stable = memory->reader[i].of->high,
                            .high = memory->reader[i].of->high });
    memory_leave(memory);
}

static void
do_free(void *self)
{
    ((struct memory *)self)->freed++;
}

struct source
memory_source(struct memory *memory)
{
    static const struct source_ops ops = { do_read, do_stop, do_next, do_event,
        do_resolve, do_ask_ends, do_stored, do_free };

    return (struct source){ &ops, memory };
}
