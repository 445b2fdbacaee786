#include "reference.h"

#include "codes.h"
#include "fields.h"
#include "format.h"
#include "value.h"

#include <string.h>

#define MDOC_WIDTH 76 /* some of it for escapes */

/* What a field has besides its sentence, in words. */
struct facts {
    char type[256], range[96];
    const char *fallback;
};

static void
limit_text(const struct field *field, int64_t number, char *text, size_t size)
{
    if (field->type == FIELD_MS)
        format_duration_text(text, size, number);
    else if (field->type == FIELD_BYTES)
        format_bytes_text(text, size, number);
    else
        snprintf(text, size, "%lld", (long long)number);
}

static struct facts
facts_of(const struct field *field)
{
    struct facts facts = { .range = "" };
    char min[FORMAT_TEXT_SIZE], max[FORMAT_TEXT_SIZE];
    bool number = field->type == FIELD_MS || field->type == FIELD_BYTES ||
                  field->type == FIELD_INT;

    value_type_text(field, facts.type, sizeof facts.type);
    facts.fallback = field->fallback != NULL ? field->fallback
                     : field->inner != NULL && field->inner->switched
                         ? NULL
                         : field->nothing;
    if (number && (field->min != 0 || field->max != 0)) {
        limit_text(field, field->min, min, sizeof min);
        limit_text(field, field->max, max, sizeof max);
        snprintf(facts.range, sizeof facts.range, "%s to %s", min, max);
    } else if (field->max > 0) {
        snprintf(facts.range, sizeof facts.range, "at most %lld",
            (long long)field->max);
    }
    return facts;
}

/* Does a table come below this one?  What two have in common is called after
 * one of them, and shown there. */
static bool
has_table(const struct field_table *table, const struct field *field)
{
    return (field->type == FIELD_SECTION || field->type == FIELD_NAMED) &&
           (table == fields_root() || strncmp(field->inner->what, table->what,
                                          strlen(table->what)) == 0);
}

/* ---- Markdown --------------------------------------------------------------- */

static void
markdown_row(const struct field *field, FILE *out)
{
    struct facts facts = facts_of(field);

    fprintf(out, "| `%s` | %s%s%s | %s%s%s | %s |\n", field->key, facts.type,
        facts.range[0] != '\0' ? ", " : "", facts.range,
        facts.fallback != NULL ? "`" : "",
        facts.fallback != NULL ? facts.fallback
        : field->required      ? "required"
                               : "",
        facts.fallback != NULL ? "`" : "", field->help);
}

static void
markdown_table(const struct field_table *table, FILE *out)
{
    fprintf(out,
        "\n## %s\n\n| key | type | default | |\n| --- | --- | --- | "
        "--- |\n",
        table->what);
    for (size_t i = 0; i < table->n; i++)
        markdown_row(&table->fields[i], out);
    for (size_t i = 0; i < table->n; i++)
        if (has_table(table, &table->fields[i]))
            markdown_table(table->fields[i].inner, out);
}

void
reference_markdown(FILE *out)
{
    fputs("# The policy\n\n"
          "<!-- Written by `kedge explain --schema=markdown`; a test compares "
          "them. -->\n\n"
          "One YAML file, in a strict subset: unknown and duplicate keys, "
          "aliases, tags, tabs,\nand numbers without the unit they need are "
          "refused.  `kedge check` says everything\nthat is wrong with it at "
          "once, `kedge explain CODE` what a code means, and\n`kedge policy "
          "show` what is in force.  kedge.policy(5) has an example.\n\n"
          "An *assertion* is a setting that has one value: writing it down is "
          "allowed, and\nanother value is refused.\n",
        out);
    markdown_table(fields_root(), out);
    fputs("\n## Codes\n\n| code | what | why | what mends it |\n| --- | --- | "
          "--- | --- |\n",
        out);
    for (size_t i = 0; i < codes_count(); i++) {
        const struct code *code = codes_at(i);

        fprintf(out, "| %s | %s | %s | %s |\n", code->code, code->what,
            code->why, code->mend);
    }
}

/* ---- mdoc ------------------------------------------------------------------- */

static void
mdoc_word(const char *word, size_t len, bool first, FILE *out)
{
    if (first && (*word == '.' || *word == '\''))
        fputs("\\&", out); /* is no request */
    for (size_t i = 0; i < len; i++)
        if (word[i] == '\\')
            fputs("\\e", out);
        else
            fputc(word[i], out);
}

/* A sentence begins a line, as in manual pages, and no line is long; nothing of
 * a text is taken for a request. */
static void
mdoc_text(const char *text, FILE *out)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        size_t blanks = strspn(text + len, " ");

        if (column > 0 && column + 1 + len > MDOC_WIDTH) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        mdoc_word(text, len, column == 0, out);
        column += len;
        if (blanks > 1) { /* the end of a sentence */
            fputc('\n', out);
            column = 0;
        }
        text += len + blanks;
    }
    if (column > 0)
        fputc('\n', out);
}

static void
mdoc_row(const struct field *field, FILE *out)
{
    struct facts facts = facts_of(field);
    char text[512];

    fprintf(out, ".It Ic %s\n", field->key);
    mdoc_text(field->help, out);
    if (field->type == FIELD_LATER) {
        fputs("Not in this version.\n", out);
        return;
    }
    snprintf(text, sizeof text, "(%s%s%s%s%s%s)", facts.type,
        facts.range[0] != '\0' ? ", " : "", facts.range,
        facts.fallback != NULL ? "; default: " : "",
        facts.fallback != NULL ? facts.fallback : "",
        field->required ? "; required" : "");
    mdoc_text(text, out);
}

static void
mdoc_table(const struct field_table *table, FILE *out)
{
    fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", table->what);
    for (size_t i = 0; i < table->n; i++)
        mdoc_row(&table->fields[i], out);
    fputs(".El\n", out);
    for (size_t i = 0; i < table->n; i++)
        if (has_table(table, &table->fields[i]))
            mdoc_table(table->fields[i].inner, out);
}

void
reference_mdoc(FILE *out)
{
    mdoc_table(fields_root(), out);
    fputs(".Ss Codes of findings\n.Bl -tag -width KP000\n", out);
    for (size_t i = 0; i < codes_count(); i++) {
        fprintf(out, ".It Sy %s\n", codes_at(i)->code);
        mdoc_text(codes_at(i)->what, out);
    }
    fputs(".El\n", out);
}

/* ---- for a terminal --------------------------------------------------------- */

void
reference_codes(FILE *out)
{
    for (size_t i = 0; i < codes_count(); i++)
        fprintf(out, "%s  %s\n", codes_at(i)->code, codes_at(i)->what);
}

/* A paragraph in lines that a terminal shows whole. */
static void
put_wrapped(const char *head, const char *text, FILE *out)
{
    size_t column = 8;

    fprintf(out, "  %-6s", head);
    while (*text != '\0') {
        size_t len = strcspn(text, " ");

        if (column > 8 && column + 1 + len > 78) {
            fprintf(out, "\n%8s", "");
            column = 8;
        }
        column += (size_t)fprintf(out, "%s%.*s", column > 8 ? " " : "",
            (int)len, text);
        text += len;
        text += strspn(text, " ");
    }
    fprintf(out, "\n");
}

bool
reference_explain(const char *code, FILE *out)
{
    const struct code *found = codes_find(code);

    if (found == NULL)
        return false;
    fprintf(out, "%s: %s\n", found->code, found->what);
    put_wrapped("why", found->why, out);
    put_wrapped("mend", found->mend, out);
    return true;
}
