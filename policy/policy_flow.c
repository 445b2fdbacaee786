/* What a flow of the policy takes: asked by its thread, for each topic. */
#include "match.h"
#include "policy.h"
#include "selection.h"
#include "topics.h"

#include <string.h>

/* By itself, and not by a pattern that has it. */
static bool
names(const struct policy_flow *flow, const char *topic)
{
    char stem[MATCH_NAME_MAX + 1];

    for (size_t i = 0; i < flow->include.n; i++)
        if (match_stem(flow->include.items[i], stem, sizeof stem) &&
            strcmp(stem, topic) == 0)
            return !policy_flow_excludes(flow, topic);
    return false;
}

/* Does the name tell that `back` writes it where `flow` reads, out of a topic
 * where `flow` writes?  A pattern that writes names as they are tells nothing:
 * the topic need not be there. */
static bool
brings(const struct policy_flow *back, const struct policy_flow *flow,
    const char *topic)
{
    size_t name = strlen(back->from_name), separator = strlen(back->separator);

    if (back->from != flow->to || back->to != flow->from)
        return false;
    if (back->rename == POLICY_IDENTITY)
        return names(back, topic);
    return strncmp(topic, back->from_name, name) == 0 &&
           strncmp(topic + name, back->separator, separator) == 0 &&
           !topics_is_internal(topic + name + separator) &&
           selection_writes(back, "", topic);
}

static bool
is_brought(const struct policy_flow *flow, const char *topic)
{
    const struct policy *policy = flow->policy;

    for (size_t i = 0; policy != NULL && i < policy->n_flows; i++)
        if (brings(&policy->flows[i], flow, topic))
            return true;
    return false;
}

bool
policy_flow_wants(const struct policy_flow *flow, const char *topic,
    const char **why)
{
    static const char *const reasons[] = {
        [MATCH_NO] = NULL,
        [MATCH_YES] = NULL,
        [MATCH_EXCLUDED] = "a pattern of topics.exclude matches it",
        [MATCH_UNDECIDED] = "a pattern of 'topics' takes too much work to "
                            "decide on it: write the pattern more simply",
    };
    enum match_answer answer = match_topic(flow->topics, topic);

    if (answer == MATCH_YES && is_brought(flow, topic)) {
        if (why != NULL)
            *why = "another flow of this policy brings it here from the "
                   "target: its records would come back to where they were";
        return false;
    }
    if (why != NULL)
        *why = reasons[answer];
    return answer == MATCH_YES;
}

bool
policy_flow_excludes(const struct policy_flow *flow, const char *topic)
{
    return match_topic(flow->topics, topic) == MATCH_EXCLUDED;
}
