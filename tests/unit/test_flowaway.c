/* Clusters that are away: when a flow says so, and what it does meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

static void
the_group_is_left_while_the_source_is_away(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 2);
    fix.options.refresh_ms = 3600000; /* the source's return is enough */
    topic = memory_topic(fix.memory, "t", 2, 10, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 2000); /* topics are looked at after the first records */
    fix.memory->source_away = true;
    memory_say(fix.memory, SOURCE_DOWN, -1, "no route to host");
    flowfix_go(&fix, 59000);
    assert_int_equal(fix.memory->leaves, 0);
    assert_false(fix.report->source_up);
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.memory->leaves, 1);
    assert_int_equal(fix.report->state, FLOW_CONNECTING);
    assert_int_equal(fix.report->lanes[0].state, LANE_ELSEWHERE);

    memory_append(&topic->partition[0], 10, 100);
    fix.memory->source_away = false;
    memory_say(fix.memory, SOURCE_UP, -1, "");
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.memory->joins, 2);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    assert_int_equal(memory_repeats(&topic->partition[0]), 0);
    flowfix_free(&fix);
}

static void
a_short_absence_keeps_the_lanes(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    for (int i = 0; i < 3; i++) {
        memory_say(fix.memory, SOURCE_DOWN, -1, "no route to host");
        flowfix_go(&fix, 4000);
        memory_say(fix.memory, SOURCE_UP, -1, "");
        flowfix_go(&fix, 40000);
    }
    assert_int_equal(fix.memory->leaves, 0);
    assert_int_equal(fix.memory->joins, 1);
    flowfix_free(&fix);
}

/* The report and the metrics say the same. */
static void
expect_up(const struct flowfix *fix, bool source, bool target)
{
    assert_int_equal(fix->report->source_up, source);
    assert_int_equal(fix->report->target_up, target);
    assert_int_equal(metric_get(fix->metrics, METRIC_SOURCE_UP), source);
    assert_int_equal(metric_get(fix->metrics, METRIC_TARGET_UP), target);
}

static void
a_flow_waits_for_its_clusters_and_says_so(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->ledger_waits = true;
    flowfix_start(&fix);
    assert_int_equal(fix.report->state, FLOW_CONNECTING);
    assert_string_equal(fix.report->reason, "the ledger may not be made");
    expect_up(&fix, false, false);
    fix.memory->ledger_waits = false;
    fix.memory->source_down = true;
    flowfix_go(&fix, 5000);
    assert_string_equal(fix.report->reason, "cluster plant: no broker answers");
    expect_up(&fix, false, true);
    assert_int_equal(fix.memory->joins, 0);
    fix.memory->source_down = false;
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    expect_up(&fix, true, true);
    flowfix_free(&fix);
}

/* The one that is asked first is down: nothing is known of the other. */
static void
nothing_is_up_before_it_has_answered(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->target_down = true;
    flowfix_make(&fix);
    flowfix_turn(&fix);
    expect_up(&fix, false, false);
    flowfix_go(&fix, 5000);
    assert_string_equal(fix.report->reason, "cluster cloud: no broker answers");
    expect_up(&fix, false, false);
    fix.memory->target_down = false;
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    expect_up(&fix, true, true);
    fix.memory->target_down = true;
    flowfix_go(&fix, 8000); /* seen when topics are looked at */
    expect_up(&fix, true, false);
    fix.memory->target_down = false;
    flowfix_free(&fix);
}

/* Silence of the group is the target's, unless acks come; the catalog, which
 * asked long ago, does not overrule what the group hears. */
static void
the_group_says_whether_the_target_answers(void **state)
{
    struct memory_topic *topic;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    memory_tell(fix.memory, GROUP_UP, -1, "");
    memory_tell(fix.memory, GROUP_DOWN, -1, "no answer");
    flowfix_go(&fix, 1000);
    expect_up(&fix, true, true); /* the records were acked just now */
    flowfix_go(&fix, 6000);
    fix.memory->target_down = true;
    memory_tell(fix.memory, GROUP_DOWN, -1, "no answer");
    flowfix_go(&fix, 1000);
    expect_up(&fix, true, false);
    memory_tell(fix.memory, GROUP_UP, -1, "");
    flowfix_go(&fix, 8000); /* the catalog still says that it is down */
    expect_up(&fix, true, true);
    memory_tell(fix.memory, GROUP_DOWN, -1, "no answer");
    flowfix_go(&fix, 1000);
    expect_up(&fix, true, false);
    memory_append(&topic->partition[0], 10, 100);
    flowfix_go(&fix, 1000);
    expect_up(&fix, true, true);
    fix.memory->target_down = false;
    flowfix_free(&fix);
}

/* A pause is not a reason for being unreachable, and does not hide it. */
static void
a_pause_hides_no_cluster_that_is_away(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->target_down = true;
    flowfix_start(&fix);
    flowfix_order(&fix, FLOW_PAUSE);
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.report->state, FLOW_CONNECTING);
    assert_string_equal(fix.report->reason,
        "an operator paused it, and: cluster cloud: no broker answers");
    fix.memory->target_down = false;
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.report->state, FLOW_PAUSED);
    assert_string_equal(fix.report->reason, "an operator paused it");
    flowfix_order(&fix, FLOW_RESUME);
    flowfix_go(&fix, 1000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    flowfix_free(&fix);
}

/* Why a target topic waits says whether the target can be talked to at all. */
static const struct waits_row {
    const char *label;
    enum err_kind kind;
    bool up;
} waits_rows[] = {
    { "a broker refuses to make it", ERR_KAFKA, true },
    { "it is not permitted", ERR_DENIED, true },
    { "no broker answers", ERR_NET, false },
    { "the brokers' certificate has ended", ERR_CERT, false },
    { "the password is not taken any more", ERR_LOGIN, false },
};

static void
a_target_without_trust_is_down(void **state)
{
    for (size_t i = 0; i < sizeof waits_rows / sizeof waits_rows[0]; i++) {
        struct memory_topic *topic;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", waits_rows[i].label);
        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, "t", 1, 10, 100);
        flowfix_start(&fix);
        expect_up(&fix, true, true);
        topic->waits = true;
        topic->waits_for = waits_rows[i].kind;
        flowfix_go(&fix, 8000);
        expect_up(&fix, true, waits_rows[i].up);
        assert_string_equal(fix.report->target_reason,
            waits_rows[i].up ? "" : "it may not be made");
        topic->waits = false;
        flowfix_go(&fix, 8000);
        expect_up(&fix, true, true);
        assert_string_equal(fix.report->target_reason, "");
        flowfix_free(&fix);
    }
}

/* Nothing fails and nothing arrives: the target is asked for the reason, and
 * long before the next refresh. */
static void
a_topic_that_takes_no_records_says_why(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    int asked;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.refresh_ms = 3600000;
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    flowfix_go(&fix, 60000); /* what is asked at the start is past */
    assert_string_equal(flowfix_part(&fix, "t", 0)->reason, "");
    topic->stands = true;
    fix.memory->lane[0].acks = 0;
    memory_append(&topic->partition[0], 10, 100);
    asked = fix.memory->refreshes;
    flowfix_go(&fix, 9000);
    assert_int_equal(fix.memory->refreshes, asked);
    flowfix_go(&fix, 5000);
    assert_int_equal(fix.memory->refreshes, asked + 1);
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_RUNNING);
    assert_string_equal(flowfix_part(&fix, "t", 0)->reason,
        "1 of 3 replicas in sync");
    flowfix_go(&fix, 60000);
    assert_int_equal(fix.memory->refreshes, asked + 3);
    topic->stands = false;
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 1000);
    flowfix_order(&fix, FLOW_RESTART); /* asks as well */
    flowfix_go(&fix, 2000);
    assert_string_equal(flowfix_part(&fix, "t", 0)->reason, "");
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    flowfix_free(&fix);
}

/* (P06) */
static void
a_cluster_is_not_forwarded_to_itself(void **state)
{
    struct flowfix fix;
    const char *target;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    target = fix.memory->target_cluster_id;
    fix.memory->target_cluster_id = fix.memory->source_cluster_id;
    flowfix_start(&fix);
    assert_int_equal(fix.report->state, FLOW_HELD);
    assert_int_equal(fix.memory->joins, 0);
    /* no target topic was asked for: it would lie beside its source */
    assert_int_equal(fix.memory->topic[0].known_until_ms, 0);
    flowfix_order(&fix, FLOW_RESTART);
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.report->state, FLOW_HELD);
    fix.memory->target_cluster_id = target; /* the name leads there now */
    flowfix_order(&fix, FLOW_RESTART);
    flowfix_go(&fix, 3000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    flowfix_free(&fix);
}

/* The answer of the catalog comes when the flow is told to stop already. */
static void
a_late_list_does_not_disturb_a_drain(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    flow_drain(fix.flow);
    flowfix_turn(&fix);
    fix.memory->target_cluster_id = fix.memory->source_cluster_id;
    fix.memory->refresh_asked = true;
    flowfix_go(&fix, 200);
    assert_int_equal(fix.report->state, FLOW_DRAINING);
    flowfix_free(&fix);
}

/* The group loses this agent: what was known of its partitions still is, until
 * somebody else may have them. */
static void
a_lag_is_known_while_the_group_is_lost(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 40, 1000);
    fix.memory->lane[0].acks = 30;
    flowfix_start(&fix);
    flowfix_go(&fix, 12000);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    memory_tell(fix.memory, GROUP_FAILED, -1, "the session has ended");
    flowfix_go(&fix, 2000);
    assert_int_equal(fix.report->lanes[0].state, LANE_LOST);
    assert_int_equal(fix.report->n_parts, 1);
    assert_int_equal(report_true_lag(&fix.report->parts[0]), 10);
    assert_int_equal(metric_get(fix.metrics, METRIC_PARTITIONS_OWNED), 0);
    memory_tell(fix.memory, GROUP_IN, -1, "");
    flowfix_go(&fix, 2000);
    assert_int_equal(fix.report->lanes[0].state, LANE_ELSEWHERE);
    assert_int_equal(fix.report->n_parts, 0);
    memory_tell(fix.memory, GROUP_FAILED, -1, "the session has ended");
    flowfix_go(&fix, 2000);
    assert_int_equal(fix.report->lanes[0].state, LANE_ELSEWHERE);
    flowfix_free(&fix);
}

/* --- what was lost with records on the wire --- */

static void
lost(struct flowfix *fix)
{
    memory_tell(fix->memory, GROUP_LOST, 0, "");
    memory_tell(fix->memory, GROUP_FAILED, -1, "the session has ended");
    flowfix_go(fix, 100);
}

static void
lost_when_all_was_acked(struct flowfix *fix)
{
    fix->memory->lane[0].acks = -1;
    flowfix_go(fix, 1000);
    lost(fix);
}

static void
taken_again(struct flowfix *fix)
{
    lost(fix);
    fix->memory->lane[0].acks = -1;
    memory_tell(fix->memory, GROUP_IN, -1, "");
    memory_tell(fix->memory, GROUP_ASSIGNED, 0, "");
    flowfix_go(fix, 2000);
}

static void
lost_in_the_middle_of_taking(struct flowfix *fix)
{
    lost(fix);
    fix->memory->mute[STORE_READ] = true;
    memory_tell(fix->memory, GROUP_IN, -1, "");
    memory_tell(fix->memory, GROUP_ASSIGNED, 0, "");
    flowfix_go(fix, 2000);
}

static void
elsewhere_for_a_moment(struct flowfix *fix)
{
    lost(fix);
    memory_tell(fix->memory, GROUP_IN, -1, "");
    flowfix_go(fix, 30000);
}

static void
elsewhere_for_long(struct flowfix *fix)
{
    lost(fix);
    memory_tell(fix->memory, GROUP_IN, -1, "");
    flowfix_go(fix, 61000);
}

static void
no_member_for_long(struct flowfix *fix)
{
    lost(fix);
    flowfix_go(fix, 300000);
}

static void
client_failed(struct flowfix *fix)
{
    fix->memory->source_away = true;
    fix->memory->lane[0].fail = true;
    flowfix_go(fix, 5000); /* a new one, and nothing to send */
}

static const struct owed_row {
    const char *label;
    void (*before)(struct flowfix *fix); /* with 40 records on the wire */
    bool drained;
    const char *reason; /* of being stopped begins so */
} owed_rows[] = {
    { "the group lost it", lost, false, "not everything" },
    { "nothing was on the wire", lost_when_all_was_acked, true, "drained" },
    { "it was taken again, and all was acked", taken_again, true, "drained" },
    { "it is being taken again", lost_in_the_middle_of_taking, false,
        "not everything" },
    { "another may have it", elsewhere_for_a_moment, false, "not everything" },
    { "another must have it", elsewhere_for_long, true, "drained" },
    { "nobody is in the group", no_member_for_long, false, "not everything" },
    { "its client failed, and it was not sent again", client_failed, false,
        "not everything" },
};

/* Exit status 0 hangs on it. */
static void
a_drain_is_clean_if_all_that_was_sent_is_written_down(void **state)
{
    for (size_t i = 0; i < sizeof owed_rows / sizeof owed_rows[0]; i++) {
        const struct owed_row *row = &owed_rows[i];
        struct flowfix fix;
        bool drained;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        memory_topic(fix.memory, "t", 1, 40, 1000);
        fix.memory->lane[0].acks = 0;
        flowfix_start(&fix);
        assert_int_equal(fix.memory->lane[0].n_sent, 40);
        row->before(&fix);
        flow_drain(fix.flow);
        flowfix_go(&fix, 30000);
        assert_true(flow_stopped(fix.flow, &drained));
        assert_int_equal(drained, row->drained);
        assert_int_equal(fix.report->state, FLOW_STOPPED);
        assert_memory_equal(fix.report->reason, row->reason,
            strlen(row->reason));
        fix.memory->mute[STORE_READ] = false;
        flowfix_free(&fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_group_is_left_while_the_source_is_away),
        cmocka_unit_test(a_short_absence_keeps_the_lanes),
        cmocka_unit_test(a_flow_waits_for_its_clusters_and_says_so),
        cmocka_unit_test(nothing_is_up_before_it_has_answered),
        cmocka_unit_test(the_group_says_whether_the_target_answers),
        cmocka_unit_test(a_pause_hides_no_cluster_that_is_away),
        cmocka_unit_test(a_target_without_trust_is_down),
        cmocka_unit_test(a_topic_that_takes_no_records_says_why),
        cmocka_unit_test(a_cluster_is_not_forwarded_to_itself),
        cmocka_unit_test(a_late_list_does_not_disturb_a_drain),
        cmocka_unit_test(a_lag_is_known_while_the_group_is_lost),
        cmocka_unit_test(a_drain_is_clean_if_all_that_was_sent_is_written_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
