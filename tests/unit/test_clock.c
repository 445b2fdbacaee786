#include "clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static void
test_text(void **state)
{
    static const struct {
        const char *label;
        int64_t wall_ms;
        const char *want;
    } cases[] = {
        { "the beginning", 0, "1970-01-01T00:00:00.000Z" },
        { "a day of this year", INT64_C(1796075772042),
            "2026-11-30T21:56:12.042Z" },
        { "a leap day", INT64_C(951782400999), "2000-02-29T00:00:00.999Z" },
        { "one ms before the beginning", -1, "1969-12-31T23:59:59.999Z" },
        { "a whole second before it", -1000, "1969-12-31T23:59:59.000Z" },
        { "the first ms of year 0", INT64_C(-62167219200000),
            "0000-01-01T00:00:00.000Z" },
        { "before year 0", INT64_C(-62167219200001), "-" },
        { "the last ms of year 9999", INT64_C(253402300799999),
            "9999-12-31T23:59:59.999Z" },
        { "after year 9999", INT64_C(253402300800000), "-" },
        { "the smallest number", INT64_MIN, "-" },
        { "the largest number", INT64_MAX, "-" },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        char text[CLOCK_TEXT_SIZE];

        print_message("%s\n", cases[i].label);
        clock_text(text, sizeof text, cases[i].wall_ms);
        assert_string_equal(text, cases[i].want);
    }
}

static void
test_system(void **state)
{
    const struct clock *clock = clock_system();
    int64_t first = clock_mono_ms(clock);
    int64_t second = clock_mono_ms(clock);
    (void)state;

    assert_true(second >= first);
    /* After 2020: seconds were not taken for milliseconds. */
    assert_true(clock_wall_ms(clock) > INT64_C(1577836800000));
}

static int64_t
turned(void *ctx)
{
    return *(const int64_t *)ctx;
}

static void
test_one_that_a_test_turns(void **state)
{
    int64_t now = 5;
    const struct clock clock = { turned, turned, &now };
    (void)state;

    assert_int_equal(clock_mono_ms(&clock), 5);
    now = 7;
    assert_int_equal(clock_wall_ms(&clock), 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_one_that_a_test_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
