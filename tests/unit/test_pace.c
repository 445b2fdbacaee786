#include "pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define START INT64_C(1000000)

/* Each step: so many bytes at that time (ms after the start), and the wait. */
static void
test_charge(void **state)
{
    static const struct {
        const char *label;
        int64_t rate;
        struct {
            int64_t bytes, at_ms, want;
        } steps[4];
        size_t n;
    } cases[] = {
        { "no limit never waits", 0,
            { { INT64_MAX, 0, 0 }, { INT64_MAX, 0, 0 } }, 2 },
        { "a second's worth is there at once", 1000, { { 1000, 0, 0 } }, 1 },
        { "one byte more waits for one byte", 1000, { { 1001, 0, 1 } }, 1 },
        { "asking charges nothing", 1000,
            { { 0, 0, 0 }, { 1500, 0, 500 }, { 0, 0, 500 }, { 0, 499, 1 } },
            4 },
        { "what was waited is paid back", 1000,
            { { 3000, 0, 2000 }, { 0, 500, 1500 }, { 0, 2000, 0 },
                { 1, 2000, 1 } },
            4 },
        { "a long silence earns one second, no more", 1000,
            { { 1000, 0, 0 }, { 1000, 60000, 0 }, { 1, 60000, 1 } }, 3 },
        { "a debt of many seconds is paid in a silence", 1000,
            { { 11000, 0, 10000 }, { 0, 9000, 1000 }, { 0, 20000, 0 },
                { 1000, 20000, 0 } },
            4 },
        { "one byte a second", 1,
            { { 1, 0, 0 }, { 1, 0, 1000 }, { 0, 1, 999 }, { 0, 1000, 0 } }, 4 },
        { "three bytes a second, rounded up", 3,
            { { 3, 0, 0 }, { 1, 0, 334 }, { 0, 333, 1 }, { 0, 334, 0 } }, 4 },
        { "the highest rate there is", INT64_C(1) << 40,
            { { INT64_C(1) << 40, 0, 0 }, { INT64_C(1) << 40, 0, 1000 },
                { 0, INT64_C(1) << 40, 0 } },
            3 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct pace pace = { .bytes_per_s = cases[i].rate };

        print_message("%s\n", cases[i].label);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_int_equal(pace_charge(&pace, cases[i].steps[k].bytes,
                                 START + cases[i].steps[k].at_ms),
                cases[i].steps[k].want);
    }
}

/* Over an hour, whoever waits as told sends what the rate allows, exactly. */
static void
test_nothing_is_lost_to_rounding(void **state)
{
    static const int64_t rates[] = { 7, 1000, 999983, INT64_C(1) << 30 };
    (void)state;

    for (size_t i = 0; i < N(rates); i++) {
        struct pace pace = { .bytes_per_s = rates[i] };
        int64_t piece = rates[i] / 7, sent = 0, now_ms = START;

        while (now_ms < START + 3600000) {
            sent += piece;
            now_ms += pace_charge(&pace, piece, now_ms);
        }
        /* A second's worth at the start, one piece too early, one per ms of
         * rounding that the next charge gets back. */
        assert_in_range(sent, rates[i] * 3600, rates[i] * 3602);
    }
}

static void
test_backoff(void **state)
{
    static const struct {
        const char *label;
        int64_t first_ms, last_ms, want[5];
    } cases[] = {
        { "it doubles up to the last", 1000, 5000,
            { 1000, 2000, 4000, 5000, 5000 } },
        { "it meets the last exactly", 1, 4, { 1, 2, 4, 4, 4 } },
        { "first and last are one", 300, 300, { 300, 300, 300, 300, 300 } },
        { "nothing overflows", INT64_MAX / 2, INT64_MAX,
            { INT64_MAX / 2, INT64_MAX - 1, INT64_MAX, INT64_MAX, INT64_MAX } },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct backoff backoff = { 0 };

        print_message("%s\n", cases[i].label);
        for (size_t k = 0; k < 5; k++)
            assert_int_equal(backoff_next(&backoff, cases[i].first_ms,
                                 cases[i].last_ms),
                cases[i].want[k]);
        backoff = (struct backoff){ 0 };
        assert_int_equal(backoff_next(&backoff, cases[i].first_ms,
                             cases[i].last_ms),
            cases[i].first_ms);
    }
}

static void
test_backoff_with_other_limits(void **state)
{
    struct backoff backoff = { .next_ms = 64000 };
    (void)state;

    /* The limits shrank since the last failure. */
    assert_int_equal(backoff_next(&backoff, 100, 1000), 1000);
    assert_int_equal(backoff_next(&backoff, 100, 1000), 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_charge),
        cmocka_unit_test(test_nothing_is_lost_to_rounding),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_backoff_with_other_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
