#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "certfix.h"
#include "distrust.h"

/* OpenSSL's numbers, which are for ever (x509_vfy.h). */
enum {
    NOT_YET = 9,
    EXPIRED = 10,
    SELF_SIGNED = 18,
    ROOT_UNKNOWN = 19,
    ISSUER_UNKNOWN = 20,
    PURPOSE = 26,
    NAME = 62,
    ADDRESS = 64,
};

#define THE "the certificate of b1:9093 "

static const struct {
    const char *label;
    enum certfix_who who;
    int error, depth;
    const char *want;
} rows[] = {
    { "it has expired", CERTFIX_ENDED, EXPIRED, 0,
        THE "expired on 2026-09-20T14:13:20Z (notAfter): whoever runs cloud "
            "has to renew it" },
    { "its issuer has", CERTFIX_OLD_ROOT, EXPIRED, 1,
        "the CA 'kedge test 7' behind " THE
        "expired on 2026-09-19T14:13:20Z (notAfter): whoever runs cloud has "
        "to renew it" },
    { "it is not valid yet", CERTFIX_EARLY, NOT_YET, 0,
        THE "is not valid before 2026-09-22T14:13:20Z (notBefore): set this "
            "machine's clock if it is wrong, else whoever runs cloud has to "
            "replace it" },
    { "it is for other names", CERTFIX_SERVER, NAME, 0,
        THE "is not for that name, but for localhost, 127.0.0.1: whoever runs "
            "cloud has to have it issued for the name that is dialled" },
    { "it is for other addresses", CERTFIX_SERVER, ADDRESS, 0,
        THE "is not for that name, but for localhost, 127.0.0.1: whoever runs "
            "cloud has to have it issued for the name that is dialled" },
    { "it has no name (P34)", CERTFIX_LEAF, NAME, 0,
        THE "has no subject alternative name: whoever runs cloud has to have "
            "it issued for the name that is dialled" },
    { "its CA is not known", CERTFIX_SERVER, ISSUER_UNKNOWN, 0,
        THE "leads to 'kedge test 1', a CA that is not trusted: add it to "
            "'tls.ca' of cloud in the policy if it is the right one, else "
            "whoever runs cloud has to send the whole chain" },
    { "the root that it sends is not known", CERTFIX_OTHER, ROOT_UNKNOWN, 1,
        THE "leads to 'kedge test 6', a CA that is not trusted: " },
    { "it signed itself", CERTFIX_LONE, SELF_SIGNED, 0,
        THE "leads to 'kedge test 8', a CA that is not trusted: " },
    { "it is a client's", CERTFIX_LEAF, PURPOSE, 0,
        THE "was refused: unsuitable certificate purpose: whoever runs cloud "
            "has to replace it" },
};

static void
what_is_wrong_is_said(void **state)
{
    struct certfix fix;
    unsigned char der[2048];
    char text[256];

    (void)state;
    certfix_open(&fix);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct distrust_seen seen = { .cluster = "cloud",
            .server = "b1:9093",
            .error = rows[i].error,
            .depth = rows[i].depth,
            .der = der,
            .len =
                certfix_der(certfix_cert(&fix, rows[i].who), der, sizeof der) };

        print_message("  %s\n", rows[i].label);
        distrust_explain(&seen, text, sizeof text);
        if (strncmp(text, rows[i].want, strlen(rows[i].want)) != 0)
            fail_msg("%s", text);
    }
    certfix_close(&fix);
}

/* Names come from somebody else: many of them, and any bytes. */
static void
names_do_not_crowd_out_the_advice(void **state)
{
    char names[1200] = "DNS:a\001b.test";
    struct selfsigned *made;
    unsigned char der[2048];
    char text[256];
    struct err err;
    struct distrust_seen seen = { .cluster = "cloud",
        .server = "b1:9093",
        .error = NAME,
        .der = der };
    const struct selfsigned_options options = {
        .kind = SELFSIGNED_SERVER,
        .common_name = "many",
        .names = names,
        .from_wall_ms = CERTFIX_NOW,
        .until_wall_ms = CERTFIX_NOW + CERTFIX_DAY,
    };

    (void)state;
    for (int i = 0; i < 30; i++)
        (void)snprintf(names + strlen(names), 32, ",DNS:broker-%d.test", i);
    made = selfsigned_new(&options, &err);
    if (made == NULL)
        fail_msg("%s", err.text);
    seen.len = certfix_der(selfsigned_cert_pem(made), der, sizeof der);
    distrust_explain(&seen, text, sizeof text);
    assert_non_null(strstr(text, "but for a?b.test, broker-0.test, "));
    assert_non_null(strstr(text,
        ", ...: whoever runs cloud has to have it issued for the name that is "
        "dialled"));
    selfsigned_free(made);
}

static void
what_is_no_certificate_has_no_details(void **state)
{
    static const unsigned char bytes[] = { 0x30, 0x82, 0xff };
    const struct distrust_seen seen = { .cluster = "cloud",
        .server = "b1:9093",
        .error = EXPIRED,
        .der = bytes,
        .len = sizeof bytes };
    char text[256];

    (void)state;
    distrust_explain(&seen, text, sizeof text);
    assert_string_equal(text,
        THE "was refused: certificate has expired: whoever runs cloud has to "
            "replace it");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(names_do_not_crowd_out_the_advice),
        cmocka_unit_test(what_is_no_certificate_has_no_details),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
