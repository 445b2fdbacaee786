/* How much of max_in_flight each lane gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

#define MIB (INT64_C(1) << 20)
#define RECORD 10000
#define COST (RECORD + FLOW_RECORD_COST)

/* What a client is given while nothing comes back, and what waits behind it: a
 * sixth is the source's, and a twentieth of the rest may wait. */
static const struct {
    const char *label;
    int64_t max_in_flight, limit; /* `limit`: max.message.bytes */
    int32_t partitions, bytes;
    int64_t want_sink, want_queued;
} quotas[] = {
    { "a batch, while no rate is known", 48 * MIB, 0, 1, RECORD, 1000000,
        2 * MIB },
    { "a batch of each partition", 48 * MIB, 0, 3, RECORD, 3000000, 2 * MIB },
    { "smaller batches, less of them", 48 * MIB, 50000, 1, RECORD, 50000,
        2 * MIB },
    { "never more than half of what all share", 6 * MIB, 0, 3, RECORD,
        5 * MIB / 2 * RECORD / COST, MIB / 4 },
    { "the books of small records count there", 6 * MIB, 0, 3, 900,
        5 * MIB / 2 * 900 / (900 + FLOW_RECORD_COST), MIB / 4 },
};

static void
a_client_is_given_what_it_can_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quotas / sizeof quotas[0]; i++) {
        struct flowfix fix;
        const struct flow_lane *lane;
        struct memory_topic *topic;
        int32_t bytes = quotas[i].bytes;

        print_message("%s\n", quotas[i].label);
        flowfix_init(&fix, 1);
        fix.options.max_in_flight_bytes = quotas[i].max_in_flight;
        topic = memory_topic(fix.memory, "t", quotas[i].partitions, 0, bytes);
        topic->max_message_bytes = quotas[i].limit;
        fix.memory->lane[0].acks = 0;
        flowfix_start(&fix);
        flowfix_go(&fix, 1000);
        for (int32_t p = 0; p < quotas[i].partitions; p++)
            memory_append(&topic->partition[p], 1000, bytes);
        flowfix_go(&fix, 3000);
        lane = &fix.flow->lane[0];
        assert_in_range(lane->sink_bytes, quotas[i].want_sink,
            quotas[i].want_sink + bytes);
        assert_in_range(lane->queued_cost, quotas[i].want_queued,
            quotas[i].want_queued +
                (int64_t)FLOW_NEXT_MAX * (bytes + FLOW_RECORD_COST));
        assert_int_equal(fix.flow->queued_cost, lane->queued_cost);
        flowfix_free(&fix);
    }
}

/* Each turn of a second some acks: the quota grows with the rate, to a few
 * batches. */
static void
the_quota_follows_the_rate(void **state)
{
    static const struct {
        int acks; /* in each turn */
        int64_t least, most;
    } rows[] = {
        { 1, 1000000, 1000000 }, /* 10 kB/s: ten seconds are less than that */
        { 20, 1500000, 2999999 },
        { 60, 3000000, 3000000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flowfix fix;

        print_message("%d acks\n", rows[i].acks);
        flowfix_init(&fix, 1);
        (void)memory_topic(fix.memory, "t", 1, 1000, RECORD);
        fix.memory->lane[0].acks = 0;
        flowfix_start(&fix);
        for (int s = 0; s < 12; s++) {
            fix.memory->lane[0].acks = rows[i].acks;
            flowfix_turn(&fix);
            fix.memory->lane[0].acks = 0;
            flowfix_go(&fix, 1000);
        }
        assert_in_range(fix.flow->lane[0].quota, rows[i].least, rows[i].most);
        flowfix_free(&fix);
    }
}

static void
go_slowly(struct flowfix *fix, int seconds)
{
    for (int s = 0; s < seconds; s++) {
        fix->memory->lane[0].acks = 1;
        flowfix_turn(fix);
        fix->memory->lane[0].acks = 0;
        flowfix_go(fix, 1000);
    }
}

/* It gets acks, so it does not stand; but all would go at its pace. */
static void
a_slow_lane_lets_the_others_go_first(void **state)
{
    struct flowfix fix;
    struct memory_topic *slow, *fast;
    int64_t given;

    (void)state;
    flowfix_init(&fix, 2);
    slow = flowfix_in_lane(&fix, 0, 20, RECORD);
    fast = flowfix_in_lane(&fix, 1, 20, RECORD);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    memory_append(&slow->partition[0], 980, RECORD);
    go_slowly(&fix, 20);
    assert_false(fix.flow->lane[0].stuck); /* nobody waits for room */
    assert_true(fix.flow->lane[0].n > 0);
    memory_append(&fast->partition[0], 900, RECORD);
    go_slowly(&fix, 20);
    assert_true(fix.flow->lane[0].stuck);
    assert_int_equal(fix.flow->lane[0].n, 0);
    assert_true(memory_arrived(&fast->partition[0], 0, 920));

    given = fix.memory->given; /* once it may be read, nothing of it waits */
    fix.memory->lane[0].acks = 80;
    flowfix_go(&fix, 1000);
    assert_in_range(fix.memory->given, given + 1, given + FLOW_NEXT_MAX);
    assert_int_equal(fix.flow->lane[0].n, 0);
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 20000);
    assert_false(fix.flow->lane[0].stuck);
    assert_true(memory_arrived(&slow->partition[0], 0, 1000));
    assert_int_equal(memory_repeats(&slow->partition[0]), 0);
    flowfix_free(&fix);
}

/* One hot partition is no reason to drop what waits. */
static void
a_fast_lane_with_a_full_queue_goes_on(void **state)
{
    struct flowfix fix;
    struct memory_topic *hot;

    (void)state;
    flowfix_init(&fix, 2);
    fix.options.max_in_flight_bytes = 64 * MIB;
    hot = flowfix_in_lane(&fix, 0, 1000, RECORD);
    (void)flowfix_in_lane(&fix, 1, 20, RECORD);
    fix.memory->lane[0].acks = 0;
    flowfix_start(&fix);
    for (int s = 0; s < 12; s++) {
        fix.memory->lane[0].acks = 80;
        flowfix_turn(&fix);
        fix.memory->lane[0].acks = 0;
        flowfix_go(&fix, 1000);
        assert_false(fix.flow->lane[0].stuck);
    }
    fix.memory->lane[0].acks = -1;
    flowfix_go(&fix, 10000);
    assert_true(memory_arrived(&hot->partition[0], 0, 1000));
    assert_int_equal(fix.memory->given, 1020); /* nothing was read twice */
    flowfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_given_what_it_can_use),
        cmocka_unit_test(the_quota_follows_the_rate),
        cmocka_unit_test(a_slow_lane_lets_the_others_go_first),
        cmocka_unit_test(a_fast_lane_with_a_full_queue_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
