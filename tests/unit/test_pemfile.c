#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "certfix.h"
#include "pemfile.h"

#define CERT "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
#define KEY "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"
#define BLOCK(label) \
    "-----BEGIN " label "-----\nMIIB\n-----END " label "-----\n"

/* The smallest stores that are PKCS#12; the second holds RC2-40. */
static const char p12[] =
    "\x30\x16\x02\x01\x03\x30\x11\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
    "\xa0\x04\x04\x02\x30\x00";
static const char p12_rc2[] =
    "\x30\x53\x02\x01\x03\x30\x4e\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
    "\xa0\x41\x04\x3f\x30\x3d\x30\x3b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07"
    "\x06\xa0\x2e\x30\x2c\x02\x01\x00\x30\x27\x06\x09\x2a\x86\x48\x86\xf7\x0d"
    "\x01\x07\x01\x30\x17\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x06\x30"
    "\x09\x04\x04\x73\x61\x6c\x74\x02\x01\x01\x80\x01\x78";

#define TEXT(literal) literal, sizeof(literal) - 1

static const struct {
    const char *label;
    const char *bytes;
    size_t len;
    enum pemfile_slot slot;
    int want_blocks;  /* -1: refused */
    const char *want; /* in the error */
} cases[] = {
    { "one certificate", TEXT(CERT "\n"), PEMFILE_CERT, 1, NULL },
    { "no line break at the end", TEXT(CERT), PEMFILE_CERT, 1, NULL },
    { "line ends of Windows",
        TEXT("-----BEGIN CERTIFICATE-----\r\nMIIB\r\n"
             "-----END CERTIFICATE-----\r\n"),
        PEMFILE_CERT, 1, NULL },
    { "three certificates", TEXT(CERT "\n" CERT "\n\n" CERT "\n"), PEMFILE_CERT,
        3, NULL },
    { "comments in a bundle of CAs",
        TEXT("# one\n" CERT "\n# two\n" CERT "\n# end\n"), PEMFILE_CA, 2,
        NULL },
    { "parameters before an EC key",
        TEXT(BLOCK("EC PARAMETERS") BLOCK("EC PRIVATE KEY")), PEMFILE_KEY, 1,
        NULL },
    { "a key among certificates", TEXT(CERT "\n" KEY "\n" CERT "\n"),
        PEMFILE_KEY, 1, NULL },
    { "nothing", TEXT(""), PEMFILE_CERT, -1, "client.pem: an empty file" },
    { "blanks", TEXT(" \r\n\t\n"), PEMFILE_KEY, -1,
        "an empty file; mend: write the private key" },
    { "a Java keystore", TEXT("\xfe\xed\xfe\xed\0\0\0\2"), PEMFILE_CERT, -1,
        "a Java keystore (JKS), not PEM; mend: keytool -importkeystore "
        "-srckeystore client.pem -destkeystore" },
    { "a Java keystore of the other kind", TEXT("\xce\xce\xce\xce\0\0\0\2"),
        PEMFILE_KEY, -1, "a Java keystore (JKS)" },
    { "PKCS#12 for the certificate", TEXT(p12), PEMFILE_CERT, -1,
        "a PKCS#12 store, not PEM; mend: openssl pkcs12 -in client.pem -nokeys "
        "-out cert.pem" },
    { "PKCS#12 for the key", TEXT(p12), PEMFILE_KEY, -1,
        "openssl pkcs12 -in client.pem -nocerts -nodes -out key.pem" },
    { "PKCS#12 with RC2-40", TEXT(p12_rc2), PEMFILE_CA, -1,
        "PKCS#12 encrypted with RC2-40, which is no longer read; mend: openssl "
        "pkcs12 -legacy -in client.pem" },
    { "text of PowerShell", TEXT("\xff\xfe-\0-\0"), PEMFILE_CERT, -1,
        "text in UTF-16" },
    { "not PEM", TEXT("hello\n"), PEMFILE_CERT, -1,
        "not PEM, there is no BEGIN line" },
    { "starts as ASN.1 and is nothing", TEXT("0\x82zzz"), PEMFILE_CERT, -1,
        "not PEM" },
    { "NUL bytes", TEXT("\0\0\0"), PEMFILE_CERT, -1, "not PEM" },
    { "attributes before the certificate", TEXT("Bag Attributes\n" CERT "\n"),
        PEMFILE_CERT, -1,
        "text before the first BEGIN; mend: sed -n "
        "'/-----BEGIN/,/-----END/p' client.pem > clean.pem" },
    { "two blocks joined", TEXT(CERT CERT "\n"), PEMFILE_CERT, -1,
        "client.pem:3: two blocks joined without a line break; mend: sed -i" },
    { "two blocks joined in a bundle", TEXT("#\n" CERT CERT "\n"), PEMFILE_CA,
        -1, "client.pem:4: two blocks joined" },
    { "BEGIN without its dashes", TEXT("-----BEGIN CERT\nMIIB\n"), PEMFILE_CERT,
        -1, "client.pem:1: a BEGIN line without its end" },
    { "dashes a line later", TEXT("-----BEGIN CERT\nMIIB\n-----\n"),
        PEMFILE_CERT, -1, "a BEGIN line without its end" },
    { "cut off", TEXT(CERT "\n-----BEGIN CERTIFICATE-----\nMIIB"), PEMFILE_CERT,
        -1, "client.pem:4: the block has no END line" },
    { "the END of another block",
        TEXT("-----BEGIN CERTIFICATE-----\nMIIB\n-----END PRIVATE KEY-----\n"),
        PEMFILE_CERT, -1, "the block has no END line" },
    { "a key for a certificate", TEXT(KEY "\n"), PEMFILE_CA, -1,
        "client.pem:1: a private key where certificates belong; mend: give the "
        "certificate of who signs the brokers' certificates, not client.pem" },
    { "a key beside a certificate", TEXT(KEY "\n" CERT "\n"), PEMFILE_CA, -1,
        "mend: openssl x509 -in client.pem -out cert.pem" },
    { "an encrypted key for a certificate",
        TEXT(BLOCK("ENCRYPTED PRIVATE KEY")), PEMFILE_CERT, -1,
        "an encrypted private key where certificates belong; mend: swap key "
        "and cert, or give the certificate that goes with client.pem" },
    { "an encrypted key", TEXT(BLOCK("ENCRYPTED PRIVATE KEY")), PEMFILE_KEY, -1,
        "the private key is encrypted" },
    { "a key of OpenSSH", TEXT(BLOCK("OPENSSH PRIVATE KEY")), PEMFILE_KEY, -1,
        "a private key of OpenSSH; mend: ssh-keygen -p -m PKCS8 -f "
        "client.pem" },
    { "a public key", TEXT(BLOCK("PUBLIC KEY")), PEMFILE_KEY, -1,
        "a public key where the private key belongs" },
    { "a request", TEXT(BLOCK("CERTIFICATE REQUEST")), PEMFILE_CERT, -1,
        "a request for a certificate, not a certificate" },
    { "a request for a key", TEXT(BLOCK("NEW CERTIFICATE REQUEST")),
        PEMFILE_KEY, -1, "a request for a certificate, not a private key" },
    { "PKCS#7", TEXT(BLOCK("PKCS7")), PEMFILE_CERT, -1,
        "certificates wrapped in PKCS#7; mend: openssl pkcs7 -print_certs" },
    { "OpenSSL's trust marks", TEXT(BLOCK("TRUSTED CERTIFICATE")), PEMFILE_CA,
        -1, "a certificate with OpenSSL's own trust marks" },
    { "a block nobody knows", TEXT(BLOCK("PGP MESSAGE")), PEMFILE_CERT, -1,
        "client.pem:1: a block that is no certificate" },
};

/* Blocks, or -1. */
static int
count(const struct pemfile *file, struct err *err)
{
    struct pemfile_block block;
    size_t at = 0;
    int blocks = 0;

    if (!pemfile_check(file, err))
        return -1;
    for (;;) {
        if (!pemfile_next(file, &at, &block, err))
            return -1;
        if (block.text == NULL)
            return blocks;
        assert_memory_equal(block.text, "-----BEGIN ", 11);
        assert_memory_equal(block.text + block.len - 5, "-----", 5);
        blocks++;
    }
}

static void
test_recognises(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct pemfile file = {
            .path = "/etc/kedge/client.pem",
            .bytes = cases[i].bytes,
            .len = cases[i].len,
            .slot = cases[i].slot,
        };
        struct err err = { 0 };
        int blocks = count(&file, &err);

        if (blocks != cases[i].want_blocks ||
            (blocks == -1 && (err.kind != ERR_CERT ||
                                 strstr(err.text, cases[i].want) == NULL)))
            fail_msg("%s: %d blocks, %s", cases[i].label, blocks, err.text);
    }
}

static void
test_der(void **state)
{
    struct certfix fix;
    unsigned char der[2048];
    struct pemfile file = { .path = "client.pem",
        .bytes = (const char *)der,
        .slot = PEMFILE_CERT };
    struct err err;

    (void)state;
    certfix_open(&fix);
    file.len = certfix_der(certfix_cert(&fix, CERTFIX_LEAF), der, sizeof der);
    assert_false(pemfile_check(&file, &err));
    assert_string_equal(err.text,
        "client.pem: a certificate in DER, not PEM; mend: openssl x509 -inform "
        "DER -in client.pem -out cert.pem");
    file.slot = PEMFILE_KEY;
    file.len = certfix_der(certfix_key(&fix, CERTFIX_LEAF), der, sizeof der);
    assert_false(pemfile_check(&file, &err));
    assert_string_equal(err.text,
        "client.pem: a private key in DER, not PEM; mend: openssl pkey -inform "
        "DER -in client.pem -out key.pem");
    certfix_close(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recognises),
        cmocka_unit_test(test_der),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
