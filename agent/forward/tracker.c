#include "tracker.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

struct slot {
    int64_t offset, bytes, wall_ms, target_offset;
    bool acked;
};

/* Records are numbered as they are added; the one numbered i is in slot
 * i modulo room.  The first is never acked: an ack there ends in the run. */
struct tracker {
    size_t room;        /* slots; a power of two */
    size_t first, used; /* number of the oldest record; how many */
    size_t expected;    /* number of the record whose ack is likely next */
    int64_t next, read_next;
    int64_t target_offset;
    int64_t bytes;
    int64_t run_records, run_bytes;
    struct slot *ring;
};

static struct slot *
slot_of(const struct tracker *tracker, size_t number)
{
    return &tracker->ring[number & (tracker->room - 1)];
}

struct tracker *
tracker_new(int64_t next_offset, struct err *err)
{
    struct tracker *tracker = calloc(1, sizeof *tracker);

    assert(next_offset >= 0);
    if (tracker != NULL)
        tracker->ring = calloc(TRACKER_FIRST, sizeof tracker->ring[0]);
    if (tracker == NULL || tracker->ring == NULL) {
        free(tracker);
        err_set(err, ERR_MEMORY, "tracker");
        return NULL;
    }
    tracker->room = TRACKER_FIRST;
    tracker->next = tracker->read_next = next_offset;
    tracker->target_offset = TRACKER_NOTHING;
    return tracker;
}

void
tracker_free(struct tracker *tracker)
{
    if (tracker == NULL)
        return;
    free(tracker->ring);
    free(tracker);
}

static bool
resize(struct tracker *tracker, size_t room)
{
    struct slot *ring;

    if (room > SIZE_MAX / sizeof *ring ||
        (ring = calloc(room, sizeof *ring)) == NULL)
        return false;
    for (size_t i = 0; i < tracker->used; i++)
        ring[(tracker->first + i) & (room - 1)] =
            *slot_of(tracker, tracker->first + i);
    free(tracker->ring);
    tracker->ring = ring;
    tracker->room = room;
    return true;
}

bool
tracker_add(struct tracker *tracker, int64_t offset, int64_t bytes,
    int64_t wall_ms)
{
    assert(offset >= tracker->read_next && bytes >= 0);
    if (tracker->used == tracker->room && !resize(tracker, tracker->room * 2))
        return false;
    *slot_of(tracker, tracker->first + tracker->used) = (struct slot){
        .offset = offset,
        .bytes = bytes,
        .wall_ms = wall_ms,
        .target_offset = TRACKER_NOTHING,
    };
    tracker->used++;
    tracker->bytes += bytes;
    tracker->read_next = offset + 1;
    return true;
}

static size_t
search(const struct tracker *tracker, int64_t offset)
{
    size_t low = 0, high = tracker->used;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (slot_of(tracker, tracker->first + middle)->offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return tracker->first + low;
}

/* Each of many partitions may have its turn to be the busy one: what it
 * needed then is not kept. */
static void
shrink(struct tracker *tracker)
{
    size_t room = tracker->room;

    while (room > TRACKER_KEEP && tracker->used <= room / 8)
        room /= 2;
    if (room < tracker->room)
        (void)resize(tracker, room); /* without memory it stays as it is */
}

/* Takes what is acked off the front. */
static void
extend_run(struct tracker *tracker)
{
    while (tracker->used > 0) {
        const struct slot *slot = slot_of(tracker, tracker->first);

        if (!slot->acked)
            break;
        tracker->next = slot->offset + 1;
        if (slot->target_offset != TRACKER_NOTHING)
            tracker->target_offset = slot->target_offset;
        tracker->run_records++;
        tracker->run_bytes += slot->bytes;
        tracker->bytes -= slot->bytes;
        tracker->first++;
        tracker->used--;
    }
    shrink(tracker);
}

void
tracker_ack(struct tracker *tracker, int64_t offset, int64_t target_offset)
{
    size_t number = tracker->expected;
    struct slot *slot;

    if (number - tracker->first >= tracker->used ||
        slot_of(tracker, number)->offset != offset)
        number = search(tracker, offset);
    assert(number - tracker->first < tracker->used);
    slot = slot_of(tracker, number);
    assert(slot->offset == offset && !slot->acked);
    slot->acked = true;
    slot->target_offset = target_offset;
    tracker->expected = number + 1;
    extend_run(tracker);
}

void
tracker_rewind(struct tracker *tracker)
{
    tracker->first += tracker->used;
    tracker->expected = tracker->first;
    tracker->used = 0;
    tracker->bytes = 0;
    tracker->read_next = tracker->next;
    shrink(tracker);
}

void
tracker_advance(struct tracker *tracker, int64_t next_offset)
{
    assert(tracker->used == 0 && next_offset >= tracker->next);
    tracker->next = tracker->read_next = next_offset;
}

int64_t
tracker_next(const struct tracker *tracker)
{
    return tracker->next;
}

int64_t
tracker_read_next(const struct tracker *tracker)
{
    return tracker->read_next;
}

int64_t
tracker_target_offset(const struct tracker *tracker)
{
    return tracker->target_offset;
}

size_t
tracker_room(const struct tracker *tracker)
{
    return tracker->room;
}

size_t
tracker_in_flight(const struct tracker *tracker)
{
    return tracker->used;
}

int64_t
tracker_in_flight_bytes(const struct tracker *tracker)
{
    return tracker->bytes;
}

int64_t
tracker_oldest_wall_ms(const struct tracker *tracker)
{
    if (tracker->used == 0)
        return TRACKER_NOTHING;
    return slot_of(tracker, tracker->first)->wall_ms;
}

int64_t
tracker_run_records(const struct tracker *tracker)
{
    return tracker->run_records;
}

int64_t
tracker_run_bytes(const struct tracker *tracker)
{
    return tracker->run_bytes;
}
