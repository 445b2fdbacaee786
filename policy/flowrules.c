#include "flowrules.h"

#include "format.h"
#include "nearest.h"
#include "promises.h"
#include "yaml_tree.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)
#define MEASURED_DAYS 180

/* ---- placement ------------------------------------------------------------ */

/* "hub, plant7": each once, as many as there is room for. */
static void
list_words(const char *const *words, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL; i++) {
        bool again = false;

        for (size_t k = 0; k < i; k++)
            again = again || strcmp(words[k], words[i]) == 0;
        if (again || used + strlen(words[i]) + 3 > size)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s",
            used > 0 ? ", " : "", words[i]);
    }
}

/* The word that was meant, or all that there are. */
static void
remedy_words(const struct judge *judge, const char *key, const char *text,
    const char *const *words)
{
    char list[256];

    list_words(words, list, sizeof list);
    if (nearest_word(text, words) != NULL)
        findings_remedy(judge->found, "%s: %s", key, nearest_word(text, words));
    else if (list[0] != '\0')
        findings_remedy(judge->found, "%s: one of %s", key, list);
}

static void
refuse_cluster(const struct judge *judge, const struct policy_flow *flow,
    const char *key, const char *name)
{
    const struct policy *policy = judge->policy;
    const char *names[101] = { NULL };
    const struct yaml *value = yaml_find(judge_flow(judge, flow), key);

    if (name == NULL || value == NULL || value->spoiled)
        return;
    for (size_t i = 0; i < policy->n_clusters && i < 100; i++)
        names[i] = policy->clusters[i].name;
    findings_add(judge->found, "KP040", SEVERITY_REFUSE, value->at,
        "%s: there is no cluster '%.40s'", key, name);
    remedy_words(judge, key, name, names);
}

void
flowrules_cluster_known(const struct judge *judge,
    const struct policy_flow *flow)
{
    if (judge->policy->n_clusters == 0)
        return;
    if (flow->from == NULL)
        refuse_cluster(judge, flow, "from", flow->from_name);
    if (flow->to == NULL)
        refuse_cluster(judge, flow, "to", flow->to_name);
}

/* Both clusters and all three sites are known. */
static bool
is_placed(const struct judge *judge, const struct policy_flow *flow)
{
    return judge->policy->site != NULL && flow->from != NULL &&
           flow->to != NULL && flow->from->site != NULL &&
           flow->to->site != NULL;
}

/* The agent is nowhere: said at its site, once for all flows. */
static void
refuse_site(const struct judge *judge)
{
    const struct policy *policy = judge->policy;
    const struct yaml *value =
        yaml_find(yaml_find(policy->tree, "agent"), "site");
    const char *names[101] = { NULL };
    size_t n = 0;

    for (size_t i = 0; i < policy->n_clusters && n < 100; i++)
        if (policy->clusters[i].site != NULL)
            names[n++] = policy->clusters[i].site;
    findings_add(judge->found, "KP041", SEVERITY_REFUSE, value->at,
        "no cluster is at '%s', where this agent runs", policy->site);
    remedy_words(judge, "site", policy->site, names);
}

void
flowrules_one_side_here(const struct judge *judge,
    const struct policy_flow *flow)
{
    const char *site = judge->policy->site;

    if (is_placed(judge, flow) && !judge_site_is_known(judge)) {
        refuse_site(judge);
        return;
    }
    if (!is_placed(judge, flow) || strcmp(flow->from->site, site) == 0 ||
        strcmp(flow->to->site, site) == 0)
        return;
    findings_add(judge->found, "KP041", SEVERITY_REFUSE,
        judge_flow(judge, flow)->key_at,
        "flow '%s' goes from %s to %s, and this agent runs at neither: it is "
        "at %s",
        flow->name, flow->from->site, flow->to->site, site);
    findings_remedy(judge->found, "run it at %s (better) or at %s",
        flow->to->site, flow->from->site);
}

void
flowrules_runs_at(const struct judge *judge, const struct policy_flow *flow)
{
    const struct yaml *own = judge_said(judge, flow, "placement", "runs_at");
    const struct yaml *general =
        yaml_find(yaml_find(judge->policy->tree, "placement"), "runs_at");
    enum policy_where where = flow->placement.runs_at;
    bool fits =
        where == POLICY_ANY_SIDE ||
        (where == POLICY_AT_SOURCE ? !flow->at_target : !flow->at_source);

    if (!is_placed(judge, flow) || fits)
        return;
    findings_add(judge->found, "KP042", SEVERITY_REFUSE,
        own != NULL       ? own->at
        : general != NULL ? general->at
                          : judge_flow(judge, flow)->key_at,
        "runs_at: %s, but flow '%s' runs at its %s: this agent is at %s",
        where == POLICY_AT_SOURCE ? "source" : "target", flow->name,
        flow->at_source ? "source" : "target", judge->policy->site);
    findings_remedy(judge->found,
        "runs_at: %s\n# or correct the sites of agent and clusters",
        flow->at_source ? "source" : "target");
}

void
flowrules_promises(const struct judge *judge, const struct policy_flow *flow)
{
    if (is_placed(judge, flow))
        promises_check(judge->policy, flow, judge_flow(judge, flow),
            judge->found);
}

void
flowrules_encryption(const struct judge *judge, const struct policy_flow *flow)
{
    struct span at = { 0 };

    if (!is_placed(judge, flow) || !flow->at_source ||
        flow->placement.because != POLICY_ENCRYPTION)
        return;
    at = judge_flow(judge, flow)->key_at;
    if (flow->from->tls.on)
        judge_refuse(judge, "KP060", at,
            "because: encryption, but the source is not plaintext: there is "
            "nothing to save by producing remotely");
    else if (!flow->to->tls.on &&
             judge_cluster_said(judge, flow->to, NULL, "tls"))
        judge_refuse(judge, "KP060", at,
            "because: encryption, but the target is not TLS");
}

/* Something stands there, though not in a way that was understood. */
static bool
says_measured(const struct judge *judge, const struct policy_flow *flow)
{
    const struct yaml *own = yaml_find(judge_flow(judge, flow), "placement");
    const struct yaml *general = yaml_find(judge->policy->tree, "placement");

    return yaml_find(own, "measured") != NULL ||
           yaml_find(general, "measured") != NULL;
}

void
flowrules_measured(const struct judge *judge, const struct policy_flow *flow)
{
    const char *date = flow->placement.measured_date;
    int64_t wall_ms = 0;

    if (!flow->at_source || flow->placement.because != POLICY_ENCRYPTION ||
        (date == NULL && says_measured(judge, flow)))
        return;
    if (date == NULL)
        findings_add(judge->found, "KP061", SEVERITY_WARNING,
            judge_flow(judge, flow)->key_at,
            "because: encryption, and no measurement that shows what it "
            "saves");
    else if (format_time(date, &wall_ms) &&
             judge->now_wall_ms - wall_ms > MEASURED_DAYS * DAY_MS)
        findings_add(judge->found, "KP061", SEVERITY_WARNING,
            judge_flow(judge, flow)->key_at,
            "because: encryption, measured on %s: older than 180 days", date);
    else if (wall_ms > judge->now_wall_ms + DAY_MS)
        findings_add(judge->found, "KP061", SEVERITY_WARNING,
            judge_flow(judge, flow)->key_at,
            "because: encryption, measured on %s: that day is still to come",
            date);
    else
        return;
    findings_remedy(judge->found,
        "compare both placements, and write placement.measured: {date, ratio}");
}

/* ---- always --------------------------------------------------------------- */

#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

/* Settings that people bring, and what they may say.  The first word is ours. */
static const struct assertion {
    const char *code, *section, *key;
    const char *const *words;
    const char *why;
} assertions[] = {
    { "KP050", "producer", "enable.idempotence", WORDS("true"),
        "a retry could write a record twice, or out of order" },
    { "KP052", "producer", "delivery.timeout.ms",
        WORDS("unlimited", "2147483647"),
        "a record that is given up after some time is lost" },
    { "KP053", "consumer", "auto.offset.reset", WORDS("error", "none"),
        "a position that is gone must not be jumped over in silence, and where "
        "to begin is topics.start" },
    { "KP054", "consumer", "check.crcs", WORDS("true"),
        "a record that was damaged on the way would be forwarded" },
    { "KP055", "consumer", "enable.auto.commit", WORDS("false"),
        "positions are stored after the target's acknowledgement only" },
    { "KP059", "consumer", "isolation.level", WORDS("read_committed"),
        "records of aborted transactions would be forwarded" },
};

void
flowrules_assertions(const struct judge *judge, const struct policy_flow *flow)
{
    for (size_t i = 0; i < sizeof assertions / sizeof assertions[0]; i++) {
        const struct assertion *one = &assertions[i];
        const struct yaml *value =
            judge_said(judge, flow, one->section, one->key);

        if (value == NULL || nearest_is(value->text, one->words))
            continue;
        findings_add(judge->found, one->code, SEVERITY_REFUSE, value->at,
            "%s: %.40s: %s", one->key, value->text, one->why);
        findings_remedy(judge->found, "%s: %s", one->key, one->words[0]);
    }
}

void
flowrules_in_flight(const struct judge *judge, const struct policy_flow *flow)
{
    static const char key[] = "max.in.flight.requests.per.connection";
    const struct yaml *value = judge_said(judge, flow, "producer", key);

    if (value == NULL || flow->in_flight == 5)
        return;
    if (flow->in_flight >= 1 && flow->in_flight < 5)
        judge_refuse(judge, "KP030", value->at,
            "max.in.flight.requests.per.connection: it is 5 in this version, "
            "and order holds with that as well");
    else
        judge_refuse(judge, "KP051", value->at,
            "max.in.flight.requests.per.connection: order and uniqueness hold "
            "up to 5 only");
    findings_remedy(judge->found, "%s: 5", key);
}

void
flowrules_start(const struct judge *judge, const struct policy_flow *flow)
{
    static const char *const words[] = { "earliest", "latest", NULL };
    const struct yaml *value = judge_said(judge, flow, "topics", "start");
    const char *near = NULL;

    if (value != NULL && flow->start == POLICY_EARLIEST &&
        strcmp(flow->start_text, words[0]) != 0) {
        near = nearest_word(flow->start_text, words);
        findings_add(judge->found, "KP036", SEVERITY_REFUSE, value->at,
            "start: '%.40s' is not earliest, latest, or a time as "
            "2026-11-30T21:56:12Z",
            flow->start_text);
        findings_remedy(judge->found, "start: %s",
            near != NULL ? near : words[0]);
        return;
    }
    if (value == NULL || flow->start != POLICY_AT_TIME ||
        flow->start_wall_ms <= judge->now_wall_ms)
        return;
    findings_add(judge->found, "KP082", SEVERITY_REFUSE, value->at,
        "start: %.40s is still to come: what there is already would be passed "
        "over",
        value->text);
    findings_remedy(judge->found,
        "start: latest\n# or a time that is over, or correct the clock");
}

void
flowrules_separator(const struct judge *judge, const struct policy_flow *flow)
{
    const struct yaml *value = judge_said(judge, flow, "rename", "separator");
    size_t len = value != NULL ? strlen(value->text) : 0;

    if (value == NULL || (len <= 8 && strspn(value->text, "._-") == len))
        return;
    judge_refuse(judge, "KP078", value->at,
        "separator: one to eight of '.', '_' and '-', as topic names may have");
    findings_remedy(judge->found, "separator: \".\"");
}

/* What the cluster admits was not understood. */
static bool
may_admit(const struct yaml *node, const struct policy_cluster *cluster)
{
    return node == NULL || node->kind != YAML_MAP || node->spoiled ||
           (cluster->durable_replicas == 0 &&
               yaml_find(node, "durability") != NULL);
}

void
flowrules_replicas(const struct judge *judge, const struct policy_flow *flow)
{
    const struct yaml *value =
        judge_said(judge, flow, "target_topics", "replication.factor");
    int64_t admitted = 3;

    if (value == NULL || flow->to == NULL || !flow->create_topics)
        return;
    if (flow->to->durable_replicas > 0 && flow->to->durable_replicas < 3)
        admitted = flow->to->durable_replicas;
    if (flow->replication_factor >= admitted ||
        may_admit(judge_node(judge, "clusters", flow->to_name), flow->to))
        return;
    findings_add(judge->found, "KP081", SEVERITY_REFUSE, value->at,
        "replication.factor: %lld: fewer than %lld copies, and cluster '%s' "
        "does not say why",
        (long long)flow->replication_factor, (long long)admitted,
        flow->to_name);
    findings_remedy(judge->found,
        "in clusters.%s:\n    durability: {replicas: %lld, because: %s}",
        flow->to_name, (long long)flow->replication_factor,
        flow->replication_factor == 1 ? "single-broker" : "two-brokers");
}
