/* What the policy names and the source has not. */
#include "flowset.h"

#include <stdio.h>
#include <string.h>

#define SPELLING                                                            \
    "look at the spelling, and that this client has Describe on it at the " \
    "source: what it may not describe is not listed to it"

/* One that was there once is told of by flowtopics.c. */
static void
look_for(struct flow *flow, const char *name)
{
    struct topic *topic = parts_find_topic(flow->parts, name);

    if (topic != NULL && (topic->exists || !topic->absent))
        return;
    if (topic == NULL && (topic = parts_topic(flow->parts, name)) == NULL)
        return; /* no memory now: at the next list */
    topic->absent = true;
    if (topic->missing == 0)
        flowtopics_skip(flow, topic,
            "the source has no topic of this name: " SPELLING);
}

/* As many as there is room for. */
static void
list_patterns(const struct flow *flow, char *text, size_t size)
{
    char name[LEDGER_NAME_MAX];
    const char *pattern;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; (pattern = flow->o.pattern(flow->o.wants_ctx, i, name,
                            sizeof name)) != NULL;
         i++) {
        if (used + strlen(pattern) + 8 > size) {
            (void)snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s",
            i == 0 ? "" : ", ", pattern);
    }
}

static void
explain(struct flow *flow, bool some)
{
    char patterns[120];

    list_patterns(flow, patterns, sizeof patterns);
    if (some)
        (void)snprintf(flow->none, sizeof flow->none,
            "every topic at %s that topics.include matches (%s) is skipped: "
            "'kedge status --json' says why, for each",
            flow->from, patterns);
    else
        (void)snprintf(flow->none, sizeof flow->none,
            "no topic at %s matches topics.include (%s): " SPELLING, flow->from,
            patterns);
}

void
flownames_look(struct flow *flow)
{
    char name[LEDGER_NAME_MAX];
    bool any = false, some = false;

    flow->none[0] = '\0';
    if (flow->o.pattern == NULL)
        return;
    for (size_t i = 0;
         flow->o.pattern(flow->o.wants_ctx, i, name, sizeof name) != NULL; i++)
        if (name[0] != '\0')
            look_for(flow, name);
    for (const struct topic *topic = parts_topics(flow->parts); topic != NULL;
         topic = topic->next) {
        any = any || (topic->selected && topic->exists);
        some = some || topic->exists;
    }
    if (!any)
        explain(flow, some);
}
