/* A lane without a header is new, or its ledger was lost: what the ends of the
 * target's partitions say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanefix.h"

static const struct written_row {
    const char *label;
    int64_t high;     /* records at the target */
    int64_t age_ms;   /* of another lane's header; 0: none */
    int64_t ahead_ms; /* our clock, of the brokers' */
    bool shared;
    enum lane_state then;
    const char *reason;
} written_rows[] = {
    { "a target that was never written is new", 0, 0, 0, false, LANE_OWNED,
        "" },
    { "a written target without a ledger is held", 12, 0, 0, false, LANE_HELD,
        "the target has 24 records here" /* in two partitions */ },
    { "it says what else there is to do", 12, 0, 0, false, LANE_HELD,
        "; if a flow of another name wrote them, give this one that name; "
        "else let 'rename' make new names" },
    { "a shared target is as good as new", 12, 0, 0, true, LANE_OWNED, "" },
    { "a ledger that is older lost this lane", 0, 4000000, 0, false, LANE_HELD,
        "nothing of the lane is sent: restore the ledger topic, or forward, "
        "in the policy, by a flow of another name" },
    { "the same, to one whose clock is behind", 0, 4000000, -7200000, false,
        LANE_HELD, "nothing of the lane is sent" },
    { "a ledger that is young is being made", 0, 60000, 0, false, LANE_OWNED,
        "" },
    { "the same, to one whose clock is ahead", 0, 60000, 7200000, false,
        LANE_OWNED, "" },
};

static void
new_or_lost_is_told_apart(void **state)
{
    for (size_t i = 0; i < sizeof written_rows / sizeof written_rows[0]; i++) {
        const struct written_row *row = &written_rows[i];
        struct lanefix fix;

        (void)state;
        print_message("  %s\n", row->label);
        lanefix_init(&fix);
        fix.lanes->o.shared_target = row->shared;
        fix.memory->target_ends = row->high;
        fix.ahead_ms = row->ahead_ms;
        if (row->age_ms > 0)
            fix.lanes->first_start_wall_ms = MEMORY_WALL - row->age_ms;
        lanefix_start(&fix);
        lanefix_go(&fix, 100);
        assert_int_equal(lanes_state(fix.lanes, 0), row->then);
        assert_non_null(strstr(lanes_reason(fix.lanes, 0), row->reason));
        if (row->then == LANE_HELD) {
            fix.memory->target_ends = 0;
            fix.lanes->first_start_wall_ms = 0;
            lanes_retry(fix.lanes, clock_mono_ms(&fix.memory->clock));
            lanefix_go(&fix, 100);
            assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
        }
        lanefix_end(&fix);
    }
}

/* An alert on what waits for a person does not end and begin each minute. */
static void
what_is_held_is_held_while_it_is_tried_again(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    fix.memory->target_ends = 12;
    lanefix_start(&fix);
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_HELD);
    fix.no_memory = true;
    lanes_retry(fix.lanes, clock_mono_ms(&fix.memory->clock));
    lanefix_go(&fix, 100);
    assert_int_equal(lanefix_lane_of(&fix)->phase, LANE_P_ENDS);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_HELD);
    assert_non_null(
        strstr(lanes_reason(fix.lanes, 0), "the target has 24 records here"));
    fix.no_memory = false;
    fix.memory->target_ends = 0;
    lanefix_go(&fix, 1100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    lanefix_end(&fix);
}

/* What was known of the ledger that was there before says nothing of it. */
static void
a_ledger_that_was_made_anew_is_young(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    fix.lanes->first_start_wall_ms = MEMORY_WALL - 4000000;
    (void)snprintf(fix.lanes->ledger_topic_id,
        sizeof fix.lanes->ledger_topic_id, "the one before");
    lanefix_start(&fix);
    lanefix_go(&fix, 100);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    lanefix_end(&fix);
}

static void
ends_that_cannot_be_asked_are_asked_again(void **state)
{
    struct lanefix fix;

    (void)state;
    lanefix_init(&fix);
    fix.no_memory = true;
    lanefix_start(&fix);
    lanefix_go(&fix, 10000);
    assert_int_equal(lanefix_lane_of(&fix)->phase, LANE_P_ENDS);
    assert_in_range(fix.refusals, 9, 11); /* every second */
    fix.no_memory = false;
    lanefix_go(&fix, 1100);
    assert_int_equal(fix.asks, 1);
    assert_int_equal(lanes_state(fix.lanes, 0), LANE_OWNED);
    lanefix_end(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_or_lost_is_told_apart),
        cmocka_unit_test(what_is_held_is_held_while_it_is_tried_again),
        cmocka_unit_test(a_ledger_that_was_made_anew_is_young),
        cmocka_unit_test(ends_that_cannot_be_asked_are_asked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
