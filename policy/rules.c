#include "rules.h"

#include "clusterrules.h"
#include "flowrules.h"
#include "format.h"
#include "loopback.h"
#include "match.h"
#include "selection.h"
#include "topics.h"
#include "yaml_tree.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define CIRCLE_MAX 6      /* flows in a circle that is looked for */
#define LOOKS_MAX 4000000 /* at patterns, about a second */

static void
rule_version(const struct judge *judge)
{
    const struct yaml *version = yaml_find(judge->policy->tree, "version");

    if (version == NULL || version->spoiled || judge->policy->version == 1)
        return;
    judge_refuse(judge, "KP034", version->at, "this kedge reads version 1");
    findings_remedy(judge->found, "version: 1");
}

static void
rule_metrics_loopback(const struct judge *judge)
{
    const char *metrics = judge->policy->metrics;
    const struct yaml *value =
        yaml_find(yaml_find(judge->policy->tree, "admin"), "metrics");
    struct sockaddr_storage address;
    char host[256];
    int port = 0;

    if (metrics == NULL || value == NULL ||
        !format_split_address(metrics, host, sizeof host, &port) ||
        loopback_parse(metrics, &address) > 0)
        return;
    findings_add(judge->found, "KP083", SEVERITY_REFUSE, value->at,
        "metrics: %s is not a loopback address", metrics);
    findings_remedy(judge->found, "metrics: \"127.0.0.1:%d\"", port);
}

static void
rule_socket_path(const struct judge *judge)
{
    const struct yaml *value =
        yaml_find(yaml_find(judge->policy->tree, "admin"), "socket");
    size_t len = 0;

    if (value == NULL || value->spoiled || judge->policy->admin_socket == NULL)
        return;
    len = strlen(judge->policy->admin_socket);
    if (len >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        judge_refuse(judge, "KP084", value->at,
            "socket: longer than the 107 bytes that the system allows");
    else if (judge->policy->admin_socket[len - 1] == '/')
        judge_refuse(judge, "KP038", value->at,
            "socket: a folder, but the socket needs a name in it");
}

/* ---- two clusters --------------------------------------------------------- */

static const char *
shared_broker(const struct policy_cluster *a, const struct policy_cluster *b)
{
    for (size_t i = 0; i < a->bootstrap.n; i++)
        for (size_t k = 0; k < b->bootstrap.n; k++)
            if (strcasecmp(a->bootstrap.items[i], b->bootstrap.items[k]) == 0)
                return a->bootstrap.items[i];
    return NULL;
}

static void
rule_two_clusters(const struct judge *judge, const struct policy_flow *flow)
{
    const struct yaml *node = judge_flow(judge, flow);
    const char *broker = NULL;

    if (flow->from == NULL || flow->to == NULL)
        return;
    if (flow->from == flow->to) {
        findings_add(judge->found, "KP070", SEVERITY_REFUSE,
            yaml_find(node, "to")->at,
            "flow '%s' goes from cluster '%s' to itself", flow->name,
            flow->to_name);
        return;
    }
    broker = shared_broker(flow->from, flow->to);
    if (broker != NULL)
        findings_add(judge->found, "KP070", SEVERITY_REFUSE,
            yaml_find(node, "to")->at,
            "clusters '%s' and '%s' are one: both have the broker %s",
            flow->from_name, flow->to_name, broker);
}

/* ---- two flows ------------------------------------------------------------ */

static void
rule_apart(const struct judge *judge)
{
    const struct policy *policy = judge->policy;

    for (size_t i = 0; i < policy->n_flows; i++) {
        const struct policy_flow *a = &policy->flows[i];

        for (size_t k = 0; a->to != NULL && k < i; k++) {
            const struct policy_flow *b = &policy->flows[k];

            if (a->to != b->to || b->from == NULL || a->from == NULL ||
                a->topics == NULL || b->topics == NULL || !topics_meet(a, b))
                continue;
            findings_add(judge->found, "KP072", SEVERITY_REFUSE,
                judge_flow(judge, a)->key_at,
                "flows '%s' (line %d) and '%s' may write the same topic at "
                "'%s'",
                b->name, judge_flow(judge, b)->key_at.line, a->name,
                a->to->name);
            findings_remedy(judge->found,
                "name other topics, or put the include patterns of '%s' word "
                "for word into topics.exclude of '%s'",
                b->name, a->name);
        }
    }
}

/* A path from flow to flow, in search of circles. */
struct path {
    const struct judge *judge;
    const struct policy_flow *flows[CIRCLE_MAX];
    size_t n;
    int steps; /* left, of going on, and of looking at patterns */
    int looks;
};

static void
refuse_circle(const struct path *path)
{
    const struct judge *judge = path->judge;
    char names[CIRCLE_MAX * 48] = "";
    size_t used = 0;

    for (size_t i = 0; i < path->n && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s'%s'",
            i > 0 ? ", " : "", path->flows[i]->name);
    findings_add(judge->found, "KP071", SEVERITY_REFUSE,
        judge_flow(judge, path->flows[path->n - 1])->key_at,
        "records can go round in a circle through the flows %s", names);
    findings_remedy(judge->found,
        "rename: {policy: prefix} in each of them, or put the include patterns "
        "of one word for word into topics.exclude of the next");
}

/* Patterns that were not asked to the end show nothing: it is said of them. */
static bool
is_spent(const struct path *path)
{
    for (size_t i = 0; i < path->n; i++)
        if (match_is_spent(path->flows[i]->topics))
            return true;
    return false;
}

static bool
was_there(const struct path *path, const struct policy_cluster *cluster)
{
    for (size_t i = 1; i < path->n; i++)
        if (path->flows[i]->from == cluster)
            return true;
    return false;
}

/* Two flows may go there and back, and leave out what a name tells: there it
 * counts if it goes on for ever, and KP087 says the rest. */
static bool
goes_round(struct path *path)
{
    const struct policy_flow *from_here[CIRCLE_MAX];

    if (path->n == 2)
        return topics_circle(path->flows, path->n, true, &path->looks);
    for (size_t i = 0; i < path->n; i++) {
        for (size_t k = 0; k < path->n; k++)
            from_here[k] = path->flows[(i + k) % path->n];
        if (topics_circle(from_here, path->n, false, &path->looks))
            return true;
    }
    return false;
}

/* Goes on from the end of the path.  Each circle is found from its first flow
 * in the file. */
static void
walk(struct path *path)
{
    const struct policy *policy = path->judge->policy;
    const struct policy_flow *first = path->flows[0];
    const struct policy_flow *last = path->flows[path->n - 1];

    if (last->to == first->from) {
        if (goes_round(path) && !is_spent(path))
            refuse_circle(path);
        return;
    }
    for (size_t i = 0; path->n < CIRCLE_MAX && i < policy->n_flows; i++) {
        const struct policy_flow *next = &policy->flows[i];

        if (next < first || next->from != last->to || next->to == NULL ||
            next->topics == NULL || next->from == next->to ||
            was_there(path, next->from) || path->steps-- <= 0)
            continue;
        path->flows[path->n++] = next;
        walk(path);
        path->n--;
    }
}

static void
rule_no_circle(const struct judge *judge)
{
    const struct policy *policy = judge->policy;
    struct path path = { .judge = judge, .steps = 2000, .looks = LOOKS_MAX };

    for (size_t i = 0; i < policy->n_flows; i++) {
        const struct policy_flow *flow = &policy->flows[i];

        if (flow->from == NULL || flow->to == NULL || flow->from == flow->to ||
            flow->topics == NULL)
            continue;
        path.flows[0] = flow;
        path.n = 1;
        walk(&path);
    }
}

/* Behind the rule of circles, which says it when it goes on for ever. */
static void
rule_brought(const struct judge *judge, const struct policy_flow *flow)
{
    const struct policy *policy = judge->policy;
    char written[600];
    int looks = LOOKS_MAX;

    for (size_t i = 0; flow->topics != NULL && i < policy->n_flows; i++) {
        const struct policy_flow *back = &policy->flows[i];
        const struct policy_flow *there[] = { back, flow };
        const struct policy_flow *round[] = { back < flow ? back : flow,
            back < flow ? flow : back };

        if (back->topics == NULL || back->from == NULL || back->to == NULL ||
            back->from != flow->to || back->to != flow->from ||
            topics_circle(round, 2, true, &looks) ||
            !topics_circle(there, 2, false, &looks))
            continue;
        selection_written(back, "", written, sizeof written);
        findings_add(judge->found, "KP087", SEVERITY_WARNING,
            yaml_find(judge_flow(judge, flow), "topics")->at,
            "what '%s' (line %d) brings to '%s' could come back to '%s' by "
            "flow '%s'",
            back->name, judge_flow(judge, back)->key_at.line, flow->from_name,
            flow->to_name, flow->name);
        if (back->rename == POLICY_PREFIX)
            findings_remedy(judge->found, "topics: {exclude: ['%s']}", written);
        else
            findings_remedy(judge->found,
                "put the include patterns of '%s' word for word into "
                "topics.exclude of '%s'",
                back->name, flow->name);
    }
}

/* Behind the rules that ask the patterns. */
static void
rule_work(const struct judge *judge, const struct policy_flow *flow)
{
    if (flow->topics == NULL || !match_is_spent(flow->topics))
        return;
    findings_add(judge->found, "KP085", SEVERITY_REFUSE,
        yaml_find(judge_flow(judge, flow), "topics")->at,
        "the patterns of flow '%s' take too much work to judge", flow->name);
    findings_remedy(judge->found,
        "write them more simply: no repetition of what repeats, as (a+)+");
}

/* ---- the table ------------------------------------------------------------ */

/* One row is one code, one function, one sentence in codes.c, and a good and a
 * bad file in the tests.  Placement comes first. */
static const struct rule {
    const char *code;
    flowrules_fn *flow;
    clusterrules_fn *cluster;
    void (*policy)(const struct judge *judge);
} rules[] = {
    { "KP034", .policy = rule_version },
    { "KP040", .flow = flowrules_cluster_known },
    { "KP041", .flow = flowrules_one_side_here },
    { "KP042", .flow = flowrules_runs_at },
    { "KP043", .flow = flowrules_promises }, /* and KP044 to KP048 */
    { "KP060", .flow = flowrules_encryption },
    { "KP061", .flow = flowrules_measured },
    { "KP050", .flow = flowrules_assertions }, /* KP052 to KP055, KP059 */
    { "KP051", .flow = flowrules_in_flight },
    { "KP056", .cluster = clusterrules_tls_version }, /* and KP065 */
    { "KP057", .cluster = clusterrules_plaintext_at_home },
    { "KP058", .cluster = clusterrules_verified },
    { "KP062", .cluster = clusterrules_public_plaintext },
    { "KP063", .cluster = clusterrules_sasl_in_clear },
    { "KP064", .cluster = clusterrules_pair },
    { "KP066", .cluster = clusterrules_networks_used },
    { "KP070", .flow = rule_two_clusters },
    { "KP071", .policy = rule_no_circle },
    { "KP087", .flow = rule_brought },
    { "KP072", .policy = rule_apart },
    { "KP078", .flow = flowrules_separator },
    { "KP081", .flow = flowrules_replicas },
    { "KP082", .flow = flowrules_start }, /* and KP036 */
    { "KP083", .policy = rule_metrics_loopback },
    { "KP084", .policy = rule_socket_path },
    { "KP085", .flow = rule_work },
    { "KP086", .cluster = clusterrules_cluster_used },
};

void
rules_check(const struct policy *policy, int64_t now_wall_ms,
    struct findings *found)
{
    const struct judge judge = { policy, now_wall_ms, found };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        for (size_t k = 0; rules[i].flow != NULL && k < policy->n_flows; k++)
            rules[i].flow(&judge, &policy->flows[k]);
        for (size_t k = 0; rules[i].cluster != NULL && k < policy->n_clusters;
             k++)
            rules[i].cluster(&judge, &policy->clusters[k]);
        if (rules[i].policy != NULL)
            rules[i].policy(&judge);
    }
}
