#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "certfix.h"
#include "chain.h"

/* 0 root, 1 mid, 2 leaf, 6 other root, 7 ended root. */
static const struct {
    const char *label;
    const char *before, *spec;
    const char *want; /* in the error; NULL: taken */
    size_t want_count, want_ended;
    int want_days; /* until nothing verifies */
} cases[] = {
    { "one root", "", "c0", NULL, 1, 0, 9 },
    { "a comment above it", "# our root\n", "c0", NULL, 1, 0, 9 },
    { "root and intermediate", "", "c1 c0", NULL, 2, 0, 9 },
    { "the same root twice", "", "c0 c0", NULL, 2, 0, 9 },
    { "an ended root beside a good one", "", "c7 c6", NULL, 2, 1, 9 },
    { "a server that signed itself", "", "c8", NULL, 1, 0, 9 },
    { "an intermediate alone", "", "c1",
        "ca.pem: no root in it, none of its 1 certificates is self-signed; "
        "mend: ",
        0, 0, 0 },
    { "leaf and intermediate", "", "c2 c1", "no root in it", 0, 0, 0 },
    { "an ended root alone", "", "c7",
        "ca.pem: all roots have ended, the last on 2026-09-19T", 0, 0, 0 },
    { "a private key in it", "", "c0 k0",
        "a private key where certificates belong", 0, 0, 0 },
    { "nothing", "", "", "an empty file", 0, 0, 0 },
    { "only a comment", "# none yet\n", "", "not PEM", 0, 0, 0 },
    { "a damaged certificate",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "c0",
        "ca.pem:1: a damaged certificate; mend: ", 0, 0, 0 },
    { "blocks of no use",
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n"
        "-----END EC PARAMETERS-----\n",
        "", "ca.pem: no certificate in it", 0, 0, 0 },
};

static void
test_bundles(void **state)
{
    struct certfix fix;

    (void)state;
    certfix_open(&fix);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        char *certs = certfix_compose(&fix, cases[i].spec);
        char *text = NULL;
        struct chain *chain;

        assert_true(asprintf(&text, "%s%s", cases[i].before, certs) >= 0);
        chain = chain_parse("ca.pem", text, strlen(text), CERTFIX_NOW, &err);
        if ((chain != NULL) != (cases[i].want == NULL) ||
            (chain == NULL && strstr(err.text, cases[i].want) == NULL))
            fail_msg("%s: %s", cases[i].label, err.text);
        if (chain != NULL) {
            assert_int_equal(chain_count(chain), cases[i].want_count);
            assert_int_equal(chain_count_ended(chain), cases[i].want_ended);
            assert_int_equal(chain_ends_wall_ms(chain),
                CERTFIX_NOW + cases[i].want_days * CERTFIX_DAY);
            assert_string_equal(chain_pem(chain), certs);
        }
        chain_free(chain);
        free(text);
        free(certs);
    }
    certfix_close(&fix);
}

static void
test_limits(void **state)
{
    struct certfix fix;
    struct err err;
    const char *cert;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    certfix_open(&fix);
    cert = certfix_cert(&fix, CERTFIX_ROOT);
    assert_non_null(out);
    for (int i = 0; i <= CHAIN_CERTS_MAX; i++)
        (void)fputs(cert, out);
    assert_int_equal(fclose(out), 0);
    assert_null(chain_parse("ca.pem", text, len, CERTFIX_NOW, &err));
    assert_non_null(strstr(err.text, "more than 1024 certificates"));
    free(text);

    text = calloc(1, CHAIN_BYTES_MAX + 1);
    assert_non_null(text);
    assert_null(
        chain_parse("ca.pem", text, CHAIN_BYTES_MAX + 1, CERTFIX_NOW, &err));
    assert_non_null(strstr(err.text, "more than 1048576 bytes"));
    free(text);
    certfix_close(&fix);
}

static void
test_files(void **state)
{
    struct certfix fix;
    struct err err;
    struct chain *chain;
    char path[64];
    const char *cert;

    (void)state;
    certfix_open(&fix);
    cert = certfix_cert(&fix, CERTFIX_ROOT);
    certfix_write(&fix, "ca.pem", cert, strlen(cert), path);
    chain = chain_load(path, CERTFIX_NOW, &err);
    assert_non_null(chain);
    assert_string_equal(chain_pem(chain), cert);
    chain_free(chain);
    assert_int_equal(unlink(path), 0);
    assert_null(chain_load(path, CERTFIX_NOW, &err));
    assert_int_equal(err.kind, ERR_MISSING);
    assert_non_null(strstr(err.text, path));
    certfix_close(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
