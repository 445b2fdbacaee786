#include "clusterrules.h"

#include "format.h"
#include "yaml_tree.h"

#include <arpa/inet.h>
#include <string.h>

void
clusterrules_tls_version(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *value =
        judge_cluster_said(judge, cluster, "tls", "min_version");
    const struct policy *policy = judge->policy;

    if (value != NULL && strcmp(cluster->tls.min_version, "1.2") != 0 &&
        strcmp(cluster->tls.min_version, "1.3") != 0) {
        findings_add(judge->found, "KP056", SEVERITY_REFUSE, value->at,
            "min_version: '%.20s': needed is \"1.2\" or \"1.3\"",
            cluster->tls.min_version);
        findings_remedy(judge->found, "min_version: \"1.2\"");
        return;
    }
    for (size_t i = 0; value != NULL && i < policy->n_clusters; i++) {
        const struct policy_cluster *other = &policy->clusters[i];

        if (!other->tls.on ||
            strcmp(other->tls.min_version, cluster->tls.min_version) <= 0)
            continue;
        findings_add(judge->found, "KP065", SEVERITY_REFUSE, value->at,
            "min_version: \"%s\" here and \"%s\" at cluster '%s': one agent "
            "speaks one",
            cluster->tls.min_version, other->tls.min_version, other->name);
        return;
    }
}

void
clusterrules_plaintext_at_home(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *value = judge_cluster_said(judge, cluster, NULL, "tls");
    const char *site = judge->policy->site;

    if (value == NULL || cluster->tls.on || site == NULL ||
        cluster->site == NULL || strcmp(cluster->site, site) == 0 ||
        !judge_site_is_known(judge))
        return; /* KP041 says that nothing is here */
    findings_add(judge->found, "KP057", SEVERITY_REFUSE, value->at,
        "plaintext to cluster '%s' at %s: this agent is at %s, and plaintext "
        "is for its own site only",
        cluster->name, cluster->site, site);
    findings_remedy(judge->found, "tls: {ca: /etc/kedge/tls/%s-ca.pem}",
        cluster->name);
}

void
clusterrules_verified(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *value =
        judge_cluster_said(judge, cluster, "tls", "verify");

    if (value == NULL || strcmp(cluster->tls.verify, "full") == 0)
        return;
    findings_add(judge->found, "KP058", SEVERITY_REFUSE, value->at,
        "verify: '%.40s': certificate and host name are always verified",
        cluster->tls.verify);
    findings_remedy(judge->found,
        "put the certificate of the authority that signed the cluster's into "
        "a file, and\ntls: {ca: /etc/kedge/tls/%s-ca.pem}",
        cluster->name);
}

void
clusterrules_pair(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *tls =
        yaml_find(judge_node(judge, "clusters", cluster->name), "tls");
    const struct yaml *cert = yaml_find(tls, "cert");
    const struct yaml *key = yaml_find(tls, "key");

    if ((cert == NULL) == (key == NULL) || tls->spoiled)
        return;
    judge_refuse(judge, "KP064", cert != NULL ? cert->at : key->at,
        cert != NULL ? "cert without key: one proves nothing without the other"
                     : "key without cert: one proves nothing without the "
                       "other");
}

static bool
is_public(const char *host)
{
    unsigned char at[16];

    if (inet_pton(AF_INET, host, at) == 1)
        return !(at[0] == 127 || at[0] == 10 ||
                 (at[0] == 172 && at[1] >= 16 && at[1] < 32) ||
                 (at[0] == 192 && at[1] == 168) ||
                 (at[0] == 169 && at[1] == 254));
    if (inet_pton(AF_INET6, host, at) == 1)
        return (at[0] & 0xfe) != 0xfc && !(at[0] == 0xfe && at[1] >= 0x80) &&
               memcmp(at, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16) != 0;
    return false; /* a name: judged when it is dialled */
}

/* Is the address, which is no name, in the network, "192.0.2.0/24"? */
static bool
is_within(const char *host, const char *network)
{
    char front[64];
    unsigned char at[16], net[16];
    int family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
    size_t len = strcspn(network, "/");
    int64_t bits = 0;

    if (network[len] == '\0' || len >= sizeof front ||
        format_int(network + len + 1, &bits) != FORMAT_FITS)
        return false;
    memcpy(front, network, len);
    front[len] = '\0';
    if (inet_pton(family, host, at) != 1 || inet_pton(family, front, net) != 1)
        return false;
    for (int64_t i = 0; i < bits && i / 8 < (int64_t)sizeof at; i++)
        if (((at[i / 8] ^ net[i / 8]) >> (7 - i % 8) & 1) != 0)
            return false;
    return true;
}

static bool
is_listed(const struct policy_cluster *cluster, const char *host)
{
    for (size_t i = 0; i < cluster->plaintext_networks.n; i++)
        if (is_within(host, cluster->plaintext_networks.items[i]))
            return true;
    return false;
}

void
clusterrules_public_plaintext(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *list =
        judge_cluster_said(judge, cluster, NULL, "bootstrap");
    const struct yaml *networks =
        yaml_find(judge_node(judge, "clusters", cluster->name),
            "plaintext_networks");
    char host[256];
    int port = 0;

    if (cluster->tls.on ||
        judge_cluster_said(judge, cluster, NULL, "tls") == NULL ||
        list == NULL || list->kind != YAML_LIST ||
        (networks != NULL && networks->n != cluster->plaintext_networks.n))
        return; /* or some of it was not understood */
    for (const struct yaml *item = list->first; item; item = item->next)
        if (item->kind == YAML_TEXT &&
            format_split_address(item->text, host, sizeof host, &port) &&
            is_public(host) && !is_listed(cluster, host)) {
            findings_add(judge->found, "KP062", SEVERITY_REFUSE, item->at,
                "plaintext to %s, which is neither a private nor a loopback "
                "address%s",
                host,
                networks != NULL ? ", nor in one of plaintext_networks" : "");
            findings_remedy(judge->found, "plaintext_networks: [%s/%d]", host,
                strchr(host, ':') != NULL ? 128 : 32);
        }
}

void
clusterrules_sasl_in_clear(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *value =
        judge_cluster_said(judge, cluster, "sasl", "mechanism");

    if (value == NULL || cluster->tls.on || cluster->sasl.mechanism == NULL ||
        strcmp(cluster->sasl.mechanism, "PLAIN") != 0 ||
        judge_cluster_said(judge, cluster, NULL, "tls") == NULL)
        return;
    findings_add(judge->found, "KP063", SEVERITY_WARNING, value->at,
        "PLAIN without TLS sends the password as it is");
    findings_remedy(judge->found, "mechanism: SCRAM-SHA-512");
}

void
clusterrules_networks_used(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct yaml *value =
        judge_cluster_said(judge, cluster, NULL, "plaintext_networks");

    if (value == NULL)
        return;
    if (cluster->tls.on && cluster->plaintext_networks.n > 0) {
        judge_refuse(judge, "KP066", value->at,
            "plaintext_networks has no effect: this cluster is reached over "
            "TLS");
        findings_remedy(judge->found, "take it out");
    }
    for (const struct yaml *item = value->first;
         item != NULL && !cluster->tls.on; item = item->next)
        if (item->kind == YAML_TEXT && format_is_network(item->text) &&
            strcmp(strchr(item->text, '/'), "/0") == 0) {
            findings_add(judge->found, "KP062", SEVERITY_REFUSE, item->at,
                "%.60s is every address there is, and not a network of this "
                "site",
                item->text);
            findings_remedy(judge->found,
                "name the networks of the site, as 192.0.2.0/24");
        }
}

void
clusterrules_cluster_used(const struct judge *judge,
    const struct policy_cluster *cluster)
{
    const struct policy *policy = judge->policy;

    for (size_t i = 0; i < policy->n_flows; i++)
        if (policy->flows[i].from == cluster ||
            policy->flows[i].to == cluster || policy->flows[i].from == NULL ||
            policy->flows[i].to == NULL ||
            policy->flows[i].from == policy->flows[i].to)
            return; /* or it may be meant there, and that is said already */
    if (policy->n_flows > 0)
        findings_add(judge->found, "KP086", SEVERITY_WARNING,
            judge_node(judge, "clusters", cluster->name)->key_at,
            "no flow uses cluster '%s'", cluster->name);
}
