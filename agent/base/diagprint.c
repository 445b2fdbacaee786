#include "diag.h"

#include "json.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#define REMEDY_LINE_MAX 1024
#define TAB_WIDTH 8
#define WINDOW 100 /* columns of a source line that are shown */
#define BEFORE 40  /* of these, in front of the caret */

static const char *
severity_name(enum severity severity)
{
    switch (severity) {
    case SEVERITY_NOTE:
        return "note";
    case SEVERITY_WARNING:
        return "warning";
    case SEVERITY_REFUSE:
        return "refused";
    }
    return "unknown";
}

/* One line of the source, without its end. */
struct line {
    const char *text;
    size_t len;
};

static bool
find_line(struct line *line, const char *source, size_t len, int number)
{
    const char *end;

    for (; number > 1; number--) {
        end = len == 0 ? NULL : memchr(source, '\n', len);
        if (end == NULL)
            return false;
        len -= (size_t)(end + 1 - source);
        source = end + 1;
    }
    end = len == 0 ? NULL : memchr(source, '\n', len);
    line->text = source;
    line->len = end == NULL ? len : (size_t)(end - source);
    if (line->len > 0 && line->text[line->len - 1] == '\r')
        line->len--;
    return true;
}

/* The character at byte `at`: how many bytes and columns it takes, and whether
 * it is shown as it is. */
static size_t
measure(const struct line *line, size_t at, size_t column, size_t *columns,
    bool *plain)
{
    uint32_t point = 0;
    size_t n = utf8_next(line->text + at, line->len - at, &point);

    *plain = n != 0 && utf8_is_safe(point);
    if (point == '\t' && n == 1)
        *columns = TAB_WIDTH - column % TAB_WIDTH;
    else
        *columns = *plain ? utf8_width(point) : 1;
    return n == 0 ? 1 : n;
}

static size_t
column_of(const struct line *line, size_t byte)
{
    size_t column = 0, columns;
    bool plain;

    for (size_t at = 0; at < line->len && at < byte; column += columns)
        at += measure(line, at, column, &columns, &plain);
    return column;
}

/* The columns from `from` to before `to`; a tab as spaces, what must not be
 * shown as '?'. */
static void
print_columns(FILE *out, const struct line *line, size_t from, size_t to)
{
    size_t column = 0;

    for (size_t at = 0; at < line->len && column < to;) {
        size_t columns, n;
        bool plain;

        n = measure(line, at, column, &columns, &plain);
        if (column >= from && plain && column + columns <= to)
            (void)fwrite(line->text + at, 1, n, out);
        for (size_t i = 0; i < columns && !plain; i++) {
            if (column + i >= from && column + i < to)
                fputc(line->text[at] == '\t' ? ' ' : '?', out);
        }
        column += columns;
        at += n;
    }
}

static void
repeat(FILE *out, char c, size_t n)
{
    for (; n > 0; n--)
        fputc(c, out);
}

/* Bytes of the line that are meant: from *first to before *end. */
static void
range_of(const struct line *line, struct span at, size_t *first, size_t *end)
{
    *first = at.column > 0 ? (size_t)at.column - 1 : 0;
    if (at.length <= 0) {
        *first = 0;
        while (*first < line->len && strchr(" \t", line->text[*first]))
            ++*first;
        *end = line->len;
        return;
    }
    if (*first > line->len)
        *first = line->len;
    *end = *first + (size_t)at.length;
    if (*end > line->len)
        *end = line->len;
}

static void
print_source(FILE *out, struct span at, const struct line *line)
{
    size_t first, end, from = 0, to, total = column_of(line, line->len);
    const char *more;

    range_of(line, at, &first, &end);
    first = column_of(line, first);
    end = column_of(line, end);
    to = total;
    if (total > WINDOW) {
        from = first > BEFORE ? first - BEFORE : 0;
        if (from > total - WINDOW)
            from = total - WINDOW;
        to = from + WINDOW;
    }
    if (end > to)
        end = to;
    more = from > 0 ? "..." : "";
    fprintf(out, "%5d | %s", at.line, more);
    print_columns(out, line, from, to);
    fprintf(out, "%s\n      | ", to < total ? "..." : "");
    repeat(out, ' ', strlen(more) + first - from);
    repeat(out, '^', end > first ? end - first : 1);
    fputc('\n', out);
}

static void
print_remedy(FILE *out, const char *remedy)
{
    char escaped[REMEDY_LINE_MAX];

    fputs("      help:\n", out);
    while (*remedy != '\0') {
        size_t len = strcspn(remedy, "\n");

        utf8_escape(escaped, sizeof escaped, remedy, len);
        fprintf(out, "        %s\n", escaped);
        remedy += len + (remedy[len] == '\n' ? 1 : 0);
    }
}

void
findings_print(const struct findings *found, FILE *out, const char *path,
    const char *source, size_t source_len)
{
    for (size_t i = 0; i < findings_count(found); i++) {
        const struct finding *one = findings_at(found, i);
        struct line line;

        fputs(path, out);
        if (one->at.line > 0)
            fprintf(out, ":%d:%d", one->at.line,
                one->at.column > 0 ? one->at.column : 1);
        fprintf(out, ": %s: %s [%s]\n", severity_name(one->severity), one->text,
            one->code);
        if (one->at.line > 0 && source != NULL &&
            find_line(&line, source, source_len, one->at.line))
            print_source(out, one->at, &line);
        if (one->remedy != NULL)
            print_remedy(out, one->remedy);
    }
    if (findings_dropped(found) > 0)
        fprintf(out, "%s: note: %zu more are not shown\n", path,
            findings_dropped(found));
}

static struct json *
as_json(const struct finding *one)
{
    struct json *json = json_new_object();

    json_put_text(json, "code", one->code);
    json_put_text(json, "severity", severity_name(one->severity));
    json_put_int(json, "line", one->at.line);
    json_put_int(json, "column", one->at.column);
    json_put_int(json, "length", one->at.length);
    json_put_text(json, "text", one->text);
    json_put_text(json, "remedy", one->remedy);
    return json;
}

void
findings_print_json(const struct findings *found, FILE *out, const char *path)
{
    struct json *json = json_new_object();
    struct json *list = json_new_array();
    char *text;

    json_put_text(json, "file", path);
    json_put_bool(json, "refused", findings_refuse(found));
    json_put_int(json, "not_shown", (int64_t)findings_dropped(found));
    for (size_t i = 0; i < findings_count(found); i++) {
        struct json *one = as_json(findings_at(found, i));

        json_put(list, NULL, &one);
    }
    json_put(json, "findings", &list);
    text = json_render(json, NULL);
    /* Without memory there is one answer that does no harm. */
    fprintf(out, "%s\n", text != NULL ? text : "{\"refused\":true}");
    free(text);
    json_free(json);
}
