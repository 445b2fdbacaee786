#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "certfix.h"
#include "identity.h"

/* What the two files are made of; cN and kN are certificate and key of:
 * 0 root, 1 mid, 2 leaf, 3 server, 4 ended, 5 early, 6 other, 8 lone. */
static const struct {
    const char *label;
    const char *key, *cert;
    const char *want; /* in the error; NULL: taken */
    size_t want_count;
} pairs[] = {
    { "leaf alone", "k2", "c2", NULL, 1 },
    { "leaf and its issuer", "k2", "c2 c1", NULL, 2 },
    { "leaf, issuer and root", "k2", "c2 c1 c0", NULL, 3 },
    { "a certificate that signed itself", "k8", "c8", NULL, 1 },
    { "a key with its certificate beside it", "k2 c2", "c2 c1", NULL, 2 },
    { "issuer in front", "k2", "c1 c2",
        "cert.pem: wrong order, our certificate stands at position 2; mend: ",
        0 },
    { "root before the issuer", "k2", "c2 c0 c1",
        "wrong order, certificate 2 did not sign certificate 1; mend: ", 0 },
    { "an issuer of somebody else", "k2", "c2 c6",
        "wrong order, certificate 2 did not sign certificate 1; mend: ", 0 },
    { "the key of another certificate", "k6", "c2 c1",
        "key.pem does not belong to ", 0 },
    { "the files are swapped", "c2", "k2",
        "key.pem: a certificate where the private key belongs; mend: ", 0 },
    { "the key in both places", "k2", "k2",
        "cert.pem:1: a private key where certificates belong; mend: swap key "
        "and cert, or give the certificate that goes with cert.pem",
        0 },
    { "key and certificate in one file", "k2", "c2 k2",
        "a private key where certificates belong; mend: ", 0 },
    { "two keys", "k2 k6", "c2", "a second private key; mend: ", 0 },
    { "an ended certificate", "k4", "c4 c1",
        "cert.pem: certificate 1 ended on 2026-09-20T", 0 },
    { "a certificate of tomorrow", "k5", "c5",
        "certificate 1 is not valid before 2026-09-22T", 0 },
    { "a certificate for servers", "k3", "c3",
        "the certificate is not for a TLS client; mend: ", 0 },
    { "an empty key file", "", "c2",
        "key.pem: an empty file; mend: write the private key into it", 0 },
    { "an empty certificate file", "k2", "",
        "cert.pem: an empty file; mend: write the certificate into it", 0 },
};

static struct identity *
load(const struct certfix *fix, const char *key, const char *cert,
    struct err *err)
{
    char key_path[64], cert_path[64];
    const struct identity_files files = { key_path, cert_path };
    struct identity *identity;

    certfix_write(fix, "key.pem", key, strlen(key), key_path);
    certfix_write(fix, "cert.pem", cert, strlen(cert), cert_path);
    identity = identity_load(&files, CERTFIX_NOW, err);
    assert_int_equal(unlink(key_path), 0);
    assert_int_equal(unlink(cert_path), 0);
    return identity;
}

static void
expect(const char *label, const struct identity *identity,
    const struct err *err, const char *want)
{
    bool ok = want == NULL ? identity != NULL
                           : identity == NULL && err->kind == ERR_CERT &&
                                 strstr(err->text, want) != NULL;

    if (!ok)
        fail_msg("%s: %s", label, identity == NULL ? err->text : "taken");
}

static void
test_pairs(void **state)
{
    struct certfix fix;

    (void)state;
    certfix_open(&fix);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct err err = { 0 };
        char *key = certfix_compose(&fix, pairs[i].key);
        char *cert = certfix_compose(&fix, pairs[i].cert);
        struct identity *identity = load(&fix, key, cert, &err);

        expect(pairs[i].label, identity, &err, pairs[i].want);
        if (identity != NULL) {
            assert_int_equal(identity_count(identity), pairs[i].want_count);
            assert_string_equal(identity_cert_pem(identity), cert);
            assert_memory_equal(key, secret_text(identity_key_pem(identity)),
                secret_len(identity_key_pem(identity)));
        }
        identity_free(identity);
        free(key);
        free(cert);
    }
    certfix_close(&fix);
}

static void
test_ends_with_the_first_certificate(void **state)
{
    struct certfix fix;
    struct err err;
    struct identity *identity;
    char *chain;

    (void)state;
    certfix_open(&fix);
    chain = certfix_compose(&fix, "c2 c1 c0");
    identity = load(&fix, certfix_key(&fix, CERTFIX_LEAF), chain, &err);
    assert_non_null(identity);
    assert_int_equal(identity_ends_wall_ms(identity),
        CERTFIX_NOW + 7 * CERTFIX_DAY);
    identity_free(identity);
    free(chain);
    certfix_close(&fix);
}

/* Keys as they must never reach a prompt, and ones that others could read. */
static const char encrypted_pkcs8[] =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";
static const char encrypted_old[] =
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
    "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nMIIB\n"
    "-----END RSA PRIVATE KEY-----\n";
static const char damaged[] = "-----BEGIN PRIVATE KEY-----\nMIIB\n"
                              "-----END PRIVATE KEY-----\n";

static const struct {
    const char *label, *key, *want;
} keys[] = {
    { "encrypted, PKCS#8", encrypted_pkcs8,
        "the private key is encrypted, and nobody is there to type a "
        "passphrase; mend: openssl pkey -in key.pem -out key.pem" },
    { "encrypted, as OpenSSL 0.9 did", encrypted_old,
        "the private key is encrypted" },
    { "damaged", damaged, "key.pem:1: a damaged private key; mend: " },
};

static void
test_keys(void **state)
{
    struct certfix fix;

    (void)state;
    certfix_open(&fix);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct err err = { 0 };
        struct identity *identity =
            load(&fix, keys[i].key, certfix_cert(&fix, CERTFIX_LEAF), &err);

        expect(keys[i].label, identity, &err, keys[i].want);
        identity_free(identity);
    }
    certfix_close(&fix);
}

static const struct {
    const char *label;
    mode_t mode;
    bool key_there, cert_there;
    enum err_kind want;
    const char *text;
} files[] = {
    { "no key file", 0600, false, true, ERR_MISSING, "key.pem" },
    { "no certificate file", 0600, true, false, ERR_MISSING, "cert.pem" },
    { "a key that others may read", 0644, true, true, ERR_CONFIG,
        "open to others (mode 0644); mend: chmod 600 /tmp/" },
};

static void
test_files(void **state)
{
    struct certfix fix;

    (void)state;
    certfix_open(&fix);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *key = certfix_key(&fix, CERTFIX_LEAF);
        const char *cert = certfix_cert(&fix, CERTFIX_LEAF);
        char key_path[64], cert_path[64];
        const struct identity_files names = { key_path, cert_path };
        struct err err = { 0 };

        certfix_write(&fix, "key.pem", key, strlen(key), key_path);
        certfix_write(&fix, "cert.pem", cert, strlen(cert), cert_path);
        assert_int_equal(chmod(key_path, files[i].mode), 0);
        if (!files[i].key_there)
            assert_int_equal(unlink(key_path), 0);
        if (!files[i].cert_there)
            assert_int_equal(unlink(cert_path), 0);
        assert_null(identity_load(&names, CERTFIX_NOW, &err));
        if (err.kind != files[i].want ||
            strstr(err.text, files[i].text) == NULL)
            fail_msg("%s: %s", files[i].label, err.text);
        (void)unlink(key_path);
        (void)unlink(cert_path);
    }
    certfix_close(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_ends_with_the_first_certificate),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
