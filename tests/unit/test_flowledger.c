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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_that_is_too_wide_holds_the_flow),
        cmocka_unit_test(another_cluster_at_the_same_address_is_not_read),
        cmocka_unit_test(the_right_cluster_is_read_again_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
