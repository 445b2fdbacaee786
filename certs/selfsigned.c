#include "selfsigned.h"

#include "onecert.h"
#include "secret.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <assert.h>
#include <stdlib.h>

struct selfsigned {
    EVP_PKEY *key;
    X509 *cert;
    char *cert_pem;
    struct secret *key_pem;
};

static const struct {
    const char *constraints, *key_usage, *extended_usage;
} kinds[] = {
    [SELFSIGNED_CA] = { "critical,CA:TRUE", "critical,keyCertSign,cRLSign",
        NULL },
    [SELFSIGNED_SERVER] = { "critical,CA:FALSE", "critical,digitalSignature",
        "serverAuth" },
    [SELFSIGNED_CLIENT] = { "critical,CA:FALSE", "critical,digitalSignature",
        "clientAuth" },
};

static bool
add(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension;
    bool ok;

    if (value == NULL)
        return true;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

static bool
set_serial(X509 *cert)
{
    uint64_t serial = 0;

    return RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) ==
               1;
}

static bool
set_dates(X509 *cert, const struct selfsigned_options *options)
{
    time_t from = (time_t)(options->from_wall_ms / 1000);
    time_t until = (time_t)(options->until_wall_ms / 1000);

    return ASN1_TIME_set(X509_getm_notBefore(cert), from) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(cert), until) != NULL;
}

static bool
set_names(X509 *cert, X509 *issuer, const char *common_name)
{
    X509_NAME *name = X509_get_subject_name(cert);

    return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
               (const unsigned char *)common_name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1;
}

static bool
sign(struct selfsigned *made, const struct selfsigned_options *options)
{
    X509 *cert = made->cert;
    X509 *issuer = options->issuer == NULL ? cert : options->issuer->cert;
    EVP_PKEY *key = options->issuer == NULL ? made->key : options->issuer->key;

    return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
           set_dates(cert, options) && X509_set_pubkey(cert, made->key) == 1 &&
           set_names(cert, issuer, options->common_name) &&
           add(cert, issuer, NID_basic_constraints,
               kinds[options->kind].constraints) &&
           add(cert, issuer, NID_key_usage, kinds[options->kind].key_usage) &&
           add(cert, issuer, NID_ext_key_usage,
               kinds[options->kind].extended_usage) &&
           add(cert, issuer, NID_subject_key_identifier, "hash") &&
           add(cert, issuer, NID_authority_key_identifier, "keyid") &&
           add(cert, issuer, NID_subject_alt_name, options->names) &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

static bool
render(struct selfsigned *made, struct err *err)
{
    STACK_OF(X509) *one = sk_X509_new_null();
    BIO *bio = BIO_new(BIO_s_secmem());
    char *bytes = NULL;
    long len = 0;

    if (one != NULL && sk_X509_push(one, made->cert) > 0)
        made->cert_pem = onecert_pem(one, err);
    if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, made->key, NULL, NULL,
                           0, NULL, NULL) == 1)
        len = BIO_get_mem_data(bio, &bytes);
    if (len > 0)
        made->key_pem = secret_from_bytes(bytes, (size_t)len, err);
    else
        err_set(err, ERR_MEMORY, "private key");
    if (len > 0)
        OPENSSL_cleanse(bytes, (size_t)len);
    BIO_free(bio);
    sk_X509_free(one);
    return made->cert_pem != NULL && made->key_pem != NULL;
}

struct selfsigned *
selfsigned_new(const struct selfsigned_options *options, struct err *err)
{
    struct selfsigned *made = calloc(1, sizeof *made);
    bool ok = false;

    assert(options->common_name != NULL);
    if (made == NULL) {
        err_set(err, ERR_MEMORY, "certificate");
        goto out;
    }
    made->key = EVP_EC_gen("P-256");
    made->cert = X509_new();
    if (made->key == NULL || made->cert == NULL || !sign(made, options)) {
        const char *why = ERR_reason_error_string(ERR_get_error());

        err_set(err, ERR_CERT, "certificate for %s: %s", options->common_name,
            why == NULL ? "no reason given" : why);
        goto out;
    }
    ok = render(made, err);
out:
    ERR_clear_error();
    if (!ok) {
        selfsigned_free(made);
        made = NULL;
    }
    return made;
}

void
selfsigned_free(struct selfsigned *made)
{
    if (made == NULL)
        return;
    EVP_PKEY_free(made->key);
    X509_free(made->cert);
    free(made->cert_pem);
    secret_free(made->key_pem);
    free(made);
}

const char *
selfsigned_cert_pem(const struct selfsigned *made)
{
    return made->cert_pem;
}

const struct secret *
selfsigned_key_pem(const struct selfsigned *made)
{
    return made->key_pem;
}
