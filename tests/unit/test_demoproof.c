#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proof.h"

#include <stdlib.h>
#include <string.h>

static const struct load_plan plan = {
    .records = 1200,
    .base_wall_ms = INT64_C(1790000000000),
};

/* What becomes of record 524 on its way.  It has a key, a value and three
 * headers, and stands in part 8, "orders" partition 0. */
#define VICTIM 524

enum harm {
    NOTHING,
    LOST,
    TWICE,       /* at once */
    AGAIN_LATER, /* behind its three successors */
    LATE,        /* for the first time behind its successor */
    REWOUND,     /* and the ten before it again */
    ANOTHER_KEY,
    NO_KEY,
    EMPTY_KEY,
    A_BIT,
    SHORTER,
    NULL_VALUE,
    EMPTY_VALUE,
    FEWER_HEADERS,
    OTHER_HEADER_NAME,
    NULL_HEADER_IS_EMPTY,
    HEADERS_SWAPPED,
    ANOTHER_PARTITION,
    FROM_THE_FUTURE,
    FROM_THE_PAST,
    REPEAT_ALTERED,
};

static const struct {
    const char *label;
    enum harm harm;
    struct proof_counts
        want;          /* repeats, altered, reordered, foreign, missing */
    const char *fault; /* the first line; NULL: it holds */
} cases[] = {
    { "as it was", NOTHING, { .first = 1200 }, NULL },
    { "lost", LOST, { .first = 1199, .missing = 1 },
        "1 records missing, the first: orders partition 0, record 524" },
    { "twice in a row", TWICE, { .first = 1200, .repeats = 1 }, NULL },
    { "again after later ones", AGAIN_LATER, { .first = 1200, .repeats = 1 },
        NULL },
    { "a rewind of ten", REWOUND, { .first = 1200, .repeats = 10 }, NULL },
    { "behind its successor", LATE, { .first = 1200, .reordered = 1 },
        "1 records out of order, the first: orders partition 0 offset 44, "
        "record 524 came behind a later one" },
    { "another key", ANOTHER_KEY, { .first = 1199, .altered = 1, .missing = 1 },
        "1 records altered, the first: orders partition 0 offset 43, record "
        "524: the key differs" },
    { "a key that is null", NO_KEY,
        { .first = 1199, .altered = 1, .missing = 1 }, "the key differs" },
    { "a key that is empty", EMPTY_KEY,
        { .first = 1199, .altered = 1, .missing = 1 }, "the key differs" },
    { "one bit of the value", A_BIT,
        { .first = 1199, .altered = 1, .missing = 1 }, "the value differs" },
    { "a shorter value", SHORTER, { .first = 1199, .altered = 1, .missing = 1 },
        "the value differs" },
    { "null instead of a value", NULL_VALUE,
        { .first = 1199, .altered = 1, .missing = 1 }, "the value differs" },
    { "an empty value", EMPTY_VALUE,
        { .first = 1199, .altered = 1, .missing = 1 }, "the value differs" },
    { "a header less", FEWER_HEADERS,
        { .first = 1199, .altered = 1, .missing = 1 }, "the headers differ" },
    { "a header of another name", OTHER_HEADER_NAME,
        { .first = 1199, .altered = 1, .missing = 1 }, "the headers differ" },
    { "an empty header for a null one", NULL_HEADER_IS_EMPTY,
        { .first = 1199, .altered = 1, .missing = 1 }, "the headers differ" },
    { "headers in another order", HEADERS_SWAPPED,
        { .first = 1199, .altered = 1, .missing = 1 }, "the headers differ" },
    { "in another partition", ANOTHER_PARTITION,
        { .first = 1199, .foreign = 1, .missing = 1 },
        "1 records never produced, the first: orders partition 1 offset 43, "
        "record 524" },
    { "a record that was not produced yet", FROM_THE_FUTURE,
        { .first = 1199, .foreign = 1, .missing = 1 }, "never produced" },
    { "a record from before", FROM_THE_PAST,
        { .first = 1199, .foreign = 1, .missing = 1 }, "never produced" },
    { "a repeat that is not the same", REPEAT_ALTERED,
        { .first = 1200, .altered = 1 }, "the value differs" },
};

static void
add(struct proof *proof, int64_t number)
{
    struct load_room room;
    struct load_record record;

    load_make(&plan, number, &room, &record);
    proof_add(proof, &record, number / LOAD_PARTS);
}

static void
harm_content(enum harm harm, struct load_room *room, struct load_record *record)
{
    struct load_header swapped = record->headers[0];

    if (harm == ANOTHER_KEY)
        room->key[0] ^= 1;
    if (harm == NO_KEY)
        record->key = NULL;
    if (harm == NO_KEY || harm == EMPTY_KEY)
        record->key_len = 0;
    if (harm == A_BIT || harm == REPEAT_ALTERED)
        room->value[record->value_len - 1] ^= 64;
    if (harm == SHORTER)
        record->value_len--;
    if (harm == NULL_VALUE)
        record->value = NULL;
    if (harm == NULL_VALUE || harm == EMPTY_VALUE)
        record->value_len = 0;
    if (harm == FEWER_HEADERS)
        record->n_headers--;
    if (harm == OTHER_HEADER_NAME)
        record->headers[2].name = "byte";
    if (harm == NULL_HEADER_IS_EMPTY)
        record->headers[0].value = "";
    if (harm == HEADERS_SWAPPED) {
        record->headers[0] = record->headers[1];
        record->headers[1] = swapped;
    }
    if (harm == ANOTHER_PARTITION)
        record->part++;
    if (harm == FROM_THE_FUTURE)
        record->timestamp_wall_ms = plan.base_wall_ms + plan.records;
    if (harm == FROM_THE_PAST)
        record->timestamp_wall_ms = plan.base_wall_ms - 12;
}

/* Record 524 and what is done to it. */
static void
add_victim(struct proof *proof, enum harm harm)
{
    struct load_room room;
    struct load_record record;

    if (harm == LOST || harm == LATE)
        return;
    if (harm == REPEAT_ALTERED)
        add(proof, VICTIM);
    load_make(&plan, VICTIM, &room, &record);
    harm_content(harm, &room, &record);
    proof_add(proof, &record, VICTIM / LOAD_PARTS);
    if (harm == TWICE)
        add(proof, VICTIM);
    for (int64_t back = 10; harm == REWOUND && back > 0; back--)
        add(proof, VICTIM - (back - 1) * LOAD_PARTS);
}

static void
feed(struct proof *proof, enum harm harm)
{
    struct load_room room;
    struct load_record record;

    for (int64_t number = 0; number < plan.records; number++) {
        if (number == VICTIM)
            add_victim(proof, harm);
        else
            add(proof, number);
        if (harm == LATE && number == VICTIM + LOAD_PARTS) {
            load_make(&plan, VICTIM, &room, &record);
            proof_add(proof, &record, 44);
        }
        if (harm == AGAIN_LATER && number == VICTIM + 3 * LOAD_PARTS)
            add(proof, VICTIM);
    }
}

static void
test_finds_each_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct proof_counts *want = &cases[i].want;
        struct proof_counts got;
        struct err err;
        struct proof *proof = proof_new(&plan, &err);
        const char *fault;

        assert_non_null(proof);
        feed(proof, cases[i].harm);
        proof_count(proof, &got);
        if (got.first != want->first || got.repeats != want->repeats ||
            got.altered != want->altered || got.reordered != want->reordered ||
            got.foreign != want->foreign || got.missing != want->missing)
            fail_msg("%s: first %lld repeats %lld altered %lld reordered %lld "
                     "foreign %lld missing %lld",
                cases[i].label, (long long)got.first, (long long)got.repeats,
                (long long)got.altered, (long long)got.reordered,
                (long long)got.foreign, (long long)got.missing);
        fault = proof_fault(proof, 0);
        if ((cases[i].fault == NULL) != (fault == NULL) ||
            (fault != NULL && strstr(fault, cases[i].fault) == NULL))
            fail_msg("%s: %s", cases[i].label, fault);
        assert_int_equal(proof_holds(proof), cases[i].fault == NULL);
        proof_free(proof);
    }
}

static void
test_says_each_kind_of_fault_once(void **state)
{
    struct err err;
    struct proof *proof = proof_new(&plan, &err);

    (void)state;
    assert_non_null(proof);
    assert_string_equal(proof_fault(proof, 0),
        "1200 records missing, the first: telemetry.temperature partition 0, "
        "record 0");
    assert_null(proof_fault(proof, 1));
    add_victim(proof, A_BIT);
    add_victim(proof, A_BIT);
    add_victim(proof, FROM_THE_PAST);
    assert_non_null(strstr(proof_fault(proof, 0), "2 records altered"));
    assert_non_null(strstr(proof_fault(proof, 1), "1 records never produced"));
    assert_non_null(strstr(proof_fault(proof, 2), "1200 records missing"));
    assert_null(proof_fault(proof, 3));
    proof_free(proof);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_each_harm),
        cmocka_unit_test(test_says_each_kind_of_fault_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
