#include "judge.h"

#include "yaml_tree.h"

#include <string.h>

void
judge_refuse(const struct judge *judge, const char *code, struct span at,
    const char *text)
{
    findings_add(judge->found, code, SEVERITY_REFUSE, at, "%s", text);
}

bool
judge_site_is_known(const struct judge *judge)
{
    const struct policy *policy = judge->policy;

    if (policy->site == NULL)
        return true;
    for (size_t i = 0; i < policy->n_clusters; i++)
        if (policy->clusters[i].site == NULL ||
            strcmp(policy->clusters[i].site, policy->site) == 0)
            return true;
    return false;
}

struct yaml *
judge_node(const struct judge *judge, const char *section, const char *name)
{
    return yaml_find(yaml_find(judge->policy->tree, section), name);
}

struct yaml *
judge_flow(const struct judge *judge, const struct policy_flow *flow)
{
    return judge_node(judge, "flows", flow->name);
}

/* The text of flow.section.key as it is written and understood; else NULL. */
const struct yaml *
judge_said(const struct judge *judge, const struct policy_flow *flow,
    const char *section, const char *key)
{
    const struct yaml *node = judge_flow(judge, flow);
    const struct yaml *value = yaml_find(yaml_find(node, section), key);

    return value != NULL && value->kind == YAML_TEXT && !value->spoiled ? value
                                                                        : NULL;
}

const struct yaml *
judge_cluster_said(const struct judge *judge,
    const struct policy_cluster *cluster, const char *section, const char *key)
{
    const struct yaml *node = judge_node(judge, "clusters", cluster->name);
    const struct yaml *value = section != NULL
                                   ? yaml_find(yaml_find(node, section), key)
                                   : yaml_find(node, key);

    return value != NULL && !value->spoiled && value->kind != YAML_BROKEN
               ? value
               : NULL;
}
