#include "onecert.h"

#include "clock.h"
#include "pemfile.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <limits.h>
#include <string.h>
#include <time.h>

static X509 *
read_block(const struct pemfile *file, const struct pemfile_block *block,
    struct err *err)
{
    BIO *bio = NULL;
    X509 *cert = NULL;

    if (block->len <= INT_MAX)
        bio = BIO_new_mem_buf(block->text, (int)block->len);
    if (bio == NULL) {
        err_set(err, ERR_MEMORY, "%s", file->path);
        return NULL;
    }
    cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    if (cert == NULL)
        err_set(err, ERR_CERT,
            "%s:%d: a damaged certificate; mend: copy the file anew",
            file->path, block->line);
    BIO_free(bio);
    ERR_clear_error();
    return cert;
}

static bool
read_into(STACK_OF(X509) * certs, const struct pemfile *file, size_t max,
    struct err *err)
{
    struct pemfile_block block;
    size_t at = 0;

    if (!pemfile_check(file, err))
        return false;
    for (;;) {
        X509 *cert;

        if (!pemfile_next(file, &at, &block, err))
            return false;
        if (block.text == NULL)
            break;
        if ((size_t)sk_X509_num(certs) == max)
            return err_set(err, ERR_CERT,
                "%s: more than %zu certificates; mend: keep those you need",
                file->path, max);
        if ((cert = read_block(file, &block, err)) == NULL)
            return false;
        if (sk_X509_push(certs, cert) == 0) {
            X509_free(cert);
            return err_set(err, ERR_MEMORY, "%s", file->path);
        }
    }
    if (sk_X509_num(certs) == 0)
        return err_set(err, ERR_CERT,
            "%s: no certificate in it; mend: give the file that has one",
            file->path);
    return true;
}

STACK_OF(X509) *
    onecert_read_all(const struct pemfile *file, size_t max, struct err *err)
{
    STACK_OF(X509) *certs = sk_X509_new_null();

    if (certs == NULL) {
        err_set(err, ERR_MEMORY, "%s", file->path);
        return NULL;
    }
    if (!read_into(certs, file, max, err)) {
        sk_X509_pop_free(certs, X509_free);
        return NULL;
    }
    return certs;
}

static int64_t
wall_ms(const ASN1_TIME *time)
{
    struct tm tm;

    if (ASN1_TIME_to_tm(time, &tm) != 1)
        return INT64_MIN; /* a date that is none: never valid */
    return (int64_t)timegm(&tm) * 1000;
}

int64_t
onecert_begins_wall_ms(const X509 *cert)
{
    int64_t begins = wall_ms(X509_get0_notBefore(cert));

    return begins == INT64_MIN ? INT64_MAX : begins;
}

int64_t
onecert_ends_wall_ms(const X509 *cert)
{
    return wall_ms(X509_get0_notAfter(cert));
}

bool
onecert_check_dates(const X509 *cert, int number, const char *path,
    int64_t now_wall_ms, struct err *err)
{
    int64_t begins = onecert_begins_wall_ms(cert);
    int64_t ends = onecert_ends_wall_ms(cert);
    char date[CLOCK_TEXT_SIZE];

    if (now_wall_ms < begins) {
        clock_text(date, sizeof date, begins);
        return err_set(err, ERR_CERT,
            "%s: certificate %d is not valid before %s; mend: see whether this "
            "machine's clock is right: timedatectl",
            path, number, date);
    }
    if (now_wall_ms >= ends) {
        clock_text(date, sizeof date, ends);
        return err_set(err, ERR_CERT,
            "%s: certificate %d ended on %s; mend: have its CA sign a new one",
            path, number, date);
    }
    return true;
}

bool
onecert_is_selfsigned(X509 *cert)
{
    bool selfsigned = X509_self_signed(cert, 1) == 1;

    ERR_clear_error();
    return selfsigned;
}

char *
onecert_pem(STACK_OF(X509) * certs, struct err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool ok = bio != NULL;
    char *bytes = NULL;
    char *text = NULL;

    for (int i = 0; ok && i < sk_X509_num(certs); i++)
        ok = PEM_write_bio_X509(bio, sk_X509_value(certs, i)) == 1;
    ok = ok && BIO_write(bio, "", 1) == 1; /* the terminating zero */
    if (ok && BIO_get_mem_data(bio, &bytes) > 1)
        text = strdup(bytes);
    if (text == NULL)
        err_set(err, ERR_MEMORY, "certificates");
    BIO_free(bio);
    return text;
}
