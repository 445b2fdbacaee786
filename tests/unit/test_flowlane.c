/* What a flow keeps for each lane, with sinks that fail, stand or are full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

/* --- clients that fail --- */

static void
a_failed_client_is_begun_again(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 3, 50, 1000);
    fix.memory->lane[0].acks = 20;
    flowfix_start(&fix);
    assert_int_equal(fix.memory->lane[0].n_sent, 130);
    fix.memory->lane[0].acks = -1;
    fix.memory->lane[0].fail = true;
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.memory->lane[0].opens, 2);
    for (int32_t i = 0; i < 3; i++)
        assert_true(memory_arrived(&topic->partition[i], 0, 50));
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_REPEATED), 130);
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_ACKED), 150);
    flowfix_free(&fix);
}

/* What comes while the lane waits for its new client was not delivered, even
 * when the source says that it was given out. */
static void
nothing_is_passed_while_a_lane_waits(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 2, 10, 100);
    flowfix_start(&fix);
    fix.memory->lane[0].fail = true;
    flowfix_turn(&fix);
    memory_append(&topic->partition[1], 5, 100);
    flowfix_go(&fix, 100);
    fix.flow->ends_at_ms = 0; /* the ends are asked just now */
    flowfix_go(&fix, 3000);
    assert_true(memory_arrived(&topic->partition[1], 0, 15));
    assert_int_equal(memory_entry(fix.memory, "t", 1), 15);
    flowfix_free(&fix);
}

static void
a_client_that_cannot_be_opened_is_tried_again(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 2, 10, 100);
    fix.memory->open_refused = true;
    flowfix_start(&fix);
    flowfix_go(&fix, 10000);
    assert_true(fix.memory->lane[0].opens > 2);
    assert_true(fix.memory->lane[0].opens < 10);
    fix.memory->open_refused = false;
    flowfix_go(&fix, 20000);
    assert_true(memory_arrived(&topic->partition[0], 0, 10));
    assert_true(memory_arrived(&topic->partition[1], 0, 10));
    flowfix_free(&fix);
}

static int
all_opens(const struct flowfix *fix)
{
    int n = 0;

    for (int32_t i = 0; i < fix->memory->lanes; i++)
        n += fix->memory->lane[i].opens;
    return n;
}

/* It may take a while; acks and the group wait so long. */
static void
one_client_is_made_in_a_turn(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    bool busy = true;

    (void)state;
    flowfix_init(&fix, 4);
    topic = memory_topic(fix.memory, "t", 4, 10, 100);
    (void)memory_topic(fix.memory, "u", 4, 10, 100);
    flowfix_make(&fix);
    for (int turn = 0; turn < 1000; turn++) {
        int before = all_opens(&fix);

        if (!busy)
            memory_pass(fix.memory, 20);
        if (turn == 500) /* all of them fail at once */
            for (int32_t i = 0; i < 4; i++)
                fix.memory->lane[i].fail = true;
        assert_true(flow_turn(fix.flow, &busy));
        assert_in_range(all_opens(&fix) - before, 0, 1);
    }
    assert_int_equal(all_opens(&fix), 8);
    for (int32_t i = 0; i < 4; i++)
        assert_true(memory_arrived(&topic->partition[i], 0, 10));
    flowfix_free(&fix);
}

static void
a_partition_that_cannot_be_read_is_held(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->read_refused = true;
    flowfix_start(&fix);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
    assert_string_equal(flowfix_part(&fix, "t", 0)->reason,
        "reading is refused");
    fix.memory->read_refused = false;
    flowfix_order(&fix, FLOW_RESTART);
    flowfix_go(&fix, 1000);
    assert_true(memory_arrived(&topic->partition[0], 0, 10));
    flowfix_free(&fix);
}

static void
the_smallest_topic_says_how_large_batches_are(void **state)
{
    struct flowfix fix;
    struct memory_topic *small, *large;

    (void)state;
    flowfix_init(&fix, 1);
    large = memory_topic(fix.memory, "large", 2, 10, 100);
    large->max_message_bytes = 1000000;
    flowfix_start(&fix);
    assert_int_equal(fix.memory->lane[0].batch_bytes, 1000000);
    small = memory_topic(fix.memory, "small", 1, 10, 100);
    small->max_message_bytes = 50000;
    flowfix_go(&fix, 8000);
    assert_int_equal(fix.memory->lane[0].batch_bytes, 50000);
    assert_int_equal(fix.memory->lane[0].opens, 2);
    assert_true(memory_arrived(&small->partition[0], 0, 10));
    assert_int_equal(memory_repeats(&large->partition[0]), 0);
    flowfix_free(&fix);
}

/* What the client has is acknowledged before it is another one's turn. */
static void
a_client_that_is_well_is_renewed_without_repeats(void **state)
{
    for (int fails = 0; fails < 2; fails++) {
        struct flowfix fix;
        struct memory_topic *small, *large;

        (void)state;
        flowfix_init(&fix, 1);
        large = memory_topic(fix.memory, "large", 2, 10, 100);
        large->max_message_bytes = 1000000;
        flowfix_start(&fix);
        fix.memory->lane[0].acks = 0;
        memory_append(&large->partition[0], 10, 100);
        flowfix_go(&fix, 100);
        small = memory_topic(fix.memory, "small", 1, 10, 100);
        small->max_message_bytes = 50000;
        flowfix_go(&fix, 20000);
        assert_int_equal(fix.memory->lane[0].opens, 1);
        assert_int_equal(fix.memory->lane[0].n_sent, 10);
        fix.memory->lane[0].fail = fails; /* so it is not waited for */
        fix.memory->lane[0].acks = fails ? 5 : -1;
        flowfix_go(&fix, 100);
        fix.memory->lane[0].acks = -1;
        flowfix_go(&fix, 5000);
        assert_int_equal(fix.memory->lane[0].opens, 2);
        assert_int_equal(fix.memory->lane[0].batch_bytes, 50000);
        assert_true(memory_arrived(&large->partition[0], 0, 20));
        assert_true(memory_arrived(&small->partition[0], 0, 10));
        assert_int_equal(memory_repeats(&large->partition[0]), 0);
        assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_REPEATED),
            fails ? 10 : 0);
        flowfix_free(&fix);
    }
}

/* --- lanes that are given up --- */

static void
a_finishing_lane_whose_client_failed_reads_nothing_more(void **state)
{
    struct flowfix fix;
    int reads;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 20, 100);
    fix.memory->lane[0].acks = 5;
    flowfix_start(&fix);
    reads = fix.memory->reader[0].reads;
    memory_tell(fix.memory, GROUP_REVOKED, 0, "");
    flowfix_go(&fix, 100);
    fix.memory->lane[0].fail = true;
    flowfix_go(&fix, 1500);
    assert_int_equal(fix.memory->lane[0].released, 1);
    assert_int_equal(fix.memory->reader[0].reads, reads);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 5);
    flowfix_free(&fix);
}

static void
a_restart_opens_nothing_of_a_finishing_lane(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    int reads;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.hold_partition_only = true;
    topic = memory_topic(fix.memory, "t", 1, 20, 100);
    topic->partition[0].refuses = 1;
    topic->partition[0].refused = 15;
    fix.memory->lane[0].acks = 5;
    flowfix_start(&fix);
    reads = fix.memory->reader[0].reads;
    memory_tell(fix.memory, GROUP_REVOKED, 0, "");
    flowfix_go(&fix, 100);
    flowfix_order(&fix, FLOW_RESTART);
    flowfix_go(&fix, 100);
    assert_int_equal(fix.memory->reader[0].reads, reads);
    flowfix_go(&fix, 11000);
    assert_int_equal(fix.memory->lane[0].released, 1);
    flowfix_free(&fix);
}

static void
a_poisoned_lane_is_handed_over_soon(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 20, 100);
    topic->partition[0].refuses = 2;
    topic->partition[0].refused = 3;
    flowfix_start(&fix);
    assert_int_equal(fix.report->state, FLOW_HELD);
    memory_tell(fix.memory, GROUP_REVOKED, 0, "");
    flowfix_go(&fix, 1500);
    assert_int_equal(fix.memory->lane[0].released, 1);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 3);
    flowfix_free(&fix);
}

static void
what_is_said_of_a_lost_lane_holds_nothing(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    flowfix_go(&fix, 100);
    memory_say(fix.memory, SOURCE_FAILED, 0, "not authorised");
    memory_say(fix.memory, SOURCE_OUT_OF_RANGE, 0, "");
    flowfix_go(&fix, 100);
    memory_append(&topic->partition[0], 10, 100);
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    flowfix_go(&fix, 2000);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    flowfix_free(&fix);
}

static void
who_was_asked_where_to_begin_is_told_to_stop(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->source_away = true;
    flowfix_start(&fix);
    assert_true(fix.memory->reader[0].asked);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    flowfix_go(&fix, 100);
    assert_false(fix.memory->reader[0].asked);
    flowfix_free(&fix);
}

/* A client of the lane fails while another of its partitions is still asked
 * where to begin: the question stays. */
static void
a_new_client_does_not_end_a_question(void **state)
{
    struct flowfix fix;
    struct memory_topic *second;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    second = memory_topic(fix.memory, "u", 1, 10, 100);
    fix.memory->source_away = true;
    flowfix_go(&fix, 6000);
    assert_int_equal(flowfix_inside(&fix, "u", 0)->phase, PHASE_RESOLVING);
    fix.memory->lane[0].fail = true;
    flowfix_go(&fix, 2000);
    fix.memory->source_away = false;
    flowfix_go(&fix, 1000);
    assert_true(memory_arrived(&second->partition[0], 0, 10));
    flowfix_free(&fix);
}

/* --- how much --- */

static void
what_is_in_flight_is_bounded(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    int64_t max = INT64_C(4) << 20, share = max - max / FLOW_PREFETCH_SHARE;
    int64_t given;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.max_in_flight_bytes = max;
    topic = memory_topic(fix.memory, "t", 2, 500, 20000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    flowfix_go(&fix, 5000);
    assert_in_range(fix.flow->lane[0].sink_cost, share / 2, share / 2 + 20512);
    assert_in_range(fix.flow->queued_cost, share / 20,
        share / 20 + FLOW_NEXT_MAX * INT64_C(20512));
    given = fix.memory->given;
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.memory->given, given);
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 5000);
    assert_true(memory_arrived(&topic->partition[0], 0, 500));
    assert_true(memory_arrived(&topic->partition[1], 0, 500));
    flowfix_free(&fix);
}

static void
an_empty_queue_gives_its_room_back(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.max_in_flight_bytes = INT64_C(64) << 20;
    topic = memory_topic(fix.memory, "t", 4, 500, 100);
    fix.memory->lane[0].full = true;
    flowfix_start(&fix);
    assert_int_equal(fix.flow->lane[0].n, 2000);
    fix.memory->lane[0].full = false;
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.flow->lane[0].n, 0);
    assert_int_equal(fix.flow->lane[0].room, 0);
    memory_append(&topic->partition[2], 10, 100);
    flowfix_go(&fix, 1000);
    assert_true(memory_arrived(&topic->partition[2], 0, 510));
    flowfix_free(&fix);
}

static void
a_rate_limit_is_kept_every_second(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    int64_t before;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.bytes_per_second = 100000;
    topic = memory_topic(fix.memory, "t", 1, 800, 5000);
    flowfix_start(&fix);
    for (int i = 0; i < 10; i++) {
        before = fix.memory->given;
        flowfix_go(&fix, 1000);
        /* twenty a second, and one batch of sixteen more or less */
        assert_in_range(fix.memory->given - before, 20 - 16, 20 + 16);
    }
    assert_in_range(topic->partition[0].n_got, 200, 270);
    flowfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_client_is_begun_again),
        cmocka_unit_test(nothing_is_passed_while_a_lane_waits),
        cmocka_unit_test(a_client_that_cannot_be_opened_is_tried_again),
        cmocka_unit_test(one_client_is_made_in_a_turn),
        cmocka_unit_test(a_partition_that_cannot_be_read_is_held),
        cmocka_unit_test(the_smallest_topic_says_how_large_batches_are),
        cmocka_unit_test(a_client_that_is_well_is_renewed_without_repeats),
        cmocka_unit_test(
            a_finishing_lane_whose_client_failed_reads_nothing_more),
        cmocka_unit_test(a_restart_opens_nothing_of_a_finishing_lane),
        cmocka_unit_test(a_poisoned_lane_is_handed_over_soon),
        cmocka_unit_test(what_is_said_of_a_lost_lane_holds_nothing),
        cmocka_unit_test(who_was_asked_where_to_begin_is_told_to_stop),
        cmocka_unit_test(a_new_client_does_not_end_a_question),
        cmocka_unit_test(what_is_in_flight_is_bounded),
        cmocka_unit_test(an_empty_queue_gives_its_room_back),
        cmocka_unit_test(a_rate_limit_is_kept_every_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
