/* Lanes whose target stands: what they may keep while others move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

#define MIB (INT64_C(1) << 20)

static void
a_lane_that_stands_leaves_room_for_the_others(void **state)
{
    struct flowfix fix;
    struct memory_topic *dead, *alive;

    (void)state;
    flowfix_init(&fix, 2);
    dead = flowfix_in_lane(&fix, 0, 900, 40000);
    alive = flowfix_in_lane(&fix, 1, 20, 40000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    flowfix_go(&fix, 5000);
    assert_true(fix.flow->lane[0].stuck);
    assert_int_equal(fix.flow->lane[0].n, 0);
    memory_append(&alive->partition[0], 800, 40000);
    flowfix_go(&fix, 10000);
    assert_true(memory_arrived(&alive->partition[0], 0, 820));
    assert_int_equal(dead->partition[0].n_got, 0);

    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 10000);
    assert_false(fix.flow->lane[0].stuck);
    assert_true(memory_arrived(&dead->partition[0], 0, 900));
    assert_int_equal(memory_repeats(&dead->partition[0]), 0);
    flowfix_free(&fix);
}

/* The others have room, but what the standing lane has of the source's answers
 * would grow with all that passes by. */
static void
a_lane_that_stands_while_much_passes_by_keeps_nothing(void **state)
{
    struct flowfix fix;
    struct memory_topic *dead, *alive;

    (void)state;
    flowfix_init(&fix, 2);
    dead = flowfix_in_lane(&fix, 0, 40, 40000);
    alive = flowfix_in_lane(&fix, 1, 20, 40000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    flowfix_go(&fix, 5000);
    assert_false(fix.flow->lane[0].stuck);
    assert_true(fix.flow->lane[0].n > 0);
    memory_append(&alive->partition[0], 800, 40000);
    flowfix_go(&fix, 10000);
    assert_true(memory_arrived(&alive->partition[0], 0, 820));
    assert_true(fix.flow->lane[0].stuck);
    assert_int_equal(fix.flow->lane[0].n, 0);
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 10000);
    assert_true(memory_arrived(&dead->partition[0], 0, 40));
    assert_int_equal(memory_repeats(&dead->partition[0]), 0);
    flowfix_free(&fix);
}

static void
no_lane_counts_as_stuck_when_none_could_move(void **state)
{
    struct flowfix fix;
    struct memory_topic *one, *other;

    (void)state;
    flowfix_init(&fix, 2);
    one = flowfix_in_lane(&fix, 0, 20, 40000);
    other = flowfix_in_lane(&fix, 1, 20, 40000);
    fix.memory->lane[0].acks = fix.memory->lane[1].acks = 0;
    flowfix_start(&fix);
    memory_append(&one->partition[0], 380, 40000);
    memory_append(&other->partition[0], 380, 40000);
    flowfix_go(&fix, 30000);
    assert_false(fix.flow->lane[0].stuck || fix.flow->lane[1].stuck);
    fix.memory->lane[0].acks = fix.memory->lane[1].acks = -1;
    flowfix_go(&fix, 5000);
    assert_true(memory_arrived(&one->partition[0], 0, 400));
    assert_true(memory_arrived(&other->partition[0], 0, 400));
    assert_int_equal(fix.memory->given, 800); /* nothing was read twice */
    flowfix_free(&fix);
}

static void
a_stuck_lane_is_handed_over_and_taken_again(void **state)
{
    struct flowfix fix;
    struct memory_topic *dead;

    (void)state;
    flowfix_init(&fix, 2);
    dead = flowfix_in_lane(&fix, 0, 900, 40000);
    (void)flowfix_in_lane(&fix, 1, 20, 40000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    flowfix_go(&fix, 5000);
    assert_true(fix.flow->lane[0].stuck);
    memory_tell(fix.memory, GROUP_REVOKED, 0, "");
    flowfix_go(&fix, 11000);
    assert_int_equal(fix.memory->lane[0].released, 1);
    assert_false(fix.flow->lane[0].stuck);
    fix.memory->lane[0].acks = -1;
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    flowfix_go(&fix, 10000);
    assert_true(memory_arrived(&dead->partition[0], 0, 900));
    flowfix_free(&fix);
}

/* The two that stand have all they may have; something is left. */
static void
one_lane_moves_though_all_others_stand(void **state)
{
    struct flowfix fix;
    struct memory_topic *alive;

    (void)state;
    flowfix_init(&fix, 3);
    fix.options.max_in_flight_bytes = 6 * MIB / 5;
    alive = flowfix_in_lane(&fix, 0, 20, 40000);
    (void)flowfix_in_lane(&fix, 1, 900, 40000);
    (void)flowfix_in_lane(&fix, 2, 900, 40000);
    fix.memory->lane[1].acks = fix.memory->lane[2].acks = 0;
    flowfix_start(&fix);
    flowfix_go(&fix, 5000);
    memory_append(&alive->partition[0], 800, 40000);
    flowfix_go(&fix, 20000);
    assert_true(memory_arrived(&alive->partition[0], 0, 820));
    flowfix_free(&fix);
}

static void
append_and_see(struct flowfix *fix, struct memory_topic *alive)
{
    assert_true(fix->flow->lane[0].resend);
    memory_append(&alive->partition[0], 800, 40000);
    flowfix_go(fix, 10000);
    assert_true(memory_arrived(&alive->partition[0], 0, 820));
    flowfix_free(fix);
}

static void
a_lane_that_waits_for_its_acks_keeps_nothing_from_others(void **state)
{
    struct flowfix fix;
    struct memory_topic *alive;

    (void)state;
    flowfix_init(&fix, 2);
    (void)flowfix_in_lane(&fix, 0, 900, 40000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    flowfix_in_lane(&fix, 0, 1, 100)->max_message_bytes = 50000;
    flowfix_go(&fix, 8000);
    alive = flowfix_in_lane(&fix, 1, 20, 40000);
    flowfix_go(&fix, 8000);
    append_and_see(&fix, alive);
}

static void
a_lane_that_failed_keeps_nothing_from_others(void **state)
{
    struct flowfix fix;
    struct memory_topic *alive;
    const struct flow_lane *lane;

    (void)state;
    flowfix_init(&fix, 2);
    (void)flowfix_in_lane(&fix, 0, 900, 40000);
    alive = flowfix_in_lane(&fix, 1, 20, 40000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    lane = &fix.flow->lane[0];
    for (int fails = 0; fails < 7; fails++) { /* the last waits half a minute */
        for (int turns = 0; lane->resend || lane->n == 0; turns++) {
            assert_true(turns < 1000);
            flowfix_go(&fix, 100);
        }
        fix.memory->lane[0].fail = true;
        flowfix_turn(&fix);
    }
    append_and_see(&fix, alive);
}

#define ONE (INT64_C(1000) + FLOW_RECORD_COST) /* what a record costs */

/* Of 6 MiB a sixth is the source's; one lane may have half of the rest, and all
 * may have what closed clients leave of it. */
static const struct {
    const char *label;
    int64_t ending, leaked, store_leaked, want;
} budgets[] = {
    { "all of it", 0, 0, 0, 5 * MIB / 2 },
    { "what is being ended counts", 3 * MIB, 0, 0, 2 * MIB },
    { "what was left behind counts for good", 0, MIB, 0, 2 * MIB },
    { "so does what a stuck lane of the ledger has", 0, 0, MIB, 2 * MIB },
    { "all together", 5 * MIB / 2, MIB / 2, MIB / 2, 3 * MIB / 2 },
    { "a sixteenth is left, whatever leaked", 0, 100 * MIB, 0, 3 * MIB / 16 },
    { "nothing is read while closed clients have it all", 5 * MIB, 0, 0, 0 },
};

static void
what_closed_clients_hold_counts_against_the_budget(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        struct flowfix fix;
        int64_t leaked = budgets[i].leaked + budgets[i].store_leaked;

        print_message("%s\n", budgets[i].label);
        flowfix_init(&fix, 1);
        fix.options.max_in_flight_bytes = 6 * MIB;
        fix.memory->closed.ending = budgets[i].ending;
        fix.memory->closed.leaked = budgets[i].leaked;
        fix.memory->store_leaked = budgets[i].store_leaked;
        (void)memory_topic(fix.memory, "t", 4, 1000, 1000);
        fix.memory->lane[0].acks = 0;
        flowfix_start(&fix);
        flowfix_go(&fix, 3000);
        assert_in_range(fix.flow->lane[0].sink_cost, budgets[i].want,
            budgets[i].want == 0 ? 0 : budgets[i].want + FLOW_NEXT_MAX * ONE);
        assert_int_equal(fix.report->leaked_bytes, leaked);
        assert_int_equal(fix.report->in_flight_bytes,
            fix.flow->cost + budgets[i].ending);
        assert_int_equal(metric_get(fix.metrics, METRIC_LEAKED_BYTES), leaked);
        flowfix_free(&fix);
    }
}

/* The records of a client that failed are not back because it was closed. */
static void
the_records_of_a_closed_client_are_still_counted(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 100, 1000);
    fix.memory->lane[0].acks = 20;
    fix.memory->ends_not = true;
    flowfix_start(&fix);
    fix.memory->lane[0].fail = true;
    flowfix_turn(&fix);
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 3000);
    assert_true(memory_arrived(&topic->partition[0], 0, 100));
    assert_int_equal(fix.memory->closed.ending, 80 * ONE);
    assert_int_equal(fix.report->in_flight_bytes, 80 * ONE);
    flowfix_free(&fix);
}

/* Nobody says restart: the target's limit was raised, and the next look sees
 * it.  One that stays as it is lets nothing be tried again. */
static const struct raised_row {
    const char *label;
    bool partition_only, by_size;
} raised_rows[] = {
    { "judged here, the flow is held", false, true },
    { "judged here, the partition is held", true, true },
    { "refused by the target, the flow is held", false, false },
    { "refused by the target, the partition is held", true, false },
};

static void
what_was_too_large_goes_on_by_itself(void **state)
{
    for (size_t i = 0; i < sizeof raised_rows / sizeof raised_rows[0]; i++) {
        const struct raised_row *row = &raised_rows[i];
        struct memory_topic *topic, *other;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        fix.options.hold_partition_only = row->partition_only;
        fix.options.judge_size = row->by_size;
        topic = memory_topic(fix.memory, "t", 1, 20, 100);
        other = memory_topic(fix.memory, "other", 1, 20, 100);
        topic->max_message_bytes = 90000;
        topic->partition[0].bytes[7] = 100000;
        topic->partition[0].refuses = row->by_size ? 0 : 2;
        topic->partition[0].refused = 7;
        flowfix_start(&fix);
        flowfix_go(&fix, 11000); /* two looks */
        assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
        assert_int_equal(topic->partition[0].n_got, 7);

        topic->partition[0].refuses = 0;
        topic->max_message_bytes = 200000;
        flowfix_go(&fix, 6000);
        assert_int_equal(fix.report->state, FLOW_RUNNING);
        assert_true(memory_arrived(&topic->partition[0], 0, 20));
        assert_true(memory_arrived(&other->partition[0], 0, 20));
        flowfix_free(&fix);
    }
}

static void
a_limit_that_cannot_be_asked_for_stands(void **state)
{
    struct memory_topic *topic;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.judge_size = true;
    topic = memory_topic(fix.memory, "t", 1, 20, 100);
    topic->max_message_bytes = 90000;
    flowfix_start(&fix);
    topic->unasked = true;
    flowfix_go(&fix, 6000); /* a look */
    memory_append(&topic->partition[0], 1, 100000);
    flowfix_go(&fix, 1000);
    assert_int_equal(topic->partition[0].n_got, 20);
    assert_non_null(strstr(fix.report->reason, "t takes 90000"));
    flowfix_free(&fix);
}

/* And one that is not mended holds the flow still. */
static void
a_flow_goes_on_when_each_topic_may(void **state)
{
    struct memory_topic *topic[2];
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 2);
    for (int32_t i = 0; i < 2; i++) {
        topic[i] = flowfix_in_lane(&fix, i, 20, 100);
        topic[i]->max_message_bytes = 90000;
        topic[i]->partition[0].refuses = 2;
        topic[i]->partition[0].refused = 7;
        fix.memory->lane[i].acks = 0;
    }
    flowfix_start(&fix);
    fix.memory->lane[0].acks = fix.memory->lane[1].acks = -1;
    flowfix_go(&fix, 1000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fix.report->state, FLOW_HELD);
        assert_int_equal(topic[1]->partition[0].n_got, 7);
        topic[i]->partition[0].refuses = 0;
        topic[i]->max_message_bytes = 200000;
        flowfix_go(&fix, 6000);
    }
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    for (int i = 0; i < 2; i++)
        assert_true(memory_arrived(&topic[i]->partition[0], 0, 20));
    flowfix_free(&fix);
}

/* Whoever takes a lane over hears nothing of where a partition ends: what is
 * gone there is not overwritten before it was asked for. */
static void
a_partition_without_an_end_at_the_target_waits(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 2000);
    assert_int_equal(topic->partition[0].n_got, 10);
    fix.memory->target_ends = CATALOG_UNKNOWN;
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    memory_append(&topic->partition[0], 10, 100);
    flowfix_go(&fix, 31000);
    assert_int_equal(fix.report->lanes[0].state, LANE_OWNED);
    assert_int_equal(fix.report->parts[0].state, PART_WAITING);
    assert_non_null(strstr(fix.report->parts[0].reason,
        "look at the leader of this partition there"));
    assert_int_equal(topic->partition[0].n_got, 10);
    fix.memory->target_ends = 0;
    flowfix_go(&fix, 31000);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    assert_int_equal(memory_repeats(&topic->partition[0]), 0);
    flowfix_free(&fix);
}

/* What a crash repeats is what was acknowledged and not entered: it stays
 * bounded, and it is said why nothing moves. */
static void
a_ledger_that_takes_no_entries_stops_its_lane(void **state)
{
    struct flowfix fix;
    struct flowfix_lines lines = { .event = "lane.stands" };
    struct log *log;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    log = flowfix_count(&fix, &lines);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 3000);
    fix.memory->script[STORE_COMMIT].result = STORE_RETRY;
    fix.memory->script[STORE_COMMIT].times = 100000;
    for (int i = 0; i < 600; i++) {
        memory_append(&topic->partition[0], 1, 100);
        flowfix_go(&fix, 1000);
    }
    assert_int_equal(fix.report->lanes[0].state, LANE_STANDING);
    assert_in_range(topic->partition[0].n_got, 20, 25);
    assert_int_equal(fix.report->parts[0].ledger_next, 10);
    assert_int_equal(lines.n, 1);
    fix.memory->script[STORE_COMMIT].times = 0;
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.report->lanes[0].state, LANE_OWNED);
    assert_true(memory_arrived(&topic->partition[0], 0, 610));
    assert_int_equal(memory_repeats(&topic->partition[0]), 0);
    flowfix_free(&fix);
    log_free(log);
}

/* The log says it once for a topic, the status with each partition. */
static void
a_leader_that_is_away_from_the_beginning_is_said(void **state)
{
    struct flowfix_lines stands = { .event = "source.stands" };
    struct memory_topic *topic;
    struct flowfix fix;
    struct log *log;

    (void)state;
    flowfix_init(&fix, 1);
    log = flowfix_count(&fix, &stands);
    topic = memory_topic(fix.memory, "t", 3, 10, 100);
    topic->partition[1].leaderless = topic->partition[2].leaderless = true;
    flowfix_start(&fix);
    assert_string_equal(flowfix_part(&fix, "t", 1)->reason, "");
    for (int32_t i = 1; i <= 2; i++) {
        flowfix_go(&fix, 30000);
        assert_int_equal(stands.n, 1);
        assert_int_equal(flowfix_part(&fix, "t", i)->state, PART_WAITING);
        assert_string_equal(flowfix_part(&fix, "t", i)->reason,
            "the leader of this partition at plant does not say where it "
            "begins: whoever runs that cluster has to bring the broker back; "
            "it is asked until it answers, and then goes on by itself");
    }
    stands = (struct flowfix_lines){ .event = "source.moves" };
    topic->partition[2].leaderless = false;
    flowfix_go(&fix, 30000);
    assert_string_equal(flowfix_part(&fix, "t", 2)->reason, "");
    assert_int_equal(stands.n, 0);
    topic->partition[1].leaderless = false;
    flowfix_go(&fix, 30000);
    assert_string_equal(flowfix_part(&fix, "t", 1)->reason, "");
    assert_int_equal(stands.n, 1);
    flowfix_free(&fix);
    log_free(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_stands_leaves_room_for_the_others),
        cmocka_unit_test(a_lane_that_stands_while_much_passes_by_keeps_nothing),
        cmocka_unit_test(no_lane_counts_as_stuck_when_none_could_move),
        cmocka_unit_test(a_stuck_lane_is_handed_over_and_taken_again),
        cmocka_unit_test(one_lane_moves_though_all_others_stand),
        cmocka_unit_test(
            a_lane_that_waits_for_its_acks_keeps_nothing_from_others),
        cmocka_unit_test(a_lane_that_failed_keeps_nothing_from_others),
        cmocka_unit_test(what_closed_clients_hold_counts_against_the_budget),
        cmocka_unit_test(the_records_of_a_closed_client_are_still_counted),
        cmocka_unit_test(what_was_too_large_goes_on_by_itself),
        cmocka_unit_test(a_limit_that_cannot_be_asked_for_stands),
        cmocka_unit_test(a_flow_goes_on_when_each_topic_may),
        cmocka_unit_test(a_partition_without_an_end_at_the_target_waits),
        cmocka_unit_test(a_ledger_that_takes_no_entries_stops_its_lane),
        cmocka_unit_test(a_leader_that_is_away_from_the_beginning_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
