#include "pemfile.h"

#include <openssl/err.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include <assert.h>
#include <limits.h>
#include <string.h>

#define BEGIN "-----BEGIN "
#define END "-----END "
#define DASHES "-----"
#define LABEL_MAX 64

enum kind {
    KIND_CERT,
    KIND_KEY,
    KIND_ENCRYPTED,
    KIND_OPENSSH,
    KIND_PUBLIC,
    KIND_REQUEST,
    KIND_PKCS7,
    KIND_TRUSTED,
    KIND_PARAMETERS,
    KIND_OTHER,
};

static const struct {
    const char *label;
    enum kind kind;
} labels[] = {
    { "CERTIFICATE", KIND_CERT },
    { "X509 CERTIFICATE", KIND_CERT },
    { "PRIVATE KEY", KIND_KEY },
    { "RSA PRIVATE KEY", KIND_KEY },
    { "EC PRIVATE KEY", KIND_KEY },
    { "ENCRYPTED PRIVATE KEY", KIND_ENCRYPTED },
    { "OPENSSH PRIVATE KEY", KIND_OPENSSH },
    { "PUBLIC KEY", KIND_PUBLIC },
    { "RSA PUBLIC KEY", KIND_PUBLIC },
    { "CERTIFICATE REQUEST", KIND_REQUEST },
    { "NEW CERTIFICATE REQUEST", KIND_REQUEST },
    { "PKCS7", KIND_PKCS7 },
    { "TRUSTED CERTIFICATE", KIND_TRUSTED },
    { "EC PARAMETERS", KIND_PARAMETERS },
};

/* What to say of a block in a slot it does not belong in. */
static const struct {
    enum kind kind;
    bool in_key_slot;
    struct pemfile_advice advice;
} strangers[] = {
    { KIND_ENCRYPTED, true,
        { "the private key is encrypted, and nobody is there to type a "
          "passphrase",
            "openssl pkey -in", "-out key.pem" } },
    { KIND_OPENSSH, true,
        { "a private key of OpenSSH", "ssh-keygen -p -m PKCS8 -f", "" } },
    { KIND_PUBLIC, true,
        { "a public key where the private key belongs",
            "give the private key that was made with", "" } },
    { KIND_REQUEST, false,
        { "a request for a certificate, not a certificate", "give your CA",
            "and take what it signs" } },
    { KIND_REQUEST, true,
        { "a request for a certificate, not a private key",
            "give the key that was made with", "" } },
    { KIND_PKCS7, false,
        { "certificates wrapped in PKCS#7", "openssl pkcs7 -print_certs -in",
            "-out cert.pem" } },
    { KIND_TRUSTED, false,
        { "a certificate with OpenSSL's own trust marks", "openssl x509 -in",
            "-out cert.pem" } },
};

bool
pemfile_refuse(const struct pemfile *file, int line,
    const struct pemfile_advice *advice, struct err *err)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash == NULL ? file->path : slash + 1;
    const char *space = *advice->after == '\0' ? "" : " ";

    if (line > 0)
        return err_set(err, ERR_CERT, "%s:%d: %s; mend: %s %s%s%s", file->path,
            line, advice->what, advice->before, name, space, advice->after);
    return err_set(err, ERR_CERT, "%s: %s; mend: %s %s%s%s", file->path,
        advice->what, advice->before, name, space, advice->after);
}

static bool
refuse(const struct pemfile *file, const char *what, const char *before,
    const char *after, struct err *err)
{
    const struct pemfile_advice advice = { what, before, after };

    return pemfile_refuse(file, 0, &advice, err);
}

/* The first content of a PKCS#12 store that is enciphered as OpenSSL 3 does
 * only with its legacy provider. */
static bool
is_legacy(const PKCS12 *store)
{
    STACK_OF(PKCS7) *parts = PKCS12_unpack_authsafes(store);
    bool legacy = false;

    for (int i = 0; i < sk_PKCS7_num(parts); i++) {
        const PKCS7 *part = sk_PKCS7_value(parts, i);
        const ASN1_OBJECT *cipher;

        if (!PKCS7_type_is_encrypted(part))
            continue;
        cipher = part->d.encrypted->enc_data->algorithm->algorithm;
        if (OBJ_obj2nid(cipher) == NID_pbe_WithSHA1And40BitRC2_CBC)
            legacy = true;
    }
    sk_PKCS7_pop_free(parts, PKCS7_free);
    return legacy;
}

static bool
refuse_pkcs12(const struct pemfile *file, bool legacy, struct err *err)
{
    bool key = file->slot == PEMFILE_KEY;

    if (legacy)
        return refuse(file,
            "PKCS#12 encrypted with RC2-40, which is no longer read",
            "openssl pkcs12 -legacy -in",
            key ? "-nocerts -nodes -out key.pem" : "-nokeys -out cert.pem",
            err);
    return refuse(file, "a PKCS#12 store, not PEM", "openssl pkcs12 -in",
        key ? "-nocerts -nodes -out key.pem" : "-nokeys -out cert.pem", err);
}

/* Bytes that start as ASN.1 does.  False with err when they are a thing that
 * has a name. */
static bool
check_der(const struct pemfile *file, struct err *err)
{
    const unsigned char *at = (const unsigned char *)file->bytes;
    long len = (long)file->len;
    const unsigned char *p = at;
    PKCS12 *store = d2i_PKCS12(NULL, &p, len);
    X509 *cert = NULL;
    EVP_PKEY *key = NULL;
    bool ok = false;

    if (store != NULL) {
        refuse_pkcs12(file, is_legacy(store), err);
        goto out;
    }
    p = at;
    if ((cert = d2i_X509(NULL, &p, len)) != NULL) {
        refuse(file, "a certificate in DER, not PEM",
            "openssl x509 -inform DER -in", "-out cert.pem", err);
        goto out;
    }
    p = at;
    if ((key = d2i_AutoPrivateKey(NULL, &p, len)) != NULL) {
        refuse(file, "a private key in DER, not PEM",
            "openssl pkey -inform DER -in", "-out key.pem", err);
        goto out;
    }
    ok = true;
out:
    PKCS12_free(store);
    X509_free(cert);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return ok;
}

static bool
starts(const struct pemfile *file, const char *magic, size_t len)
{
    return file->len >= len && memcmp(file->bytes, magic, len) == 0;
}

static bool
is_blank(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (strchr(" \t\r\n", bytes[i]) == NULL || bytes[i] == '\0')
            return false;
    return true;
}

static const char *
find(const char *from, const char *end, const char *what)
{
    return memmem(from, (size_t)(end - from), what, strlen(what));
}

bool
pemfile_check(const struct pemfile *file, struct err *err)
{
    const char *begin;

    assert(file->len <= LONG_MAX);
    if (is_blank(file->bytes, file->len))
        return err_set(err, ERR_CERT,
            "%s: an empty file; mend: write the %s into it as PEM", file->path,
            file->slot == PEMFILE_KEY ? "private key" : "certificate");
    if (starts(file, "\xfe\xed\xfe\xed", 4) ||
        starts(file, "\xce\xce\xce\xce", 4))
        return refuse(file, "a Java keystore (JKS), not PEM",
            "keytool -importkeystore -srckeystore",
            "-destkeystore store.p12 -deststoretype pkcs12", err);
    if (starts(file, "\xff\xfe", 2) || starts(file, "\xfe\xff", 2))
        return refuse(file, "text in UTF-16, not PEM",
            "iconv -f UTF-16 -t UTF-8 -o clean.pem", "", err);
    if (starts(file, "\x30", 1) && !check_der(file, err))
        return false;
    begin = find(file->bytes, file->bytes + file->len, BEGIN);
    if (begin == NULL)
        return err_set(err, ERR_CERT,
            "%s: not PEM, there is no BEGIN line; mend: give the file that "
            "starts with -----BEGIN",
            file->path);
    if (file->slot != PEMFILE_CA &&
        !is_blank(file->bytes, (size_t)(begin - file->bytes)))
        return refuse(file, "text before the first BEGIN",
            "sed -n '/-----BEGIN/,/-----END/p'", "> clean.pem", err);
    return true;
}

static int
line_of(const struct pemfile *file, const char *at)
{
    int line = 1;

    for (const char *p = file->bytes; p < at; p++)
        line += *p == '\n' && line < INT_MAX;
    return line;
}

static enum kind
kind_of(const char *label, size_t len)
{
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        if (strlen(labels[i].label) == len &&
            memcmp(labels[i].label, label, len) == 0)
            return labels[i].kind;
    return KIND_OTHER;
}

/* Sets *block and *kind from the BEGIN at `begin`. */
static bool
take_block(const struct pemfile *file, const char *begin,
    struct pemfile_block *block, enum kind *kind, struct err *err)
{
    const char *end = file->bytes + file->len;
    const char *label = begin + strlen(BEGIN);
    const char *label_end = find(label, end, DASHES);
    char tail[sizeof END + LABEL_MAX + sizeof DASHES] = END;
    size_t len;
    const char *last;

    block->line = line_of(file, begin);
    if (label_end == NULL || (len = (size_t)(label_end - label)) > LABEL_MAX ||
        memchr(label, '\n', len) != NULL)
        return err_set(err, ERR_CERT,
            "%s:%d: a BEGIN line without its end; mend: copy the file anew",
            file->path, block->line);
    memcpy(tail + strlen(END), label, len);
    memcpy(tail + strlen(END) + len, DASHES, sizeof DASHES);
    last = find(label_end, end, tail);
    if (last == NULL)
        return err_set(err, ERR_CERT,
            "%s:%d: the block has no END line; mend: copy the file anew",
            file->path, block->line);
    block->text = begin;
    block->len = (size_t)(last - begin) + strlen(tail);
    *kind = kind_of(label, len);
    if (*kind == KIND_KEY && find(label_end, last, "4,ENCRYPTED") != NULL)
        *kind = KIND_ENCRYPTED;
    return true;
}

static bool
check_joined(const struct pemfile *file, const struct pemfile_block *block,
    struct err *err)
{
    static const struct pemfile_advice joined = {
        "two blocks joined without a line break",
        "sed -i 's/-----\\(-----BEGIN\\)/-----\\n\\1/'",
        "",
    };
    const char *text = block->text;

    if (text > file->bytes && text[-1] == '-')
        return pemfile_refuse(file, block->line, &joined, err);
    return true;
}

/* A certificate beside the key can be taken out of the file. */
static bool
refuse_key(const struct pemfile *file, const struct pemfile_block *block,
    enum kind kind, struct err *err)
{
    bool both = find(file->bytes, file->bytes + file->len,
                    BEGIN "CERTIFICATE" DASHES) != NULL;
    const struct pemfile_advice advice = {
        kind == KIND_KEY ? "a private key where certificates belong"
                         : "an encrypted private key where certificates belong",
        both ? "openssl x509 -in"
        : file->slot == PEMFILE_CA
            ? "give the certificate of who signs the brokers' certificates, not"
            : "swap key and cert, or give the certificate that goes with",
        both ? "-out cert.pem" : "",
    };

    return pemfile_refuse(file, block->line, &advice, err);
}

/* True: take it, or pass over it. */
static bool
judge(const struct pemfile *file, const struct pemfile_block *block,
    enum kind kind, struct err *err)
{
    bool key = file->slot == PEMFILE_KEY;

    if (!key && (kind == KIND_KEY || kind == KIND_ENCRYPTED))
        return refuse_key(file, block, kind, err);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        if (strangers[i].kind == kind && strangers[i].in_key_slot == key)
            return pemfile_refuse(file, block->line, &strangers[i].advice, err);
    if (!check_joined(file, block, err))
        return false;
    if (kind == KIND_OTHER)
        return err_set(err, ERR_CERT,
            "%s:%d: a block that is no %s; mend: take it out", file->path,
            block->line, key ? "private key" : "certificate");
    return true;
}

bool
pemfile_next(const struct pemfile *file, size_t *at,
    struct pemfile_block *block, struct err *err)
{
    enum kind wanted = file->slot == PEMFILE_KEY ? KIND_KEY : KIND_CERT;
    enum kind kind = KIND_OTHER;

    do {
        const char *begin =
            find(file->bytes + *at, file->bytes + file->len, BEGIN);

        *block = (struct pemfile_block){ 0 };
        if (begin == NULL)
            return true;
        if (!take_block(file, begin, block, &kind, err) ||
            !judge(file, block, kind, err))
            return false;
        *at = (size_t)(block->text - file->bytes) + block->len;
    } while (kind != wanted);
    return true;
}
