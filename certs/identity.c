#include "identity.h"

#include "file.h"
#include "onecert.h"
#include "pemfile.h"
#include "secret.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (1u << 18)
#define CERTS_MAX 16

struct identity {
    char *cert_pem;
    struct secret *key_pem;
    size_t count;
    int64_t ends_wall_ms;
};

/* Without it the library would ask a terminal. */
static int
no_passphrase(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

static EVP_PKEY *
key_of_block(const struct pemfile *file, const struct pemfile_block *block,
    struct err *err)
{
    EVP_PKEY *key = NULL;
    BIO *bio = NULL;

    if (block->len <= INT_MAX)
        bio = BIO_new_mem_buf(block->text, (int)block->len);
    if (bio == NULL) {
        err_set(err, ERR_MEMORY, "%s", file->path);
        return NULL;
    }
    key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    if (key == NULL)
        err_set(err, ERR_CERT,
            "%s:%d: a damaged private key; mend: copy the file anew",
            file->path, block->line);
    BIO_free(bio);
    ERR_clear_error();
    return key;
}

/* The only key of the file. */
static EVP_PKEY *
key_of(const struct pemfile *file, struct err *err)
{
    static const struct pemfile_advice swapped = {
        "a certificate where the private key belongs",
        "give the key that was made with", ""
    };
    struct pemfile_block first;
    struct pemfile_block second;
    size_t at = 0;

    if (!pemfile_check(file, err) || !pemfile_next(file, &at, &first, err))
        return NULL;
    if (first.text == NULL) {
        pemfile_refuse(file, 0, &swapped, err);
        return NULL;
    }
    if (!pemfile_next(file, &at, &second, err))
        return NULL;
    if (second.text != NULL) {
        err_set(err, ERR_CERT,
            "%s:%d: a second private key; mend: keep the one that belongs to "
            "the certificate",
            file->path, second.line);
        return NULL;
    }
    return key_of_block(file, &first, err);
}

static void
advise_mode(const char *path, struct err *err)
{
    struct err why = *err;

    if (strstr(why.text, "open to ") != NULL)
        err_set(err, why.kind, "%s; mend: chmod 600 %s", why.text, path);
}

static EVP_PKEY *
load_key(const char *path, struct err *err)
{
    struct pemfile file = { .path = path, .slot = PEMFILE_KEY };
    EVP_PKEY *key = NULL;
    char *bytes = file_read_private(path, FILE_BYTES_MAX, &file.len, err);

    if (bytes == NULL) {
        advise_mode(path, err);
        return NULL;
    }
    file.bytes = bytes;
    key = key_of(&file, err);
    OPENSSL_cleanse(bytes, file.len);
    free(bytes);
    return key;
}

static STACK_OF(X509) * load_certs(const char *path, struct err *err)
{
    struct pemfile file = { .path = path, .slot = PEMFILE_CERT };
    char *bytes = file_read(path, FILE_BYTES_MAX, &file.len, err);
    STACK_OF(X509) * certs;

    if (bytes == NULL)
        return NULL;
    file.bytes = bytes;
    certs = onecert_read_all(&file, CERTS_MAX, err);
    free(bytes);
    return certs;
}

/* The key belongs to the first certificate and to no other. */
static bool
check_pair(EVP_PKEY *key, STACK_OF(X509) * certs,
    const struct identity_files *files, struct err *err)
{
    int owner = 0;

    while (owner < sk_X509_num(certs) &&
           X509_check_private_key(sk_X509_value(certs, owner), key) != 1)
        owner++;
    ERR_clear_error();
    if (owner == 0)
        return true;
    if (owner == sk_X509_num(certs))
        return err_set(err, ERR_CERT,
            "%s does not belong to %s; mend: compare openssl pkey -in KEY "
            "-pubout with openssl x509 -in CERT -pubkey -noout",
            files->key, files->cert);
    return err_set(err, ERR_CERT,
        "%s: wrong order, our certificate stands at position %d; mend: put it "
        "first, each issuer behind it",
        files->cert, owner + 1);
}

static bool
signed_by(X509 *cert, X509 *issuer)
{
    EVP_PKEY *key = X509_get0_pubkey(issuer);
    bool ok = X509_check_issued(issuer, cert) == X509_V_OK && key != NULL &&
              X509_verify(cert, key) == 1;

    ERR_clear_error();
    return ok;
}

static bool
check_order(STACK_OF(X509) * certs, const char *path, struct err *err)
{
    for (int i = 1; i < sk_X509_num(certs); i++)
        if (!signed_by(sk_X509_value(certs, i - 1), sk_X509_value(certs, i)))
            return err_set(err, ERR_CERT,
                "%s: wrong order, certificate %d did not sign certificate %d; "
                "mend: our certificate first, each issuer behind it",
                path, i + 1, i);
    return true;
}

static bool
check_leaf_use(X509 *leaf, const char *path, struct err *err)
{
    if (X509_check_purpose(leaf, X509_PURPOSE_SSL_CLIENT, 0) == 1)
        return true;
    ERR_clear_error();
    return err_set(err, ERR_CERT,
        "%s: the certificate is not for a TLS client; mend: have its CA sign "
        "one with extendedKeyUsage=clientAuth",
        path);
}

static bool
check_certs(STACK_OF(X509) * certs, const char *path, int64_t now_wall_ms,
    struct err *err)
{
    if (!check_order(certs, path, err))
        return false;
    for (int i = 0; i < sk_X509_num(certs); i++)
        if (!onecert_check_dates(sk_X509_value(certs, i), i + 1, path,
                now_wall_ms, err))
            return false;
    return check_leaf_use(sk_X509_value(certs, 0), path, err);
}

static struct secret *
key_text(EVP_PKEY *key, struct err *err)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    struct secret *text = NULL;
    char *bytes = NULL;
    long len = 0;

    if (bio != NULL &&
        PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1)
        len = BIO_get_mem_data(bio, &bytes);
    if (len > 0)
        text = secret_from_bytes(bytes, (size_t)len, err);
    else
        err_set(err, ERR_MEMORY, "private key");
    if (len > 0)
        OPENSSL_cleanse(bytes, (size_t)len);
    BIO_free(bio);
    return text;
}

static bool
fill(struct identity *identity, EVP_PKEY *key, STACK_OF(X509) * certs,
    struct err *err)
{
    identity->count = (size_t)sk_X509_num(certs);
    identity->ends_wall_ms = INT64_MAX;
    for (int i = 0; i < sk_X509_num(certs); i++) {
        int64_t ends = onecert_ends_wall_ms(sk_X509_value(certs, i));

        if (ends < identity->ends_wall_ms)
            identity->ends_wall_ms = ends;
    }
    identity->cert_pem = onecert_pem(certs, err);
    if (identity->cert_pem == NULL)
        return false;
    identity->key_pem = key_text(key, err);
    return identity->key_pem != NULL;
}

struct identity *
identity_load(const struct identity_files *files, int64_t now_wall_ms,
    struct err *err)
{
    struct identity *identity = calloc(1, sizeof *identity);
    EVP_PKEY *key = NULL;
    STACK_OF(X509) *certs = NULL;
    bool ok = false;

    if (identity == NULL) {
        err_set(err, ERR_MEMORY, "identity");
        goto out;
    }
    if ((key = load_key(files->key, err)) == NULL ||
        (certs = load_certs(files->cert, err)) == NULL)
        goto out;
    if (!check_pair(key, certs, files, err) ||
        !check_certs(certs, files->cert, now_wall_ms, err))
        goto out;
    ok = fill(identity, key, certs, err);
out:
    sk_X509_pop_free(certs, X509_free);
    EVP_PKEY_free(key);
    if (!ok) {
        identity_free(identity);
        identity = NULL;
    }
    return identity;
}

void
identity_free(struct identity *identity)
{
    if (identity == NULL)
        return;
    free(identity->cert_pem);
    secret_free(identity->key_pem);
    free(identity);
}

const char *
identity_cert_pem(const struct identity *identity)
{
    return identity->cert_pem;
}

const struct secret *
identity_key_pem(const struct identity *identity)
{
    return identity->key_pem;
}

size_t
identity_count(const struct identity *identity)
{
    return identity->count;
}

int64_t
identity_ends_wall_ms(const struct identity *identity)
{
    return identity->ends_wall_ms;
}
