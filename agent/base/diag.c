#include "diag.h"

#include "log.h"
#include "utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1024
#define REMEDY_MAX 4096

struct findings {
    size_t n, dropped;
    bool refuse;
    struct finding *newest; /* NULL: was not kept */
    struct finding list[FINDINGS_MAX];
};

struct findings *
findings_new(void)
{
    return calloc(1, sizeof(struct findings));
}

/* The texts are ours, the list only shows them. */
static void
free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

void
findings_free(struct findings *found)
{
    if (found == NULL)
        return;
    for (size_t i = 0; i < found->n; i++) {
        free_text(found->list[i].text);
        free_text(found->list[i].remedy);
    }
    free(found);
}

/* One for each code and place; without a place, for each code and text. */
static bool
is_there(const struct findings *found, const char *code, struct span at,
    const char *text)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct finding *old = &found->list[i];

        if (old->at.line == at.line && old->at.column == at.column &&
            strcmp(old->code, code) == 0 &&
            (at.line > 0 || strcmp(old->text, text) == 0))
            return true;
    }
    return false;
}

static bool
is_before(struct span a, struct span b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

/* Keeps the order of the file; of one place, the order in which they came. */
static struct finding *
insert(struct findings *found, const struct finding *one)
{
    size_t at = found->n;

    while (at > 0 && is_before(one->at, found->list[at - 1].at))
        at--;
    memmove(&found->list[at + 1], &found->list[at],
        (found->n - at) * sizeof found->list[0]);
    found->list[at] = *one;
    found->n++;
    return &found->list[at];
}

void
findings_add(struct findings *found, const char *code, enum severity severity,
    struct span at, const char *fmt, ...)
{
    char raw[TEXT_MAX], text[TEXT_MAX];
    struct finding one = { .code = code, .severity = severity, .at = at };
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(raw, sizeof raw, fmt, args) < 0)
        raw[0] = '\0';
    va_end(args);
    utf8_escape(text, sizeof text, raw, strlen(raw));
    found->newest = NULL;
    if (is_there(found, code, at, text))
        return;
    if (severity == SEVERITY_REFUSE)
        found->refuse = true; /* also when it cannot be kept */
    if (found->n == FINDINGS_MAX || (one.text = strdup(text)) == NULL)
        found->dropped++;
    else
        found->newest = insert(found, &one);
}

void
findings_remedy(struct findings *found, const char *fmt, ...)
{
    char text[REMEDY_MAX];
    va_list args;

    if (found->newest == NULL)
        return;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    free_text(found->newest->remedy);
    found->newest->remedy = strdup(text);
}

size_t
findings_count(const struct findings *found)
{
    return found->n;
}

const struct finding *
findings_at(const struct findings *found, size_t i)
{
    assert(i < found->n);
    return &found->list[i];
}

bool
findings_refuse(const struct findings *found)
{
    return found->refuse;
}

size_t
findings_dropped(const struct findings *found)
{
    return found->dropped;
}

/* ---- for a log ------------------------------------------------------------ */

void
findings_log(const struct findings *found, struct log *log, const char *path)
{
    static const enum log_level levels[] = {
        [SEVERITY_NOTE] = LEVEL_INFO,
        [SEVERITY_WARNING] = LEVEL_WARN,
        [SEVERITY_REFUSE] = LEVEL_ERROR,
    };

    for (size_t i = 0; i < found->n; i++) {
        const struct finding *one = &found->list[i];
        struct kv fields[] = {
            kv_str("policy", path),
            kv_int("line", one->at.line),
            kv_int("column", one->at.column),
            kv_str("code", one->code),
            kv_str("why", one->text),
            kv_str(one->remedy == NULL ? NULL : "help", one->remedy),
            { 0 },
        };

        log_write(log, levels[one->severity], "policy.finding", fields);
    }
    if (found->dropped > 0)
        LOG(log, LEVEL_WARN, "policy.finding", kv_str("policy", path),
            kv_int("not_shown", (int64_t)found->dropped));
}
