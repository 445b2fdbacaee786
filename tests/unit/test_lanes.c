/* Taking a lane over, step by step: what each answer leads to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanefix.h"

/* --- taking over --- */

static const struct answer_row {
    const char *label;
    enum store_step step;
    enum store_result result;
    enum lane_state then; /* right behind it */
    int64_t owned_after;  /* ms */
} answer_rows[] = {
    { "opening: fenced", STORE_OPEN, STORE_FENCED, LANE_RETAKING, 1100 },
    { "opening: later", STORE_OPEN, STORE_RETRY, LANE_RETAKING, 1100 },
    { "opening: overdue", STORE_OPEN, STORE_OVERDUE, LANE_RETAKING, 1100 },
    { "opening: refused", STORE_OPEN, STORE_REFUSED, LANE_HELD, 60100 },
    { "the claim: unknown", STORE_CLAIM, STORE_UNKNOWN, LANE_RETAKING, 1100 },
    { "the claim: fenced", STORE_CLAIM, STORE_FENCED, LANE_RETAKING, 1100 },
    { "the claim: refused", STORE_CLAIM, STORE_REFUSED, LANE_HELD, 60100 },
    { "reading: superseded", STORE_READ, STORE_SUPERSEDED, LANE_RETAKING,
        1100 },
    { "reading: later", STORE_READ, STORE_RETRY, LANE_RETAKING, 1100 },
    { "reading: a broken record", STORE_READ, STORE_BROKEN, LANE_HELD, 60100 },
    { "the snapshot: unknown", STORE_COMMIT, STORE_UNKNOWN, LANE_RETAKING,
        1100 },
    { "the snapshot: later", STORE_COMMIT, STORE_RETRY, LANE_RETAKING, 1100 },
    { "the snapshot: refused", STORE_COMMIT, STORE_REFUSED, LANE_HELD, 60100 },
};

static void
each_answer_of_taking_over_leads_on(void **state)
{
    for (size_t i = 0; i < sizeof answer_rows / sizeof answer_rows[0]; i++) {
        const struct answer_row *row = &answer_rows[i];
        struct lanefix fix;

        (void)state;
        print_message("  %s\n", row->label);
        lanefix_init(&fix);
        fix.memory->script[row->step].result = row->result;
        fix.memory->script[row->step].times = 1;
        lanefix_start(&fix);
        assert_int_equal(lanes_state(fix.lanes, 0), row->then);
        assert_ptr_equal(strstr(lanes_reason(fix.lanes, 0), "as the test says"),
            lanes_reason(fix.lanes, 0));
        assert_false(fix.memory->lane[0].client);
        assert_int_equal(lanes_term(fix.lanes, 0), REPORT_UNKNOWN);
        lanefix_go(&fix, row->owned_after - 200);
        assert_int_equal(lanes_state(fix.lanes, 0), row->then);
        lanefix_go(&fix, 300);
        assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
        assert_int_equal(metric_get(fix.metrics, METRIC_FENCED),
            row->result == STORE_FENCED);
        lanefix_end(&fix);
    }
}

static const struct headers_row {
    const char *label;
    enum store_result result;
    bool refused;
    int64_t joined_after;
} headers_rows[] = {
    { "the headers cannot be read now", STORE_RETRY, false, 1100 },
    { "reading the headers is refused", STORE_REFUSED, true, 60100 },
    { "a header is broken", STORE_BROKEN, true, 60100 },
};

static void
headers_are_read_before_joining(void **state)
{
    for (size_t i = 0; i < sizeof headers_rows / sizeof headers_rows[0]; i++) {
        const struct headers_row *row = &headers_rows[i];
        struct lanefix fix;

        (void)state;
        print_message("  %s\n", row->label);
        lanefix_init(&fix);
        fix.memory->script[STORE_HEADERS].result = row->result;
        fix.memory->script[STORE_HEADERS].times = 1;
        lanefix_start(&fix);
        assert_false(lanes_joined(fix.lanes));
        assert_int_equal(lanes_refused(fix.lanes) != NULL, row->refused);
        assert_int_equal(fix.memory->joins, 0);
        lanefix_go(&fix, row->joined_after);
        assert_true(lanes_joined(fix.lanes));
        assert_null(lanes_refused(fix.lanes));
        lanefix_end(&fix);
    }
}

static void
proofs_decide_who_tries(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    fix.memory->proof = GROUP_UNSURE;
    lanefix_start(&fix);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_RETAKING);
    fix.memory->proof = GROUP_REFUSED;
    lanefix_go(&fix, 1100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_ELSEWHERE);
    assert_int_equal(fix.memory->lane[0].n_log, 0); /* fenced nobody */
    fix.memory->proof = GROUP_PROVED;
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    lanefix_end(&fix);
}

/* A lane that is lost while a proof is owed, and comes back. */
static void
an_old_proof_is_not_taken_for_a_new_one(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    fix.memory->mute_proofs = true;
    lanefix_start(&fix);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    lanefix_go(&fix, 100);
    assert_int_equal(lanefix_lane_of(&fix)->proofs, 2);
    memory_tell(fix.memory, GROUP_PROVED, 0, ""); /* of the first */
    fix.memory->proofs_owed[0]--;
    lanefix_go(&fix, 100);
    assert_int_equal(lanefix_lane_of(&fix)->phase, LANE_P_PROVE);
    fix.memory->mute_proofs = false;
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    lanefix_end(&fix);
}

/* --- whose ledger it is --- */

static void
write_header(struct lanefix *fix, const char *source_id, int64_t age_ms)
{
    struct ledger_record record = { .kind = LEDGER_HEADER };

    (void)snprintf(fix->lanes->source_cluster_id,
        sizeof fix->lanes->source_cluster_id, "%s", source_id);
    (void)snprintf(fix->lanes->ledger_topic_id,
        sizeof fix->lanes->ledger_topic_id, "ledger-id");
    lanetake_header(fix->lanes, lanefix_lane_of(fix), MEMORY_WALL - age_ms,
        &record.header);
    memory_append_log(&fix->memory->lane[0], &record);
}

static void
another_site_neither_joins_nor_fences(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    write_header(&fix, "another-plant", 0);
    lanefix_start(&fix);
    assert_non_null(lanes_refused(fix.lanes));
    assert_int_equal(fix.memory->joins, 0);
    assert_int_equal(fix.memory->lane[0].n_log, 1);
    lanefix_end(&fix);
}

static void
a_header_that_comes_too_late_makes_it_leave(void **state)
{
    struct lanefix fix;
    struct ledger_record claim;

    (void)state;
    lanefix_init(&fix);
    fix.memory->mute[STORE_READ] = true;
    lanefix_start(&fix);
    write_header(&fix, "another-plant", 0);
    /* the claim stays the last, as the store demands */
    claim = fix.memory->lane[0].log[0];
    memory_append_log(&fix.memory->lane[0], &claim);
    (void)snprintf(fix.lanes->source_cluster_id,
        sizeof fix.lanes->source_cluster_id, "plant-id");
    fix.memory->mute[STORE_READ] = false;
    lanefix_go(&fix, 100);
    assert_non_null(lanes_refused(fix.lanes));
    assert_int_equal(fix.memory->leaves, 1);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_ELSEWHERE);
    lanefix_end(&fix);
}

/* `latest` of a flow's first start is one moment for all its lanes: one that
 * gets its header later, after a crash, does not count from then. */
static void
a_lane_made_late_begins_when_the_flow_did(void **state)
{
    static const struct {
        const char *label;
        int64_t age_ms;
        enum start start;
        int64_t since_ms; /* at least */
    } rows[] = {
        { "the flow begins now", 0, START_LATEST, 0 },
        { "it began a minute ago", 60000, START_TIME, MEMORY_WALL - 60000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lanefix fix;

        print_message("  %s\n", rows[i].label);
        lanefix_init(&fix);
        fix.lanes->o.start = START_LATEST;
        if (rows[i].age_ms > 0)
            fix.lanes->first_start_wall_ms = MEMORY_WALL - rows[i].age_ms;
        lanefix_start(&fix);
        lanefix_go(&fix, 100);
        assert_true(fix.resolves > 0);
        assert_int_equal(fix.start, rows[i].start);
        if (rows[i].since_ms > 0)
            assert_int_equal(fix.start_wall_ms, rows[i].since_ms);
        lanefix_end(&fix);
    }
}

static const struct end_row {
    const char *label;
    int64_t ends[2]; /* the first answer and the second, 30 s later */
    enum part_phase then;
    int64_t repeated;
    bool first; /* an entry from before anything was acknowledged */
} end_rows[] = {
    { "right behind what was acknowledged: nothing is repeated", { 6, 6 },
        PHASE_OPEN, 0, false },
    { "what lies behind the entry is repeated, and counted", { 10, 10 },
        PHASE_OPEN, 4, false },
    { "a stale leader's answer is asked again", { 3, 6 }, PHASE_OPEN, 0,
        false },
    { "twice too early: acknowledged records are gone", { 3, 3 }, PHASE_HELD, 0,
        false },
    { "too early, and then no answer", { 3, REPORT_UNKNOWN }, PHASE_IDLE, 0,
        false },
    { "no answer, and then too early once", { REPORT_UNKNOWN, 3 }, PHASE_IDLE,
        0, false },
    { "no answer, and then all is there", { REPORT_UNKNOWN, 10 }, PHASE_OPEN, 4,
        false },
    { "never an answer", { REPORT_UNKNOWN, REPORT_UNKNOWN }, PHASE_IDLE, 0,
        false },
    { "nothing was acknowledged yet: all of it is repeated", { 10, 10 },
        PHASE_OPEN, 10, true },
    { "nothing was acknowledged yet, or sent", { 0, 0 }, PHASE_OPEN, 0, true },
};

/* A predecessor's entry says that target offset 5 was acknowledged. */
static void
the_target_has_to_end_behind_what_it_acknowledged(void **state)
{
    for (size_t i = 0; i < sizeof end_rows / sizeof end_rows[0]; i++) {
        const struct end_row *row = &end_rows[i];
        const int64_t least = row->first ? 0 : 6;
        struct lanefix fix;
        struct ledger_record record = { .kind = LEDGER_ENTRY };
        struct part *part;

        (void)state;
        print_message("  %s\n", row->label);
        lanefix_init(&fix);
        write_header(&fix, "plant-id", 0);
        (void)snprintf(record.entry.topic, sizeof record.entry.topic, "t");
        (void)snprintf(record.entry.target_topic,
            sizeof record.entry.target_topic, "t");
        record.entry.next_offset = 44;
        record.entry.target_offset = least - 1;
        memory_append_log(&fix.memory->lane[0], &record);
        fix.memory->target_ends = row->ends[0];
        lanefix_start(&fix);
        lanefix_go(&fix, 100);
        assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
        assert_int_equal(fix.resolves, 1); /* the other one goes on */
        part = parts_at(fix.parts, 0);
        assert_int_equal(part->phase,
            row->ends[0] < least ? PHASE_IDLE : PHASE_OPEN);
        if (row->ends[0] < least)
            assert_non_null(strstr(part->reason, "asked again"));
        fix.memory->target_ends = row->ends[1];
        lanefix_go(&fix, 31000);
        assert_int_equal(part->phase, row->then);
        if (row->then == PHASE_HELD)
            assert_non_null(strstr(part->reason, "acknowledged 5"));
        assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_REPEATED),
            row->repeated);
        /* whatever it was, it has got it back: a person says restart */
        fix.memory->target_ends = 6;
        lanes_retry(fix.lanes, clock_mono_ms(&fix.memory->clock));
        lanefix_go(&fix, 31000);
        assert_int_equal(part->phase, PHASE_OPEN);
        lanefix_end(&fix);
    }
}

/* The lane is taken over again before any of it was sent. */
static void
what_is_repeated_is_counted_once(void **state)
{
    struct lanefix fix;
    struct ledger_record record = { .kind = LEDGER_ENTRY };

    (void)state;
    lanefix_init(&fix);
    write_header(&fix, "plant-id", 0);
    (void)snprintf(record.entry.topic, sizeof record.entry.topic, "t");
    (void)snprintf(record.entry.target_topic, sizeof record.entry.target_topic,
        "t");
    record.entry.next_offset = 44;
    record.entry.target_offset = 5;
    memory_append_log(&fix.memory->lane[0], &record);
    fix.memory->target_ends = 10;
    lanefix_start(&fix);
    lanefix_go(&fix, 100);
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_REPEATED), 4);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    lanefix_go(&fix, 100);
    fix.memory->target_ends = 13; /* what came late of the predecessor's */
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    assert_int_equal(metric_get(fix.metrics, METRIC_TAKEOVERS), 2);
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_REPEATED), 7);
    lanefix_end(&fix);
}

static void
an_entry_of_another_lane_holds(void **state)
{
    struct lanefix fix;
    struct ledger_record record = { .kind = LEDGER_ENTRY };

    (void)state;
    lanefix_init(&fix);
    write_header(&fix, "plant-id", 0);
    (void)snprintf(record.entry.topic, sizeof record.entry.topic, "other");
    memory_append_log(&fix.memory->lane[0], &record);
    assert_non_null(parts_get(fix.parts, "other", 0));
    parts_get(fix.parts, "other", 0)->lane = 3; /* as if there were more */
    lanefix_start(&fix);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_HELD);
    assert_non_null(strstr(lanes_reason(fix.lanes, 0),
        "is of lane 3; nothing of the lane is sent: restore the ledger topic, "
        "or forward, in the policy, by a flow of another name"));
    parts_get(fix.parts, "other", 0)->lane = 0;
    lanefix_end(&fix);
}

/* The claims of the lane's log are at 1 and 2. */
static const struct {
    const char *label;
    int64_t next, term;
    const char *why; /* NULL: it is believed */
} terms[] = {
    { "of the newest claim", 44, 2, NULL },
    { "named by an earlier owner", LEDGER_UNRESOLVED, 1, NULL },
    { "of a term to come", 44, 99, "a term, 99, that had" },
    { "of one who was fenced", 44, 1, "of the term 1, behind a claim at 2" },
};

static void
an_entry_of_another_term_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        struct lanefix fix;
        struct ledger_record claim = { .kind = LEDGER_CLAIM };
        struct ledger_record record = { .kind = LEDGER_ENTRY };

        print_message("%s\n", terms[i].label);
        lanefix_init(&fix);
        write_header(&fix, "plant-id", 0);
        memory_append_log(&fix.memory->lane[0], &claim);
        memory_append_log(&fix.memory->lane[0], &claim);
        (void)snprintf(record.entry.topic, sizeof record.entry.topic, "t");
        record.entry.next_offset = terms[i].next;
        record.entry.term = terms[i].term;
        memory_append_log(&fix.memory->lane[0], &record);
        lanefix_start(&fix);
        lanefix_go(&fix, 100);
        if (terms[i].why == NULL) {
            assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
        } else {
            assert_int_equal(lanes_state(fix.lanes, 0), LANE_HELD);
            assert_non_null(strstr(lanes_reason(fix.lanes, 0), terms[i].why));
        }
        lanefix_end(&fix);
    }
}

static void
a_tombstoned_entry_is_no_entry(void **state)
{
    struct lanefix fix;
    struct ledger_record record = { .kind = LEDGER_ENTRY };

    (void)state;
    lanefix_init(&fix);
    write_header(&fix, "plant-id", 0);
    (void)snprintf(record.entry.topic, sizeof record.entry.topic, "t");
    record.entry.next_offset = 44;
    memory_append_log(&fix.memory->lane[0], &record);
    record.tombstone = true;
    record.entry.next_offset = 0;
    memory_append_log(&fix.memory->lane[0], &record);
    lanefix_start(&fix);
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    assert_int_equal(fix.resolves, 2); /* new, from its beginning */
    assert_int_equal(fix.start, START_EARLIEST);
    lanefix_end(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_of_taking_over_leads_on),
        cmocka_unit_test(headers_are_read_before_joining),
        cmocka_unit_test(proofs_decide_who_tries),
        cmocka_unit_test(an_old_proof_is_not_taken_for_a_new_one),
        cmocka_unit_test(another_site_neither_joins_nor_fences),
        cmocka_unit_test(a_header_that_comes_too_late_makes_it_leave),
        cmocka_unit_test(a_lane_made_late_begins_when_the_flow_did),
        cmocka_unit_test(the_target_has_to_end_behind_what_it_acknowledged),
        cmocka_unit_test(what_is_repeated_is_counted_once),
        cmocka_unit_test(an_entry_of_another_lane_holds),
        cmocka_unit_test(an_entry_of_another_term_holds),
        cmocka_unit_test(a_tombstoned_entry_is_no_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
