/* The steps from assigned to owned.  Each waits for one answer; whatever is
 * not DONE falls back to the first step, or holds. */
#include "laneset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OLD_LEDGER_MS INT64_C(3600000)

void
lanetake_begin(struct lanes *lanes, struct lane *lane)
{
    assert(lane->assigned && !lane->client && !lane->committing);
    lanes_enter(lanes, lane, LANE_P_PROVE, "to be taken over");
    lane->proofs++;
    lanes->o.group.ops->prove(lanes->o.group.self, lane->number, GROUP_NO_HINT);
}

void
lanetake_proved(struct lanes *lanes, struct lane *lane, int64_t hint)
{
    lane->hint = hint;
    lane->client = true;
    lanes_enter(lanes, lane, LANE_P_OPEN, "the group says that it is ours");
    lanes->o.store.ops->open(lanes->o.store.self, lane->number);
}

static void
claim(struct lanes *lanes, struct lane *lane, int64_t wall_ms)
{
    struct ledger_claim claim = { .lane = lane->number, .wall_ms = wall_ms };

    lane->claims++;
    (void)snprintf(lane->nonce, sizeof lane->nonce, "%016" PRIx64 "-%" PRIx64,
        lanes->o.seed, lane->claims);
    (void)snprintf(claim.nonce, sizeof claim.nonce, "%s", lane->nonce);
    (void)snprintf(claim.agent, sizeof claim.agent, "%s", lanes->o.agent);
    lanes_enter(lanes, lane, LANE_P_CLAIM, "the predecessor is fenced");
    lanes->o.store.ops->claim(lanes->o.store.self, lane->number, &claim);
}

void
lanetake_header(const struct lanes *lanes, const struct lane *lane,
    int64_t wall_ms, struct ledger_header *header)
{
    const struct lanes_options *o = &lanes->o;

    *header = (struct ledger_header){
        .format = LEDGER_FORMAT,
        .lane = lane->number,
        .lanes = o->n_lanes,
        .fingerprint = o->fingerprint,
        .first_start_wall_ms = wall_ms,
        .changed_start_wall_ms = wall_ms,
    };
    (void)snprintf(header->source_cluster_id, sizeof header->source_cluster_id,
        "%s", lanes->source_cluster_id);
    (void)snprintf(header->ledger_topic_id, sizeof header->ledger_topic_id,
        "%s", lanes->ledger_topic_id);
    if (strlen(o->selection) < sizeof header->selection)
        (void)snprintf(header->selection, sizeof header->selection, "%s",
            o->selection);
    (void)snprintf(header->flow, sizeof header->flow, "%s", o->flow);
    (void)snprintf(header->from, sizeof header->from, "%s", o->from);
    (void)snprintf(header->to, sizeof header->to, "%s", o->to);
    (void)snprintf(header->rename, sizeof header->rename, "%s", o->rename);
    (void)snprintf(header->delivery, sizeof header->delivery, "at-least-once");
}

/* The headers of all lanes are looked at before joining: whoever does not
 * belong here must not fence those who do. */
bool
lanetake_fits(struct lanes *lanes, const struct ledger_batch *found,
    struct err *err)
{
    struct ledger_header ours;

    lanetake_header(lanes, &lanes->lane[0], 0, &ours);
    for (size_t i = 0; i < found->n; i++) {
        const struct ledger_header *header = &found->records[i].header;

        if (found->records[i].kind != LEDGER_HEADER)
            continue;
        if (!ledger_header_fits(header, &ours, err))
            return false;
        if (lanes->first_start_wall_ms == 0 ||
            header->first_start_wall_ms < lanes->first_start_wall_ms)
            lanes->first_start_wall_ms = header->first_start_wall_ms;
    }
    return true;
}

/* The lane's records, in their order, into header and entries: the last one of
 * each key counts, as compaction has it. */
static bool
fold(struct lanes *lanes, struct lane *lane, const struct ledger_batch *read,
    struct err *err)
{
    int64_t term = -1; /* of the newest claim; -1: none was read yet */

    lane->has_header = false;
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane)
        part->known = part->gone = part->doubted = false;
    for (size_t i = 0; i < read->n; i++) {
        const struct ledger_record *record = &read->records[i];
        struct part *part;

        if (record->kind == LEDGER_HEADER) {
            lane->header = record->header;
            lane->has_header = true;
        }
        if (record->kind == LEDGER_CLAIM)
            term = record->offset;
        if (record->kind != LEDGER_ENTRY)
            continue;
        part = parts_get(lanes->o.parts, record->entry.topic,
            record->entry.partition);
        if (part == NULL)
            return err_set(err, ERR_MEMORY, "no memory for entries of lane %d",
                lane->number);
        if (part->lane != lane->number)
            return err_set(err, ERR_KAFKA,
                "offset %" PRId64 " of the ledger's lane %d is of lane %d",
                record->offset, lane->number, part->lane);
        if (!record->tombstone && record->entry.term >= record->offset)
            return err_set(err, ERR_KAFKA,
                "offset %" PRId64
                " of the ledger's lane %d names a term, %" PRId64
                ", that had not begun when it was written",
                record->offset, lane->number, record->entry.term);
        if (!record->tombstone && term >= 0 &&
            record->entry.next_offset != LEDGER_UNRESOLVED &&
            record->entry.term != term)
            return err_set(err, ERR_KAFKA,
                "offset %" PRId64 " of the ledger's lane %d is of the term "
                "%" PRId64 ", behind a claim at %" PRId64
                ": its writer was not fenced",
                record->offset, lane->number, record->entry.term, term);
        part->known = !record->tombstone;
        part->entry = record->entry;
    }
    return true;
}

/* Partitions that the policy's `start` is for get an entry that says so by
 * name, so that whoever resolves it later knows from when it counts: what is
 * there at the flow's first start, and after a change of topics what `before`
 * did not select.  The rest is new and begins at its beginning. */
static void
name_starts(struct lanes *lanes, struct lane *lane, const char *before,
    int64_t since_wall_ms)
{
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane) {
        if (part->known || !part->topic->selected || !part->topic->exists)
            continue;
        if (before != NULL &&
            (before[0] == '\0' || lanes->o.ops->selected(lanes->o.ctx, before,
                                      part->topic->name)))
            continue;
        part->entry = (struct ledger_entry){
            .next_offset = LEDGER_UNRESOLVED,
            .start = lanes->o.start,
            .start_wall_ms = lanes->o.start == START_TIME
                                 ? lanes->o.start_wall_ms
                                 : since_wall_ms,
            .leader_epoch = -1,
            .target_offset = TRACKER_NOTHING,
            .term = lane->term,
        };
        part->known = true;
    }
}

void
lanetake_snapshot(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    struct ledger_header ours;
    int64_t first = lanes->first_start_wall_ms;

    if (lane->has_header)
        first = lane->header.first_start_wall_ms;
    else if (first == 0)
        first = lane->claimed_wall_ms;
    lanetake_header(lanes, lane, lane->claimed_wall_ms, &ours);
    ours.first_start_wall_ms = first;
    if (!lane->has_header)
        name_starts(lanes, lane, NULL, first);
    else if (lane->header.fingerprint != ours.fingerprint)
        name_starts(lanes, lane, lane->header.selection, lane->claimed_wall_ms);
    else
        ours.changed_start_wall_ms = lane->header.changed_start_wall_ms;
    lane->header = ours;
    lane->has_header = true;
    lanes_enter(lanes, lane, LANE_P_SNAPSHOT, "the ledger was read");
    lanebook_snapshot(lanes, lane, wall_ms, now_ms);
}

/* No header: new only if nobody else ever wrote here either. */
static void
new_or_lost(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    if (lanes->first_start_wall_ms != 0 &&
        lane->claimed_wall_ms - lanes->first_start_wall_ms > OLD_LEDGER_MS)
        lanes_hold(lanes, lane,
            "the ledger has no header for this lane although the flow is "
            "older than an hour: records of the ledger topic were lost, and "
            "nothing of the lane is sent: restore the ledger topic, or "
            "forward, in the policy, by a flow of another name",
            now_ms);
    else if (lanes->o.shared_target)
        lanetake_snapshot(lanes, lane, wall_ms, now_ms);
    else
        laneends_ask(lanes, lane, wall_ms, now_ms);
}

void
lanetake_broken(struct lanes *lanes, struct lane *lane, const struct err *err,
    int64_t now_ms)
{
    char why[REPORT_TEXT_MAX];

    (void)snprintf(why, sizeof why, "%s; nothing of the lane is sent: %s",
        err->text,
        err->kind == ERR_MEMORY
            ? "give the agent more memory; it is tried again"
            : "restore the ledger topic, or forward, in the policy, by a flow "
              "of another name");
    lanes_hold(lanes, lane, why, now_ms);
}

/* This agent does not belong to the flow: it leaves the group, so that those
 * who do can go on, and looks at the headers again after a while. */
static void
refuse(struct lanes *lanes, const char *why, int64_t now_ms)
{
    lanes_quit(lanes, why);
    lanes->retry_ms = now_ms + LANES_HELD_MS;
}

static void
was_read(struct lanes *lanes, struct lane *lane,
    const struct store_answer *answer, int64_t wall_ms, int64_t now_ms)
{
    struct ledger_header ours;
    struct err err;

    lane->term = answer->offset;
    /* Times in the ledger are of one clock, whichever agent writes them. */
    lane->claimed_wall_ms = answer->wall_ms > 0 ? answer->wall_ms : wall_ms;
    if (!fold(lanes, lane, answer->records, &err)) {
        lanetake_broken(lanes, lane, &err, now_ms);
        return;
    }
    if (!lane->has_header) {
        new_or_lost(lanes, lane, wall_ms, now_ms);
        return;
    }
    lanetake_header(lanes, lane, wall_ms, &ours);
    if (ledger_header_fits(&lane->header, &ours, &err))
        laneends_ask(lanes, lane, wall_ms, now_ms);
    else
        refuse(lanes, err.text, now_ms);
}

/* Which answer each phase waits for; another is of an order that was given up
 * and is not looked at. */
static bool
expected(const struct lane *lane, enum store_step step)
{
    return (lane->phase == LANE_P_OPEN && step == STORE_OPEN) ||
           (lane->phase == LANE_P_CLAIM && step == STORE_CLAIM) ||
           (lane->phase == LANE_P_READ && step == STORE_READ);
}

void
lanetake_answer(struct lanes *lanes, struct lane *lane,
    struct store_answer *answer, int64_t wall_ms, int64_t now_ms)
{
    if (!expected(lane, answer->step))
        return;
    if (answer->result == STORE_FENCED)
        metric_add(lanes->o.metrics, METRIC_FENCED, 1);
    if (answer->result == STORE_BROKEN) {
        lanetake_broken(lanes, lane, &answer->err, now_ms);
    } else if (answer->result == STORE_REFUSED) {
        lanes_hold(lanes, lane, answer->err.text, now_ms);
    } else if (answer->result != STORE_DONE) {
        lanes_fall(lanes, lane, answer->err.text, now_ms);
    } else if (answer->step == STORE_OPEN) {
        claim(lanes, lane, wall_ms);
    } else if (answer->step == STORE_CLAIM) {
        lanes_enter(lanes, lane, LANE_P_READ, "the claim is committed");
        lanes->o.store.ops->read(lanes->o.store.self, lane->number, lane->hint,
            lane->nonce);
    } else {
        was_read(lanes, lane, answer, wall_ms, now_ms);
    }
}
