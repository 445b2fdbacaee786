#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "seldom.h"

#include <stdio.h>

#define EVERY_MS 30000

static const struct {
    const char *label, *what, *of;
    int64_t now_ms;
    bool may;
    int64_t held_back;
} rows[] = {
    { "the first line", "FAIL", "cloud", 1000, true, 0 },
    { "the same by another client", "FAIL", "cloud", 1000, false, 0 },
    { "another kind", "ERROR", "cloud", 1001, true, 0 },
    { "another cluster", "FAIL", "plant7", 1002, true, 0 },
    { "just before the time is over", "FAIL", "cloud", 1000 + EVERY_MS - 1,
        false, 0 },
    { "with the count of the others", "FAIL", "cloud", 1000 + EVERY_MS, true,
        2 },
    { "and the count begins anew", "FAIL", "cloud", 1000 + 2 * EVERY_MS, true,
        0 },
};

static void
a_kind_of_line_is_said_once_in_a_while(void **state)
{
    struct err err;
    struct seldom *seldom = seldom_new(EVERY_MS, &err);
    int64_t held_back;

    (void)state;
    assert_non_null(seldom);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s\n", rows[i].label);
        assert_int_equal(seldom_may(seldom, rows[i].what, rows[i].of,
                             rows[i].now_ms, &held_back),
            rows[i].may);
        assert_int_equal(held_back, rows[i].held_back);
    }
    seldom_free(seldom);
    seldom_free(NULL);
}

/* More kinds than there is room for share the last place, and none is lost. */
static void
many_kinds_are_counted(void **state)
{
    struct err err;
    struct seldom *seldom = seldom_new(EVERY_MS, &err);
    int64_t held_back, said = 0, withheld = 0;
    char what[16];

    (void)state;
    for (int i = 0; i < 2 * SELDOM_KINDS; i++) {
        (void)snprintf(what, sizeof what, "F%d", i);
        if (seldom_may(seldom, what, "cloud", 1000, &held_back))
            said++;
        else
            withheld++;
    }
    assert_int_equal(said, SELDOM_KINDS);
    assert_int_equal(withheld, SELDOM_KINDS);
    assert_true(
        seldom_may(seldom, "F999", "cloud", 1000 + EVERY_MS, &held_back));
    assert_int_equal(held_back, SELDOM_KINDS);
    seldom_free(seldom);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_of_line_is_said_once_in_a_while),
        cmocka_unit_test(many_kinds_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
