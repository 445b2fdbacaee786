/* What an owned lane writes: snapshots, first entries, entries that follow the
 * acks; and the partitions that may be opened because of them. */
#include "laneset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SNAPSHOT_AT_LEAST 1000
#define SNAPSHOT_TIMES 8
#define SNAPSHOT_DAILY_MS INT64_C(43200000) /* twice a day */
#define COMMIT_AGAIN_MS 1000
#define COMMIT_LAST_MS 60000
#define STANDS_MS 10000 /* of commits that fail, and no more is read */
#define OTHERS_MS 60000 /* longer than the group takes to share lanes out */

static int64_t
count_entries(const struct lanes *lanes, const struct lane *lane)
{
    int64_t n = 0;

    for (const struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane)
        n += part->known;
    return n;
}

static bool
add_entry(struct lanes *lanes, struct lane *lane, struct part *part,
    struct ledger_batch *batch, int64_t wall_ms)
{
    struct ledger_record *record = ledger_batch_add(batch);

    if (record == NULL)
        return false;
    parts_entry(part, &part->written);
    part->written.term = part->written.next_offset == LEDGER_UNRESOLVED
                             ? part->entry.term
                             : lane->term;
    part->written.wall_ms = wall_ms;
    (void)snprintf(part->written.agent, sizeof part->written.agent, "%s",
        lanes->o.agent);
    part->writing = true;
    record->kind = LEDGER_ENTRY;
    record->entry = part->written;
    return true;
}

static void
commit(struct lanes *lanes, struct lane *lane, struct ledger_batch *batch,
    bool snapshotting, int64_t now_ms)
{
    lane->committing = true;
    lane->snapshotting = snapshotting;
    lane->began_ms = now_ms;
    lane->written += (int64_t)batch->n;
    lanes->o.store.ops->commit(lanes->o.store.self, lane->number, &batch);
}

static void
not_writing(struct lanes *lanes, struct lane *lane)
{
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane)
        part->writing = false;
}

void
lanebook_snapshot(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    int64_t entries = count_entries(lanes, lane);
    struct err err;
    struct ledger_batch *batch = ledger_batch_new((size_t)entries + 2, &err);
    struct ledger_record *record;
    bool ok = batch != NULL;

    if (ok && (ok = (record = ledger_batch_add(batch)) != NULL)) {
        record->kind = LEDGER_MARK;
        record->mark = (struct ledger_mark){ lane->number, entries };
    }
    if (ok && (ok = (record = ledger_batch_add(batch)) != NULL)) {
        record->kind = LEDGER_HEADER;
        record->header = lane->header;
    }
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         ok && part != NULL; part = part->next_in_lane)
        if (part->known)
            ok = add_entry(lanes, lane, part, batch, wall_ms);
    if (!ok) {
        ledger_batch_free(batch);
        lanes_fall(lanes, lane, "no memory for a snapshot", now_ms);
        return;
    }
    lane->written = 0;
    commit(lanes, lane, batch, true, now_ms);
}

static void
open_part(struct lanes *lanes, struct part *part)
{
    struct err err;

    part->tracker = tracker_new(part->entry.next_offset, &err);
    if (part->tracker == NULL) {
        part->phase = PHASE_IDLE; /* tried again at the next tick */
        return;
    }
    part->phase = PHASE_OPEN;
    part->base_records = part->entry.records;
    part->base_bytes = part->entry.bytes;
    part->epoch = part->epoch_before = -1;
    part->epoch_since = part->entry.next_offset;
    lanes->o.ops->open(lanes->o.ctx, part);
}

/* Without an entry the partition is new: it begins at its beginning.  `latest`
 * that was named by an earlier owner, or for a flow that began before this
 * owner took the lane, means that time. */
static void
resolve_part(struct lanes *lanes, const struct lane *lane, struct part *part)
{
    enum start start = part->entry.start;

    if (!part->known) {
        part->entry = (struct ledger_entry){
            .next_offset = LEDGER_UNRESOLVED,
            .leader_epoch = -1,
            .target_offset = TRACKER_NOTHING,
        };
        start = START_EARLIEST;
    } else if (start == START_LATEST &&
               (part->entry.term != lane->term ||
                   part->entry.start_wall_ms != lane->claimed_wall_ms)) {
        start = START_TIME;
    }
    part->phase = PHASE_RESOLVING;
    lanes->o.ops->resolve(lanes->o.ctx, part, start, part->entry.start_wall_ms);
}

static void
start_parts(struct lanes *lanes, struct lane *lane)
{
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane) {
        if (part->phase != PHASE_IDLE || part->writing || !parts_ready(part))
            continue;
        if (!lane->client) {
            lanetake_begin(lanes, lane);
            return;
        }
        if (part->known && (!parts_same_topics(part) || part->doubted))
            continue;
        if (part->known && part->entry.next_offset != LEDGER_UNRESOLVED)
            open_part(lanes, part);
        else
            resolve_part(lanes, lane, part);
    }
}

static bool
dirty(const struct part *part)
{
    if (part->writing)
        return false;
    if (part->phase == PHASE_ENTERING)
        return true;
    return part->tracker != NULL &&
           tracker_next(part->tracker) != part->entry.next_offset;
}

static bool
first_entries(const struct lanes *lanes, const struct lane *lane)
{
    for (const struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane)
        if (part->phase == PHASE_ENTERING)
            return true;
    return false;
}

static void
write_entries(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    struct ledger_batch *batch = NULL;
    struct err err;
    bool ok = true;

    lane->due_ms = lane->phase == LANE_P_RUN
                       ? now_ms + lanes->o.commit_interval_ms
                       : lane->due_ms;
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         ok && part != NULL; part = part->next_in_lane) {
        if (!dirty(part))
            continue;
        if (batch == NULL)
            batch = ledger_batch_new(16, &err);
        ok = batch != NULL && add_entry(lanes, lane, part, batch, wall_ms);
    }
    if (!ok) {
        not_writing(lanes, lane);
        ledger_batch_free(batch);
        return; /* no memory now: tried again when due */
    }
    if (batch != NULL)
        commit(lanes, lane, batch, false, now_ms);
}

void
lanebook_tick(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    int64_t limit = SNAPSHOT_TIMES * count_entries(lanes, lane);

    if (limit < SNAPSHOT_AT_LEAST)
        limit = SNAPSHOT_AT_LEAST;
    if (lane->phase == LANE_P_RUN)
        start_parts(lanes, lane);
    if (lane->committing || !lane->client || lane->again_ms > now_ms)
        return;
    if (lane->phase == LANE_P_RUN &&
        (lane->written >= limit ||
            now_ms - lane->wrote_ms >= SNAPSHOT_DAILY_MS))
        lanebook_snapshot(lanes, lane, wall_ms, now_ms);
    else if (lane->phase == LANE_P_FINISH || lane->due_ms <= now_ms ||
             first_entries(lanes, lane))
        write_entries(lanes, lane, wall_ms, now_ms);
}

bool
lanebook_finished(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    bool wire = false, owed = false;

    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane) {
        if (part->tracker == NULL)
            continue;
        wire = wire || tracker_in_flight(part->tracker) > 0;
        owed = owed || tracker_next(part->tracker) != part->entry.next_offset;
    }
    if (lane->due_ms <= now_ms && wire && !lane->committing) {
        lanes->o.ops->drop(lanes->o.ctx, lane->number);
        wire = false;
    }
    if ((!wire && !owed && !lane->committing) ||
        lane->due_ms + LANEBOOK_LAST_MS <= now_ms)
        return true;
    if (!wire && owed)
        lanebook_tick(lanes, lane, wall_ms, now_ms);
    return false;
}

void
lanebook_elsewhere(const struct lanes *lanes, struct lane *lane, int64_t now_ms)
{
    if (lanes->draining)
        return; /* nobody is seen to take it any more */
    lane->lost = lane->lost && !lanes->in;
    if (!lanes->in)
        lane->away_ms = 0;
    else if (lane->away_ms == 0)
        lane->away_ms = now_ms;
    lane->others = lane->others ||
                   (lane->away_ms != 0 && now_ms - lane->away_ms >= OTHERS_MS);
}

bool
lanebook_owes(const struct lanes *lanes)
{
    for (size_t i = 0; i < parts_count(lanes->o.parts); i++) {
        const struct part *part = parts_at(lanes->o.parts, (int32_t)i);

        if (part->sent_next > part->entry.next_offset && part->sent_next > 0 &&
            !lanes->lane[part->lane].others)
            return true;
    }
    return false;
}

static void
entries_written(struct lanes *lanes, struct lane *lane)
{
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane) {
        if (!part->writing)
            continue;
        part->writing = false;
        part->known = true;
        if (part->phase == PHASE_ENTERING &&
            part->written.next_offset == LEDGER_UNRESOLVED)
            continue; /* resolved meanwhile: its number is still to be written */
        part->entry = part->written;
        if (part->phase == PHASE_ENTERING && lane->phase == LANE_P_RUN)
            open_part(lanes, part);
    }
}

static void
snapshot_written(struct lanes *lanes, struct lane *lane, int64_t mark)
{
    if (lane->phase == LANE_P_SNAPSHOT) {
        metric_add(lanes->o.metrics, METRIC_TAKEOVERS, 1);
        lane->backoff = (struct backoff){ 0 };
        lanes_enter(lanes, lane, LANE_P_RUN, "taken over");
    }
    if (mark >= 0) {
        lane->hint = mark;
        lane->proofs++;
        lanes->o.group.ops->prove(lanes->o.group.self, lane->number, mark);
    }
    if (parts_of_lane(lanes->o.parts, lane->number) == NULL) {
        lanes->o.store.ops->close(lanes->o.store.self, lane->number);
        lane->client = false; /* nothing to write until a partition appears */
    }
}

/* Committing may take a tenth of the time, so that a long link is not filled
 * with commits.  But the pause at most doubles from one commit to the next: one
 * that took long because the link was cut does not say that it is long. */
static int64_t
next_commit(const struct lanes *lanes, struct lane *lane, int64_t now_ms)
{
    int64_t regular_ms = lane->began_ms + lanes->o.commit_interval_ms;
    int64_t most_ms = lane->pause_ms > lanes->o.commit_interval_ms
                          ? 2 * lane->pause_ms
                          : 2 * lanes->o.commit_interval_ms;

    lane->pause_ms = 9 * (now_ms - lane->began_ms);
    if (lane->pause_ms > most_ms)
        lane->pause_ms = most_ms;
    if (lane->pause_ms > COMMIT_LAST_MS)
        lane->pause_ms = COMMIT_LAST_MS;
    return now_ms + lane->pause_ms > regular_ms ? now_ms + lane->pause_ms
                                                : regular_ms;
}

/* When a link is cut, all lanes say so at once. */
static void
say(const struct lanes *lanes, const struct lane *lane, enum log_level level,
    const char *event)
{
    int64_t held_back;

    if (log_seldom(lanes->o.log, event, lanes->o.flow, &held_back))
        LOG(lanes->o.log, level, event, kv_str("flow", lanes->o.flow),
            kv_int("lane", lane->number), kv_str("why", lane->reason),
            kv_int("held_back", held_back));
}

/* What is acknowledged and not entered would be sent again after a crash.  So
 * that it stays bounded, no more is read of a lane that stands (flowshare.c).*/
static void
put_off(struct lanes *lanes, struct lane *lane, const struct err *err,
    int64_t now_ms)
{
    lane->again_ms = now_ms + COMMIT_AGAIN_MS;
    if (lane->failing_ms == 0)
        lane->failing_ms = lane->began_ms;
    if (lane->phase != LANE_P_RUN || now_ms - lane->failing_ms < STANDS_MS)
        return;
    (void)snprintf(lane->reason, sizeof lane->reason,
        "partition %" PRId32 " of the ledger takes no entries, and no more is "
        "read until it does: %.200s; unless all of the target is away, look "
        "there at its leader and its replicas in sync",
        lane->number, err->text);
    if (!lane->stands)
        say(lanes, lane, LEVEL_WARN, "lane.stands");
    lane->stands = true;
}

static void
taken(struct lanes *lanes, struct lane *lane)
{
    lane->failing_ms = 0;
    if (!lane->stands)
        return;
    lane->stands = false;
    (void)snprintf(lane->reason, sizeof lane->reason,
        "the ledger takes its entries again");
    say(lanes, lane, LEVEL_INFO, "lane.moves");
}

void
lanebook_answer(struct lanes *lanes, struct lane *lane,
    const struct store_answer *answer, int64_t now_ms)
{
    if (!lane->committing)
        return; /* of an ownership that was given up */
    lane->committing = false;
    metric_add(lanes->o.metrics,
        answer->result == STORE_DONE ? METRIC_COMMITS : METRIC_COMMITS_FAILED,
        1);
    if (answer->result == STORE_DONE) {
        lane->wrote_ms = now_ms;
        taken(lanes, lane);
        if (lane->phase != LANE_P_FINISH)
            lane->due_ms = next_commit(lanes, lane, now_ms);
        entries_written(lanes, lane);
        if (lane->snapshotting)
            snapshot_written(lanes, lane, answer->offset);
        return;
    }
    not_writing(lanes, lane);
    if (answer->result == STORE_FENCED)
        metric_add(lanes->o.metrics, METRIC_FENCED, 1);
    if (answer->result == STORE_BROKEN)
        lanetake_broken(lanes, lane, &answer->err, now_ms);
    else if (answer->result == STORE_REFUSED)
        lanes_hold(lanes, lane, answer->err.text, now_ms);
    else if (answer->result != STORE_RETRY || lane->phase == LANE_P_SNAPSHOT)
        lanes_fall(lanes, lane, answer->err.text, now_ms);
    else
        put_off(lanes, lane, &answer->err, now_ms);
}
