#include "match.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define METACHARACTERS "\\^$.[]|()?*+{}#"
#define HEAP_KIB 2048
#define NESTING 20

/* How an answer is looked for, and what looking counts for; few
 * need more than the first. */
static const struct {
    uint32_t steps, work;
} ways[] = { { 10, 15 }, { 200, 200 }, { MATCH_STEPS, MATCH_STEPS } };

#define WAYS (sizeof ways / sizeof ways[0])

struct pattern {
    pcre2_code *code;
    char *name; /* the only one that it matches, or NULL */
    bool exclude;
};

struct match {
    pcre2_compile_context *compile;
    pcre2_match_context *limits[WAYS];
    int64_t *left; /* of MATCH_WORK; NULL: settled */
    size_t n, room;
    struct pattern *patterns;
};

static bool
limit(struct match *match)
{
    for (size_t i = 0; i < WAYS; i++) {
        match->limits[i] = pcre2_match_context_create(NULL);
        if (match->limits[i] == NULL)
            return false;
        pcre2_set_match_limit(match->limits[i], ways[i].steps);
        pcre2_set_depth_limit(match->limits[i], ways[i].steps);
        pcre2_set_heap_limit(match->limits[i], HEAP_KIB);
    }
    return true;
}

struct match *
match_new(struct err *err)
{
    struct match *match = calloc(1, sizeof *match);

    if (match == NULL) {
        err_set(err, ERR_MEMORY, "topic patterns");
        return NULL;
    }
    match->left = malloc(sizeof *match->left);
    match->compile = pcre2_compile_context_create(NULL);
    if (match->left == NULL || match->compile == NULL || !limit(match)) {
        err_set(err, ERR_MEMORY, "topic patterns");
        match_free(match);
        return NULL;
    }
    *match->left = MATCH_WORK;
    pcre2_set_max_pattern_length(match->compile, MATCH_PATTERN_MAX);
    pcre2_set_parens_nest_limit(match->compile, NESTING);
    return match;
}

void
match_free(struct match *match)
{
    if (match == NULL)
        return;
    for (size_t i = 0; i < match->n; i++) {
        pcre2_code_free(match->patterns[i].code);
        free(match->patterns[i].name);
    }
    free(match->patterns);
    free(match->left);
    for (size_t i = 0; i < WAYS; i++)
        pcre2_match_context_free(match->limits[i]);
    pcre2_compile_context_free(match->compile);
    free(match);
}

static bool
make_room(struct match *match)
{
    size_t room = match->room == 0 ? 8 : match->room * 2;
    struct pattern *patterns = NULL;

    if (match->n < match->room)
        return true;
    patterns = reallocarray(match->patterns, room, sizeof *patterns);
    if (patterns == NULL)
        return false;
    match->patterns = patterns;
    match->room = room;
    return true;
}

bool
match_add(struct match *match, const char *pattern, bool exclude, size_t *at,
    struct err *err)
{
    const uint32_t options = PCRE2_ANCHORED | PCRE2_ENDANCHORED |
                             PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
                             PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;
    pcre2_code *code = NULL;
    char stem[MATCH_PATTERN_MAX + 1];
    unsigned char words[160];
    int number = 0;

    *at = 0;
    if (strlen(pattern) > MATCH_PATTERN_MAX)
        return err_set(err, ERR_CONFIG, "longer than %d bytes",
            MATCH_PATTERN_MAX);
    if (!make_room(match))
        return err_set(err, ERR_MEMORY, "topic patterns");
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options,
        &number, at, match->compile);
    if (code == NULL) {
        if (pcre2_get_error_message(number, words, sizeof words) < 0)
            words[0] = '\0';
        return err_set(err, ERR_CONFIG, "%s", (const char *)words);
    }
    match->patterns[match->n++] = (struct pattern){ .code = code,
        .name = match_stem(pattern, stem, sizeof stem) ? strdup(stem) : NULL,
        .exclude = exclude };
    return true;
}

bool
match_is_spent(const struct match *match)
{
    return match->left != NULL && *match->left <= 0;
}

void
match_settle(struct match *match)
{
    free(match->left);
    match->left = NULL;
}

/* What pcre2_match() says; with no more steps than the answer needs, about, so
 * that they can be counted. */
static int
run(const struct match *match, const pcre2_code *code, const char *topic,
    size_t len, pcre2_match_data *data)
{
    int found = PCRE2_ERROR_MATCHLIMIT;

    for (size_t i = match->left == NULL ? WAYS - 1 : 0; i < WAYS; i++) {
        found = pcre2_match(code, (PCRE2_SPTR)topic, len, 0, PCRE2_NO_JIT, data,
            match->limits[i]);
        if (match->left != NULL)
            *match->left -= ways[i].work;
        if (found != PCRE2_ERROR_MATCHLIMIT && found != PCRE2_ERROR_DEPTHLIMIT)
            return found;
    }
    return found;
}

/* MATCH_NO, MATCH_YES or MATCH_UNDECIDED. */
static enum match_answer
ask(const struct match *match, const struct pattern *pattern, const char *topic,
    size_t len)
{
    pcre2_match_data *data = NULL;
    int found = PCRE2_ERROR_NOMEMORY;

    if (pattern->name != NULL)
        return strcmp(pattern->name, topic) == 0 ? MATCH_YES : MATCH_NO;
    if (match_is_spent(match))
        return MATCH_UNDECIDED;
    data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    if (data != NULL)
        found = run(match, pattern->code, topic, len, data);
    pcre2_match_data_free(data);
    if (found >= 0)
        return MATCH_YES;
    return found == PCRE2_ERROR_NOMATCH ? MATCH_NO : MATCH_UNDECIDED;
}

enum match_answer
match_topic(const struct match *match, const char *topic)
{
    size_t len = strnlen(topic, MATCH_NAME_MAX + 1);
    enum match_answer answer = MATCH_NO;

    if (len == 0 || len > MATCH_NAME_MAX)
        return MATCH_NO;
    for (size_t i = 0; i < match->n; i++) {
        const struct pattern *pattern = &match->patterns[i];
        enum match_answer one = MATCH_NO;

        /* What is included is known, only excludes can change it. */
        if (!pattern->exclude && answer == MATCH_YES)
            continue;
        one = ask(match, pattern, topic, len);
        if (one == MATCH_YES && pattern->exclude)
            return MATCH_EXCLUDED;
        if (one == MATCH_YES && answer == MATCH_NO)
            answer = MATCH_YES;
        if (one == MATCH_UNDECIDED)
            answer = MATCH_UNDECIDED;
    }
    return answer;
}

/* ---- looking at a pattern ------------------------------------------------ */

/* Or what is passed over in front of one: \E, \Q\E and (?#comments). */
static bool
is_quantifier(const char *at)
{
    return (*at != '\0' && strchr("?*+{", *at) != NULL) ||
           (at[0] == '\\' && (at[1] == 'E' || at[1] == 'Q')) ||
           (at[0] == '(' && at[1] == '?');
}

/* One character that stands for itself; moves *at behind it. */
static bool
take_plain(const char **at, char *plain)
{
    const char *next = *at;

    if (*next == '\\') {
        next++;
        if (*next == '\0' || strchr(METACHARACTERS "-_", *next) == NULL)
            return false;
    } else if (*next == '\0' || strchr(METACHARACTERS, *next) != NULL) {
        return false;
    }
    *plain = *next++;
    if (is_quantifier(next))
        return false;
    *at = next;
    return true;
}

bool
match_stem(const char *pattern, char *stem, size_t size)
{
    size_t used = 0;
    char plain = '\0';

    stem[0] = '\0';
    if (strchr(pattern, '|') != NULL)
        return false; /* each branch has a stem of its own */
    if (*pattern == '^')
        pattern++;
    while (used + 1 < size && take_plain(&pattern, &plain)) {
        stem[used++] = plain;
        stem[used] = '\0';
    }
    if (*pattern != '\0' && strchr(METACHARACTERS, *pattern) == NULL &&
        pattern[1] == '+' && used + 1 < size) {
        stem[used++] = *pattern; /* once at least */
        stem[used] = '\0';
    }
    if (*pattern == '$')
        pattern++;
    return *pattern == '\0' && used > 0;
}

static char
closing(char open)
{
    if (open == '(')
        return ')';
    return open == '[' ? ']' : '}';
}

/* Behind the bracket that closes the one at `at`. */
static const char *
skip_brackets(const char *at)
{
    const char open = *at;
    const char close = closing(open);
    int depth = 0;

    for (; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (*at == close && --depth == 0)
            return at + 1;
        else if (*at == open && (open == '(' || depth == 0))
            depth++;
    }
    return at;
}

/* Behind one character, escape or bracket. */
static const char *
skip_piece(const char *at)
{
    if (*at == '(' || *at == '[' || *at == '{')
        return skip_brackets(at);
    return at + (*at == '\\' && at[1] != '\0' ? 2 : 1);
}

const char *
match_glob(const char *pattern)
{
    const char *next;

    if (strstr(pattern, "\\Q") != NULL)
        return NULL;
    for (const char *at = pattern; *at != '\0'; at = next) {
        next = skip_piece(at);
        if ((isalnum((unsigned char)*at) || *at == '-' || *at == '_') &&
            *next != '\0' && strchr("*+?", *next) != NULL)
            return next;
    }
    return NULL;
}

void
match_tail(const char *pattern, char *tail, size_t size)
{
    size_t used = 0;
    char plain = '\0';

    tail[0] = '\0';
    if (strstr(pattern, "(?") != NULL || strstr(pattern, "(*") != NULL)
        return; /* letters may mean something else from there on */
    while (*pattern != '\0') {
        if (used + 1 < size && take_plain(&pattern, &plain)) {
            tail[used++] = plain;
            continue;
        }
        if (*pattern == '$' && pattern[1] == '\0')
            break;
        if (*pattern == '|' ||
            (*pattern == '\\' && strchr("dDwWsS.", pattern[1]) == NULL)) {
            used = 0; /* what belongs to it is not looked for */
            break;
        }
        pattern = skip_piece(pattern);
        used = 0;
    }
    tail[used] = '\0';
}

bool
match_branch(const char **at, char *branch, size_t size)
{
    const char *end = *at;
    size_t len = 0;

    if (*at == NULL)
        return false;
    while (*end != '\0' && *end != '|')
        end = skip_piece(end);
    len = (size_t)(end - *at);
    if (len >= size)
        return false;
    memcpy(branch, *at, len);
    branch[len] = '\0';
    *at = *end == '|' ? end + 1 : NULL;
    return true;
}

bool
match_is_loose(const char *pattern)
{
    bool dot = false;

    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '\\' && pattern[1] == '.')
            pattern++;
        else if (*pattern == '.')
            dot = true;
        else if (strchr(METACHARACTERS, *pattern) != NULL)
            return false;
    }
    return dot;
}
