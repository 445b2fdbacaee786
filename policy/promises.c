#include "promises.h"

#include "fields.h"
#include "nearest.h"
#include "yaml_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A block to paste, as it grows. */
struct block {
    char text[3500];
    size_t used;
};

static void add(struct block *block, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
add(struct block *block, const char *fmt, ...)
{
    size_t left = sizeof block->text - block->used;
    va_list args;
    int n = 0;

    va_start(args, fmt);
    n = vsnprintf(block->text + block->used, left, fmt, args);
    va_end(args);
    if (n > 0)
        block->used += (size_t)n < left ? (size_t)n : left - 1;
}

static void
add_text(struct block *block, const struct yaml *node)
{
    if (!node->quoted) {
        add(block, "%s", node->text);
        return;
    }
    add(block, "'");
    for (const char *c = node->text; *c != '\0'; c++)
        add(block, *c == '\'' ? "''" : "%c", *c);
    add(block, "'");
}

/* As it is in the file, on one line. */
static void
add_node(struct block *block, const struct yaml *node)
{
    bool map = node->kind == YAML_MAP;

    if (node->kind == YAML_TEXT)
        add_text(block, node);
    if (node->kind != YAML_MAP && node->kind != YAML_LIST)
        return;
    add(block, map ? "{" : "[");
    for (const struct yaml *child = node->first; child != NULL;
         child = child->next) {
        if (map)
            add(block, "%s: ", child->key);
        add_node(block, child);
        if (child->next != NULL)
            add(block, ", ");
    }
    add(block, map ? "}" : "]");
}

/* ---- the promises --------------------------------------------------------- */

/* What has to be written, where, and in which words. */
static const struct promise {
    const char *code, *section, *key;
    const char *const *words;
    const char *lacks, *weak;
} promises[] = {
    { "KP045", "producer", "acks", (const char *const[]){ "all", "-1", NULL },
        "producer.acks: all",
        "a record that one broker alone has seen is lost with that broker" },
    { "KP046", "producer", "retries",
        (const char *const[]){ "unlimited", "2147483647", NULL },
        "producer.retries: unlimited",
        "nothing counts retries while the link is down, and a record that is "
        "given up is lost" },
    { "KP047", NULL, "errors.tolerance", (const char *const[]){ "none", NULL },
        "errors.tolerance: none",
        "a record that the target refuses would be passed over" },
};
#define N_PROMISES (sizeof promises / sizeof promises[0])

static const struct yaml *
section_of(const struct promise *promise, const struct yaml *node)
{
    return promise->section != NULL ? yaml_find(node, promise->section) : node;
}

/* True when something was not understood in there: it may be what lacks. */
static bool
is_unclear(const struct yaml *node)
{
    return node != NULL && (node->spoiled || node->kind == YAML_BROKEN);
}

/* The map does not have the key, and one that may have been meant for it. */
static bool
is_misspelt(const struct yaml *map, const char *key)
{
    const char *const words[] = { key, NULL };

    if (map == NULL || map->kind != YAML_MAP || yaml_find(map, key) != NULL)
        return false;
    for (const struct yaml *child = map->first; child; child = child->next)
        if (nearest_word(child->key, words) != NULL)
            return true;
    return false;
}

/* True when it has to go into the block. */
static bool
check_promise(const struct promise *promise, const struct policy_flow *flow,
    const struct yaml *node, struct findings *found)
{
    const struct yaml *section = section_of(promise, node);
    const struct yaml *value = yaml_find(section, promise->key);

    if (value == NULL &&
        (!flow->at_source || is_unclear(section) ||
            (promise->section != NULL && is_misspelt(node, promise->section))))
        return false;
    if (value == NULL) {
        findings_add(found, promise->code, SEVERITY_REFUSE, node->key_at,
            "flow '%s' produces remotely and does not say %s", flow->name,
            promise->lacks);
        return true;
    }
    if (value->kind != YAML_TEXT || is_unclear(value) ||
        nearest_is(value->text, promise->words))
        return false;
    if (flow->at_source)
        findings_add(found, promise->code, SEVERITY_REFUSE, value->at,
            "%s: '%.40s': %s; flow '%s' produces remotely and needs %s",
            promise->key, value->text, promise->weak, flow->name,
            promise->lacks);
    else
        findings_add(found, "KP048", SEVERITY_WARNING, value->at,
            "%s: '%.40s' is weaker than what kedge does: it stays with %s",
            promise->key, value->text, promise->lacks);
    return flow->at_source;
}

/* ---- the reason and the budget -------------------------------------------- */

static bool
check_reason(const struct policy *policy, const struct policy_flow *flow,
    const struct yaml *node, const char *key, struct findings *found)
{
    const struct yaml *own = yaml_find(node, "placement");
    const struct yaml *general = yaml_find(policy->tree, "placement");
    bool reason = strcmp(key, "because") == 0;

    if (yaml_find(own, key) != NULL || yaml_find(general, key) != NULL ||
        is_unclear(own) || is_unclear(general) ||
        is_misspelt(node, "placement") ||
        is_misspelt(policy->tree, "placement"))
        return false;
    if (reason)
        findings_add(found, "KP043", SEVERITY_REFUSE, node->key_at,
            "flow '%s' produces remotely, from %s to %s, and does not say why: "
            "placement.because",
            flow->name, flow->from->site, flow->to->site);
    else
        findings_add(found, "KP044", SEVERITY_REFUSE, node->key_at,
            "flow '%s' produces remotely and does not say how long the link "
            "may "
            "be down: placement.outage_budget",
            flow->name);
    return true;
}

/* What the flow has in this section besides, where it can be understood: the
 * block has to pass. */
static void
add_rest(struct block *block, const struct yaml *node, const char *section,
    const char *const *besides)
{
    const struct yaml *own = yaml_find(node, section);
    char what[64];

    (void)snprintf(what, sizeof what, "flows.NAME.%s", section);
    if (own == NULL || own->kind != YAML_MAP)
        return;
    for (const struct yaml *c = own->first; c != NULL; c = c->next) {
        if (nearest_is(c->key, besides) || is_unclear(c) ||
            !fields_has(what, c->key))
            continue;
        add(block, ", %s: ", c->key);
        add_node(block, c);
    }
}

static void
add_placement(struct block *block, const struct yaml *node, bool because,
    bool budget)
{
    static const char *const besides[] = { "because", "outage_budget", NULL };
    const struct yaml *own = yaml_find(node, "placement");

    add(block, "placement: {");
    if (because)
        add(block, "because: firewall");
    else if (yaml_find(own, "because") != NULL) {
        add(block, "because: ");
        add_node(block, yaml_find(own, "because"));
    }
    if (budget)
        add(block, "%soutage_budget: 72h",
            because || yaml_find(own, "because") != NULL ? ", " : "");
    else if (yaml_find(own, "outage_budget") != NULL) {
        add(block, ", outage_budget: ");
        add_node(block, yaml_find(own, "outage_budget"));
    }
    add_rest(block, node, "placement", besides);
    add(block, because ? "}   # firewall or encryption" : "}");
}

static void
add_producer(struct block *block, const struct yaml *node)
{
    /* what is asserted may be refused, and is so without being said */
    static const char *const besides[] = { "acks", "retries",
        "enable.idempotence", "delivery.timeout.ms",
        "max.in.flight.requests.per.connection", NULL };

    add(block, "producer: {acks: all, retries: unlimited");
    add_rest(block, node, "producer", besides);
    add(block, "}");
}

/* As far in as the flow's other keys. */
static int
indent_of(const struct yaml *node)
{
    const struct yaml *first = node->first;

    if (first == NULL || first->key_at.line == node->key_at.line)
        return 4;
    return first->key_at.column - 1;
}

void
promises_check(const struct policy *policy, const struct policy_flow *flow,
    const struct yaml *node, struct findings *found)
{
    struct block block = { .used = 0 };
    bool lacks[N_PROMISES];
    bool because = false, budget = false;
    int indent = indent_of(node);

    if (flow->at_source) {
        because = check_reason(policy, flow, node, "because", found);
        budget = check_reason(policy, flow, node, "outage_budget", found);
    }
    for (size_t i = 0; i < N_PROMISES; i++)
        lacks[i] = check_promise(&promises[i], flow, node, found);
    if (!because && !budget && !lacks[0] && !lacks[1] && !lacks[2])
        return;
    add(&block,
        "# in flows.%s, in place of what it has of these keys:", flow->name);
    if (because || budget) {
        add(&block, "\n%*s", indent, "");
        add_placement(&block, node, because, budget);
    }
    if (lacks[0] || lacks[1]) {
        add(&block, "\n%*s", indent, "");
        add_producer(&block, node);
    }
    if (lacks[2])
        add(&block, "\n%*serrors.tolerance: none", indent, "");
    findings_remedy(found, "%s", block.text);
}
