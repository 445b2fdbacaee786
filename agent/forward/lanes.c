#include "lanes.h"

#include "laneset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETAKE_FIRST_MS 1000
#define RETAKE_LAST_MS 60000
#define FINISH_MS 8000 /* and LANEBOOK_LAST_MS: 10 s until a lane is given up */

#define TO(phase) (1u << (phase))

/* Any lane may be dropped (ELSEWHERE), fall (BACKOFF) or be held. */
#define ALWAYS (TO(LANE_P_ELSEWHERE) | TO(LANE_P_BACKOFF) | TO(LANE_P_HELD))

static const struct {
    const char *name;
    unsigned next; /* the phases that may follow */
    enum lane_state state;
    enum log_level level; /* of the line that says it was entered */
} phases[LANE_P_N] = {
    [LANE_P_ELSEWHERE] = { "elsewhere", TO(LANE_P_PROVE), LANE_ELSEWHERE,
        LEVEL_INFO },
    [LANE_P_PROVE] = { "prove", ALWAYS | TO(LANE_P_OPEN), LANE_TAKING,
        LEVEL_DEBUG },
    [LANE_P_OPEN] = { "open", ALWAYS | TO(LANE_P_CLAIM), LANE_TAKING,
        LEVEL_DEBUG },
    [LANE_P_CLAIM] = { "claim", ALWAYS | TO(LANE_P_READ), LANE_TAKING,
        LEVEL_DEBUG },
    [LANE_P_READ] = { "read", ALWAYS | TO(LANE_P_ENDS) | TO(LANE_P_SNAPSHOT),
        LANE_TAKING, LEVEL_DEBUG },
    [LANE_P_ENDS] = { "ends", ALWAYS | TO(LANE_P_SNAPSHOT), LANE_TAKING,
        LEVEL_DEBUG },
    [LANE_P_SNAPSHOT] = { "snapshot", ALWAYS | TO(LANE_P_RUN), LANE_TAKING,
        LEVEL_DEBUG },
    [LANE_P_RUN] = { "run", ALWAYS | TO(LANE_P_FINISH) | TO(LANE_P_PROVE),
        LANE_OWNED, LEVEL_INFO },
    [LANE_P_FINISH] = { "finish", ALWAYS, LANE_FINISHING, LEVEL_INFO },
    [LANE_P_BACKOFF] = { "backoff", ALWAYS | TO(LANE_P_PROVE), LANE_RETAKING,
        LEVEL_WARN },
    [LANE_P_HELD] = { "held", ALWAYS | TO(LANE_P_PROVE), LANE_HELD,
        LEVEL_ERROR },
};

struct lanes *
lanes_new(const struct lanes_options *options, struct err *err)
{
    size_t n = (size_t)options->n_lanes;
    struct lanes *lanes = NULL;

    assert(options->n_lanes > 0 && options->commit_interval_ms > 0);
    if (n <= (SIZE_MAX - sizeof *lanes) / sizeof lanes->lane[0])
        lanes = calloc(1, sizeof *lanes + n * sizeof lanes->lane[0]);
    if (lanes == NULL) {
        err_set(err, ERR_MEMORY, "%zu lanes", n);
        return NULL;
    }
    lanes->o = *options;
    for (size_t i = 0; i < n; i++) {
        lanes->lane[i].number = (int32_t)i;
        lanes->lane[i].hint = GROUP_NO_HINT;
        lanes->lane[i].term = REPORT_UNKNOWN;
    }
    return lanes;
}

void
lanes_free(struct lanes *lanes)
{
    free(lanes);
}

void
lanes_enter(struct lanes *lanes, struct lane *lane, enum lane_phase next,
    const char *why)
{
    assert(phases[lane->phase].next & TO(next));
    LOG(lanes->o.log, phases[next].level, "lane.phase",
        kv_str("flow", lanes->o.flow), kv_int("lane", lane->number),
        kv_str("from", phases[lane->phase].name),
        kv_str("to", phases[next].name), kv_str("why", why));
    lane->phase = next;
    if (lane->held && phases[next].state == LANE_TAKING)
        return; /* tried again: what it was held for is still so */
    lane->held = next == LANE_P_HELD;
    (void)snprintf(lane->reason, sizeof lane->reason, "%s", why);
}

/* Client, reads and records on the wire are given up; entries stay known only
 * as far as the ledger is: it will be read again before it is written. */
static void
drop(struct lanes *lanes, struct lane *lane)
{
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane) {
        if (part->tracker != NULL)
            lanes->o.ops->close(lanes->o.ctx, part);
        tracker_free(part->tracker);
        part->tracker = NULL;
        part->writing = part->doubted = false;
        if (part->phase != PHASE_HELD)
            part->phase = PHASE_IDLE;
    }
    lanes->o.ops->drop(lanes->o.ctx, lane->number);
    if (lane->client)
        lanes->o.store.ops->close(lanes->o.store.self, lane->number);
    lane->client = false;
    lane->committing = false;
    lane->stands = false;
    lane->again_ms = lane->failing_ms = 0;
    lane->term = REPORT_UNKNOWN;
}

static void
give_up(struct lanes *lanes, struct lane *lane, const char *why)
{
    bool owed = lane->release_owed;

    drop(lanes, lane);
    lane->assigned = false;
    lane->release_owed = false;
    lane->backoff = (struct backoff){ 0 };
    for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
         part != NULL; part = part->next_in_lane)
        part->phase = PHASE_IDLE;
    if (lane->phase != LANE_P_ELSEWHERE)
        lanes_enter(lanes, lane, LANE_P_ELSEWHERE, why);
    if (owed)
        lanes->o.group.ops->release(lanes->o.group.self, lane->number);
}

void
lanes_fall(struct lanes *lanes, struct lane *lane, const char *why,
    int64_t now_ms)
{
    drop(lanes, lane);
    if (!lane->assigned || lane->release_owed || lanes->draining) {
        give_up(lanes, lane, why);
        return;
    }
    lane->due_ms =
        now_ms + backoff_next(&lane->backoff, RETAKE_FIRST_MS, RETAKE_LAST_MS);
    lanes_enter(lanes, lane, LANE_P_BACKOFF, why);
}

void
lanes_hold(struct lanes *lanes, struct lane *lane, const char *why,
    int64_t now_ms)
{
    lanes_fall(lanes, lane, why, now_ms);
    if (lane->phase != LANE_P_BACKOFF)
        return;
    lane->due_ms = now_ms + LANES_HELD_MS;
    lanes_enter(lanes, lane, LANE_P_HELD, why);
}

void
lanes_start(struct lanes *lanes, const char *source_cluster_id,
    const char *ledger_topic_id, int64_t now_ms)
{
    (void)snprintf(lanes->source_cluster_id, sizeof lanes->source_cluster_id,
        "%s", source_cluster_id);
    if (lanes->ledger_topic_id[0] != '\0' &&
        strcmp(lanes->ledger_topic_id, ledger_topic_id) != 0)
        lanes->first_start_wall_ms = 0; /* another ledger: another start */
    (void)snprintf(lanes->ledger_topic_id, sizeof lanes->ledger_topic_id, "%s",
        ledger_topic_id);
    lanes->refused[0] = '\0';
    lanes->retry_ms = now_ms;
}

const char *
lanes_source(const struct lanes *lanes)
{
    return lanes->source_cluster_id;
}

const char *
lanes_refused(const struct lanes *lanes)
{
    return lanes->refused[0] == '\0' ? NULL : lanes->refused;
}

bool
lanes_joined(const struct lanes *lanes)
{
    return lanes->joined;
}

static void
on_headers(struct lanes *lanes, const struct store_answer *answer,
    int64_t now_ms)
{
    struct err err = answer->err;

    lanes->starting = false;
    if (lanes->draining)
        return;
    if (answer->result == STORE_DONE) {
        if (!lanetake_fits(lanes, answer->records, &err)) {
            (void)snprintf(lanes->refused, sizeof lanes->refused, "%s",
                err.text);
        } else if (lanes->o.group.ops->join(lanes->o.group.self, &err)) {
            lanes->joined = true;
            lanes->refused[0] = '\0';
            lanes->backoff = (struct backoff){ 0 };
            return;
        }
    } else if (answer->result != STORE_RETRY) {
        (void)snprintf(lanes->refused, sizeof lanes->refused, "%s", err.text);
    }
    LOG(lanes->o.log, LEVEL_WARN, "flow.join", kv_str("flow", lanes->o.flow),
        kv_str("error", err.text));
    lanes->retry_ms = now_ms + (lanes->refused[0] != '\0'
                                       ? LANES_HELD_MS
                                       : backoff_next(&lanes->backoff,
                                             RETAKE_FIRST_MS, RETAKE_LAST_MS));
}

void
lanes_on_answer(struct lanes *lanes, struct store_answer *answer,
    int64_t wall_ms, int64_t now_ms)
{
    if (answer->step == STORE_HEADERS) {
        if (lanes->starting)
            on_headers(lanes, answer, now_ms);
    } else if (answer->lane >= 0 && answer->lane < lanes->o.n_lanes) {
        struct lane *lane = &lanes->lane[answer->lane];

        if (answer->step == STORE_COMMIT)
            lanebook_answer(lanes, lane, answer, now_ms);
        else
            lanetake_answer(lanes, lane, answer, wall_ms, now_ms);
    }
    ledger_batch_free(answer->records);
    answer->records = NULL;
}

/* A lane that moves records finishes by `deadline_ms`; any other ends now. */
static void
wind_down(struct lanes *lanes, struct lane *lane, const char *why,
    int64_t deadline_ms)
{
    if (lane->phase == LANE_P_RUN && lane->client) {
        lane->due_ms = deadline_ms;
        lanes_enter(lanes, lane, LANE_P_FINISH, why);
        for (struct part *part = parts_of_lane(lanes->o.parts, lane->number);
             part != NULL; part = part->next_in_lane)
            if (part->tracker != NULL)
                lanes->o.ops->close(lanes->o.ctx, part);
    } else if (lane->phase != LANE_P_FINISH) {
        give_up(lanes, lane, why);
    }
}

static void
proof(struct lanes *lanes, struct lane *lane, const struct group_event *event,
    int64_t now_ms)
{
    assert(lane->proofs > 0);
    lane->proofs--;
    if (lane->phase != LANE_P_PROVE || lane->proofs > 0)
        return; /* of an earlier ownership, or of a hint behind a snapshot */
    if (event->kind == GROUP_PROVED)
        lanetake_proved(lanes, lane, event->hint);
    else if (event->kind == GROUP_REFUSED)
        give_up(lanes, lane, "the group says that it is not ours");
    else
        lanes_fall(lanes, lane, event->err.text, now_ms);
}

void
lanes_on_group(struct lanes *lanes, const struct group_event *event,
    int64_t now_ms)
{
    struct lane *lane;

    if (event->kind == GROUP_IN)
        lanes->in = true;
    else if (event->kind == GROUP_FAILED || event->kind == GROUP_LOST)
        lanes->in = false;
    if (event->lane < 0)
        return;
    if (event->lane >= lanes->o.n_lanes) { /* the ledger was widened */
        if (event->kind == GROUP_REVOKED)  /* or no other would be moved */
            lanes->o.group.ops->release(lanes->o.group.self, event->lane);
        return;
    }
    lane = &lanes->lane[event->lane];
    switch (event->kind) {
    case GROUP_ASSIGNED:
        if (lane->phase != LANE_P_ELSEWHERE)
            give_up(lanes, lane, "assigned anew");
        lane->assigned = true;
        lane->others = lane->lost = false;
        lane->away_ms = 0;
        if (lanes->draining)
            give_up(lanes, lane, "draining");
        else
            lanetake_begin(lanes, lane);
        break;
    case GROUP_REVOKED:
        lane->release_owed = true;
        wind_down(lanes, lane, "wanted by another agent", now_ms + FINISH_MS);
        break;
    case GROUP_LOST:
        lane->release_owed = false;
        lane->lost = lane->assigned;
        give_up(lanes, lane, "lost to the group");
        break;
    case GROUP_PROVED:
    case GROUP_REFUSED:
    case GROUP_UNSURE:
        proof(lanes, lane, event, now_ms);
        break;
    case GROUP_IN:
    case GROUP_FAILED:
    case GROUP_DOWN:
    case GROUP_UP:
        break;
    }
}

void
lanes_resolved(struct lanes *lanes, struct part *part, int64_t offset)
{
    (void)lanes;
    if (part->phase != PHASE_RESOLVING)
        return;
    part->entry.next_offset = offset;
    part->entry.target_offset = TRACKER_NOTHING;
    part->phase = PHASE_ENTERING; /* the next commit carries it */
}

void
lanes_ends(struct lanes *lanes, int32_t lane, int64_t wall_ms, int64_t now_ms)
{
    assert(lane >= 0 && lane < lanes->o.n_lanes);
    laneends_answer(lanes, &lanes->lane[lane], wall_ms, now_ms);
}

static void
tick_lane(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms)
{
    switch (lane->phase) {
    case LANE_P_ELSEWHERE:
        lanebook_elsewhere(lanes, lane, now_ms);
        break;
    case LANE_P_BACKOFF:
    case LANE_P_HELD:
        if (lane->due_ms <= now_ms)
            lanetake_begin(lanes, lane);
        break;
    case LANE_P_ENDS:
        laneends_tick(lanes, lane, now_ms);
        break;
    case LANE_P_RUN:
        laneends_tick(lanes, lane, now_ms);
        lanebook_tick(lanes, lane, wall_ms, now_ms);
        break;
    case LANE_P_FINISH:
        if (lanebook_finished(lanes, lane, wall_ms, now_ms))
            give_up(lanes, lane, "finished");
        break;
    case LANE_P_PROVE:
    case LANE_P_OPEN:
    case LANE_P_CLAIM:
    case LANE_P_READ:
    case LANE_P_SNAPSHOT:
        break; /* an answer is under way */
    case LANE_P_N:
        assert(0);
    }
}

void
lanes_tick(struct lanes *lanes, int64_t wall_ms, int64_t now_ms)
{
    if (lanes->retry_ms != 0 && lanes->retry_ms <= now_ms && !lanes->starting &&
        !lanes->joined && !lanes->draining) {
        lanes->starting = true;
        lanes->o.store.ops->headers(lanes->o.store.self);
    }
    for (int32_t i = 0; i < lanes->o.n_lanes; i++)
        tick_lane(lanes, &lanes->lane[i], wall_ms, now_ms);
}

void
lanes_drain(struct lanes *lanes, int64_t deadline_ms)
{
    lanes->draining = true;
    for (int32_t i = 0; i < lanes->o.n_lanes; i++)
        if (lanes->lane[i].phase != LANE_P_ELSEWHERE)
            wind_down(lanes, &lanes->lane[i], "draining", deadline_ms);
}

void
lanes_leave(struct lanes *lanes)
{
    for (int32_t i = 0; i < lanes->o.n_lanes; i++) {
        lanes->lane[i].release_owed = false;
        give_up(lanes, &lanes->lane[i], "the group is left");
    }
    if (lanes->joined)
        lanes->o.group.ops->leave(lanes->o.group.self);
    lanes->joined = lanes->in = false;
    lanes->retry_ms = 0;
}

void
lanes_quit(struct lanes *lanes, const char *why)
{
    (void)snprintf(lanes->refused, sizeof lanes->refused, "%s", why);
    LOG(lanes->o.log, LEVEL_ERROR, "flow.refused",
        kv_str("flow", lanes->o.flow), kv_str("why", why));
    lanes_leave(lanes);
}

bool
lanes_idle(const struct lanes *lanes, bool *clean)
{
    *clean = false;
    for (int32_t i = 0; i < lanes->o.n_lanes; i++)
        if (lanes->lane[i].phase != LANE_P_ELSEWHERE)
            return false;
    *clean = !lanebook_owes(lanes);
    return true;
}

/* One whose lane is being given up stays: whoever has it next tries. */
void
lanes_retry_part(struct lanes *lanes, struct part *part)
{
    if (part->phase != PHASE_HELD || part->topic->circle ||
        lanes->lane[part->lane].phase == LANE_P_FINISH)
        return;
    part->phase = part->tracker != NULL ? PHASE_OPEN : PHASE_IDLE;
    laneends_retry(lanes, part);
    if (part->tracker != NULL && parts_same_topics(part))
        lanes->o.ops->open(lanes->o.ctx, part);
}

void
lanes_retry(struct lanes *lanes, int64_t now_ms)
{
    if (lanes->refused[0] != '\0')
        lanes->retry_ms = now_ms;
    for (int32_t i = 0; i < lanes->o.n_lanes; i++)
        if (lanes->lane[i].phase == LANE_P_HELD)
            lanes->lane[i].due_ms = now_ms;
    for (size_t i = 0; i < parts_count(lanes->o.parts); i++)
        lanes_retry_part(lanes, parts_at(lanes->o.parts, (int32_t)i));
}

enum lane_state
lanes_state(const struct lanes *lanes, int32_t lane)
{
    const struct lane *one = &lanes->lane[lane];

    if (one->phase == LANE_P_ELSEWHERE && one->lost && !lanes->in)
        return LANE_LOST;
    if (one->phase == LANE_P_RUN && one->stands)
        return LANE_STANDING;
    return one->held ? LANE_HELD : phases[one->phase].state;
}

const char *
lanes_reason(const struct lanes *lanes, int32_t lane)
{
    return lanes->lane[lane].reason;
}

int64_t
lanes_term(const struct lanes *lanes, int32_t lane)
{
    return lanes->lane[lane].term;
}
