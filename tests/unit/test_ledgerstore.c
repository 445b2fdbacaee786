#include "ledgerstore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static void
test_batch(void **state)
{
    static const struct {
        const char *label;
        size_t room, n;
    } cases[] = {
        { "nothing is put in", 0, 0 },
        { "room is made when there is none", 0, 1 },
        { "it fits just so", 3, 3 },
        { "it grows once", 3, 4 },
        { "it grows again and again", 1, 1000 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct err err;
        struct ledger_batch *batch = ledger_batch_new(cases[i].room, &err);

        print_message("%s\n", cases[i].label);
        assert_non_null(batch);
        assert_int_equal(batch->n, 0);
        for (size_t k = 0; k < cases[i].n; k++) {
            struct ledger_record *record = ledger_batch_add(batch);

            assert_non_null(record);
            assert_int_equal(record->offset, 0);
            assert_int_equal(record->entry.wall_ms, 0); /* the last member */
            record->offset = (int64_t)k + 1;
            record->entry.wall_ms = 7;
        }
        assert_int_equal(batch->n, cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_int_equal(batch->records[k].offset, k + 1);
        ledger_batch_free(batch);
    }
    ledger_batch_free(NULL);
}

static void
test_too_large(void **state)
{
    struct err err = { 0 };
    (void)state;

    assert_null(ledger_batch_new(SIZE_MAX / 2, &err));
    assert_int_equal(err.kind, ERR_MEMORY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
