#include "nearest.h"

#include "value.h"
#include "yaml_tree.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* How many values of a list are repeated. */
#define LIST_SHOWN 8

static int
min3(int a, int b, int c)
{
    int least = a < b ? a : b;

    return least < c ? least : c;
}

int
nearest_distance(const char *a, const char *b)
{
    int rows[3][NEAREST_MAX + 1];
    int n = (int)strnlen(a, NEAREST_MAX + 1);
    int m = (int)strnlen(b, NEAREST_MAX + 1);

    if (n > NEAREST_MAX || m > NEAREST_MAX)
        return -1;
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3];
        const int *before = rows[(i + 2) % 3];
        const int *older = rows[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int change = before[j - 1] + (a[i - 1] != b[j - 1]);

            now[j] = min3(before[j] + 1, now[j - 1] + 1, change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min3(now[j], now[j], older[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

/* A third of the letters may be wrong, but never all of a short word. */
static bool
is_near(const char *a, const char *b, int *distance)
{
    int limit = (int)strlen(a) / 3;

    *distance = nearest_distance(a, b);
    if (limit < 1)
        limit = 1;
    return *distance >= 0 && *distance <= limit && *distance < (int)strlen(b);
}

bool
nearest_is(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

const char *
nearest_word(const char *text, const char *const *words)
{
    const char *best = NULL;
    int least = 0, distance = 0;

    for (; words != NULL && *words != NULL; words++) {
        if (strcasecmp(text, *words) == 0)
            return *words;
        if (!is_near(text, *words, &distance) ||
            (best != NULL && distance >= least))
            continue;
        best = *words;
        least = distance;
    }
    return best;
}

/* The same letters; '.', '_' and '-' are what people mix up. */
static bool
is_same(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "._-");
        b += strspn(b, "._-");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

static const struct field *
same_in(const struct field_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (is_same(table->fields[i].key, key))
            return &table->fields[i];
    return NULL;
}

static const struct field *
same_below(const struct field_table *table, const char *key, const char **there)
{
    const struct field *field = same_in(table, key);

    *there = table->what;
    for (size_t i = 0; i < table->n && field == NULL; i++)
        if (table->fields[i].inner != NULL)
            field = same_below(table->fields[i].inner, key, there);
    return field;
}

/* ALIAS.producer.KEY and the like: our key may be what stands last. */
static const struct field *
last_part(const struct field_table *root, const struct field_table *table,
    const char *key, const char **here, const char **there)
{
    const struct field *field = NULL, *other = NULL;
    const char *section = NULL;

    while (field == NULL && other == NULL && (key = strchr(key, '.')) != NULL) {
        key++;
        field = same_in(table, key);
        if (field == NULL)
            other = same_below(root, key, &section);
    }
    if (field != NULL || other != NULL)
        *here = field != NULL ? field->key : other->key;
    *there = other != NULL ? section : NULL;
    return field;
}

const struct field *
nearest_field(const struct field_table *root, const struct field_table *table,
    const char *key, const char **here, const char **there)
{
    const struct field *best = same_in(table, key);
    const char *section = NULL;
    int least = 0, distance = 0;

    *there = NULL;
    if (best == NULL) {
        const struct field *other = same_below(root, key, &section);

        if (other != NULL) {
            *here = other->key;
            *there = section;
            return NULL;
        }
    }
    for (size_t i = 0; i < table->n && !same_in(table, key); i++) {
        if (!is_near(key, table->fields[i].key, &distance) ||
            (best != NULL && distance >= least))
            continue;
        best = &table->fields[i];
        least = distance;
    }
    *here = best != NULL ? best->key : NULL;
    return best != NULL ? best : last_part(root, table, key, here, there);
}

/* The key that such a value can stand under; NULL: there is none. */
static const struct field *
taker(const struct field_table *table, const struct yaml *value)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct field *field = &table->fields[i];
        const char *const *word = field->choices;

        if (field->type == FIELD_LIST && field->required)
            return field;
        while (value->kind == YAML_TEXT && word != NULL && *word != NULL)
            if (strcmp(*word++, value->text) == 0)
                return field;
    }
    return NULL;
}

/* Its first values, as a list of texts. */
static size_t
put_list(const struct yaml *value, char *text, size_t size)
{
    const struct yaml *one = value->kind == YAML_LIST ? value->first : value;
    char shown[VALUE_SHOWN_SIZE] = "";
    size_t used = (size_t)snprintf(text, size, "[");

    for (int n = 0; one != NULL && n <= LIST_SHOWN && used < size; n++) {
        bool is_shown = n < LIST_SHOWN && one->kind == YAML_TEXT;

        if (is_shown)
            value_shown(one->text, shown);
        used += (size_t)snprintf(text + used, size - used,
            is_shown ? "%s'%s'" : "%s...", n > 0 ? ", " : "", shown);
        one = value->kind == YAML_LIST ? one->next : NULL;
    }
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, "]");
    return used;
}

bool
nearest_form(const struct field_table *table, const struct yaml *value,
    char *text, size_t size)
{
    const struct field *field = taker(table, value);
    size_t used = 0;

    if (field == NULL)
        return false;
    used = (size_t)snprintf(text, size, "{%s: ", field->key);
    if (field->type == FIELD_LIST && used < size)
        used += put_list(value, text + used, size - used);
    else if (used < size)
        used += (size_t)snprintf(text + used, size - used, "%s", value->text);
    for (size_t i = 0; i < table->n && used < size; i++)
        if (table->fields[i].required && &table->fields[i] != field)
            used += (size_t)snprintf(text + used, size - used, ", %s: ...",
                table->fields[i].key);
    if (used < size)
        (void)snprintf(text + used, size - used, "}");
    return true;
}

void
nearest_list(const struct field_table *table, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < table->n && used < size; i++) {
        int n = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
            table->fields[i].key);

        used += n > 0 ? (size_t)n : 0;
    }
}
