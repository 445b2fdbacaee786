#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ktrust.h"

#include <stdio.h>

static void
explain(const struct kcert *cert, char *text, size_t size)
{
    (void)snprintf(text, size, "%s: error %d at depth %d", cert->broker,
        cert->error, cert->depth);
}

/* What is noted of two brokers, one after the other; then the question. */
static const struct {
    const char *label;
    kcert_explain_fn *explain;
    struct kcert notes[2];
    int64_t after_ms;
    const char *want; /* NULL: nothing is held against anybody */
} rows[] = {
    { "nothing was refused", explain, { { .broker = "b1:9093" } }, 0, NULL },
    { "one was", explain, { { .broker = "b1:9093", .error = 10 } }, 0,
        "b1:9093: error 10 at depth 0" },
    { "an issuer was", explain,
        { { .broker = "b1:9093", .error = 19, .depth = 1 } }, 0,
        "b1:9093: error 19 at depth 1" },
    { "it is kept while the broker is dialled again", explain,
        { { .broker = "b1:9093", .error = 10 } }, KTRUST_KEEP_MS - 1,
        "b1:9093: error 10 at depth 0" },
    { "and not for ever", explain, { { .broker = "b1:9093", .error = 10 } },
        KTRUST_KEEP_MS, NULL },
    { "the newest is told", explain,
        { { .broker = "b1:9093", .error = 10 },
            { .broker = "b2:9093", .error = 62 } },
        0, "b2:9093: error 62 at depth 0" },
    { "a renewed one ends it", explain,
        { { .broker = "b1:9093", .error = 10 }, { .broker = "b1:9093" } }, 0,
        NULL },
    { "its issuer alone does not", explain,
        { { .broker = "b1:9093", .error = 10 },
            { .broker = "b1:9093", .depth = 1 } },
        0, "b1:9093: error 10 at depth 0" },
    { "nor does another broker's", explain,
        { { .broker = "b1:9093", .error = 10 }, { .broker = "b2:9093" } }, 0,
        "b1:9093: error 10 at depth 0" },
    { "nobody explains", NULL, { { .broker = "b1:9093", .error = 10 } }, 0,
        "the certificate of b1:9093 was refused (X.509 error 10): look at the "
        "certificates of both sides" },
};

static void
a_refusal_explains_the_silence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = { .kind = ERR_NONE };
        struct ktrust *trust = ktrust_new(rows[i].explain, &err);
        char why[256] = "";

        print_message("  %s\n", rows[i].label);
        assert_non_null(trust);
        for (size_t k = 0; k < 2 && rows[i].notes[k].broker != NULL; k++) {
            why[0] = '\0';
            ktrust_note(trust, &rows[i].notes[k], 1000, why, sizeof why);
            assert_int_equal(why[0] != '\0', rows[i].notes[k].error != 0);
        }
        assert_int_equal(ktrust_refused(trust, 1000 + rows[i].after_ms, &err),
            rows[i].want != NULL);
        if (rows[i].want != NULL) {
            assert_int_equal(err.kind, ERR_CERT);
            assert_true(err.retry);
            assert_string_equal(err.text, rows[i].want);
        }
        ktrust_free(trust);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_explains_the_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
