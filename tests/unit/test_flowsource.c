/* What a flow makes of what its source says, and what it tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

static void
say(struct flowfix *fix, const struct source_event *event)
{
    fix->memory->said[fix->memory->n_said++] = *event;
}

/* --- positions that are gone --- */

#define GONE                                                         \
    "; nothing behind it is sent: to go on without it, forward the " \
    "topic, in the policy, by a flow of another name with "          \
    "'shared_target: true' (see 'When a flow is held' in kedge-agent(8))"

static const struct range_row {
    const char *label;
    int64_t low, high; /* of the source, when the flow comes back to it */
    int64_t cut, lost;
    const char *reason;
} range_rows[] = {
    { "retention overtook the position", 25, 40, -1, 15,
        "15 offsets are gone at the source before they could be read: 10 to "
        "24 (retention or deletion)" GONE },
    { "the log was truncated", 0, 5, -1, 0,
        "the position 10 lies beyond the end of the source (5): the log was "
        "truncated or the topic made anew" GONE },
    { "the same, and where is known", 0, 5, 3, 2,
        "the position 10 lies beyond the end of the source (5): the log was "
        "truncated or the topic made anew" GONE },
    { "the log was truncated and grew beyond the position", 0, 12, 4, 6,
        "the source's log was truncated below the position 10 and written "
        "anew (it ends at 12): what now stands before the position was never "
        "read" GONE },
    { "nobody can say what there is", -1, -1, 4, 0,
        "the position 10 does not exist any more at the source" GONE },
};

static void
a_position_that_is_gone_is_held_and_named(void **state)
{
    for (size_t i = 0; i < sizeof range_rows / sizeof range_rows[0]; i++) {
        const struct range_row *row = &range_rows[i];
        const struct source_event event = { .kind = SOURCE_OUT_OF_RANGE,
            .part = 0,
            .offset = 10,
            .low = row->low,
            .high = row->high,
            .cut = row->cut };
        struct memory_topic *topic;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, "t", 1, 10, 100);
        flowfix_start(&fix);
        for (int k = 0; k < 3; k++) { /* it is tried again in vain */
            fix.memory->reader[0].reading = false;
            say(&fix, &event);
            flowfix_go(&fix, 1500);
            assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
            assert_string_equal(flowfix_part(&fix, "t", 0)->reason,
                row->reason);
            flowfix_order(&fix, FLOW_RESTART);
        }
        assert_int_equal(metric_get(fix.metrics, METRIC_OFFSETS_LOST),
            row->lost);
        assert_int_equal(topic->partition[0].n_got, 10);
        assert_int_equal(memory_entry(fix.memory, "t", 0), 10);
        flowfix_free(&fix);
    }
}

/* As the source in memory finds it, after a restart of the agent. */
static void
a_gap_is_found_when_the_flow_comes_back(void **state)
{
    struct memory_partition *partition;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    partition = &memory_topic(fix.memory, "t", 1, 10, 100)->partition[0];
    flowfix_start(&fix);
    flowfix_stop(&fix);
    memory_append(partition, 30, 100);
    partition->low = 25;
    flowfix_start(&fix);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
    partition->low = 30; /* and more of it goes meanwhile */
    flowfix_order(&fix, FLOW_RESTART);
    flowfix_go(&fix, 1500);
    assert_non_null(strstr(flowfix_part(&fix, "t", 0)->reason, "20 offsets"));
    assert_int_equal(metric_get(fix.metrics, METRIC_OFFSETS_LOST), 20);
    assert_int_equal(partition->n_got, 10);
    flowfix_free(&fix);
}

/* --- permissions, and topics that are not listed --- */

static const struct failed_row {
    const char *label;
    enum err_kind kind;
    const char *reason;
} failed_rows[] = {
    { "Read was taken from us", ERR_DENIED,
        "the source refuses to be read: grant this client Read on topic t at "
        "plant, then 'kedge flow restart orders'" },
    { "anything else", ERR_KAFKA, "the source cannot be read: a reason" },
};

static void
what_the_source_refuses_names_who_can_mend_it(void **state)
{
    for (size_t i = 0; i < sizeof failed_rows / sizeof failed_rows[0]; i++) {
        struct source_event event = { .kind = SOURCE_FAILED, .part = 0 };
        struct flowfix_lines lines = { .event = "partition.held" };
        struct flowfix fix;
        struct log *log;

        (void)state;
        print_message("  %s\n", failed_rows[i].label);
        flowfix_init(&fix, 1);
        log = flowfix_count(&fix, &lines);
        memory_topic(fix.memory, "t", 1, 10, 100);
        flowfix_start(&fix);
        err_set(&event.err, failed_rows[i].kind, "a reason");
        fix.memory->reader[0].reading = false;
        say(&fix, &event);
        flowfix_go(&fix, 1500);
        assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
        assert_string_equal(flowfix_part(&fix, "t", 0)->reason,
            failed_rows[i].reason);
        assert_int_equal(lines.n, 1);
        flowfix_free(&fix);
        log_free(log);
    }
}

/* Deleted, or out of sight since Describe was taken from this client. */
static void
a_topic_that_is_not_listed_any_more_is_said(void **state)
{
    struct flowfix_lines lines = { .event = "topic.missing" };
    struct memory_topic *topic, *other;
    struct flowfix fix;
    struct log *log;

    (void)state;
    flowfix_init(&fix, 2);
    log = flowfix_count(&fix, &lines);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    other = memory_topic(fix.memory, "other", 1, 10, 100);
    flowfix_start(&fix);
    topic->gone = true;
    flowfix_go(&fix, 6000); /* one list without it */
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_RUNNING);
    flowfix_go(&fix, 12000);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_WAITING);
    assert_non_null(strstr(flowfix_part(&fix, "t", 0)->reason, "Describe"));
    assert_int_equal(fix.report->n_skips, 1);
    assert_string_equal(fix.report->skips[0].topic, "t");
    assert_int_equal(flowfix_part(&fix, "other", 0)->state, PART_RUNNING);
    assert_int_equal(lines.n, 1);

    topic->gone = false;
    memory_append(&topic->partition[0], 5, 100);
    memory_append(&other->partition[0], 5, 100);
    flowfix_go(&fix, 8000);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_RUNNING);
    assert_int_equal(fix.report->n_skips, 0);
    assert_true(memory_arrived(&topic->partition[0], 0, 15));
    assert_int_equal(lines.n, 1);
    flowfix_free(&fix);
    log_free(log);
}

/* The ledger knows it, and nobody forwards it: not in silence. */
static void
a_topic_that_is_missing_at_the_start_is_said(void **state)
{
    struct memory_topic *topic;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    memory_topic(fix.memory, "other", 1, 10, 100);
    flowfix_start(&fix);
    flowfix_stop(&fix);
    topic->gone = true;
    flowfix_start(&fix);
    flowfix_go(&fix, 12000);
    assert_int_equal(fix.report->n_skips, 1);
    assert_string_equal(fix.report->skips[0].topic, "t");
    assert_non_null(strstr(fix.report->skips[0].reason, "does not list it"));
    fix.unwanted = "t"; /* the policy does not speak of it any more */
    flowfix_stop(&fix);
    flowfix_start(&fix);
    flowfix_go(&fix, 12000);
    assert_int_equal(fix.report->n_skips, 0);
    flowfix_free(&fix);
}

/* --- memory --- */

static void
without_memory_it_is_tried_again(void **state)
{
    struct flowfix_lines held = { .event = "partition.held" };

    for (int times = 1; times < 6; times++) {
        struct memory_topic *topic;
        struct flowfix fix;
        struct log *log;

        (void)state;
        flowfix_init(&fix, 1);
        log = flowfix_count(&fix, &held);
        topic = memory_topic(fix.memory, "t", 3, 10, 100);
        fix.memory->source_no_memory = times; /* of resolve() */
        flowfix_start(&fix);
        fix.memory->lane[0].fail = true;
        fix.memory->source_no_memory = times; /* of read() */
        memory_append(&topic->partition[1], 10, 100);
        flowfix_go(&fix, 60000);
        assert_int_equal(fix.memory->source_no_memory, 0);
        for (int32_t i = 0; i < 3; i++)
            assert_true(
                memory_arrived(&topic->partition[i], 0, i == 1 ? 20 : 10));
        flowfix_free(&fix);
        log_free(log);
    }
    assert_int_equal(held.n, 0);
}

static void
a_partition_that_cannot_be_read_is_said(void **state)
{
    struct flowfix_lines lines = { .event = "partition.held" };
    struct flowfix fix;
    struct log *log;

    (void)state;
    flowfix_init(&fix, 1);
    log = flowfix_count(&fix, &lines);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->read_refused = true;
    flowfix_start(&fix);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
    assert_int_equal(lines.n, 1);
    flowfix_free(&fix);
    log_free(log);
}

/* --- a leader that is away --- */

static void
a_leader_that_is_away_holds_up_no_other_partition(void **state)
{
    struct memory_topic *topic;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1); /* all in one lane */
    topic = memory_topic(fix.memory, "t", 3, 10, 100);
    topic->partition[1].leaderless = true;
    flowfix_start(&fix);
    assert_true(memory_arrived(&topic->partition[0], 0, 10));
    assert_true(memory_arrived(&topic->partition[2], 0, 10));
    assert_int_equal(memory_entry(fix.memory, "t", 1), LEDGER_UNRESOLVED);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    memory_append(&topic->partition[0], 10, 100);
    flowfix_go(&fix, 2000);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    assert_int_equal(memory_entry(fix.memory, "t", 1), LEDGER_UNRESOLVED);
    topic->partition[1].leaderless = false;
    flowfix_go(&fix, 2000);
    assert_true(memory_arrived(&topic->partition[1], 0, 10));
    flowfix_free(&fix);
}

/* --- what it is told --- */

static void
the_source_is_told_where_a_successor_would_begin(void **state)
{
    struct memory_topic *topic;
    struct flowfix fix;
    int told;

    (void)state;
    flowfix_init(&fix, 2);
    topic = memory_topic(fix.memory, "t", 2, 10, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 1100);
    for (int32_t i = 0; i < 2; i++)
        assert_int_equal(fix.memory->reader[i].stored, 10);

    /* not for each record, and never what was only acknowledged */
    told = fix.memory->reader[0].stored_told;
    fix.memory->mute[STORE_COMMIT] = true;
    for (int k = 0; k < 100; k++) {
        memory_append(&topic->partition[0], 1, 100);
        flowfix_go(&fix, 20);
    }
    assert_int_equal(fix.memory->reader[0].stored, 10);
    assert_in_range(fix.memory->reader[0].stored_told, told + 1, told + 3);
    fix.memory->mute[STORE_COMMIT] = false;
    flowfix_go(&fix, 20000); /* a slow commit makes the next one wait */
    assert_int_equal(fix.memory->reader[0].stored, 110);

    /* the last entries as well */
    memory_append(&topic->partition[0], 7, 100);
    memory_append(&topic->partition[1], 3, 100);
    flowfix_go(&fix, 40);
    flowfix_stop(&fix);
    assert_int_equal(fix.memory->reader[0].stored, 117);
    assert_int_equal(fix.memory->reader[1].stored, 13);
    flowfix_start(&fix);
    flowfix_free(&fix);
}

/* Another agent's is another agent's to tell. */
static void
a_lane_that_is_gone_is_not_told_any_more(void **state)
{
    struct flowfix fix;
    int told;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 2000);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    flowfix_go(&fix, 100);
    told = fix.memory->reader[0].stored_told;
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.memory->reader[0].stored_told, told);
    flowfix_free(&fix);
}

/* By the newest list it is the old one still when its first record comes. */
static const struct first_row {
    const char *label;
    bool remade;
    int64_t want; /* that arrive */
} first_rows[] = {
    { "made anew between the list and the first record", true, 10 },
    { "the same as ever", false, 50 },
};

static void
a_successor_is_sure_of_a_topic_before_it_sends(void **state)
{
    for (size_t i = 0; i < sizeof first_rows / sizeof first_rows[0]; i++) {
        const struct first_row *row = &first_rows[i];
        struct memory_topic *topic;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, "t", 2, 10, 100);
        flowfix_start(&fix);
        flowfix_stop(&fix);
        fix.memory->source_away = true;
        flowfix_start(&fix);
        if (row->remade)
            (void)snprintf(topic->id, sizeof topic->id, "another");
        for (int32_t k = 0; k < 2; k++)
            memory_append(&topic->partition[k], 40, 100);
        fix.memory->source_away = false;
        flowfix_go(&fix, 1000);
        for (int32_t k = 0; k < 2; k++) {
            assert_true(memory_arrived(&topic->partition[k], 0, row->want));
            assert_int_equal(flowfix_part(&fix, "t", k)->state,
                row->remade ? PART_HELD : PART_RUNNING);
        }
        flowfix_free(&fix);
    }
}

static void
while_nobody_lists_it_is_not_sure(void **state)
{
    struct memory_topic *topic;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    flowfix_stop(&fix);
    memory_append(&topic->partition[0], 40, 100);
    fix.memory->source_away = true;
    flowfix_start(&fix);
    fix.memory->source_down = true; /* for those who list */
    fix.memory->source_away = false;
    flowfix_go(&fix, 10000);
    assert_int_equal(topic->partition[0].n_got, 10);
    fix.memory->source_down = false;
    flowfix_go(&fix, 3000);
    assert_true(memory_arrived(&topic->partition[0], 0, 50));
    assert_int_equal(memory_repeats(&topic->partition[0]), 0);
    flowfix_free(&fix);
}

/* Over a long link it would be felt: the target's topics are not asked for. */
static void
first_records_of_many_topics_share_a_list(void **state)
{
    struct memory_topic *topic[3];
    struct flowfix fix;
    int lists, ensures;

    (void)state;
    flowfix_init(&fix, 2);
    fix.options.refresh_ms = 600000;
    for (int i = 0; i < 3; i++)
        topic[i] = flowfix_in_lane(&fix, i % 2, 10, 100);
    flowfix_start(&fix);
    flowfix_stop(&fix);
    flowfix_start(&fix);
    flowfix_go(&fix, 5000); /* and what looks soon after a topic opens */
    lists = fix.memory->refreshes;
    ensures = fix.memory->ensures;
    for (int i = 0; i < 3; i++) {
        memory_append(&topic[i]->partition[0], 10, 100);
        flowfix_go(&fix, 100);
    }
    flowfix_go(&fix, 1000);
    for (int i = 0; i < 3; i++)
        assert_true(memory_arrived(&topic[i]->partition[0], 0, 20));
    assert_in_range(fix.memory->refreshes, lists + 1, lists + 2);
    assert_int_equal(fix.memory->ensures, ensures);
    flowfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_that_is_gone_is_held_and_named),
        cmocka_unit_test(a_gap_is_found_when_the_flow_comes_back),
        cmocka_unit_test(what_the_source_refuses_names_who_can_mend_it),
        cmocka_unit_test(a_topic_that_is_not_listed_any_more_is_said),
        cmocka_unit_test(a_topic_that_is_missing_at_the_start_is_said),
        cmocka_unit_test(without_memory_it_is_tried_again),
        cmocka_unit_test(a_partition_that_cannot_be_read_is_said),
        cmocka_unit_test(a_leader_that_is_away_holds_up_no_other_partition),
        cmocka_unit_test(the_source_is_told_where_a_successor_would_begin),
        cmocka_unit_test(a_lane_that_is_gone_is_not_told_any_more),
        cmocka_unit_test(a_successor_is_sure_of_a_topic_before_it_sends),
        cmocka_unit_test(while_nobody_lists_it_is_not_sure),
        cmocka_unit_test(first_records_of_many_topics_share_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
