#include "distrust.h"

#include "clock.h"
#include "onecert.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 72 /* bytes of the names in a text */
#define NAME_MAX_LEN 48

/* Somebody else wrote them. */
static void
make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

/* "2026-11-29T21:56:12Z" */
static void
date_text(char text[CLOCK_TEXT_SIZE], int64_t wall_ms)
{
    clock_text(text, CLOCK_TEXT_SIZE, wall_ms);
    if (strlen(text) > 19)
        memcpy(text + 19, "Z", 2);
}

/* An alternative name as text; false for kinds that name no server. */
static bool
name_text(const GENERAL_NAME *name, char *text, size_t size)
{
    int kind = 0;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &kind);
    int len =
        kind == GEN_DNS || kind == GEN_IPADD ? ASN1_STRING_length(value) : 0;

    if (kind == GEN_DNS)
        (void)snprintf(text, size, "%.*s", len,
            (const char *)ASN1_STRING_get0_data(value));
    else if (len == 4 || len == 16)
        (void)inet_ntop(len == 4 ? AF_INET : AF_INET6,
            ASN1_STRING_get0_data(value), text, (socklen_t)size);
    else
        return false;
    make_printable(text);
    return true;
}

/* "a, b, ..."; empty when there is none. */
static void
names_text(const X509 *cert, char *text, size_t size)
{
    GENERAL_NAMES *names =
        X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    size_t len = 0;

    text[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        char one[NAME_MAX_LEN];

        if (!name_text(sk_GENERAL_NAME_value(names, i), one, sizeof one))
            continue;
        if (len + strlen(one) + sizeof ", , ..." > size) {
            (void)snprintf(text + len, size - len, ", ...");
            break;
        }
        len += (size_t)snprintf(text + len, size - len, "%s%s",
            len == 0 ? "" : ", ", one);
    }
    GENERAL_NAMES_free(names);
}

/* The common name, or else the organisation. */
static void
who_text(const X509_NAME *name, char text[NAME_MAX_LEN])
{
    if (X509_NAME_get_text_by_NID(name, NID_commonName, text, NAME_MAX_LEN) <
            0 &&
        X509_NAME_get_text_by_NID(name, NID_organizationName, text,
            NAME_MAX_LEN) < 0)
        (void)snprintf(text, NAME_MAX_LEN, "a nameless CA");
    make_printable(text);
}

static void
explain_names(const struct distrust_seen *seen, const X509 *cert, char *text,
    size_t size)
{
    char names[NAMES_MAX];

    names_text(cert, names, sizeof names);
    if (names[0] == '\0')
        (void)snprintf(text, size,
            "the certificate of %.64s has no subject alternative name: whoever "
            "runs %.32s has to have it issued for the name that is dialled",
            seen->server, seen->cluster);
    else
        (void)snprintf(text, size,
            "the certificate of %.64s is not for that name, but for %s: "
            "whoever runs %.32s has to have it issued for the name that is "
            "dialled",
            seen->server, names, seen->cluster);
}

static void
explain_date(const struct distrust_seen *seen, const X509 *cert, char *text,
    size_t size)
{
    bool ended = seen->error == X509_V_ERR_CERT_HAS_EXPIRED;
    char date[CLOCK_TEXT_SIZE], whose[NAME_MAX_LEN + 32] = "";

    date_text(date,
        ended ? onecert_ends_wall_ms(cert) : onecert_begins_wall_ms(cert));
    if (seen->depth > 0) {
        char who[NAME_MAX_LEN];

        who_text(X509_get_subject_name(cert), who);
        (void)snprintf(whose, sizeof whose, "the CA '%s' behind ", who);
    }
    if (ended)
        (void)snprintf(text, size,
            "%sthe certificate of %.64s expired on %s (notAfter): whoever "
            "runs %.32s has to renew it",
            whose, seen->server, date, seen->cluster);
    else
        (void)snprintf(text, size,
            "%sthe certificate of %.64s is not valid before %s (notBefore): "
            "set this machine's clock if it is wrong, else whoever runs %.32s "
            "has to replace it",
            whose, seen->server, date, seen->cluster);
}

static void
explain_issuer(const struct distrust_seen *seen, const X509 *cert, char *text,
    size_t size)
{
    char who[NAME_MAX_LEN];

    who_text(X509_get_issuer_name(cert), who);
    (void)snprintf(text, size,
        "the certificate of %.64s leads to '%s', a CA that is not trusted: add "
        "it to 'tls.ca' of %.32s in the policy if it is the right one, else "
        "whoever runs %.32s has to send the whole chain",
        seen->server, who, seen->cluster, seen->cluster);
}

static void
explain_cert(const struct distrust_seen *seen, const X509 *cert, char *text,
    size_t size)
{
    switch (seen->error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        explain_date(seen, cert, text, size);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        explain_names(seen, cert, text, size);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        explain_issuer(seen, cert, text, size);
        break;
    default:
        (void)snprintf(text, size,
            "the certificate of %.64s was refused: %s: whoever runs %.32s has "
            "to replace it",
            seen->server, X509_verify_cert_error_string(seen->error),
            seen->cluster);
    }
}

void
distrust_explain(const struct distrust_seen *seen, char *text, size_t size)
{
    const unsigned char *at = seen->der;
    X509 *cert = NULL;

    (void)ERR_set_mark(); /* a handshake is under way around this */
    if (seen->len <= LONG_MAX)
        cert = d2i_X509(NULL, &at, (long)seen->len);
    if (cert != NULL)
        explain_cert(seen, cert, text, size);
    else
        (void)snprintf(text, size,
            "the certificate of %.64s was refused: %s: whoever runs %.32s has "
            "to replace it",
            seen->server, X509_verify_cert_error_string(seen->error),
            seen->cluster);
    X509_free(cert);
    (void)ERR_pop_to_mark();
}
