#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kflow.h"
#include "kprops.h"
#include "propsfix.h"

#include <stdlib.h>
#include <string.h>

static void
the_table_can_be_printed(void **state)
{
    char *text = NULL;
    size_t size, n, n_lines = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    (void)kprops_rows(&n);
    kprops_document(out);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; *at != '\0'; at++)
        n_lines += *at == '\n';
    assert_int_equal(n_lines, n + 2);
    assert_non_null(strstr(text, "| `acks` |  | all | all |  |  |  |"));
    assert_non_null(strstr(text, "| `sasl.password` | *policy* |"));
    free(text);
}

/* Also by the library, which wants some of them to fit each other. */
static void
limits_are_kept(void **state)
{
    static const struct {
        const char *label;
        int64_t prefetch;
        const char *kbytes, *records, *answer, *from_afar, *not_below;
    } cases[] = {
        { "less than the least", 1, "1", "1000", "131072", "1048576",
            "131072" },
        { "a quarter of MiB", INT64_C(1) << 18, "256", "1000", "131072",
            "1048576", "131072" },
        { "four MiB", INT64_C(4) << 20, "4096", "8192", "524288", "2097152",
            "524288" },
        { "sixteen MiB", INT64_C(16) << 20, "16384", "32768", "2097152",
            "8388608", "1000000" },
        { "the default", 0, "65536", "100000", "8388608", "16777216",
            "1000000" },
        { "more than the library takes", INT64_C(1) << 40, "2097151", "100000",
            "16777216", "16777216", "1000000" },
    };
    char buffer[KPROPS_VALUE_MAX];
    static const struct kcluster plain = { .alias = "plant7",
        .bootstrap = "127.0.0.1:1" };
    rd_kafka_t *rk;
    struct err err;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct kconf_options options = { .client = KCONF_SOURCE,
            .cluster = &plain,
            .agent = "host1",
            .flow = "telemetry",
            .group_id = "kedge.plant7.telemetry" };

        print_message("%s\n", cases[c].label);
        options.prefetch_bytes = cases[c].prefetch;
        assert_string_equal(propsfix_value(&options,
                                "queued.max.messages.kbytes", buffer),
            cases[c].kbytes);
        assert_string_equal(propsfix_value(&options, "queued.min.messages",
                                buffer),
            cases[c].records);
        assert_string_equal(propsfix_value(&options, "fetch.max.bytes", buffer),
            cases[c].answer);
        assert_string_equal(propsfix_value(&options, "message.max.bytes",
                                buffer),
            cases[c].not_below);
        if ((rk = kconf_open(&options, &err)) == NULL)
            fail_msg("%s", err.text);
        kconf_close(rk);
        options.far = true;
        assert_string_equal(propsfix_value(&options, "fetch.max.bytes", buffer),
            cases[c].from_afar);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_can_be_printed),
        cmocka_unit_test(limits_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
