#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ksqueeze.h"

#include <stdio.h>
#include <string.h>

/* Records as letters: h, c, m the header, claim and mark; a digit is an entry
 * of that partition of topic "t", a capital one of partition 0 of a topic of
 * its own; after '-' the entry is a tombstone. */
static struct ledger_batch *
make(const char *letters)
{
    struct err err;
    struct ledger_batch *batch = ledger_batch_new(4, &err);
    bool tombstone = false;

    assert_non_null(batch);
    for (const char *c = letters; *c != '\0'; c++) {
        struct ledger_record *record = NULL;

        if (*c == '-') {
            tombstone = true;
            continue;
        }
        record = ledger_batch_add(batch);
        assert_non_null(record);
        record->offset = 10 * (int64_t)batch->n;
        record->tombstone = tombstone;
        tombstone = false;
        record->kind = *c == 'h'   ? LEDGER_HEADER
                       : *c == 'c' ? LEDGER_CLAIM
                       : *c == 'm' ? LEDGER_MARK
                                   : LEDGER_ENTRY;
        if (record->kind != LEDGER_ENTRY)
            continue;
        (void)snprintf(record->entry.topic, sizeof record->entry.topic, "%c",
            *c >= 'A' ? *c : 't');
        record->entry.partition = *c >= 'A' ? 0 : *c - '0';
    }
    return batch;
}

static const struct {
    const char *label, *letters;
    int64_t want[8]; /* offsets: tens, from 10; 0 ends */
} cases[] = {
    { "nothing stays nothing", "", { 0 } },
    { "different keys all stay", "hcm01AB", { 10, 20, 30, 40, 50, 60, 70 } },
    { "of one key the newest stays", "000", { 30 } },
    { "the order of the log stays", "0101", { 30, 40 } },
    { "a partition of another topic is another key", "0A0A", { 30, 40 } },
    { "a tombstone is the newest like any other", "0-0", { 20 } },
    { "and an entry after it as well", "0-00", { 30 } },
    { "a claim replaces the claim before", "c0c", { 20, 30 } },
    { "a snapshot replaces what it repeats", "h0c1mh01",
        { 30, 50, 60, 70, 80 } },
};

static void
the_newest_of_each_key_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ledger_batch *batch = make(cases[i].letters);
        size_t n = 0;

        ksqueeze_batch(batch);
        while (n < 8 && cases[i].want[n] != 0)
            n++;
        if (batch->n != n)
            fail_msg("%s: %zu kept", cases[i].label, batch->n);
        for (size_t j = 0; j < n; j++) {
            if (batch->records[j].offset != cases[i].want[j])
                fail_msg("%s: %lld", cases[i].label,
                    (long long)batch->records[j].offset);
        }
        ledger_batch_free(batch);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_of_each_key_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
