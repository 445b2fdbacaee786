#include "loaded.h"

#include "diag.h"
#include "digest.h"
#include "file.h"
#include "inspect.h"
#include "policy.h"
#include "reach.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
    unsigned references;
    struct policy *policy;
    char digest[LOADED_DIGEST_SIZE];
    struct reach **reaches; /* one for each cluster, in their order */
};

/* Every cluster that a flow uses, also those with no flow: what is wrong with
 * a file is said now. */
static bool
load_reaches(struct loaded *loaded, int64_t now_wall_ms, struct err *err)
{
    const struct policy *policy = loaded->policy;

    loaded->reaches = calloc(policy->n_clusters + 1, sizeof *loaded->reaches);
    if (loaded->reaches == NULL)
        return err_set(err, ERR_MEMORY, "clusters");
    for (size_t i = 0; i < policy->n_clusters; i++) {
        loaded->reaches[i] = reach_load(&policy->clusters[i], now_wall_ms, err);
        if (loaded->reaches[i] == NULL)
            return false;
    }
    return true;
}

/* Judged as `kedge check` does, by the same call; the policy is taken. */
static bool
judge(struct loaded *loaded, const struct loaded_options *options,
    struct err *err)
{
    struct inspect inspect;
    bool ok =
        inspect_open(&inspect, options->path, true, options->now_wall_ms, err);

    if (!ok)
        return false;
    memcpy(loaded->digest, inspect.digest, sizeof loaded->digest);
    if (inspect_verdict(&inspect) != ERR_NONE)
        ok = inspect_err(&inspect, err);
    if (findings_count(inspect.found) > 0 && options->found != NULL)
        options->found(options->ctx, options->path, inspect.found,
            inspect.text);
    loaded->policy = inspect.policy;
    inspect.policy = NULL;
    inspect_close(&inspect);
    return ok;
}

struct loaded *
loaded_read(const struct loaded_options *options, struct err *err)
{
    struct loaded *loaded = calloc(1, sizeof *loaded);

    if (loaded == NULL) {
        err_set(err, ERR_MEMORY, "%s", options->path);
        return NULL;
    }
    loaded->references = 1;
    if (!judge(loaded, options, err) ||
        !load_reaches(loaded, options->now_wall_ms, err)) {
        loaded_drop(loaded);
        return NULL;
    }
    return loaded;
}

struct loaded *
loaded_keep(struct loaded *loaded)
{
    loaded->references++;
    return loaded;
}

void
loaded_drop(struct loaded *loaded)
{
    if (loaded == NULL || --loaded->references > 0)
        return;
    for (size_t i = 0;
         loaded->reaches != NULL && i < loaded->policy->n_clusters; i++)
        reach_free(loaded->reaches[i]);
    free(loaded->reaches);
    policy_free(loaded->policy);
    free(loaded);
}

const struct policy *
loaded_policy(const struct loaded *loaded)
{
    return loaded->policy;
}

const char *
loaded_digest(const struct loaded *loaded)
{
    return loaded->digest;
}

void
loaded_file_digest(const char *path, char digest[LOADED_DIGEST_SIZE])
{
    size_t len = 0;
    struct err err;
    char *text = file_read(path, POLICY_BYTES_MAX, &len, &err);

    digest[0] = '\0';
    if (text != NULL)
        digest_sha256(digest, text, len);
    free(text);
}

const struct policy_flow *
loaded_flow(const struct loaded *loaded, const char *name)
{
    for (size_t i = 0; i < loaded->policy->n_flows; i++) {
        if (strcmp(loaded->policy->flows[i].name, name) == 0)
            return &loaded->policy->flows[i];
    }
    return NULL;
}

static const struct reach *
reach_of(const struct loaded *loaded, const struct policy_cluster *cluster)
{
    size_t i = (size_t)(cluster - loaded->policy->clusters);

    assert(i < loaded->policy->n_clusters);
    return loaded->reaches[i];
}

const struct kcluster *
loaded_source(const struct loaded *loaded, const struct policy_flow *flow)
{
    return reach_cluster(reach_of(loaded, flow->from));
}

const struct kcluster *
loaded_target(const struct loaded *loaded, const struct policy_flow *flow)
{
    return reach_cluster(reach_of(loaded, flow->to));
}

/* Of the flows that go the other way: what they bring is left out. */
static uint64_t
others(const struct loaded *loaded, const struct policy_flow *flow)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < loaded->policy->n_flows; i++) {
        const struct policy_flow *back = &loaded->policy->flows[i];

        if (back->from == flow->to && back->to == flow->from)
            sum += policy_fingerprint(back) * 31 + (uint64_t)back->rename +
                   digest_xxh64(back->separator, strlen(back->separator));
    }
    return sum;
}

uint64_t
loaded_signature(const struct loaded *loaded, const struct policy_flow *flow)
{
    char text[512];
    int len = snprintf(text, sizeof text,
        "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64
        " %d %s %d %" PRId64 " %s %" PRId64 " %d %d %" PRId64 " %" PRId64
        " %d %" PRIu64,
        flow->name, policy_fingerprint(flow),
        reach_signature(reach_of(loaded, flow->from)),
        reach_signature(reach_of(loaded, flow->to)), (int)flow->start,
        flow->start_wall_ms, flow->refresh_ms, (int)flow->rename,
        flow->separator, flow->create_topics, flow->replication_factor,
        flow->compression, flow->linger_ms, (int)flow->failure_scope,
        flow->shared_target, flow->max_in_flight_bytes, flow->bytes_per_second,
        flow->at_source, others(loaded, flow));

    assert(len > 0 && (size_t)len < sizeof text);
    return digest_xxh64(text, (size_t)len);
}

const char *
loaded_tls_floor(const struct loaded *loaded)
{
    const char *floor = NULL;

    for (size_t i = 0; i < loaded->policy->n_clusters; i++) {
        const struct policy_tls *tls = &loaded->policy->clusters[i].tls;

        if (tls->on && tls->min_version != NULL &&
            (floor == NULL || strcmp(tls->min_version, floor) > 0))
            floor = tls->min_version;
    }
    return floor;
}
