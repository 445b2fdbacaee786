/* The first line is a pattern, the second a topic.  What its stem and its tail
 * say of a pattern is true of every name that it matches, and of names at
 * all. */
#include "match.h"
#include "selection.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
take_line(const uint8_t **data, size_t *size, char *line, size_t room)
{
    size_t n = 0;

    while (*size > 0) {
        char c = (char)*(*data)++;

        (*size)--;
        if (c == '\n')
            break;
        if (c != '\0' && n + 1 < room)
            line[n++] = c;
    }
    line[n] = '\0';
}

static bool
ends(const char *topic, const char *tail)
{
    size_t len = strlen(topic), n = strlen(tail);

    return len >= n && strcmp(topic + len - n, tail) == 0;
}

/* What has one name is compared with it: the expression, asked in a form that
 * has none, says the same. */
static void
check_name(const char *pattern, const char *stem, const char *topic)
{
    char behind[604];
    struct err err;
    struct match *match = match_new(&err);
    enum match_answer want = strcmp(stem, topic) == 0 ? MATCH_YES : MATCH_NO;
    size_t at = 0;

    (void)snprintf(behind, sizeof behind, "(?:)%s", pattern);
    if (match != NULL && match_add(match, behind, false, &at, &err)) {
        enum match_answer answer = match_topic(match, topic);

        if (answer != want && answer != MATCH_UNDECIDED && topic[0] != '\0')
            __builtin_trap();
    }
    match_free(match);
}

/* A selection may come from anywhere. */
static void
select_by(const uint8_t *data, size_t size)
{
    char text[600];

    size = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    (void)selection_has(text, "plant.orders");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char pattern[600], topic[300], stem[300], tail[300], branch[600];
    struct err err = { 0 };
    struct match *match = match_new(&err);
    const char *branches = pattern;
    size_t at = 0;
    bool exact = false;
    enum match_answer answer = MATCH_NO;

    if (match == NULL)
        return 0;
    select_by(data, size);
    take_line(&data, &size, pattern, sizeof pattern);
    take_line(&data, &size, topic, sizeof topic);
    exact = match_stem(pattern, stem, sizeof stem);
    match_tail(pattern, tail, sizeof tail);
    (void)match_is_loose(pattern);
    while (match_branch(&branches, branch, sizeof branch))
        if (strlen(branch) > strlen(pattern))
            __builtin_trap();
    if (!match_add(match, pattern, false, &at, &err)) {
        if (err.text[0] == '\0' || at > strlen(pattern))
            __builtin_trap(); /* refused without a reason */
        match_free(match);
        return 0;
    }
    answer = match_topic(match, topic);
    if (answer == MATCH_EXCLUDED)
        __builtin_trap();
    if (answer == MATCH_YES && (strncmp(topic, stem, strlen(stem)) != 0 ||
                                   (exact && strcmp(topic, stem) != 0)))
        __builtin_trap(); /* matches what the stem denies */
    if (answer == MATCH_YES && !ends(topic, tail))
        __builtin_trap(); /* or the tail */
    if (exact && strlen(stem) <= MATCH_NAME_MAX) {
        check_name(pattern, stem, topic);
        check_name(pattern, stem, stem);
    }
    if (exact && strlen(stem) <= MATCH_NAME_MAX &&
        match_topic(match, stem) != MATCH_YES)
        __builtin_trap();
    match_free(match);
    return 0;
}
