#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster.h"
#include "load.h"

#include <string.h>

#define BASE INT64_C(1790000000000)

static void
test_parts_and_partitions_are_the_same_thing(void **state)
{
    int parts = 0;

    (void)state;
    for (int topic = 0; topic < LOAD_TOPICS; topic++) {
        for (int p = 0; p < load_topic_partitions(topic); p++, parts++) {
            assert_int_equal(load_part(topic, p), parts);
            assert_int_equal(load_topic(parts), topic);
            assert_int_equal(load_partition(parts), p);
        }
        assert_int_equal(load_part(topic, load_topic_partitions(topic)), -1);
        assert_int_equal(load_part(topic, -1), -1);
    }
    assert_int_equal(parts, LOAD_PARTS);
}

static void
test_a_record_is_always_the_same(void **state)
{
    const struct load_plan plan = { .records = 1000, .base_wall_ms = BASE };

    (void)state;
    for (int64_t number = 0; number < plan.records; number++) {
        struct load_room rooms[2];
        struct load_record a, b;

        load_make(&plan, number, &rooms[0], &a);
        load_make(&plan, number, &rooms[1], &b);
        assert_int_equal(a.part, number % LOAD_PARTS);
        assert_int_equal(a.timestamp_wall_ms, BASE + number);
        assert_int_equal(a.key == NULL, b.key == NULL);
        assert_int_equal(a.key_len, b.key_len);
        assert_int_equal(a.value == NULL, b.value == NULL);
        assert_int_equal(a.value_len, b.value_len);
        if (a.key_len > 0)
            assert_memory_equal(a.key, b.key, a.key_len);
        if (a.value_len > 0)
            assert_memory_equal(a.value, b.value, a.value_len);
        assert_int_equal(a.n_headers, b.n_headers);
    }
}

/* What is easily lost or confused is there, and often. */
static const struct {
    const char *label;
    int least; /* of 12000 records */
} kinds[] = {
    { "tombstones", 100 },
    { "tombstones without a key", 0 },
    { "empty values", 100 },
    { "null keys", 1000 },
    { "empty keys", 500 },
    { "no headers", 2000 },
    { "a header that repeats", 2000 },
    { "a null header and an empty one", 2000 },
};

static void
count_kinds(const struct load_record *record, int counts[8])
{
    bool repeats = record->n_headers == 3 && strcmp(record->headers[0].name,
                                                 record->headers[1].name) == 0;

    counts[0] += record->value == NULL;
    counts[1] += record->value == NULL && record->key_len == 0;
    counts[2] += record->value != NULL && record->value_len == 0;
    counts[3] += record->key == NULL;
    counts[4] += record->key != NULL && record->key_len == 0;
    counts[5] += record->n_headers == 0;
    counts[6] += repeats;
    counts[7] += record->n_headers == 3 && record->headers[0].value == NULL &&
                 record->headers[1].value != NULL &&
                 record->headers[1].len == 0;
}

static void
test_all_kinds_are_there(void **state)
{
    const struct load_plan plan = { .records = 12000, .base_wall_ms = BASE };
    int counts[sizeof kinds / sizeof kinds[0]] = { 0 };

    (void)state;
    for (int64_t number = 0; number < plan.records; number++) {
        struct load_room room;
        struct load_record record;

        load_make(&plan, number, &room, &record);
        count_kinds(&record, counts);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (counts[i] < kinds[i].least || (kinds[i].least == 0 && counts[i]))
            fail_msg("%s: %d", kinds[i].label, counts[i]);
}

/* Uncompressed, with 40 bytes of framing each and half of it sent twice, the
 * embedded clusters still keep everything. */
static void
test_everything_fits(void **state)
{
    static const int64_t sizes[] = { LOAD_RECORDS_MIN, 100000, 120000, 120001,
        LOAD_RECORDS_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct load_plan plan = { .records = sizes[i],
            .base_wall_ms = BASE };
        size_t bytes[LOAD_PARTS] = { 0 };

        for (int64_t number = 0; number < plan.records; number++) {
            struct load_room room;
            struct load_record record;

            load_make(&plan, number, &room, &record);
            bytes[record.part] += load_bytes(&record) + 40;
        }
        for (int part = 0; part < LOAD_PARTS; part++)
            assert_true(bytes[part] < CLUSTER_PARTITION_BYTES * 5 / 6);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_and_partitions_are_the_same_thing),
        cmocka_unit_test(test_a_record_is_always_the_same),
        cmocka_unit_test(test_all_kinds_are_there),
        cmocka_unit_test(test_everything_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
