/* A flow as a whole: what arrives, what stops it, how it is told to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

static void
every_record_arrives_in_order(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 4);
    topic = memory_topic(fix.memory, "t", 4, 300, 1000);
    flowfix_start(&fix);
    flowfix_go(&fix, 2000);
    for (int32_t i = 0; i < 4; i++) {
        assert_true(memory_arrived(&topic->partition[i], 0, 300));
        assert_int_equal(memory_repeats(&topic->partition[i]), 0);
        assert_int_equal(memory_entry(fix.memory, "t", i), 300);
    }
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    assert_int_equal(fix.flow->cost, 0);
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_ACKED), 1200);
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_REPEATED), 0);
    flowfix_free(&fix);
}

static void
a_next_flow_goes_on_where_the_ledger_is(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 2);
    topic = memory_topic(fix.memory, "t", 2, 50, 100);
    flowfix_start(&fix);
    flowfix_stop(&fix);
    memory_append(&topic->partition[0], 30, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 1000);
    assert_true(memory_arrived(&topic->partition[0], 0, 80));
    assert_int_equal(topic->partition[0].n_got, 80);
    assert_int_equal(topic->partition[1].n_got, 50);
    flowfix_free(&fix);
}

/* --- records that are refused --- */

/* One lane, so that what is queued of one partition stands among that of
 * another; the sink is full when the record's turn comes. */
static const struct refusal_row {
    const char *label;
    int refuses;  /* see memory_partition */
    int64_t size; /* the topic's limit, for the check before sending */
    int64_t at;
    bool partition_only;
    int64_t first_acks; /* before the restart; -1: all */
} refusal_rows[] = {
    { "the sink refuses the first record", 1, 0, 0, false, -1 },
    { "the sink refuses one with others queued behind", 1, 0, 30, false, -1 },
    { "a report refuses a record", 2, 0, 10, false, -1 },
    { "a report refuses the last record", 2, 0, 59, false, -1 },
    { "the size refuses one with others queued", 0, 90000, 40, false, -1 },
    { "the size refuses one with others on the wire", 0, 90000, 5, false, 0 },
    { "the sink refuses, and the partition alone is held", 1, 0, 30, true, -1 },
    { "a report refuses, and the partition alone is held", 2, 0, 30, true, -1 },
    { "the size refuses, and the partition alone is held", 0, 90000, 40, true,
        -1 },
};

static void
check_refused(struct flowfix *fix, const struct refusal_row *row)
{
    const struct memory_topic *topic = &fix->memory->topic[0];
    const struct report_part *part = flowfix_part(fix, "t", 0);

    assert_non_null(part);
    assert_int_equal(part->state, PART_HELD);
    assert_non_null(strstr(part->reason, "t [0] offset"));
    assert_int_equal(fix->report->state,
        row->partition_only ? FLOW_RUNNING : FLOW_HELD);
    assert_int_equal(metric_get(fix->metrics, METRIC_RECORDS_FAILED), 1);
    fix->memory->lane[0].acks = -1;
    flowfix_go(fix, 2000);
    assert_true(memory_arrived(&topic->partition[0], 0, row->at) ||
                !row->partition_only);
    assert_true(memory_entry(fix->memory, "t", 0) <= row->at);
    if (row->partition_only)
        assert_true(memory_arrived(&topic->partition[1], 0, 60));
    else if (row->refuses == 1) /* what is queued behind it stays there */
        assert_true(topic->partition[1].n_got < (size_t)row->at + 10);
}

static void
a_refused_record_is_never_passed(void **state)
{
    for (size_t i = 0; i < sizeof refusal_rows / sizeof refusal_rows[0]; i++) {
        const struct refusal_row *row = &refusal_rows[i];
        struct memory_topic *topic;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        fix.options.hold_partition_only = row->partition_only;
        fix.options.judge_size = row->size > 0;
        topic = memory_topic(fix.memory, "t", 2, 60, 80000);
        topic->max_message_bytes = row->size;
        topic->partition[0].refuses = row->refuses;
        topic->partition[0].refused = row->at;
        if (row->size > 0)
            topic->partition[0].bytes[row->at] = 100000;
        fix.memory->lane[0].acks = row->first_acks;
        flowfix_start(&fix);
        flowfix_go(&fix, 3000);
        check_refused(&fix, row);

        topic->partition[0].refuses = 0; /* somebody mends it */
        topic->max_message_bytes = 0;
        flowfix_order(&fix, FLOW_RESTART);
        flowfix_go(&fix, 9000);
        assert_int_equal(fix.report->state, FLOW_RUNNING);
        for (int32_t k = 0; k < 2; k++) {
            assert_true(memory_arrived(&topic->partition[k], 0, 60));
            assert_int_equal(memory_entry(fix.memory, "t", k), 60);
        }
        flowfix_free(&fix);
    }
}

static void
a_restart_with_nothing_mended_is_refused_again(void **state)
{
    (void)state;
    for (int by_size = 0; by_size < 2; by_size++) {
        struct memory_topic *topic;
        struct flowfix fix;

        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, "t", 1, 20, 100);
        topic->partition[0].refuses = by_size ? 0 : 2;
        topic->partition[0].refused = 7;
        fix.options.judge_size = by_size;
        topic->max_message_bytes = 90000;
        topic->partition[0].bytes[7] += by_size * 100000;
        flowfix_start(&fix);
        for (int i = 0; i < 3; i++) {
            flowfix_go(&fix, 2000);
            assert_int_equal(fix.report->state, FLOW_HELD);
            assert_non_null(strstr(fix.report->reason, "offset 7"));
            flowfix_order(&fix, FLOW_RESTART);
        }
        assert_int_equal(topic->partition[0].n_got, 7);
        flowfix_free(&fix);
    }
}

/* Two partitions meet a record that is refused; the first one is the flow's
 * reason, and what is told of them is no ack. */
static void
the_first_refused_record_is_the_one_that_is_named(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    const char *first;

    (void)state;
    flowfix_init(&fix, 2);
    topic = memory_topic(fix.memory, "t", 2, 20, 100);
    first = ledger_lane("t", 0, 2) == 0 ? "t [0]" : "t [1]";
    for (int i = 0; i < 2; i++) {
        fix.memory->lane[i].acks = 0;
        topic->partition[i].refuses = 2;
        topic->partition[i].refused = 0;
    }
    flowfix_start(&fix);
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 1100);
    assert_int_equal(fix.report->state, FLOW_HELD);
    assert_non_null(strstr(fix.report->reason, first));
    fix.memory->lane[1].acks = -1;
    flowfix_go(&fix, 1100);
    assert_non_null(strstr(fix.report->reason, first));
    for (int32_t i = 0; i < 2; i++)
        assert_int_equal(flowfix_part(&fix, "t", i)->state, PART_HELD);
    assert_int_equal(metric_get(fix.metrics, METRIC_RECORDS_FAILED), 2);
    assert_int_equal(fix.report->last_ack_mono_ms, REPORT_UNKNOWN);
    flowfix_free(&fix);
}

static void
a_held_flow_is_stopped_at_once(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 20, 100);
    topic->partition[0].refuses = 2;
    topic->partition[0].refused = 7;
    flowfix_start(&fix);
    flow_drain(fix.flow);
    flowfix_go(&fix, 1500);
    assert_true(fix.ended);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 7);
    flowfix_free(&fix);
}

/* --- stopping --- */

static const struct drain_row {
    const char *label;
    int64_t acks;      /* while it drains; -1: all */
    bool commits_fail; /* entries are not written any more */
    int drains;        /* how often it is told */
    bool drained;
    int64_t entry;
    int64_t at_most_ms;
} drain_rows[] = {
    { "everything on the wire is acknowledged", -1, false, 1, true, 40, 1000 },
    { "some acks never come: what was acked is written down", 5, false, 1,
        false, 5, 26000 },
    { "no ack comes", 0, false, 1, false, 0, 26000 },
    { "the entries cannot be written", -1, true, 1, false, 0, 26000 },
    { "told twice it does not wait", 0, false, 2, false, 0, 100 },
};

static void
a_flow_drains(void **state)
{
    for (size_t i = 0; i < sizeof drain_rows / sizeof drain_rows[0]; i++) {
        const struct drain_row *row = &drain_rows[i];
        struct flowfix fix;
        bool drained;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        memory_topic(fix.memory, "t", 1, 40, 1000);
        fix.memory->lane[0].acks = 0;
        flowfix_start(&fix);
        assert_int_equal(fix.memory->lane[0].n_sent, 40);
        fix.memory->lane[0].acks = row->acks;
        if (row->commits_fail) {
            fix.memory->script[STORE_COMMIT].result = STORE_RETRY;
            fix.memory->script[STORE_COMMIT].times = 1000000;
        }
        for (int k = 0; k < row->drains; k++)
            flow_drain(fix.flow);
        flowfix_go(&fix, row->at_most_ms);
        assert_true(fix.ended);
        assert_true(flow_stopped(fix.flow, &drained));
        assert_int_equal(drained, row->drained);
        assert_int_equal(memory_entry(fix.memory, "t", 0), row->entry);
        assert_int_equal(fix.report->state, FLOW_STOPPED);
        flowfix_free(&fix);
    }
}

/* The wire is given up early enough for a commit that takes its time. */
static void
the_last_entries_have_time_when_acks_never_come(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 40, 1000);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    fix.memory->lane[0].acks = 5;
    flow_drain(fix.flow);
    fix.memory->mute[STORE_COMMIT] = true;
    while (!fix.memory->lane[0].ordered && !fix.ended)
        flowfix_go(&fix, 20);
    flowfix_go(&fix, 1000);
    fix.memory->mute[STORE_COMMIT] = false;
    flowfix_go(&fix, 5000);
    assert_true(fix.ended);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 5);
    flowfix_free(&fix);
}

static void
a_flow_is_stopped_at_any_moment(void **state)
{
    for (int turns = 0; turns < 60; turns++) {
        struct flowfix fix;
        bool busy = true;

        (void)state;
        flowfix_init(&fix, 2);
        memory_topic(fix.memory, "t", 2, 10, 100);
        flowfix_make(&fix);
        for (int i = 0; i < turns; i++) {
            memory_pass(fix.memory, 7);
            assert_true(flow_turn(fix.flow, &busy));
        }
        flowfix_free(&fix);
    }
}

static void
a_flow_that_never_ran_is_freed(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    flowfix_make(&fix);
    flow_free(fix.flow);
    assert_int_equal(fix.memory->freed, 5);
    metrics_free(fix.metrics);
    memory_free(fix.memory);
}

/* --- an operator --- */

static void
a_paused_flow_keeps_its_lanes_and_reads_nothing(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    int64_t given;

    (void)state;
    flowfix_init(&fix, 2);
    topic = memory_topic(fix.memory, "t", 2, 10, 100);
    flowfix_start(&fix);
    flowfix_order(&fix, FLOW_PAUSE);
    memory_append(&topic->partition[0], 10, 100);
    given = fix.memory->given;
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.memory->given, given);
    assert_int_equal(fix.report->state, FLOW_PAUSED);
    assert_int_equal(fix.report->lanes[0].state, LANE_OWNED);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_PAUSED);
    flowfix_order(&fix, FLOW_RESUME);
    flowfix_go(&fix, 1000);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    flowfix_free(&fix);
}

static void
orders_wait_their_turn_up_to_sixteen(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    flowfix_make(&fix);
    for (int i = 0; i < 16; i++)
        assert_true(flow_order(fix.flow, FLOW_PAUSE));
    assert_false(flow_order(fix.flow, FLOW_RESUME));
    flowfix_turn(&fix);
    assert_true(flow_order(fix.flow, FLOW_RESUME));
    flowfix_free(&fix);
}

static void
a_group_that_cannot_be_joined_is_said(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    flowfix_start(&fix);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    memory_tell(fix.memory, GROUP_FAILED, -1, "not authorised: READ on group");
    flowfix_go(&fix, 2000);
    assert_int_equal(fix.report->state, FLOW_CONNECTING);
    assert_string_equal(fix.report->reason, "not authorised: READ on group");
    memory_tell(fix.memory, GROUP_IN, -1, ""); /* with a lane or without */
    flowfix_go(&fix, 2000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    flowfix_free(&fix);
}

/* --- on its own thread --- */

/* Time passes until the newest report says so; bounded. */
static bool
comes_true(struct flowfix *fix, bool (*wanted)(const struct flow_report *))
{
    const struct clock *clock = clock_system();
    int64_t by_ms = clock_mono_ms(clock) + 20000;
    bool found = false;

    while (!found && clock_mono_ms(clock) < by_ms) {
        struct flow_report *report = flow_take_report(fix->flow);

        found = report != NULL && wanted(report);
        report_free(report);
        memory_pass(fix->memory, 20);
        wake_signal(&fix->memory->wake);
    }
    return found;
}

static bool
all_is_written_down(const struct flow_report *report)
{
    int64_t there = 0;

    for (size_t i = 0; i < report->n_parts; i++)
        there += report->parts[i].ledger_next;
    return there == INT64_C(2) * 500;
}

static bool
it_is_paused(const struct flow_report *report)
{
    return report->state == FLOW_PAUSED;
}

static bool
it_has_stopped(const struct flow_report *report)
{
    return report->state == FLOW_STOPPED;
}

static void
a_flow_runs_on_its_thread(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    struct err err;

    (void)state;
    flowfix_init(&fix, 2);
    topic = memory_topic(fix.memory, "t", 2, 500, 1000);
    flowfix_make(&fix);
    assert_true(flow_start(fix.flow, &err));
    assert_true(comes_true(&fix, all_is_written_down));
    assert_true(flow_order(fix.flow, FLOW_PAUSE));
    assert_true(comes_true(&fix, it_is_paused));
    flow_drain(fix.flow);
    assert_true(comes_true(&fix, it_has_stopped));
    flow_free(fix.flow);
    memory_enter(fix.memory);
    assert_true(memory_arrived(&topic->partition[0], 0, 500));
    assert_true(memory_arrived(&topic->partition[1], 0, 500));
    memory_leave(fix.memory);
    metrics_free(fix.metrics);
    memory_free(fix.memory);
}

/* Somebody widened the ledger: nothing belongs to such a lane, but a member who
 * does not give it back when asked would hold up the whole group. */
static void
a_lane_that_the_flow_does_not_know_is_given_back(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 2);
    topic = memory_topic(fix.memory, "t", 2, 10, 100);
    flowfix_start(&fix);
    memory_tell(fix.memory, GROUP_ASSIGNED, 2, "");
    memory_tell(fix.memory, GROUP_REVOKED, 2, "");
    flowfix_go(&fix, 100);
    assert_int_equal(fix.memory->lane[2].released, 1);
    memory_append(&topic->partition[0], 10, 100);
    flowfix_go(&fix, 1000);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    flowfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_the_flow_does_not_know_is_given_back),
        cmocka_unit_test(every_record_arrives_in_order),
        cmocka_unit_test(a_next_flow_goes_on_where_the_ledger_is),
        cmocka_unit_test(a_refused_record_is_never_passed),
        cmocka_unit_test(a_restart_with_nothing_mended_is_refused_again),
        cmocka_unit_test(the_first_refused_record_is_the_one_that_is_named),
        cmocka_unit_test(a_held_flow_is_stopped_at_once),
        cmocka_unit_test(a_flow_drains),
        cmocka_unit_test(the_last_entries_have_time_when_acks_never_come),
        cmocka_unit_test(a_flow_is_stopped_at_any_moment),
        cmocka_unit_test(a_flow_that_never_ran_is_freed),
        cmocka_unit_test(a_paused_flow_keeps_its_lanes_and_reads_nothing),
        cmocka_unit_test(orders_wait_their_turn_up_to_sixteen),
        cmocka_unit_test(a_group_that_cannot_be_joined_is_said),
        cmocka_unit_test(a_flow_runs_on_its_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
