#include "report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define NO REPORT_UNKNOWN

/* One partition of a lane in each state, and one of a lane that is not there. */
static void
test_owned_and_held(void **state)
{
    static const size_t want[LANE_N_STATES] = {
        [LANE_OWNED] = 1,
        [LANE_STANDING] = 1,
        [LANE_FINISHING] = 1,
    };
    struct flow_report *report = report_new(2, 2, 0);

    (void)state;
    assert_non_null(report);
    report->lanes[0].state = LANE_ELSEWHERE;
    report->parts[0].lane = 1;
    report->parts[1].lane = 2;
    report->parts[0].state = report->parts[1].state = PART_HELD;
    for (int lane = 0; lane < LANE_N_STATES; lane++) {
        report->lanes[1].state = (enum lane_state)lane;
        assert_int_equal(report_lanes_owned(report), want[lane]);
        assert_int_equal(report_parts_owned(report), want[lane]);
        assert_int_equal(report_parts_held(report), lane != LANE_ELSEWHERE);
    }
    report_free(report);
}

static void
test_lags(void **state)
{
    static const struct {
        const char *label;
        int64_t end, read, acked, ledger, in_flight;
        int64_t want_true, want_read, want_committed;
    } cases[] = {
        /* The worked example: the source's last message is 7, 6 has been
         * read, 5 is acked, the stored position is 3. */
        { "the three lags differ", 8, 7, 6, 3, 1, 2, 1, 5 },
        { "all is done", 8, 8, 8, 8, 0, 0, 0, 0 },
        { "markers behind the last record do not count", 8, 8, 7, 7, 0, 0, 0,
            1 },
        { "read, but not acked", 8, 8, 6, 6, 2, 2, 0, 2 },
        { "the end is older than what was read", 8, 12, 12, 10, 0, 0, 0, 0 },
        { "the end is older, and some is in flight", 8, 12, 7, 7, 5, 1, 0, 1 },
        { "the end is not known", NO, 7, 6, 3, 1, NO, NO, NO },
        { "nothing was ever read", 8, NO, NO, NO, 0, NO, NO, NO },
        { "no entry yet", 8, 7, 6, NO, 1, 2, 1, NO },
        { "an empty partition", 0, 0, 0, 0, 0, 0, 0, 0 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        const struct report_part part = {
            .source_end = cases[i].end,
            .read_next = cases[i].read,
            .acked_next = cases[i].acked,
            .ledger_next = cases[i].ledger,
            .in_flight_records = cases[i].in_flight,
        };

        print_message("%s\n", cases[i].label);
        assert_int_equal(report_true_lag(&part), cases[i].want_true);
        assert_int_equal(report_read_lag(&part), cases[i].want_read);
        assert_int_equal(report_committed_lag(&part), cases[i].want_committed);
    }
}

static void
test_open_is_never_less_than_none(void **state)
{
    static const struct {
        const char *label;
        int64_t end, high, want;
    } cases[] = {
        { "three behind an open transaction", 8, 11, 3 },
        { "none", 8, 8, 0 },
        { "read on since the brokers were asked", 433, 8, 0 },
        { "the end is not known", NO, 8, NO },
        { "nor the other", 8, NO, NO },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        const struct report_part part = { .source_end = cases[i].end,
            .source_high = cases[i].high };

        print_message("%s\n", cases[i].label);
        assert_int_equal(report_open(&part), cases[i].want);
    }
}

static void
test_one_block(void **state)
{
    static const struct {
        size_t lanes, parts, skips;
    } cases[] = { { 0, 0, 0 }, { 8, 0, 3 }, { 8, 100, 1 }, { 1, 1, 1 } };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct flow_report *report =
            report_new(cases[i].lanes, cases[i].parts, cases[i].skips);

        assert_non_null(report);
        assert_int_equal(report->n_lanes, cases[i].lanes);
        assert_int_equal(report->n_parts, cases[i].parts);
        assert_int_equal(report->n_skips, cases[i].skips);
        assert_int_equal(report->state, FLOW_IDLE);
        /* Each may be written whole, and none is in another's place. */
        for (size_t k = 0; k < cases[i].parts; k++)
            memset(&report->parts[k], 1, sizeof report->parts[k]);
        for (size_t k = 0; k < cases[i].lanes; k++)
            memset(&report->lanes[k], 2, sizeof report->lanes[k]);
        for (size_t k = 0; k < cases[i].skips; k++)
            memset(&report->skips[k], 3, sizeof report->skips[k]);
        for (size_t k = 0; k < cases[i].parts; k++)
            assert_int_equal(report->parts[k].bytes,
                INT64_C(0x0101010101010101));
        for (size_t k = 0; k < cases[i].lanes; k++)
            assert_int_equal(report->lanes[k].term,
                INT64_C(0x0202020202020202));
        assert_int_equal(report->n_lanes, cases[i].lanes);
        report_free(report);
    }
    report_free(NULL);
}

static void
test_too_large(void **state)
{
    static const struct {
        size_t lanes, parts, skips;
    } cases[] = {
        { SIZE_MAX / 8, 0, 0 },
        { 0, SIZE_MAX, 0 },
        { 0, 0, SIZE_MAX / 256 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++)
        assert_null(report_new(cases[i].lanes, cases[i].parts, cases[i].skips));
}

static void
test_names(void **state)
{
    static const char *const parts[] = { "waiting", "running", "paused",
        "held" };
    static const char *const lanes[] = { "elsewhere", "lost", "taking", "owned",
        "standing", "finishing", "retaking", "held" };
    static const char *const flows[] = { "idle", "connecting", "running",
        "paused", "held", "draining", "stopped" };
    (void)state;

    assert_int_equal(N(parts), PART_N_STATES);
    assert_int_equal(N(lanes), LANE_N_STATES);
    assert_int_equal(N(flows), FLOW_N_STATES);
    for (size_t i = 0; i < N(parts); i++)
        assert_string_equal(report_part_state((enum part_state)i), parts[i]);
    for (size_t i = 0; i < N(lanes); i++)
        assert_string_equal(report_lane_state((enum lane_state)i), lanes[i]);
    for (size_t i = 0; i < N(flows); i++)
        assert_string_equal(report_flow_state((enum flow_state)i), flows[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owned_and_held),
        cmocka_unit_test(test_lags),
        cmocka_unit_test(test_open_is_never_less_than_none),
        cmocka_unit_test(test_one_block),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
