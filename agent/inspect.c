#include "inspect.h"

#include "chain.h"
#include "diag.h"
#include "digest.h"
#include "file.h"
#include "files.h"
#include "identity.h"
#include "policy.h"

#include <stdlib.h>
#include <string.h>

/* Parts the two halves of what is said of a certificate or key. */
#define MEND "; mend: "

static bool
has_finding_at(const struct findings *found, struct span at)
{
    for (size_t i = 0; i < findings_count(found); i++) {
        struct span other = findings_at(found, i)->at;

        if (other.line == at.line && other.column == at.column)
            return true;
    }
    return false;
}

/* One root cause is one finding: a file that is missing is not also wrong. */
static void
report(struct inspect *inspect, const struct policy_cluster *cluster,
    const char *key, const struct err *err)
{
    struct span at = files_place(inspect->policy, cluster, "tls", key);
    const char *mend = strstr(err->text, MEND);
    size_t len = mend == NULL ? strlen(err->text) : (size_t)(mend - err->text);

    if (has_finding_at(inspect->found, at))
        return;
    findings_add(inspect->found, "KP093", SEVERITY_REFUSE, at, "%.*s", (int)len,
        err->text);
    if (mend != NULL)
        findings_remedy(inspect->found, "%s", mend + strlen(MEND));
}

/* What is in the certificates and keys, by the calls that the start makes. */
static void
judge_certs(struct inspect *inspect, const struct policy_cluster *cluster,
    int64_t now_wall_ms)
{
    const struct policy_tls *tls = &cluster->tls;
    const struct identity_files files = { .key = tls->key, .cert = tls->cert };
    struct chain *chain = NULL;
    struct identity *identity = NULL;
    struct err err;

    if (tls->ca != NULL) {
        chain = chain_load(tls->ca, now_wall_ms, &err);
        if (chain == NULL)
            report(inspect, cluster, "ca", &err);
    }
    if (tls->cert != NULL && tls->key != NULL &&
        !has_finding_at(inspect->found,
            files_place(inspect->policy, cluster, "tls", "key"))) {
        identity = identity_load(&files, now_wall_ms, &err);
        if (identity == NULL)
            report(inspect, cluster, "cert", &err);
    }
    identity_free(identity);
    chain_free(chain);
}

static void
judge(struct inspect *inspect, bool files, int64_t now_wall_ms)
{
    inspect->policy =
        policy_parse(inspect->text, inspect->len, now_wall_ms, inspect->found);
    if (inspect->policy == NULL || !files)
        return;
    files_check(inspect->policy, inspect->found);
    for (size_t i = 0; i < inspect->policy->n_clusters; i++)
        if (inspect->policy->clusters[i].tls.on)
            judge_certs(inspect, &inspect->policy->clusters[i], now_wall_ms);
}

bool
inspect_open(struct inspect *inspect, const char *path, bool files,
    int64_t now_wall_ms, struct err *err)
{
    *inspect = (struct inspect){ .path = path };
    inspect->text = file_read(path, POLICY_BYTES_MAX, &inspect->len, err);
    if (inspect->text == NULL && inspect->len <= POLICY_BYTES_MAX)
        return false; /* what is too long is a finding */
    inspect->found = findings_new();
    if (inspect->found == NULL) {
        inspect_close(inspect);
        return err_set(err, ERR_MEMORY, "%s", path);
    }
    judge(inspect, files, now_wall_ms);
    if (inspect->text == NULL) {
        inspect->len = 0;
        return true;
    }
    digest_sha256(inspect->digest, inspect->text, inspect->len);
    policy_redact(inspect->text, inspect->len);
    return true;
}

void
inspect_close(struct inspect *inspect)
{
    policy_free(inspect->policy);
    findings_free(inspect->found);
    free(inspect->text);
    *inspect = (struct inspect){ 0 };
}

enum err_kind
inspect_verdict(const struct inspect *inspect)
{
    const struct findings *found = inspect->found;

    if (!findings_refuse(found))
        return ERR_NONE;
    for (size_t i = 0; i < findings_count(found); i++) {
        const struct finding *one = findings_at(found, i);

        if (one->severity == SEVERITY_REFUSE && strcmp(one->code, "KP090") != 0)
            return ERR_POLICY;
    }
    return findings_dropped(found) > 0 ? ERR_POLICY : ERR_MISSING;
}

bool
inspect_err(const struct inspect *inspect, struct err *err)
{
    const struct findings *found = inspect->found;
    const struct finding *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < findings_count(found); i++) {
        const struct finding *one = findings_at(found, i);

        if (one->severity != SEVERITY_REFUSE)
            continue;
        if (n++ == 0)
            first = one;
    }
    if (first == NULL)
        return err_set(err, ERR_MEMORY, "%s", inspect->path);
    return err_set(err, inspect_verdict(inspect),
        "%s is refused: %zu finding%s, first %s: %s", inspect->path, n,
        n == 1 ? "" : "s", first->code, first->text);
}
