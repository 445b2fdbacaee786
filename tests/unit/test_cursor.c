#include "cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static const uint8_t bytes[4] = { 1, 2, 3, 4 };

static void
test_take(void **state)
{
    static const struct {
        const char *label;
        size_t takes[3], n;
        bool want_bad;
        size_t want_left;
    } cases[] = {
        { "nothing of it", { 0 }, 1, false, 4 },
        { "all at once", { 4 }, 1, false, 0 },
        { "piece by piece", { 1, 3 }, 2, false, 0 },
        { "one too many", { 5 }, 1, true, 4 },
        { "a length that would wrap around", { 1, SIZE_MAX }, 2, true, 3 },
        { "the first bad read sticks", { 5, 1 }, 2, true, 4 },
        { "nothing after the end is fine", { 4, 0 }, 2, false, 0 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct cursor cursor = { .at = bytes, .left = sizeof bytes };

        print_message("%s\n", cases[i].label);
        for (size_t k = 0; k < cases[i].n; k++) {
            const uint8_t *before = cursor.at;
            const uint8_t *got = cursor_take(&cursor, cases[i].takes[k]);

            assert_ptr_equal(got, cursor.bad ? NULL : before);
        }
        assert_int_equal(cursor.bad, cases[i].want_bad);
        assert_int_equal(cursor.left, cases[i].want_left);
    }
}

static void
test_size_add(void **state)
{
    static const struct {
        size_t a, b;
        bool want;
    } cases[] = {
        { 1, 2, true },
        { SIZE_MAX, 0, true },
        { SIZE_MAX - 1, 1, true },
        { SIZE_MAX, 1, false },
        { 2, SIZE_MAX, false },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        size_t sum = 77;

        assert_int_equal(size_add(&sum, cases[i].a, cases[i].b), cases[i].want);
        assert_true(sum == (cases[i].want ? cases[i].a + cases[i].b : 77));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_size_add),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
