#include "reach.h"

#include "chain.h"
#include "digest.h"
#include "distrust.h"
#include "identity.h"
#include "kflow.h"
#include "policy.h"
#include "secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reach {
    struct kcluster cluster; /* points into the rest */
    char *bootstrap;
    struct identity *identity;
    struct chain *chain;
    struct secret *password;
};

/* kafka knows no OpenSSL, and certs no Kafka. */
static void
explain(const struct kcert *cert, char *text, size_t size)
{
    const struct distrust_seen seen = { .cluster = cert->cluster,
        .server = cert->broker,
        .error = cert->error,
        .depth = cert->depth,
        .der = cert->der,
        .len = cert->len };

    distrust_explain(&seen, text, size);
}

/* "a:1,b:2" */
static char *
join(const struct policy_list *list)
{
    size_t len = 1;
    char *text, *at;

    for (size_t i = 0; i < list->n; i++)
        len += strlen(list->items[i]) + 1;
    text = at = malloc(len);
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < list->n; i++) {
        size_t n = strlen(list->items[i]);

        if (i > 0)
            *at++ = ',';
        memcpy(at, list->items[i], n);
        at += n;
    }
    *at = '\0';
    return text;
}

static bool
load_tls(struct reach *reach, const struct policy_tls *tls, int64_t now_wall_ms,
    struct err *err)
{
    const struct identity_files files = { .key = tls->key, .cert = tls->cert };

    if (tls->ca != NULL) {
        reach->chain = chain_load(tls->ca, now_wall_ms, err);
        if (reach->chain == NULL)
            return false;
        reach->cluster.ca_pem = chain_pem(reach->chain);
    }
    if (tls->cert != NULL) {
        reach->identity = identity_load(&files, now_wall_ms, err);
        if (reach->identity == NULL)
            return false;
        reach->cluster.cert_pem = identity_cert_pem(reach->identity);
        reach->cluster.key_pem = identity_key_pem(reach->identity);
    }
    return true;
}

static bool
load(struct reach *reach, const struct policy_cluster *cluster,
    int64_t now_wall_ms, struct err *err)
{
    reach->bootstrap = join(&cluster->bootstrap);
    if (reach->bootstrap == NULL)
        return err_set(err, ERR_MEMORY, "bootstrap");
    reach->cluster = (struct kcluster){
        .alias = cluster->name,
        .bootstrap = reach->bootstrap,
        .tls = cluster->tls.on,
        .explain = explain,
        .sasl_mechanism = cluster->sasl.mechanism,
        .sasl_username = cluster->sasl.username,
        .plaintext_private_only = true,
        .plaintext_networks = cluster->plaintext_networks.items,
        .n_plaintext_networks = cluster->plaintext_networks.n,
    };
    if (cluster->tls.on && !load_tls(reach, &cluster->tls, now_wall_ms, err))
        return false;
    if (cluster->sasl.mechanism == NULL || cluster->sasl.password_file == NULL)
        return true;
    reach->password = secret_from_file(cluster->sasl.password_file, err);
    reach->cluster.sasl_password = reach->password;
    return reach->password != NULL;
}

struct reach *
reach_load(const struct policy_cluster *cluster, int64_t now_wall_ms,
    struct err *err)
{
    struct reach *reach = calloc(1, sizeof *reach);

    if (reach == NULL) {
        err_set(err, ERR_MEMORY, "cluster %s", cluster->name);
        return NULL;
    }
    if (!load(reach, cluster, now_wall_ms, err)) {
        err_wrap(err, "cluster %s", cluster->name);
        reach_free(reach);
        return NULL;
    }
    return reach;
}

void
reach_free(struct reach *reach)
{
    if (reach == NULL)
        return;
    secret_free(reach->password);
    identity_free(reach->identity);
    chain_free(reach->chain);
    free(reach->bootstrap);
    free(reach);
}

const struct kcluster *
reach_cluster(const struct reach *reach)
{
    return &reach->cluster;
}

/* One more text goes into the number; NULL and "" differ. */
static uint64_t
mix(uint64_t sum, const char *text)
{
    uint64_t pair[2] = { sum, 0 };

    if (text != NULL)
        pair[1] = digest_xxh64(text, strlen(text)) | 1;
    return digest_xxh64(pair, sizeof pair);
}

uint64_t
reach_signature(const struct reach *reach)
{
    const struct kcluster *cluster = &reach->cluster;
    uint64_t sum = cluster->tls ? 1 : 0;

    sum = mix(sum, cluster->alias);
    sum = mix(sum, cluster->bootstrap);
    sum = mix(sum, cluster->ca_pem);
    sum = mix(sum, cluster->cert_pem);
    sum = mix(sum,
        cluster->key_pem == NULL ? NULL : secret_text(cluster->key_pem));
    sum = mix(sum, cluster->sasl_mechanism);
    sum = mix(sum, cluster->sasl_username);
    for (size_t i = 0; i < cluster->n_plaintext_networks; i++)
        sum = mix(sum, cluster->plaintext_networks[i]);
    return mix(sum, cluster->sasl_password == NULL
                        ? NULL
                        : secret_text(cluster->sasl_password));
}
