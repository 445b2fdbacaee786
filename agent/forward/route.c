#include "route.h"

#include <stdio.h>
#include <string.h>

static bool
starts_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

static bool
ends_with(const char *text, const char *tail)
{
    size_t len = strlen(text), n = strlen(tail);

    return len >= n && strcmp(text + len - n, tail) == 0;
}

/* Ends with these words, the separator in front of each. */
static bool
ends_with_words(const char *topic, const char *separator, const char *first,
    const char *second)
{
    char tail[64];
    int len = second == NULL
                  ? snprintf(tail, sizeof tail, "%s%s", separator, first)
                  : snprintf(tail, sizeof tail, "%s%s%s%s", separator, first,
                        separator, second);

    return len < (int)sizeof tail && ends_with(topic, tail);
}

static bool
is_mirrormaker_internal(const char *topic, const char *separator)
{
    return (starts_with(topic, "mm2") &&
               ends_with_words(topic, separator, "internal", NULL)) ||
           ends_with_words(topic, separator, "checkpoints", "internal");
}

static bool
is_kedge_internal(const char *topic)
{
    static const char *const tails[] = { ".ledger", ".audit", ".canary",
        ".status" };

    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        if (starts_with(topic, "kedge.") && ends_with(topic, tails[i]))
            return true;
    }
    return false;
}

/* The topic's name in the cluster that `*topic` says it came from, and the
 * length of that cluster's alias; false when it names none.  As MirrorMaker 2
 * has it, separators at the end do not count: "a." came from nowhere. */
static bool
upstream(const char **topic, size_t *alias_len, const char *separator)
{
    const char *at = strstr(*topic, separator);
    const char *rest;

    if (at == NULL)
        return false;
    *alias_len = (size_t)(at - *topic);
    *topic = rest = at + strlen(separator);
    while (starts_with(rest, separator))
        rest += strlen(separator);
    return *rest != '\0';
}

static bool
is_cycle(const char *topic, const char *separator, const char *to)
{
    const char *alias = topic;
    size_t len;

    while (upstream(&topic, &len, separator)) {
        if (len == strlen(to) && memcmp(alias, to, len) == 0)
            return true;
        alias = topic;
    }
    return false;
}

/* A long name is cut short: what an err holds ends with the reason. */
static bool
refuse(struct err *err, const char *topic, const char *why)
{
    return err_set(err, ERR_POLICY, "%.80s%s: %s", topic,
        strlen(topic) > 80 ? "..." : "", why);
}

bool
route_topic(const struct route *route, const char *topic, char *target,
    struct err *err)
{
    bool prefix = route->rename == RENAME_PREFIX;
    char why[LEDGER_ALIAS_MAX + 32];
    int len;

    if (topic[0] == '\0')
        return refuse(err, "topic", "its name is empty");
    if (starts_with(topic, "__") || starts_with(topic, "."))
        return refuse(err, topic, "an internal topic of Kafka");
    if (is_mirrormaker_internal(topic, route->separator))
        return refuse(err, topic, "an internal topic of MirrorMaker 2");
    if (is_kedge_internal(topic))
        return refuse(err, topic, "an internal topic of kedge");
    if (prefix && is_cycle(topic, route->separator, route->to)) {
        (void)snprintf(why, sizeof why, "a cycle: it came from '%.*s'",
            LEDGER_ALIAS_MAX, route->to);
        return refuse(err, topic, why);
    }
    len = snprintf(target, LEDGER_NAME_MAX, "%s%s%s", prefix ? route->from : "",
        prefix ? route->separator : "", topic);
    if (len >= LEDGER_NAME_MAX)
        return refuse(err, topic,
            "its name at the target would be longer than 249 characters");
    if (is_kedge_internal(target))
        return refuse(err, topic,
            "its name at the target would be that of an internal topic of "
            "kedge");
    return true;
}

const char *
route_origin(const struct route *route, const char *target)
{
    const char *rest = target;

    if (route->rename == RENAME_IDENTITY)
        return target;
    if (!starts_with(rest, route->from))
        return NULL;
    rest += strlen(route->from);
    if (!starts_with(rest, route->separator))
        return NULL;
    rest += strlen(route->separator);
    return rest[0] != '\0' ? rest : NULL;
}

void
route_describe(const struct route *route, char *text, size_t size)
{
    if (route->rename == RENAME_IDENTITY)
        snprintf(text, size, "identity");
    else
        snprintf(text, size, "prefix:%s", route->separator);
}
