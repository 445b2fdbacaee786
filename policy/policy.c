#include "policy.h"

#include "digest.h"
#include "fields.h"
#include "format.h"
#include "match.h"
#include "redact.h"
#include "rules.h"
#include "schema.h"
#include "topics.h"
#include "yaml_tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- from words to what they mean ------------------------------------------ */

static const struct policy_cluster *
cluster_named(const struct policy *policy, const char *name)
{
    for (size_t i = 0; name != NULL && i < policy->n_clusters; i++)
        if (strcmp(policy->clusters[i].name, name) == 0)
            return &policy->clusters[i];
    return NULL;
}

/* Where the agent stands: the rules have to say if this is nowhere. */
static void
place(const struct policy *policy, struct policy_flow *flow)
{
    bool from_here = false, to_here = false;

    flow->from = cluster_named(policy, flow->from_name);
    flow->to = cluster_named(policy, flow->to_name);
    if (policy->site == NULL || flow->from == NULL || flow->to == NULL ||
        flow->from->site == NULL || flow->to->site == NULL)
        return;
    from_here = strcmp(flow->from->site, policy->site) == 0;
    to_here = strcmp(flow->to->site, policy->site) == 0;
    flow->at_source = from_here && !to_here;
    flow->at_target = to_here && !from_here;
}

/* What the flow does not say about its placement, the policy says. */
static void
inherit(const struct policy_placement *from, struct policy_placement *to)
{
    if (to->because == POLICY_NO_REASON)
        to->because = from->because;
    if (to->outage_budget_ms == 0)
        to->outage_budget_ms = from->outage_budget_ms;
    if (to->runs_at == POLICY_ANY_SIDE)
        to->runs_at = from->runs_at;
    if (to->measured_date == NULL)
        to->measured_date = from->measured_date;
    if (to->measured_ratio == NULL)
        to->measured_ratio = from->measured_ratio;
}

/* One that is none of these is refused by a rule. */
static void
read_start(struct policy_flow *flow)
{
    if (strcmp(flow->start_text, "latest") == 0)
        flow->start = POLICY_LATEST;
    else if (format_time(flow->start_text, &flow->start_wall_ms))
        flow->start = POLICY_AT_TIME;
    else
        flow->start = POLICY_EARLIEST;
}

/* A cluster that can keep fewer copies is asked for no more. */
static void
set_replicas(struct policy_flow *flow, const struct yaml *node)
{
    const struct yaml *value =
        yaml_find(yaml_find(node, "target_topics"), "replication.factor");

    if (value == NULL && flow->to != NULL && flow->to->durable_replicas > 0 &&
        flow->to->durable_replicas < flow->replication_factor)
        flow->replication_factor = flow->to->durable_replicas;
}

static void
resolve(struct policy *policy, struct findings *found)
{
    const struct yaml *flows = yaml_find(policy->tree, "flows");

    for (size_t i = 0; i < policy->n_flows; i++) {
        struct policy_flow *flow = &policy->flows[i];
        const struct yaml *node = yaml_find(flows, flow->name);

        flow->policy = policy;
        place(policy, flow);
        inherit(&policy->placement, &flow->placement);
        read_start(flow);
        set_replicas(flow, node);
        topics_compile(flow, node, found);
    }
}

/* Weaker words were refused or warned about; this is what is in force. */
static void
settle(struct policy *policy)
{
    for (size_t i = 0; i < policy->n_flows; i++) {
        policy->flows[i].acks = "all";
        policy->flows[i].retries = "unlimited";
        policy->flows[i].errors_tolerance = "none";
        if (policy->flows[i].topics != NULL)
            match_settle((struct match *)(uintptr_t)policy->flows[i].topics);
    }
}

/* Something else that is YAML or JSON: its keys need not be said one by one. */
static bool
is_other(const struct policy *policy, struct findings *found)
{
    static const struct {
        const char *key, *what;
    } others[] = {
        { "apiVersion", "a resource of Kubernetes" },
        { "connector.class", "the configuration of a connector" },
    };

    if (yaml_find(policy->tree, "clusters") != NULL ||
        yaml_find(policy->tree, "flows") != NULL)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct yaml *node = yaml_find(policy->tree, others[i].key);

        if (node == NULL)
            continue;
        findings_add(found, "KP011", SEVERITY_REFUSE, node->key_at,
            "this is %s, not a policy", others[i].what);
        findings_remedy(found, "begin with the example of kedge.policy(5)");
        return true;
    }
    return false;
}

struct policy *
policy_parse(const char *text, size_t len, int64_t now_wall_ms,
    struct findings *found)
{
    struct policy *policy = calloc(1, sizeof *policy);

    if (policy == NULL) {
        findings_add(found, "KP001", SEVERITY_REFUSE, (struct span){ 0 },
            "there is no memory to read it");
        return NULL;
    }
    policy->tree = yaml_read(text, len, found);
    if (policy->tree != NULL && !is_other(policy, found)) {
        schema_read(fields_root(), policy->tree, policy, found);
        resolve(policy, found);
        rules_check(policy, now_wall_ms, found);
        settle(policy);
    }
    if (policy->tree != NULL && !findings_refuse(found))
        return policy;
    policy_free(policy);
    return NULL;
}

/* The agent sees it as constant; it was made here. */
void
policy_free(const struct policy *policy)
{
    struct policy *ours = (struct policy *)(uintptr_t)policy;

    if (ours == NULL)
        return;
    for (size_t i = 0; i < ours->n_flows; i++)
        match_free((struct match *)(uintptr_t)ours->flows[i].topics);
    schema_clear(fields_root(), ours);
    yaml_drop(ours->tree);
    free(ours);
}

/* ---- questions -------------------------------------------------------------- */

static uint64_t
sum_of(const struct policy_list *list)
{
    uint64_t sum = 0; /* in any order */

    for (size_t i = 0; i < list->n; i++)
        sum += digest_xxh64(list->items[i], strlen(list->items[i]));
    return sum;
}

uint64_t
policy_fingerprint(const struct policy_flow *flow)
{
    const uint64_t parts[] = { sum_of(&flow->include), sum_of(&flow->exclude),
        digest_xxh64(flow->start_text, strlen(flow->start_text)) };
    unsigned char bytes[sizeof parts];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(parts[i / 8] >> (8 * (i % 8)));
    return digest_xxh64(bytes, sizeof bytes);
}

void
policy_redact(char *text, size_t len)
{
    redact_source(text, len);
}
