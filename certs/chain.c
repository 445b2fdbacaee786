#include "chain.h"

#include "clock.h"
#include "file.h"
#include "onecert.h"
#include "pemfile.h"

#include <limits.h>
#include <stdlib.h>

struct chain {
    char *pem;
    size_t count, ended;
    int64_t ends_wall_ms;
};

/* The last root to end decides. */
static bool
judge(struct chain *chain, const char *name, STACK_OF(X509) * certs,
    int64_t now_wall_ms, struct err *err)
{
    char date[CLOCK_TEXT_SIZE];
    size_t roots = 0;

    chain->ends_wall_ms = INT64_MIN;
    chain->count = (size_t)sk_X509_num(certs);
    for (int i = 0; i < sk_X509_num(certs); i++) {
        X509 *cert = sk_X509_value(certs, i);
        int64_t ends = onecert_ends_wall_ms(cert);

        chain->ended += ends <= now_wall_ms;
        if (!onecert_is_selfsigned(cert))
            continue;
        roots++;
        if (ends > chain->ends_wall_ms)
            chain->ends_wall_ms = ends;
    }
    if (roots == 0)
        return err_set(err, ERR_CERT,
            "%s: no root in it, none of its %zu certificates is self-signed; "
            "mend: add the CA's root certificate",
            name, chain->count);
    if (chain->ends_wall_ms <= now_wall_ms) {
        clock_text(date, sizeof date, chain->ends_wall_ms);
        return err_set(err, ERR_CERT,
            "%s: all roots have ended, the last on %s; mend: get the CA's "
            "present root",
            name, date);
    }
    return true;
}

struct chain *
chain_parse(const char *name, const void *bytes, size_t len,
    int64_t now_wall_ms, struct err *err)
{
    const struct pemfile file = { .path = name,
        .bytes = bytes,
        .len = len,
        .slot = PEMFILE_CA };
    struct chain *chain = calloc(1, sizeof *chain);
    STACK_OF(X509) *certs = NULL;
    bool ok = false;

    if (chain == NULL) {
        err_set(err, ERR_MEMORY, "%s", name);
        goto out;
    }
    if (len > CHAIN_BYTES_MAX) {
        err_set(err, ERR_CERT,
            "%s: more than %u bytes; mend: keep the certificates you need",
            name, CHAIN_BYTES_MAX);
        goto out;
    }
    if ((certs = onecert_read_all(&file, CHAIN_CERTS_MAX, err)) == NULL ||
        !judge(chain, name, certs, now_wall_ms, err))
        goto out;
    chain->pem = onecert_pem(certs, err);
    ok = chain->pem != NULL;
out:
    sk_X509_pop_free(certs, X509_free);
    if (!ok) {
        chain_free(chain);
        chain = NULL;
    }
    return chain;
}

struct chain *
chain_load(const char *path, int64_t now_wall_ms, struct err *err)
{
    size_t len = 0;
    char *bytes = file_read(path, CHAIN_BYTES_MAX, &len, err);
    struct chain *chain;

    if (bytes == NULL)
        return NULL;
    chain = chain_parse(path, bytes, len, now_wall_ms, err);
    free(bytes);
    return chain;
}

void
chain_free(struct chain *chain)
{
    if (chain == NULL)
        return;
    free(chain->pem);
    free(chain);
}

const char *
chain_pem(const struct chain *chain)
{
    return chain->pem;
}

size_t
chain_count(const struct chain *chain)
{
    return chain->count;
}

size_t
chain_count_ended(const struct chain *chain)
{
    return chain->ended;
}

int64_t
chain_ends_wall_ms(const struct chain *chain)
{
    return chain->ends_wall_ms;
}
