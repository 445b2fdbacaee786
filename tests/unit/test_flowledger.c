/* What a flow makes of the ledger that the catalog found, and of the clusters
 * it belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

/* Any number that a broker says is taken, or refused with a reason. */
static void
a_ledger_that_is_too_wide_holds_the_flow(void **state)
{
    static const int32_t widths[] = { LEDGER_LANES_MAX + 1, 200000, INT32_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct flowfix fix;
        struct memory_topic *topic;
        char text[64];

        flowfix_init(&fix, 2);
        topic = memory_topic(fix.memory, "t", 1, 10, 100);
        fix.memory->ledger_lanes = widths[i];
        flowfix_start(&fix);
        assert_int_equal(fix.report->state, FLOW_HELD);
        (void)snprintf(text, sizeof text,
            "kedge.plant.orders.ledger has %d partitions, 10000 is the most",
            widths[i]);
        assert_non_null(strstr(fix.report->reason, text));
        assert_non_null(
            strstr(fix.report->reason, "kedge flow restart orders"));
        flowfix_go(&fix, 60000);
        assert_false(fix.memory->joined);
        fix.memory->ledger_lanes = 0; /* it was made anew */
        flowfix_go(&fix, 10000);
        assert_int_equal(fix.report->state, FLOW_HELD);
        flowfix_order(&fix, FLOW_RESTART);
        flowfix_go(&fix, 3000);
        assert_true(memory_arrived(&topic->partition[0], 0, 10));
        flowfix_free(&fix);
    }
}

/* A source that another cluster took the place of, with the same topics. */
static void
another_cluster_at_the_same_address_is_not_read(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    int64_t given;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    fix.memory->source_cluster_id = "another plant";
    flowfix_go(&fix, 8000); /* seen when topics are looked at */
    assert_int_equal(fix.report->state, FLOW_HELD);
    assert_non_null(strstr(fix.report->reason,
        "another source cluster: 'plant', and ours is 'another plant'"));
    assert_int_equal(fix.memory->leaves, 1);
    given = fix.memory->given;
    memory_append(&topic->partition[0], 10, 100);
    (void)memory_topic(fix.memory, "new", 1, 10, 100);
    flowfix_go(&fix, 120000);
    assert_int_equal(fix.memory->given, given);
    assert_int_equal(fix.memory->joins, 1);
    /* nor is anything made for it at the target */
    assert_int_equal(fix.memory->topic[1].known_until_ms, 0);
    fix.memory->source_cluster_id = "plant";
    flowfix_go(&fix, 10000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    assert_true(memory_arrived(&topic->partition[0], 0, 20));
    assert_int_equal(memory_repeats(&topic->partition[0]), 0);
    flowfix_free(&fix);
}

/* The right one is back within seconds, long before topics would be looked at
 * again: its topics are the same as ever. */
static void
the_right_cluster_is_read_again_at_once(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;
    char id[LEDGER_ID_MAX];

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    memcpy(id, topic->id, sizeof id);
    fix.memory->source_cluster_id = "another plant";
    (void)snprintf(topic->id, sizeof topic->id, "another topic");
    flowfix_go(&fix, 20000);
    assert_int_equal(fix.report->state, FLOW_HELD);
    fix.memory->source_cluster_id = "plant";
    memcpy(topic->id, id, sizeof id);
    memory_append(&topic->partition[0], 5, 100);
    flowfix_go(&fix, 120000);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    assert_string_equal(flowfix_part(&fix, "t", 0)->reason, "");
    assert_true(memory_arrived(&topic->partition[0], 0, 15));
    flowfix_free(&fix);
}

/* Somebody deletes it, or deletes it and makes it anew. */
static void
lose(struct memory *memory, bool anew)
{
    memory->ledger_gone = !anew;
    if (anew)
        memory->ledger_id = "another ledger";
    for (int32_t i = 0; i < memory->lanes; i++)
        memory->lane[i].n_log = 0;
}

static void
restart_holds_lane_0(struct flowfix *fix)
{
    flowfix_order(fix, FLOW_RESTART);
    flowfix_go(fix, 20000);
    assert_int_equal(fix->report->state, FLOW_RUNNING);
    assert_int_equal(lanes_state(fix->flow->lanes, 0), LANE_HELD);
    assert_non_null(strstr(lanes_reason(fix->flow->lanes, 0),
        "and the ledger knows nothing of them"));
    assert_int_equal(report_parts_held(fix->report), 1);
    assert_int_equal(metric_get(fix->metrics, METRIC_PARTITIONS_HELD), 1);
    assert_int_equal(metric_get(fix->metrics, METRIC_LANES_OWNED),
        fix->report->n_lanes - 1);
}

/* Its positions are gone: nothing is sent, and nothing made, before somebody
 * has read so; then what has copies at the target is held, the rest begins. */
static void
without_its_ledger_nothing_is_sent(void **state)
{
    static const struct {
        const char *label;
        bool anew, source_away, proof;
        const char *said, *then;
    } rows[] = {
        { "deleted", false, false, false, "was deleted at cloud: how far",
            "restart orders' makes it anew" },
        { "made anew by somebody", true, false, false,
            "was deleted at cloud and made anew: how far",
            "restart orders' takes the new one" },
        { "deleted, while the source is away", false, true, false,
            "was deleted at cloud: how far", "restart orders' makes it anew" },
        { "a lane cannot be proved, long before a refresh", false, false, true,
            "was deleted at cloud: how far", "restart orders' makes it anew" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flowfix fix;
        struct memory_topic *old, *new;
        size_t got;

        print_message("%s\n", rows[i].label);
        flowfix_init(&fix, 2);
        if (rows[i].proof)
            fix.options.refresh_ms = 3600000;
        old = flowfix_in_lane(&fix, 0, 10, 100);
        flowfix_start(&fix);
        assert_true(memory_arrived(&old->partition[0], 0, 10));
        flowfix_go(&fix, 60000); /* what is asked at the start is past */
        lose(fix.memory, rows[i].anew);
        if (rows[i].proof) {
            fix.memory->script[STORE_COMMIT].result = STORE_UNKNOWN;
            fix.memory->script[STORE_COMMIT].times = 1;
            fix.memory->proof = GROUP_UNSURE;
            memory_append(&old->partition[0], 1, 100);
        }
        fix.memory->source_away = rows[i].source_away;
        flowfix_go(&fix, 8000); /* a refresh, and the answer once more */
        assert_int_equal(fix.report->state, FLOW_HELD);
        assert_non_null(strstr(fix.report->reason, rows[i].said));
        assert_non_null(strstr(fix.report->reason, rows[i].then));
        assert_int_equal(fix.memory->leaves, 1);
        fix.memory->source_away = false;
        fix.memory->proof = GROUP_PROVED;
        got = old->partition[0].n_got;
        memory_append(&old->partition[0], 5, 100);
        new = flowfix_in_lane(&fix, 1, 7, 100);
        flowfix_go(&fix, 200000);
        assert_int_equal(fix.report->state, FLOW_HELD);
        assert_int_equal(fix.memory->joins, 1);
        assert_int_equal(fix.memory->ledger_wanted, 0);
        assert_int_equal(old->partition[0].n_got, got);
        assert_int_equal(new->partition[0].n_got, 0);
        restart_holds_lane_0(&fix);
        assert_int_equal(old->partition[0].n_got, got);
        assert_true(memory_arrived(&new->partition[0], 0, 7));
        flowfix_free(&fix);
    }
}

/* A broker that has just started may not know it yet; and the one that was
 * held for may be the right one after all. */
static void
a_ledger_that_is_there_again_goes_on(void **state)
{
    static const struct {
        const char *label;
        int64_t missed_ms;
        int joins;
    } rows[] = {
        { "missed once", 1000, 1 },
        { "missed for a minute", 60000, 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flowfix fix;
        struct memory_topic *topic;

        print_message("%s\n", rows[i].label);
        flowfix_init(&fix, 2);
        topic = memory_topic(fix.memory, "t", 1, 10, 100);
        flowfix_start(&fix);
        while (fix.memory->ledger_asked || fix.flow->ledger_missed == 0) {
            fix.memory->ledger_gone = true;
            flowfix_go(&fix, 20);
        }
        flowfix_go(&fix, rows[i].missed_ms);
        fix.memory->ledger_gone = false;
        memory_append(&topic->partition[0], 5, 100);
        flowfix_go(&fix, 20000);
        assert_int_equal(fix.report->state, FLOW_RUNNING);
        assert_int_equal(fix.memory->joins, rows[i].joins);
        assert_true(memory_arrived(&topic->partition[0], 0, 15));
        assert_int_equal(memory_repeats(&topic->partition[0]), 0);
        flowfix_free(&fix);
    }
}

/* What keeps it from being made again is said, and tried until it passes. */
static void
a_restart_says_what_keeps_it_from_a_new_ledger(void **state)
{
    static const struct {
        const char *label, *said;
        bool waits;
        int32_t lanes;
    } rows[] = {
        { "not allowed to make it", "the ledger may not be made", true, 0 },
        { "made with another number of lanes",
            "made anew with 5 partitions, and had 2", false, 5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flowfix fix;
        struct memory_topic *topic;

        print_message("%s\n", rows[i].label);
        flowfix_init(&fix, 2);
        topic = memory_topic(fix.memory, "t", 1, 0, 100);
        flowfix_start(&fix);
        lose(fix.memory, false);
        flowfix_go(&fix, 10000);
        fix.memory->ledger_waits = rows[i].waits;
        fix.memory->ledger_lanes = rows[i].lanes;
        flowfix_order(&fix, FLOW_RESTART);
        flowfix_go(&fix, 10000);
        assert_int_equal(fix.report->state, FLOW_HELD);
        assert_non_null(strstr(fix.report->reason, rows[i].said));
        fix.memory->ledger_waits = false;
        fix.memory->ledger_lanes = 0;
        memory_append(&topic->partition[0], 5, 100);
        if (!rows[i].waits)
            flowfix_order(&fix, FLOW_RESTART);
        flowfix_go(&fix, 20000);
        assert_int_equal(fix.report->state, FLOW_RUNNING);
        assert_true(memory_arrived(&topic->partition[0], 0, 5));
        flowfix_free(&fix);
    }
}

/* Its client waits for a broker that it does not look for. */
static void
a_member_that_stays_out_is_made_anew(void **state)
{
    static const struct {
        const char *label;
        bool target_down, back;
        enum err_kind kind; /* why it is out */
        int joins;
    } rows[] = {
        { "the target answers", false, false, ERR_NET, 2 },
        { "the target does not", true, false, ERR_NET, 1 },
        { "it comes back by itself", false, true, ERR_NET, 1 },
        { "a person has to let it in", false, false, ERR_KAFKA, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flowfix fix;
        struct memory_topic *topic;

        print_message("%s\n", rows[i].label);
        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, "t", 1, 10, 100);
        flowfix_start(&fix);
        fix.memory->target_down = rows[i].target_down;
        memory_tell(fix.memory, GROUP_LOST, 0, "");
        memory_tell(fix.memory, GROUP_FAILED, -1, "not heard for long");
        fix.memory->told[fix.memory->n_told - 1].err.kind = rows[i].kind;
        flowfix_go(&fix, 60000);
        assert_int_equal(fix.memory->joins, 1);
        if (rows[i].back) {
            memory_tell(fix.memory, GROUP_IN, -1, "");
            memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
        }
        flowfix_go(&fix, 120000);
        assert_int_equal(fix.memory->joins, rows[i].joins);
        memory_append(&topic->partition[0], 5, 100);
        flowfix_go(&fix, 10000);
        if (rows[i].joins == 2 || rows[i].back)
            assert_true(memory_arrived(&topic->partition[0], 0, 15));
        flowfix_free(&fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_that_is_too_wide_holds_the_flow),
        cmocka_unit_test(another_cluster_at_the_same_address_is_not_read),
        cmocka_unit_test(the_right_cluster_is_read_again_at_once),
        cmocka_unit_test(without_its_ledger_nothing_is_sent),
        cmocka_unit_test(a_ledger_that_is_there_again_goes_on),
        cmocka_unit_test(a_restart_says_what_keeps_it_from_a_new_ledger),
        cmocka_unit_test(a_member_that_stays_out_is_made_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
