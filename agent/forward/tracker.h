/* tracker.h - which source offsets may be written down as delivered.
 *
 * The agent reads offsets in order, and the target acknowledges them in any
 * order.  Writing down 7 while 5 is still in flight loses 5 if the agent stops
 * there.  A tracker holds the records in flight of one source partition and
 * answers one question: up to where has everything been acknowledged?
 *
 * Thread:  the flow that owns the partition; no locks inside.
 * Memory:  room for TRACKER_FIRST records at tracker_new(), doubled when it is
 *          full and given back when an eighth of it is used, down to
 *          TRACKER_KEEP; the flow's max_in_flight bounds how many there can be.
 * Cost:    add and commit O(1) amortised; ack O(1) in order, else O(log n). */
#ifndef KEDGE_TRACKER_H
#define KEDGE_TRACKER_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define TRACKER_FIRST 16
#define TRACKER_KEEP 256
#define TRACKER_NOTHING INT64_C(-1)

struct tracker;

/* Nothing in flight; everything before `next_offset` counts as delivered. */
struct tracker *tracker_new(int64_t next_offset, struct err *err) MUST_CHECK;
void tracker_free(struct tracker *tracker); /* NULL is fine */

/* Notes that `offset` was read: `bytes` long, with this record time.  Offsets
 * rise, but need not be adjacent.  False without memory: stop reading. */
bool tracker_add(struct tracker *tracker, int64_t offset, int64_t bytes,
    int64_t wall_ms) MUST_CHECK;

/* Notes that the target has `offset`; target_offset -1 is not known.  One
 * that is not in flight is a bug. */
void tracker_ack(struct tracker *tracker, int64_t offset,
    int64_t target_offset);

/* Forgets what is in flight: it will be read again from tracker_next(). */
void tracker_rewind(struct tracker *tracker);

/* With nothing in flight: everything before `next_offset` counts as delivered
 * (markers at the end of what was read, or an order to skip). */
void tracker_advance(struct tracker *tracker, int64_t next_offset);

/* One past the unbroken run of acknowledged records: what a successor would
 * have to read next, and what an entry may say. */
int64_t tracker_next(const struct tracker *tracker);

/* One past the newest offset that was added. */
int64_t tracker_read_next(const struct tracker *tracker);

/* A target offset of the unbroken run, the newest known; TRACKER_NOTHING. */
int64_t tracker_target_offset(const struct tracker *tracker);

/* Records that there is room for now. */
size_t tracker_room(const struct tracker *tracker);
size_t tracker_in_flight(const struct tracker *tracker);
int64_t tracker_in_flight_bytes(const struct tracker *tracker);
int64_t tracker_oldest_wall_ms(const struct tracker *tracker); /* or NOTHING */

/* Records and bytes in the unbroken run since tracker_new(). */
int64_t tracker_run_records(const struct tracker *tracker);
int64_t tracker_run_bytes(const struct tracker *tracker);

#endif
