/* Faults one after another, in an order that a seed gives: lanes come and go,
 * clients fail, answers are late or not plain, records are refused; and in the
 * end everything has arrived in order and the books are even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

static unsigned
next_number(uint64_t *seed, unsigned below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (unsigned)(*seed >> 33) % below;
}

/* One fault or its end. */
static void
disturb(struct flowfix *fix, uint64_t *seed)
{
    struct memory *memory = fix->memory;
    int32_t number = (int32_t)next_number(seed, (unsigned)memory->lanes);
    struct memory_lane *lane = &memory->lane[number];
    unsigned topic = next_number(seed, 2), partition = next_number(seed, 3);
    int released = lane->released;

    switch (next_number(seed, 12)) {
    case 0:
        lane->acks = next_number(seed, 30);
        break;
    case 1:
        lane->fail = lane->open;
        break;
    case 2:
        memory_tell(memory, GROUP_LOST, number, "");
        memory_tell(memory, GROUP_ASSIGNED, number, "");
        break;
    case 3:
        memory_tell(memory, GROUP_REVOKED, number, "");
        flowfix_go(fix, 11000);
        assert_int_equal(lane->released, released + 1);
        memory_tell(memory, GROUP_ASSIGNED, number, "");
        break;
    case 4:
        memory->script[next_number(seed, 5)].times = 1;
        memory->script[next_number(seed, 5)].result =
            (enum store_result)(1 + next_number(seed, 3));
        break;
    case 5:
        memory->proof = next_number(seed, 2) == 0 ? GROUP_UNSURE : GROUP_PROVED;
        break;
    case 6:
        memory->mute[STORE_COMMIT] = next_number(seed, 2) == 0;
        break;
    case 7:
        flowfix_order(fix,
            next_number(seed, 2) == 0 ? FLOW_PAUSE : FLOW_RESUME);
        break;
    case 8:
        flowfix_order(fix, FLOW_RESTART);
        break;
    case 9:
        memory->open_refused = next_number(seed, 2) == 0;
        break;
    case 10:
        memory->topic[topic].partition[partition].refuses =
            (int)next_number(seed, 3);
        memory->topic[topic].partition[partition].refused =
            memory->topic[topic].partition[partition].high + 3;
        break;
    default:
        fix->flow->ends_at_ms = 0;
    }
    lane->full = next_number(seed, 8) == 0;
    memory_append(&memory->topic[topic].partition[partition], 5, 50000);
}

static void
mend_everything(struct flowfix *fix)
{
    struct memory *memory = fix->memory;

    for (int32_t i = 0; i < memory->lanes; i++) {
        memory->lane[i].acks = -1;
        memory->lane[i].full = false;
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            memory->topic[i].partition[k].refuses = 0;
    for (int i = 0; i <= STORE_COMMIT; i++) {
        memory->script[i].times = 0;
        memory->mute[i] = false;
    }
    memory->proof = GROUP_PROVED;
    memory->open_refused = false;
    flowfix_order(fix, FLOW_RESUME);
    flowfix_go(fix, 130000);
    flowfix_order(fix, FLOW_RESTART);
    flowfix_go(fix, 130000);
}

static void
nothing_is_lost_whatever_happens(void **state)
{
    for (uint64_t round = 1; round <= 12; round++) {
        struct flowfix fix;
        uint64_t seed = round;

        (void)state;
        flowfix_init(&fix, 3);
        fix.options.hold_partition_only = round % 2 == 0;
        fix.options.max_in_flight_bytes = INT64_C(2) << 20;
        memory_topic(fix.memory, "t", 3, 20, 50000);
        memory_topic(fix.memory, "u", 3, 20, 50000);
        flowfix_start(&fix);
        for (int step = 0; step < 120; step++) {
            disturb(&fix, &seed);
            flowfix_go(&fix, 20 + 20 * next_number(&seed, 40));
        }
        mend_everything(&fix);
        for (int i = 0; i < 2; i++)
            for (int32_t k = 0; k < 3; k++) {
                struct memory_partition *of =
                    &fix.memory->topic[i].partition[k];

                assert_true(memory_arrived(of, 0, of->high));
                assert_int_equal(memory_entry(fix.memory,
                                     fix.memory->topic[i].name, k),
                    of->high);
            }
        assert_int_equal(fix.flow->cost, 0);
        flowfix_free(&fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_whatever_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
