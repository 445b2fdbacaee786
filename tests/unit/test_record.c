#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static void
count(void *hold)
{
    ++*(int *)hold;
}

static void
test_release(void **state)
{
    int releases = 0;
    struct record record = { .hold = &releases, .release = count };
    (void)state;

    record_release(&record);
    assert_int_equal(releases, 1);
    assert_null(record.hold);
    record_release(&record); /* as after a take: nothing left to end */
    assert_int_equal(releases, 1);
}

static void
test_bytes(void **state)
{
    static const struct {
        const char *label;
        struct record record;
        int64_t want;
    } cases[] = {
        { "null key and value", { 0 }, 0 },
        { "empty key and value", { .key = "", .value = "" }, 0 },
        { "key, value and headers",
            { .key_len = 3, .value_len = 5, .header_bytes = 11 }, 19 },
        { "more than 32 bits can count",
            { .key_len = 1, .value_len = UINT32_MAX }, INT64_C(4294967296) },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        print_message("%s\n", cases[i].label);
        assert_int_equal(record_bytes(&cases[i].record), cases[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release),
        cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
