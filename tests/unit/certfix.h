/* certfix.h - what the tests of certs/ share: a small PKI and files made of
 * named pieces.
 *
 * Thread: the test's.   Memory: certfix_close() frees and removes it all. */
#ifndef KEDGE_CERTFIX_H
#define KEDGE_CERTFIX_H

#include "secret.h"
#include "selfsigned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CERTFIX_NOW INT64_C(1790000000000) /* September 2026 */
#define CERTFIX_DAY INT64_C(86400000)

enum certfix_who {
    CERTFIX_ROOT,
    CERTFIX_MID,      /* signed by the root */
    CERTFIX_LEAF,     /* a client, signed by mid */
    CERTFIX_SERVER,   /* localhost, 127.0.0.1; signed by mid */
    CERTFIX_ENDED,    /* a client that ended a day ago, signed by mid */
    CERTFIX_EARLY,    /* a client that begins tomorrow, signed by mid */
    CERTFIX_OTHER,    /* a root of somebody else */
    CERTFIX_OLD_ROOT, /* a root that has ended */
    CERTFIX_LONE,     /* a client that signed itself */
    CERTFIX_N,
};

struct certfix {
    struct selfsigned *made[CERTFIX_N];
    char folder[32];
};

static inline void
certfix_open(struct certfix *fix)
{
    static const struct {
        enum selfsigned_kind kind;
        const char *names;
        int issuer;
        int from_day, until_day;
    } rows[CERTFIX_N] = {
        [CERTFIX_ROOT] = { SELFSIGNED_CA, NULL, -1, -9, 9 },
        [CERTFIX_MID] = { SELFSIGNED_CA, NULL, CERTFIX_ROOT, -9, 8 },
        [CERTFIX_LEAF] = { SELFSIGNED_CLIENT, NULL, CERTFIX_MID, -9, 7 },
        [CERTFIX_SERVER] = { SELFSIGNED_SERVER, "DNS:localhost,IP:127.0.0.1",
            CERTFIX_MID, -9, 9 },
        [CERTFIX_ENDED] = { SELFSIGNED_CLIENT, NULL, CERTFIX_MID, -9, -1 },
        [CERTFIX_EARLY] = { SELFSIGNED_CLIENT, NULL, CERTFIX_MID, 1, 9 },
        [CERTFIX_OTHER] = { SELFSIGNED_CA, NULL, -1, -9, 9 },
        [CERTFIX_OLD_ROOT] = { SELFSIGNED_CA, NULL, -1, -9, -2 },
        [CERTFIX_LONE] = { SELFSIGNED_CLIENT, NULL, -1, -9, 9 },
    };
    struct err err;

    for (int i = 0; i < CERTFIX_N; i++) {
        char name[32];
        const struct selfsigned_options options = {
            .kind = rows[i].kind,
            .common_name = name,
            .names = rows[i].names,
            .from_wall_ms = CERTFIX_NOW + rows[i].from_day * CERTFIX_DAY,
            .until_wall_ms = CERTFIX_NOW + rows[i].until_day * CERTFIX_DAY,
            .issuer = rows[i].issuer < 0 ? NULL : fix->made[rows[i].issuer],
        };

        (void)snprintf(name, sizeof name, "kedge test %d", i);
        fix->made[i] = selfsigned_new(&options, &err);
        assert_non_null(fix->made[i]);
    }
    (void)strcpy(fix->folder, "/tmp/kedge-certs-XXXXXX");
    assert_non_null(mkdtemp(fix->folder));
}

static inline void
certfix_close(struct certfix *fix)
{
    for (int i = 0; i < CERTFIX_N; i++)
        selfsigned_free(fix->made[i]);
    assert_int_equal(rmdir(fix->folder), 0);
}

static inline const char *
certfix_cert(const struct certfix *fix, enum certfix_who who)
{
    return selfsigned_cert_pem(fix->made[who]);
}

static inline const char *
certfix_key(const struct certfix *fix, enum certfix_who who)
{
    return secret_text(selfsigned_key_pem(fix->made[who]));
}

/* The bytes inside a PEM text's first block: DER. */
static inline size_t
certfix_der(const char *pem, unsigned char *der, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(pem, '\n');
    size_t len = 0;
    unsigned bits = 0, have = 0;

    for (; *at != '-' && *at != '='; at++) {
        const char *digit = *at == '\n' ? NULL : strchr(digits, *at);

        if (digit == NULL)
            continue;
        bits = bits << 6 | (unsigned)(digit - digits);
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        assert_true(len < size);
        der[len++] = (unsigned char)(bits >> have);
    }
    return len;
}

/* The text of "c2 c1": the certificates of 2 and 1; "k2" is a key.  The caller
 * frees it. */
static inline char *
certfix_compose(const struct certfix *fix, const char *spec)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    for (const char *at = spec; *at != '\0';) {
        size_t n = strcspn(at, " ");
        int who = n > 1 ? at[1] - '0' : 0;

        assert_true(who >= 0 && who < CERTFIX_N);
        (void)fputs(*at == 'c' ? certfix_cert(fix, (enum certfix_who)who)
                               : certfix_key(fix, (enum certfix_who)who),
            out);
        at += n + (at[n] == ' ');
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Writes a file of the folder and gives its path in `path`. */
static inline void
certfix_write(const struct certfix *fix, const char *name, const void *bytes,
    size_t len, char path[64])
{
    FILE *file;

    (void)snprintf(path, 64, "%s/%s", fix->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

#endif
