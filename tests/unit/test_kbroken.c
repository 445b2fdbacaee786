#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kbroken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A log in letters, each at the next offset from 0: c, h and m are a claim,
 * header and mark; a and b entries of two partitions, followed by their term
 * as a digit; '-' before one is a tombstone, '!' one that is broken. */
static const struct row {
    const char *label, *log;
    int64_t left; /* offset of the first that counts; -1: none does */
} rows[] = {
    { "all is well", "cha0b0c", -1 },
    { "a broken entry counts", "ch!a0c", 2 },
    { "unless a good one of the same key follows", "ch!a0a0c", -1 },
    { "one of another key takes nobody's place", "ch!a0b0c", 2 },
    { "nor does a good one before it", "cha0!a0c", 3 },
    { "of two broken ones the other still counts", "ch!a0!b0a0c", 3 },
    { "the newest of a key is what counts", "ch!a0a0!a0c", 4 },
    { "broken twice, then good", "ch!a0!a0a0c", -1 },
    { "a later term takes its place", "ch!a0ca3c", -1 },
    { "an older term than when it was written does not", "chc!a2a0c", 3 },
    { "nor does a tombstone", "ch!a0-a0c", 2 },
    { "a good one behind the tombstone does", "ch!a0-a0a0c", -1 },
    { "without a claim seen before any term will do", "!a0a0c", -1 },
    { "and an entry from before that claim is not believed", "ch!c!a0a0c", 3 },
    { "a header", "c!hhc", -1 },
    { "a header that stays", "c!ha0c", 1 },
    { "a mark", "c!mmc", -1 },
    { "a claim, by our own", "!cc", -1 },
};

static struct ledger_record
record_of(const char **c, int64_t offset)
{
    struct ledger_record record = { .offset = offset };

    record.kind = **c == 'h'   ? LEDGER_HEADER
                  : **c == 'c' ? LEDGER_CLAIM
                  : **c == 'm' ? LEDGER_MARK
                               : LEDGER_ENTRY;
    if (record.kind != LEDGER_ENTRY)
        return record;
    (void)snprintf(record.entry.topic, sizeof record.entry.topic, "%c", **c);
    record.entry.term = *++*c - '0';
    return record;
}

static void
only_the_newest_of_a_key_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kbroken broken = { 0 };
        const struct err *left;
        int64_t at = -1, offset = 0;

        print_message("%s\n", rows[i].label);
        for (const char *c = rows[i].log; *c != '\0'; c++, offset++) {
            bool bad = *c == '!', tombstone = *c == '-';
            struct ledger_record record;
            struct err why;

            c += bad || tombstone;
            record = record_of(&c, offset);
            record.tombstone = tombstone;
            err_set(&why, ERR_KAFKA, "at %d", (int)offset);
            if (bad)
                assert_true(kbroken_note(&broken, &record, &why));
            else
                kbroken_pass(&broken, &record);
        }
        left = kbroken_left(&broken, &at);
        assert_int_equal(at, rows[i].left);
        assert_true((left == NULL) == (rows[i].left < 0));
        if (left != NULL)
            assert_int_equal(strtol(left->text + strlen("at "), NULL, 10),
                rows[i].left);
    }
}

static void
more_than_can_be_remembered_are_not(void **state)
{
    struct kbroken broken = { 0 };
    struct ledger_record record = { .kind = LEDGER_ENTRY };
    struct err why;

    (void)state;
    err_set(&why, ERR_KAFKA, "it is no JSON");
    for (int32_t i = 0; i < KBROKEN_MAX; i++) {
        record.entry.partition = i;
        assert_true(kbroken_note(&broken, &record, &why));
    }
    assert_true(kbroken_note(&broken, &record, &why)); /* the same key */
    record.entry.partition = KBROKEN_MAX;
    assert_false(kbroken_note(&broken, &record, &why));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_newest_of_a_key_counts),
        cmocka_unit_test(more_than_can_be_remembered_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
