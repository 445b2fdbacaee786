#include "selection.h"
#include "match.h"
#include "policy.h"

#include <stdio.h>
#include <string.h>

static bool
add(char *text, size_t size, char sign, const struct policy_list *list)
{
    size_t at = strlen(text);

    for (size_t i = 0; i < list->n; i++) {
        size_t len = strlen(list->items[i]);

        if (strchr(list->items[i], '\n') != NULL || len + 3 > size - at)
            return false;
        text[at++] = sign;
        memcpy(text + at, list->items[i], len);
        at += len;
        text[at++] = '\n';
        text[at] = '\0';
    }
    return true;
}

void
selection_text(const struct policy_flow *flow, char *text, size_t size)
{
    text[0] = '\0';
    if (!add(text, size, '+', &flow->include) ||
        !add(text, size, '-', &flow->exclude))
        text[0] = '\0';
}

/* The next line's pattern; false: there is none, or it is not one. */
static bool
take_line(const char **text, char *pattern, size_t size, bool *exclude)
{
    const char *end = strchr(*text, '\n');
    size_t len;

    if (end == NULL || (**text != '+' && **text != '-'))
        return false;
    *exclude = **text == '-';
    len = (size_t)(end - *text) - 1;
    if (len >= size)
        return false;
    memcpy(pattern, *text + 1, len);
    pattern[len] = '\0';
    *text = end + 1;
    return true;
}

bool
selection_has(const char *text, const char *topic)
{
    char pattern[MATCH_PATTERN_MAX + 1];
    struct err err;
    struct match *match = match_new(&err);
    bool exclude, ok = match != NULL && *text != '\0', has = true;
    size_t at;

    while (ok && *text != '\0')
        ok = take_line(&text, pattern, sizeof pattern, &exclude) &&
             match_add(match, pattern, exclude, &at, &err);
    if (ok) {
        enum match_answer answer;

        match_settle(match);
        answer = match_topic(match, topic);
        has = answer == MATCH_YES || answer == MATCH_UNDECIDED;
    }
    match_free(match);
    return has;
}

bool
selection_lists(const struct policy_list *list, const char *pattern)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], pattern) == 0)
            return true;
    return false;
}

bool
selection_writes(const struct policy_flow *flow, const char *pattern,
    const char *name)
{
    size_t front = 0;
    enum match_answer answer;

    if (flow->rename == POLICY_IDENTITY &&
        selection_lists(&flow->exclude, pattern))
        return false;
    if (name == NULL)
        return true;
    if (flow->rename == POLICY_PREFIX)
        front = strlen(flow->from_name) + strlen(flow->separator);
    if (strlen(name) <= front)
        return false;
    answer = match_topic(flow->topics, name + front);
    return answer == MATCH_YES || answer == MATCH_UNDECIDED;
}

void
selection_written(const struct policy_flow *flow, const char *pattern,
    char *text, size_t size)
{
    size_t n = 0;

    if (flow->rename == POLICY_IDENTITY) {
        (void)snprintf(text, size, "%s", pattern);
        return;
    }
    for (const char *at = flow->from_name; *at != '\0' && n + 5 < size; at++)
        text[n++] = *at;
    for (const char *at = flow->separator; *at != '\0' && n + 5 < size; at++) {
        if (*at == '.')
            text[n++] = '\\';
        text[n++] = *at;
    }
    (void)snprintf(text + n, size - n, ".*");
}
