#include "topics.h"

#include "match.h"
#include "selection.h"
#include "yaml_tree.h"

#include <stdio.h>
#include <string.h>

#define STEM_MAX 300

/* ---- one pattern --------------------------------------------------------- */

static const struct {
    const char *front, *end;
} internal[] = {
    { "__", "" },
    { ".", "" },
    { "mm2", ".internal" },
    { "", ".checkpoints.internal" },
    { "kedge.", ".ledger" },
    { "kedge.", ".audit" },
    { "kedge.", ".canary" },
    { "kedge.", ".status" },
};

static bool
begins(const char *text, const char *front)
{
    return strncmp(text, front, strlen(front)) == 0;
}

static bool
ends(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);

    return len >= n && strcmp(text + len - n, end) == 0;
}

bool
topics_is_internal(const char *name)
{
    for (size_t i = 0; i < sizeof internal / sizeof internal[0]; i++)
        if (begins(name, internal[i].front) && ends(name, internal[i].end) &&
            strlen(name) >= strlen(internal[i].front) + strlen(internal[i].end))
            return true;
    return false;
}

/* Every name that begins with `stem` and, behind it, ends with `tail`. */
static bool
are_internal(const char *stem, const char *tail)
{
    for (size_t i = 0; i < sizeof internal / sizeof internal[0]; i++)
        if (begins(stem, internal[i].front) && ends(tail, internal[i].end))
            return true;
    return false;
}

/* Names that begin with a text; or the one name that it is. */
struct names {
    char stem[STEM_MAX];
    bool exact;
};

static struct names
names_of(const char *pattern)
{
    struct names names;

    names.exact = match_stem(pattern, names.stem, sizeof names.stem);
    return names;
}

/* MirrorMaker 2's rule: a name that says it came from the target, by any of
 * its prefixes, is not sent back there.  Only a flow that writes prefixes can
 * read them. */
static bool
is_refused(const struct policy_flow *flow, const struct names *names)
{
    size_t separator = strlen(flow->separator);
    const char *at = names->stem;

    if (flow->rename != POLICY_PREFIX)
        return false;
    for (;;) {
        const char *end = strstr(at, flow->separator);
        size_t len = end == NULL ? 0 : (size_t)(end - at);

        if (end == NULL)
            return false;
        if (len == strlen(flow->to_name) &&
            strncmp(at, flow->to_name, len) == 0)
            return true;
        at = end + separator;
    }
}

/* True when it can be shown that the pattern matches nothing else. */
static bool
means_internal(const char *pattern)
{
    const char *at = pattern;
    char branch[MATCH_PATTERN_MAX + 1], stem[STEM_MAX], tail[STEM_MAX];

    while (match_branch(&at, branch, sizeof branch)) {
        match_tail(branch, tail, sizeof tail);
        if (match_stem(branch, stem, sizeof stem) ? !topics_is_internal(stem)
                                                  : !are_internal(stem, tail))
            return false;
    }
    return at == NULL;
}

/* A place inside of a value, when its text stands there as it is. */
static struct span
place_in(const struct yaml *item, size_t at)
{
    struct span place = item->at;
    size_t quotes = item->quoted ? 2 : 0;

    if (place.length == (int)(strlen(item->text) + quotes)) {
        place.column += (int)(at + quotes / 2);
        place.length = 1;
    }
    return place;
}

/* Commas stand in no topic name; in a pattern they count repetitions. */
static bool
has_stray_comma(const char *pattern)
{
    int depth = 0;

    for (; *pattern != '\0'; pattern++) {
        depth += (*pattern == '{' || *pattern == '[') -
                 (*pattern == '}' || *pattern == ']');
        if (*pattern == ',' && depth <= 0)
            return true;
    }
    return false;
}

/* Something that each name has to begin or end with, and none does. */
static bool
has_foreign(const char *pattern)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    char stem[STEM_MAX], tail[STEM_MAX];

    (void)match_stem(pattern, stem, sizeof stem);
    match_tail(pattern, tail, sizeof tail);
    return stem[strspn(stem, letters)] != '\0' ||
           tail[strspn(tail, letters)] != '\0';
}

/* True when there is nothing more to say about the pattern. */
static bool
judge_mistake(const struct yaml *item, struct findings *found)
{
    const char *pattern = item->text;

    if (strcmp(pattern, "*") == 0 || strncmp(pattern, "*.", 2) == 0) {
        findings_add(found, "KP075", SEVERITY_REFUSE, item->at,
            "'%.80s' is no regular expression: '*' repeats what stands before "
            "it",
            pattern);
        findings_remedy(found, "'.*'   matches every topic");
        return true;
    }
    if (has_stray_comma(pattern)) {
        findings_add(found, "KP079", SEVERITY_REFUSE, item->at,
            "'%.80s' matches nothing: no topic name has a ',' in it", pattern);
        findings_remedy(found, "write a list: [first, second]");
        return true;
    }
    if (has_foreign(pattern)) {
        findings_add(found, "KP079", SEVERITY_REFUSE, item->at,
            "'%.80s' matches nothing: topic names have letters, digits, '.', "
            "'_' and '-' only",
            pattern);
        return true;
    }
    return false;
}

/* True when a finding says that the flow never forwards what it matches. */
static bool
judge_use(const struct policy_flow *flow, const struct yaml *item,
    struct findings *found)
{
    const char *pattern = item->text;
    const struct names names = names_of(pattern);

    if (names.exact && topics_is_internal(names.stem))
        findings_add(found, "KP073", SEVERITY_REFUSE, item->at,
            "'%.80s' is an internal topic: it means something at its own "
            "cluster only",
            names.stem);
    else if (means_internal(pattern))
        findings_add(found, "KP073", SEVERITY_REFUSE, item->at,
            "'%.80s' matches internal topics alone, and those are not "
            "forwarded",
            pattern);
    else if (flow->to_name != NULL && is_refused(flow, &names))
        findings_add(found, "KP080", SEVERITY_REFUSE, item->at,
            "'%.80s' matches topics alone that came from '%s', and those are "
            "not sent back there",
            pattern, flow->to_name);
    else
        return false;
    findings_remedy(found, "take it out");
    return true;
}

static void
warn_of_glob(const struct yaml *item, const char *at, struct findings *found)
{
    const int before = (int)(at - item->text);

    findings_add(found, "KP075", SEVERITY_WARNING,
        place_in(item, (size_t)before),
        "'%.80s': '%c' says how often the '%c' before it stands, and is no "
        "other text",
        item->text, *at, at[-1]);
    findings_remedy(found, "'%.*s.%s%s'\n# or '%.*s(%c)%s', if that is meant",
        before, item->text, *at == '?' ? "" : (const char[]){ *at, '\0' },
        at + 1, before - 1, item->text, at[-1], at);
}

static void
judge_pattern(const struct policy_flow *flow, const struct yaml *item,
    bool exclude, struct findings *found)
{
    const char *pattern = item->text;
    char strict[2 * MATCH_PATTERN_MAX] = "";
    size_t n = 0;

    if (!exclude && judge_use(flow, item, found))
        return;
    if (match_glob(pattern) != NULL)
        warn_of_glob(item, match_glob(pattern), found);
    if (!match_is_loose(pattern))
        return;
    for (size_t i = 0; pattern[i] != '\0' && n + 2 < sizeof strict; i++) {
        if (pattern[i] == '.' && (i == 0 || pattern[i - 1] != '\\'))
            strict[n++] = '\\';
        strict[n++] = pattern[i];
    }
    strict[n] = '\0';
    findings_add(found, "KP076", SEVERITY_WARNING, item->at,
        "'%.80s' matches more than itself: '.' stands for any character",
        pattern);
    findings_remedy(found, "'%s'", strict);
}

static void
compile_list(const struct policy_flow *flow, struct match *match,
    const struct yaml *list, bool exclude, struct findings *found)
{
    struct err err;
    size_t at = 0;

    for (const struct yaml *item = list != NULL ? list->first : NULL;
         item != NULL; item = item->next) {
        if (item->kind != YAML_TEXT || item->text[0] == '\0' ||
            yaml_is_nothing(item) || judge_mistake(item, found))
            continue;
        if (match_add(match, item->text, exclude, &at, &err)) {
            judge_pattern(flow, item, exclude, found);
            continue;
        }
        findings_add(found, "KP074", SEVERITY_REFUSE, place_in(item, at),
            "'%.80s' is no regular expression: %s", item->text, err.text);
    }
}

/* A name that is included by itself and excluded, or a pattern that is in both
 * lists: one of the two is wrong. */
static void
judge_names(const struct policy_flow *flow, const struct yaml *list,
    struct findings *found)
{
    char stem[STEM_MAX];

    for (const struct yaml *item = list != NULL ? list->first : NULL;
         item != NULL; item = item->next) {
        if (item->kind != YAML_TEXT ||
            !(selection_lists(&flow->exclude, item->text) ||
                selection_lists(&flow->exclude, ".*") ||
                (match_stem(item->text, stem, sizeof stem) &&
                    match_topic(flow->topics, stem) == MATCH_EXCLUDED)))
            continue;
        findings_add(found, "KP077", SEVERITY_WARNING, item->at,
            "'%.80s' is included here and excluded below: exclude wins",
            item->text);
        findings_remedy(found, "keep it in one of the two lists");
    }
}

void
topics_compile(struct policy_flow *flow, const struct yaml *node,
    struct findings *found)
{
    const struct yaml *section = yaml_find(node, "topics");
    struct err err;
    struct match *match = match_new(&err);

    if (match == NULL) {
        findings_add(found, "KP001", SEVERITY_REFUSE, (struct span){ 0 }, "%s",
            err.text);
        return;
    }
    flow->topics = match;
    compile_list(flow, match, yaml_find(section, "include"), false, found);
    compile_list(flow, match, yaml_find(section, "exclude"), true, found);
    judge_names(flow, yaml_find(section, "include"), found);
}

/* ---- sets of names ------------------------------------------------------- */

static bool
add_front(struct names *names, const char *front, const char *separator)
{
    char text[STEM_MAX];
    int n =
        snprintf(text, sizeof text, "%s%s%s", front, separator, names->stem);

    if (n < 0 || (size_t)n >= sizeof text) {
        names->exact = false; /* a shorter stem is right as well */
        n = snprintf(text, sizeof text, "%.40s", front);
    }
    memcpy(names->stem, text, sizeof text);
    return n > 0;
}

static void
rename_all(const struct policy_flow *flow, struct names *names)
{
    if (flow->rename == POLICY_PREFIX)
        add_front(names, flow->from_name, flow->separator);
}

/* The names that are in both; false when there are none. */
static bool
both(const struct names *a, const struct names *b, struct names *in)
{
    const struct names *longer = a;
    const struct names *shorter = b;

    if (strlen(a->stem) < strlen(b->stem)) {
        longer = b;
        shorter = a;
    }
    if (strncmp(longer->stem, shorter->stem, strlen(shorter->stem)) != 0)
        return false;
    if (shorter->exact && strcmp(longer->stem, shorter->stem) != 0)
        return false;
    *in = *longer;
    in->exact = a->exact || b->exact;
    if (in->exact && !longer->exact)
        return strcmp(longer->stem, shorter->stem) == 0;
    return true;
}

/* What of `names` the flow forwards by one of its patterns. */
static bool
passes(const struct policy_flow *flow, const char *pattern,
    const struct names *names, struct names *through)
{
    struct names wanted = names_of(pattern);

    if (!both(&wanted, names, through) || is_refused(flow, through))
        return false;
    if (through->exact)
        return match_topic(flow->topics, through->stem) != MATCH_EXCLUDED &&
               match_topic(flow->topics, through->stem) != MATCH_NO;
    return true;
}

/* ---- flows ---------------------------------------------------------------- */

/* The names are written as they are read, or changed in the same way. */
static bool
same_names(const struct policy_flow *a, const struct policy_flow *b)
{
    return a->rename == b->rename &&
           (a->rename == POLICY_IDENTITY ||
               (a->from == b->from && strcmp(a->separator, b->separator) == 0));
}

static bool
is_excluded(const struct policy_flow *flow, const struct names *names)
{
    return names->exact &&
           match_topic(flow->topics, names->stem) == MATCH_EXCLUDED;
}

/* One of the names that `a` includes is one that `b` forwards. */
static bool
names_meet(const struct policy_flow *a, const struct policy_flow *b)
{
    for (size_t i = 0; i < a->include.n; i++) {
        const struct names names = names_of(a->include.items[i]);

        if (names.exact && match_topic(b->topics, names.stem) == MATCH_YES &&
            !is_excluded(a, &names))
            return true;
    }
    return false;
}

/* Excluding the other one's pattern, word for word, is a proof. */
static bool
meet(const struct policy_flow *a, const char *pattern_a,
    const struct policy_flow *b, const char *pattern_b)
{
    const struct names names_a = names_of(pattern_a);
    const struct names names_b = names_of(pattern_b);
    struct names out_a = names_a, out_b = names_b, in;

    if (same_names(a, b) &&
        (names_a.exact || names_b.exact || /* names_meet() has looked */
            selection_lists(&a->exclude, pattern_b) ||
            selection_lists(&b->exclude, pattern_a)))
        return false;
    rename_all(a, &out_a);
    rename_all(b, &out_b);
    return both(&out_a, &out_b, &in) && !is_excluded(a, &names_a) &&
           !is_excluded(b, &names_b);
}

bool
topics_meet(const struct policy_flow *a, const struct policy_flow *b)
{
    if (same_names(a, b) && (names_meet(a, b) || names_meet(b, a)))
        return true;
    for (size_t i = 0; i < a->include.n; i++)
        for (size_t k = 0; k < b->include.n; k++)
            if (meet(a, a->include.items[i], b, b->include.items[k]))
                return true;
    return false;
}

struct walk {
    const struct policy_flow *const *flows;
    size_t n, last; /* what passes that one shows it */
    int steps;      /* left; without any, nothing is shown */
    int *total;     /* the same of all walks */
};

static bool
circle_from(struct walk *walk, size_t at, const char *came_by,
    const struct names *names)
{
    const struct policy_flow *flow = walk->flows[at % walk->n];
    char written[MATCH_PATTERN_MAX + 1];
    struct names through;

    for (size_t i = 0; i < flow->include.n; i++) {
        const char *pattern = flow->include.items[i];

        if (walk->steps-- <= 0 || (*walk->total)-- <= 0)
            return true;
        if (came_by != NULL && selection_lists(&flow->exclude, came_by))
            return false;
        if (!passes(flow, pattern, names, &through) ||
            (at > 0 && !selection_writes(walk->flows[(at - 1) % walk->n],
                           pattern, through.exact ? through.stem : NULL)))
            continue;
        if (at == walk->last)
            return true;
        rename_all(flow, &through);
        selection_written(flow, pattern, written, sizeof written);
        if (circle_from(walk, at + 1, written, &through))
            return true;
    }
    return false;
}

bool
topics_circle(const struct policy_flow *const *flows, size_t n, bool again,
    int *steps)
{
    const struct names all = { .stem = "", .exact = false };
    struct walk walk = { flows, n, again ? n : n - 1, 20000, steps };

    return circle_from(&walk, 0, NULL, &all);
}
