/* What is counted is what came, not what it unpacks to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sourcefix.h"

#define RECORDS INT64_C(4)
#define SIZE 100000

/* The next record of partition 0. */
static void
take_one(struct sourcefix *scene)
{
    struct record record;

    assert_int_equal(sourcefix_take(scene, &record, 1), 1);
    assert_int_equal(record.value_len, SIZE);
    record_release(&record);
}

static int64_t
fetched(const struct sourcefix *scene)
{
    return metric_get(scene->metrics, METRIC_BYTES_FETCHED);
}

static void
answers_count_as_they_came(void **state)
{
    static const struct {
        const char *codec;
        int64_t least, most;
    } cases[] = {
        { "none", RECORDS * SIZE, 2 * RECORDS * SIZE },
        { "zstd", 1, SIZE },
    };
    struct sourcefix *scene = *state;
    int64_t before = 0, offset = 0;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char pairs[64];

        print_message("%s\n", cases[c].codec);
        (void)snprintf(pairs, sizeof pairs, "linger.ms=0 compression.type=%s",
            cases[c].codec);
        rd_kafka_destroy(scene->fix.filler);
        scene->fix.filler = kafkafix_client(RD_KAFKA_PRODUCER,
            scene->fix.source.bootstrap, pairs);
        kafkafix_fill_large(&scene->fix, 0, (int)RECORDS, SIZE);
        sourcefix_read(scene, 0, 0, offset);
        for (int64_t i = 0; i < RECORDS; i++)
            take_one(scene);
        offset += RECORDS;
        assert_in_range(fetched(scene) - before, cases[c].least, cases[c].most);
        before = fetched(scene);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_count_as_they_came,
            sourcefix_set_up, sourcefix_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
