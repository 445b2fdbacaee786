#include "digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

/* Of the reference implementation (xxhsum -H1). */
static void
test_xxh64(void **state)
{
    static const struct {
        const char *text;
        uint64_t want;
    } cases[] = {
        { "", UINT64_C(0xef46db3751d8e999) },
        { "a", UINT64_C(0xd24ec4f1a98c6e5b) },
        { "abc", UINT64_C(0x44bc2cf5ad770999) },
        { "Nobody inspects the spammish repetition",
            UINT64_C(0xfbcea83c8a378bf1) },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++)
        assert_true(digest_xxh64(cases[i].text, strlen(cases[i].text)) ==
                    cases[i].want);
}

static void
test_length_counts(void **state)
{
    (void)state;
    assert_true(digest_xxh64("ab", 1) == digest_xxh64("ac", 1));
    assert_true(digest_xxh64("ab", 2) != digest_xxh64("ac", 2));
    assert_true(digest_xxh64("\0", 1) != digest_xxh64("", 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xxh64),
        cmocka_unit_test(test_length_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
