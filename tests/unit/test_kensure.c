#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kadmin.h"
#include "kensure.h"

#include <stdio.h>

#define BROKERS                                                        \
    ": whoever runs the target has to bring brokers back; until then " \
    "records wait in the source"

static const struct {
    const char *label;
    int32_t partitions, in_sync;
    bool led;
    int64_t min;
    const char *want; /* NULL: it takes records */
} rows[] = {
    { "all are there", 6, 3, true, 2, NULL },
    { "as many as have to be", 6, 2, true, 2, NULL },
    { "nobody said how many have to be", 6, 1, true, 0, NULL },
    { "there is no such topic", 0, 0, false, 2, NULL },
    { "too few", 6, 1, true, 2,
        "plant7.t [4] at cloud: 1 of 3 replicas in sync, min.insync.replicas "
        "2" BROKERS },
    { "no leader", 6, 2, false, 0,
        "plant7.t [4] at cloud has no leader" BROKERS },
    { "no leader and too few", 6, 0, false, 2,
        "plant7.t [4] at cloud has no leader" BROKERS },
};

static void
what_takes_no_records_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct kadmin_topic topic = { .name = "plant7.t",
            .partitions = rows[i].partitions,
            .worst = { .partition = 4,
                .replicas = 3,
                .in_sync = rows[i].in_sync,
                .led = rows[i].led } };
        struct err err = { .kind = ERR_NONE };

        print_message("  %s\n", rows[i].label);
        assert_int_equal(kensure_stands(&topic, rows[i].min, "cloud", &err),
            rows[i].want != NULL);
        assert_int_equal(err.kind, rows[i].want != NULL ? ERR_KAFKA : ERR_NONE);
        if (rows[i].want != NULL)
            assert_string_equal(err.text, rows[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_takes_no_records_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
