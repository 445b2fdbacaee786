/* What an owned lane writes, and how it is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanefix.h"

static void
the_first_entry_goes_before_the_first_record(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    lanefix_start(&fix);
    assert_int_equal(fix.resolves, 2);
    fix.memory->mute[STORE_COMMIT] = true;
    lanefix_resolve(&fix, 5);
    assert_int_equal(fix.opens, 0);
    assert_int_equal(memory_entry(fix.memory, "t", 0), LEDGER_UNRESOLVED);
    fix.memory->mute[STORE_COMMIT] = false;
    lanefix_go(&fix, 100);
    assert_int_equal(fix.opens, 2);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 5);
    lanefix_end(&fix);
}

static void
entries_follow_the_acks_in_one_transaction(void **state)
{
    struct lanefix fix;
    int commits;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    commits = fix.memory->commits;
    lanefix_go(&fix, 1000);
    assert_int_equal(fix.memory->commits, commits); /* nothing moved */
    lanefix_ack(&fix, 3);
    lanefix_go(&fix, 200);
    assert_int_equal(fix.memory->commits, commits + 1);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 3);
    assert_int_equal(memory_entry(fix.memory, "t", 1), 0);
    lanefix_end(&fix);
}

/* A snapshot is under way when the source answers where to begin. */
static void
an_answer_during_a_snapshot_is_not_forgotten(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    lanefix_start(&fix);
    assert_int_equal(fix.resolves, 2);
    fix.memory->mute[STORE_COMMIT] = true;
    lanefix_lane_of(&fix)->written = 5000; /* time for a snapshot */
    lanefix_go(&fix, 100);
    assert_true(lanefix_lane_of(&fix)->snapshotting);
    lanefix_resolve(&fix, 8);
    fix.memory->mute[STORE_COMMIT] = false;
    lanefix_go(&fix, 200);
    assert_int_equal(fix.opens, 2);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 8);
    lanefix_end(&fix);
}

static void
a_snapshot_comes_after_many_records_and_daily(void **state)
{
    struct lanefix fix;
    size_t marks;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    marks = memory_entries(fix.memory, LEDGER_MARK);
    assert_int_equal(marks, 1);
    lanefix_lane_of(&fix)->written = 1000;
    lanefix_go(&fix, 100);
    assert_int_equal(memory_entries(fix.memory, LEDGER_MARK), 2);
    assert_int_equal(fix.memory->lane[0].log[fix.memory->lane[0].hint].kind,
        LEDGER_MARK);
    memory_pass(fix.memory, 43200000);
    lanefix_go(&fix, 100);
    assert_int_equal(memory_entries(fix.memory, LEDGER_MARK), 3);
    lanefix_go(&fix, 1000);
    assert_int_equal(memory_entries(fix.memory, LEDGER_MARK), 3);
    lanefix_end(&fix);
}

static void
a_commit_that_is_put_off_waits_a_second(void **state)
{
    struct lanefix fix;
    int commits;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    commits = fix.memory->commits;
    fix.memory->script[STORE_COMMIT].result = STORE_RETRY;
    fix.memory->script[STORE_COMMIT].times = 1000;
    memory_pass(fix.memory, 43200000); /* a snapshot is due */
    lanefix_go(&fix, 5000);
    assert_in_range(fix.memory->commits - commits, 4, 6);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    lanefix_go(&fix, 10000);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_STANDING);
    assert_non_null(strstr(lanes_reason(fix.lanes, 0),
        "partition 0 of the ledger takes no entries, and no more is read until "
        "it does: as the test says"));
    fix.memory->script[STORE_COMMIT].times = 0;
    lanefix_ack(&fix, 2);
    lanefix_go(&fix, 2000);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 2);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    assert_null(strstr(lanes_reason(fix.lanes, 0), "no entries"));
    lanefix_end(&fix);
}

/* The next commit, which is not answered for so long; how long it was waited
 * for before. */
static int64_t
commit_slowly(struct lanefix *fix, int64_t took_ms)
{
    int64_t waited_ms = 0;

    fix->memory->mute[STORE_COMMIT] = true;
    lanefix_ack(fix, 1);
    for (; !lanefix_lane_of(fix)->committing; waited_ms += 20)
        lanefix_go(fix, 20);
    lanefix_go(fix, took_ms);
    fix->memory->mute[STORE_COMMIT] = false;
    lanefix_go(fix, 20);
    return waited_ms;
}

static void
a_link_that_was_cut_is_not_taken_for_a_long_one(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    (void)commit_slowly(&fix, 6000);
    assert_in_range(commit_slowly(&fix, 6000), 0, 200); /* cut again */
    assert_in_range(commit_slowly(&fix, 0), 0, 400);
    assert_in_range(commit_slowly(&fix, 0), 0, 200);
    assert_int_equal(lanefix_lane_of(&fix)->pause_ms, 9 * 20);
    lanefix_end(&fix);
}

static void
over_a_long_link_commits_come_to_take_a_tenth_of_the_time(void **state)
{
    static const struct {
        const char *label;
        int64_t took_ms, pause_ms;
    } rows[] = {
        { "a satellite", 1000, 9000 },
        { "a minute apart at most", 20000, 60000 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lanefix fix;

        (void)state;
        print_message("  %s\n", rows[i].label);
        lanefix_init(&fix);
        lanefix_own(&fix);
        for (int n = 0; n < 12; n++)
            (void)commit_slowly(&fix, rows[i].took_ms);
        assert_in_range(commit_slowly(&fix, rows[i].took_ms),
            rows[i].pause_ms - 200, rows[i].pause_ms + 400);
        lanefix_end(&fix);
    }
}

static const struct commit_row {
    const char *label;
    enum store_result result;
    enum lane_state then;
} commit_rows[] = {
    { "later: the lane goes on", STORE_RETRY, LANE_OWNED },
    { "fenced: taken over anew", STORE_FENCED, LANE_RETAKING },
    { "unknown: taken over anew", STORE_UNKNOWN, LANE_RETAKING },
    { "overdue: taken over anew", STORE_OVERDUE, LANE_RETAKING },
    { "refused: held", STORE_REFUSED, LANE_HELD },
};

static void
a_commit_that_fails_is_not_guessed(void **state)
{
    for (size_t i = 0; i < sizeof commit_rows / sizeof commit_rows[0]; i++) {
        const struct commit_row *row = &commit_rows[i];
        struct lanefix fix;

        (void)state;
        print_message("  %s\n", row->label);
        lanefix_init(&fix);
        lanefix_own(&fix);
        lanefix_ack(&fix, 3);
        fix.memory->script[STORE_COMMIT].result = row->result;
        fix.memory->script[STORE_COMMIT].times = 1;
        lanefix_go(&fix, 200);
        assert_int_equal(lanes_state(fix.lanes, 0), row->then);
        assert_int_equal(memory_entry(fix.memory, "t", 0), 0);
        assert_int_equal(parts_at(fix.parts, 0)->tracker != NULL,
            row->then == LANE_OWNED);
        assert_int_equal(metric_get(fix.metrics, METRIC_COMMITS_FAILED), 1);
        lanefix_go(&fix, 61000);
        assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
        assert_non_null(parts_at(fix.parts, 0)->tracker);
        assert_int_equal(memory_entry(fix.memory, "t", 0),
            row->then == LANE_OWNED ? 3 : 0);
        lanefix_end(&fix);
    }
}

static void
a_lane_without_partitions_keeps_no_client(void **state)
{
    struct lanefix fix;
    struct topic *topic;
    struct err err;

    (void)state;
    lanefix_init(&fix);
    lanes_free(fix.lanes);
    parts_free(fix.parts);
    fix.parts = fix.options.parts = parts_new(1, &err);
    fix.lanes = lanes_new(&fix.options, &err);
    assert_true(fix.parts != NULL && fix.lanes != NULL);
    lanefix_start(&fix);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    assert_false(fix.memory->lane[0].client);
    assert_int_equal(memory_entries(fix.memory, LEDGER_HEADER), 1);
    assert_non_null(parts_get(fix.parts, "t", 0));
    topic = parts_topic(fix.parts, "t");
    topic->selected = topic->exists = true;
    topic->partitions = topic->target_partitions = 1;
    lanefix_go(&fix, 200);
    assert_true(fix.memory->lane[0].client);
    assert_int_equal(fix.resolves, 1);
    lanefix_end(&fix);
}

/* --- giving up --- */

/* The lane is wanted back while it waits for this answer. */
static void
a_lane_is_released_once_in_each_phase(void **state)
{
    static const struct {
        const char *label;
        enum store_step mute;
    } rows[] = {
        { "while it is opened", STORE_OPEN },
        { "while it is claimed", STORE_CLAIM },
        { "while it is read", STORE_READ },
        { "while its snapshot is written", STORE_COMMIT },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lanefix fix;

        (void)state;
        print_message("  %s\n", rows[i].label);
        lanefix_init(&fix);
        fix.memory->mute[rows[i].mute] = true;
        lanefix_start(&fix);
        assert_int_equal(lanes_state(fix.lanes, 0), LANE_TAKING);
        memory_tell(fix.memory, GROUP_REVOKED, 0, "");
        lanefix_go(&fix, 100);
        assert_int_equal(fix.memory->lane[0].released, 1);
        assert_int_equal(lanes_state(fix.lanes, 0), LANE_ELSEWHERE);
        assert_false(fix.memory->lane[0].client);
        fix.memory->mute[rows[i].mute] = false;
        memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
        lanefix_go(&fix, 100);
        assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
        assert_int_equal(fix.memory->lane[0].released, 1);
        lanefix_end(&fix);
    }
}

static void
a_revoked_lane_writes_its_last_entries(void **state)
{
    struct lanefix fix;
    struct tracker *tracker;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    lanefix_ack(&fix, 3);
    tracker = parts_at(fix.parts, 0)->tracker;
    assert_true(tracker_add(tracker, 3, 10, 0));
    memory_tell(fix.memory, GROUP_REVOKED, 0, "");
    lanefix_go(&fix, 3000);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_FINISHING);
    assert_int_equal(fix.closes, 2);
    tracker_ack(tracker, 3, 3);
    lanefix_go(&fix, 100);
    assert_int_equal(fix.memory->lane[0].released, 1);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 4);
    lanefix_end(&fix);
}

/* Whoever reads it later may have another clock. */
static void
what_begins_is_written_in_the_brokers_time(void **state)
{
    struct lanefix fix;
    const struct memory_lane *lane;
    int named = 0, headers = 0;

    (void)state;
    lanefix_init(&fix);
    fix.lanes->o.start = START_LATEST;
    fix.ahead_ms = 7200000;
    lanefix_start(&fix);
    lane = &fix.memory->lane[0];
    for (size_t i = 0; i < lane->n_log; i++) {
        const struct ledger_record *record = &lane->log[i];

        if (record->kind == LEDGER_HEADER) {
            headers++;
            assert_in_range(record->header.first_start_wall_ms, MEMORY_WALL,
                MEMORY_WALL + 60000);
            assert_in_range(record->header.changed_start_wall_ms, MEMORY_WALL,
                MEMORY_WALL + 60000);
        } else if (record->kind == LEDGER_ENTRY) {
            named++;
            assert_in_range(record->entry.start_wall_ms, MEMORY_WALL,
                MEMORY_WALL + 60000);
        }
    }
    assert_int_equal(headers, 1);
    assert_int_equal(named, 2);
    lanefix_end(&fix);
}

static const struct finish_row {
    const char *label;
    bool acked;
    enum store_result result;
    bool mute;
    int64_t released_by;
    int64_t entry;
} finish_rows[] = {
    { "no ack comes", false, STORE_DONE, false, 8200, 3 },
    { "entries are put off again and again", true, STORE_RETRY, false, 10200,
        0 },
    { "the commit does not come back", true, STORE_DONE, true, 10200, 0 },
    { "the commit's outcome is unknown", true, STORE_UNKNOWN, false, 200, 0 },
};

static void
a_revoked_lane_is_given_up_within_ten_seconds(void **state)
{
    for (size_t i = 0; i < sizeof finish_rows / sizeof finish_rows[0]; i++) {
        const struct finish_row *row = &finish_rows[i];
        struct lanefix fix;
        bool clean;

        (void)state;
        print_message("  %s\n", row->label);
        lanefix_init(&fix);
        lanefix_own(&fix);
        lanefix_ack(&fix, 3);
        if (!row->acked) {
            assert_true(tracker_add(parts_at(fix.parts, 0)->tracker, 3, 10, 0));
            parts_at(fix.parts, 0)->sent_next = 4;
        }
        fix.memory->script[STORE_COMMIT].result = row->result;
        fix.memory->script[STORE_COMMIT].times =
            row->result == STORE_DONE ? 0 : 1000000;
        fix.memory->mute[STORE_COMMIT] = row->mute;
        memory_tell(fix.memory, GROUP_REVOKED, 0, "");
        lanefix_go(&fix, row->released_by);
        assert_int_equal(fix.memory->lane[0].released, 1);
        assert_int_equal(memory_entry(fix.memory, "t", 0), row->entry);
        assert_true(lanes_idle(fix.lanes, &clean));
        assert_false(clean);
        lanefix_end(&fix);
    }
}

static void
a_drain_of_idle_lanes_is_clean(void **state)
{
    struct lanefix fix;
    bool clean;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    lanefix_ack(&fix, 5);
    assert_false(lanes_idle(fix.lanes, &clean));
    lanes_drain(fix.lanes, clock_mono_ms(&fix.memory->clock) + 5000);
    lanefix_go(&fix, 100);
    assert_true(lanes_idle(fix.lanes, &clean));
    assert_true(clean);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 5);
    lanefix_end(&fix);
}

static void
nobody_joins_while_draining(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    fix.memory->mute[STORE_HEADERS] = true;
    lanefix_start(&fix);
    lanes_drain(fix.lanes, clock_mono_ms(&fix.memory->clock) + 5000);
    fix.memory->mute[STORE_HEADERS] = false;
    lanefix_go(&fix, 3000);
    assert_int_equal(fix.memory->joins, 0);
    assert_false(lanes_joined(fix.lanes));
    lanefix_end(&fix);
}

static void
leaving_voids_everything(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    lanefix_own(&fix);
    lanefix_ack(&fix, 5);
    lanes_leave(fix.lanes);
    assert_int_equal(fix.memory->leaves, 1);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_ELSEWHERE);
    assert_null(parts_at(fix.parts, 0)->tracker);
    lanefix_go(&fix, 2000);
    assert_int_equal(fix.memory->joins, 1);
    lanefix_start(&fix);
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    assert_int_equal(fix.memory->joins, 2);
    assert_int_equal(tracker_next(parts_at(fix.parts, 0)->tracker), 0);
    lanefix_end(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_entry_goes_before_the_first_record),
        cmocka_unit_test(entries_follow_the_acks_in_one_transaction),
        cmocka_unit_test(an_answer_during_a_snapshot_is_not_forgotten),
        cmocka_unit_test(a_snapshot_comes_after_many_records_and_daily),
        cmocka_unit_test(a_commit_that_is_put_off_waits_a_second),
        cmocka_unit_test(a_link_that_was_cut_is_not_taken_for_a_long_one),
        cmocka_unit_test(
            over_a_long_link_commits_come_to_take_a_tenth_of_the_time),
        cmocka_unit_test(a_commit_that_fails_is_not_guessed),
        cmocka_unit_test(a_lane_without_partitions_keeps_no_client),
        cmocka_unit_test(a_lane_is_released_once_in_each_phase),
        cmocka_unit_test(a_revoked_lane_writes_its_last_entries),
        cmocka_unit_test(what_begins_is_written_in_the_brokers_time),
        cmocka_unit_test(a_revoked_lane_is_given_up_within_ten_seconds),
        cmocka_unit_test(a_drain_of_idle_lanes_is_clean),
        cmocka_unit_test(nobody_joins_while_draining),
        cmocka_unit_test(leaving_voids_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
