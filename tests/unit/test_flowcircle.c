/* Records that another flow brings from the target go nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

static void
comes_back(struct flowfix *fix, const char *origin, const char *topic)
{
    struct catalog_return *back = &fix->memory->returns[0];

    fix->memory->n_returns = 1;
    (void)snprintf(back->ledger, sizeof back->ledger,
        "kedge.cloud.back.ledger");
    (void)snprintf(back->flow, sizeof back->flow, "back");
    (void)snprintf(back->origin, sizeof back->origin, "%s", origin);
    (void)snprintf(back->topic, sizeof back->topic, "%s", topic);
}

static const struct row {
    const char *label;
    enum rename rename;
    const char *origin, *topic; /* what comes back: to "t" or "plant.t" */
    const char *left_out;       /* NULL: nothing */
} rows[] = {
    { "the same name both ways", RENAME_IDENTITY, "t", "t", "t" },
    { "another topic comes from there", RENAME_IDENTITY, "u", "u", NULL },
    { "it comes from a topic that is not ours", RENAME_IDENTITY, "u", "t",
        NULL },
    { "it comes from another of ours", RENAME_IDENTITY, "plant.t", "t", "t" },
    { "a prefix there, none back", RENAME_PREFIX, "plant.t", "plant.t",
        "plant.t" },
    { "what is theirs came without a prefix", RENAME_PREFIX, "t", "t", NULL },
};

static void
a_topic_that_comes_back_is_left_out(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flowfix fix;
        struct memory_topic *topic[2];

        (void)state;
        print_message("  %s\n", rows[i].label);
        flowfix_init(&fix, 2);
        fix.options.route.rename = rows[i].rename;
        topic[0] = memory_topic(fix.memory, "t", 1, 10, 100);
        topic[1] = memory_topic(fix.memory, "plant.t", 1, 10, 100);
        /* names are the same on both sides: where the prefix leads */
        fix.unwanted = "plant.plant.t";
        memory_topic(fix.memory, fix.unwanted, 1, 0, 0);
        comes_back(&fix, rows[i].origin, rows[i].topic);
        flowfix_start(&fix);
        for (int j = 0; j < 2; j++) {
            bool out = rows[i].left_out != NULL &&
                       strcmp(topic[j]->name, rows[i].left_out) == 0;

            /* an entry is there before the first record is sent */
            assert_int_equal(memory_entry(fix.memory, topic[j]->name, 0),
                out ? -2 : 10);
        }
        assert_int_equal(fix.report->n_skips, rows[i].left_out != NULL);
        if (rows[i].left_out != NULL) {
            assert_string_equal(fix.report->skips[0].topic, rows[i].left_out);
            assert_non_null(strstr(fix.report->skips[0].reason, "flow 'back'"));
            assert_non_null(
                strstr(fix.report->skips[0].reason, "kedge.cloud.back.ledger"));
        }
        flowfix_free(&fix);
    }
}

/* Both began at one moment: the other's entries are there when ours are. */
static void
one_that_is_forwarded_already_is_held_soon(void **state)
{
    struct flowfix fix;
    struct memory_topic *round, *other;

    (void)state;
    flowfix_init(&fix, 2);
    fix.options.refresh_ms = 600000;
    round = memory_topic(fix.memory, "round", 1, 10, 100);
    other = memory_topic(fix.memory, "other", 1, 10, 100);
    flowfix_start(&fix);
    assert_true(memory_arrived(&round->partition[0], 0, 10));
    comes_back(&fix, "round", "round");
    flowfix_go(&fix, 3000); /* the look after the first records */
    memory_append(&round->partition[0], 10, 100);
    memory_append(&other->partition[0], 10, 100);
    flowfix_go(&fix, 3000);
    assert_int_equal(round->partition[0].n_got, 10);
    assert_true(memory_arrived(&other->partition[0], 0, 20));
    assert_int_equal(flowfix_part(&fix, "round", 0)->state, PART_HELD);
    assert_non_null(
        strstr(flowfix_part(&fix, "round", 0)->reason, "in a circle"));

    flowfix_order(&fix, FLOW_RESTART); /* changes nothing of it */
    flowfix_go(&fix, 3000);
    assert_int_equal(round->partition[0].n_got, 10);
    assert_int_equal(flowfix_part(&fix, "round", 0)->state, PART_HELD);

    fix.memory->n_returns = 0; /* somebody mended the other policy */
    flowfix_order(&fix, FLOW_RESTART);
    flowfix_go(&fix, 3000);
    assert_true(memory_arrived(&round->partition[0], 0, 20));
    assert_int_equal(memory_repeats(&round->partition[0]), 0);
    assert_int_equal(flowfix_part(&fix, "round", 0)->state, PART_RUNNING);
    assert_int_equal(fix.report->n_skips, 0);
    flowfix_free(&fix);
}

/* ... which each refresh sees by itself. */
static void
one_that_was_left_out_is_let_in(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    comes_back(&fix, "t", "t");
    flowfix_start(&fix);
    fix.memory->n_returns = 0;
    fix.memory->returns_missed = true; /* that may be why there is none */
    flowfix_go(&fix, 8000);
    assert_int_equal(topic->partition[0].n_got, 0);
    assert_int_equal(fix.report->n_skips, 1);
    fix.memory->returns_missed = false;
    flowfix_go(&fix, 8000);
    assert_true(memory_arrived(&topic->partition[0], 0, 10));
    assert_int_equal(fix.report->n_skips, 0);
    flowfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_that_comes_back_is_left_out),
        cmocka_unit_test(one_that_is_forwarded_already_is_held_soon),
        cmocka_unit_test(one_that_was_left_out_is_let_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
