#include "effective.h"

#include "fields.h"
#include "format.h"
#include "json.h"
#include "value.h"
#include "yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (YAML_TEXT_MAX + 1)
#define COMMENT_COLUMN 48

/* Where a value comes from. */
struct origin {
    const char *path;
    const struct yaml *root;
    const struct yaml *node;     /* NULL: the default */
    const struct yaml *general;  /* what the policy says for all its flows */
    const struct yaml *admitted; /* how few copies the flow's target admits */
};

/* The same that policy.c goes by: fewer than the default of three. */
static const struct yaml *
admitted_by_target(const struct origin *flow)
{
    const struct yaml *to = yaml_find(flow->node, "to");
    const struct yaml *cluster =
        to == NULL ? NULL
                   : yaml_find(yaml_find(flow->root, "clusters"), to->text);
    const struct yaml *replicas =
        yaml_find(yaml_find(cluster, "durability"), "replicas");
    int64_t number = 0;

    return replicas != NULL &&
                   format_int(replicas->text, &number) == FORMAT_FITS &&
                   number < 3
               ? replicas
               : NULL;
}

/* Of one setting below. */
static struct origin
below(const struct origin *origin, const char *key)
{
    struct origin own = *origin;

    own.node = yaml_find(origin->node, key);
    own.general = yaml_find(origin->general, key);
    if (strcmp(key, "placement") == 0)
        own.general = yaml_find(origin->root, key);
    if (strcmp(key, "target_topics") == 0)
        own.admitted = admitted_by_target(origin);
    if (strcmp(key, "replication.factor") == 0)
        own.general = origin->admitted;
    return own;
}

/* The setting itself, or the one it is taken from. */
static const struct yaml *
said_at(const struct origin *origin)
{
    return origin->node != NULL ? origin->node : origin->general;
}

/* ---- YAML ------------------------------------------------------------------ */

/* Quotes unless the text means the same without. */
static void
quote(char *out, size_t size, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-";
    size_t used = 0;

    if (text[0] != '\0' && text[0] != '-' &&
        text[strspn(text, plain)] == '\0' && strcmp(text, "null") != 0) {
        snprintf(out, size, "%s", text);
        return;
    }
    out[used++] = '\'';
    for (; *text != '\0' && used + 4 < size; text++) {
        if (*text == '\'')
            out[used++] = '\'';
        out[used++] = *text;
    }
    out[used++] = '\'';
    out[used] = '\0';
}

static void
put_origin(FILE *out, int column, const struct origin *origin,
    const char *written)
{
    const struct yaml *node = said_at(origin);
    int gap = column < COMMENT_COLUMN ? COMMENT_COLUMN - column : 1;

    if (node == NULL)
        fprintf(out, "%*s# default\n", gap, "");
    else if (written != NULL)
        fprintf(out, "%*s# instead of '%s', %s:%d\n", gap, "", written,
            origin->path, node->at.line);
    else
        fprintf(out, "%*s# %s:%d\n", gap, "", origin->path, node->at.line);
}

static void
put_list(const struct field *field, const void *base, int depth, FILE *out,
    const struct origin *origin)
{
    const struct field_list list = schema_list(field, base);
    char text[2 * TEXT_MAX];
    int column = 0;

    if (list.n == 0) {
        column = fprintf(out, "%*s%s: []", 2 * depth, "", field->key);
        put_origin(out, column, origin, NULL);
        return;
    }
    column = fprintf(out, "%*s%s:", 2 * depth, "", field->key);
    put_origin(out, column, origin, NULL);
    for (size_t i = 0; i < list.n; i++) {
        quote(text, sizeof text, list.items[i]);
        fprintf(out, "%*s- %s\n", 2 * depth + 2, "", text);
    }
}

static void
put_value(const struct field *field, const void *base, int depth, FILE *out,
    const struct origin *origin)
{
    const struct yaml *node = said_at(origin);
    char text[TEXT_MAX], quoted[2 * TEXT_MAX];
    bool other = false;
    int column = 0;

    value_text(field, base, text, sizeof text);
    if (text[0] == '\0')
        return; /* optional and not given */
    other = node != NULL && field->type == FIELD_TEXT &&
            strcmp(node->text, text) != 0;
    quote(quoted, sizeof quoted, text);
    column = fprintf(out, "%*s%s: %s", 2 * depth, "", field->key, quoted);
    put_origin(out, column, origin, other ? node->text : NULL);
}

static void put_table(const struct field_table *table, const void *base,
    int depth, FILE *out, const struct origin *origin);

static bool
is_given(const struct field *field, const void *base, const struct yaml *node)
{
    const char *at = (const char *)base + field->at;

    if (field->inner->switched)
        return *(const bool *)(const void *)(at + field->inner->switch_at);
    if (node != NULL)
        return true;
    for (size_t i = 0; i < field->inner->n; i++)
        if (field->inner->fields[i].fallback != NULL)
            return true;
    return false;
}

static void
put_section(const struct field *field, const void *base, int depth, FILE *out,
    const struct origin *origin)
{
    const char *at = (const char *)base + field->at;
    int column = 0;

    if (is_given(field, base, said_at(origin))) {
        fprintf(out, "%*s%s:\n", 2 * depth, "", field->key);
        put_table(field->inner, at, depth + 1, out, origin);
    } else if (field->inner->switched) {
        column = fprintf(out, "%*s%s: off", 2 * depth, "", field->key);
        put_origin(out, column, origin, NULL);
    }
}

static void
put_named(const struct field *field, const void *base, int depth, FILE *out,
    const struct origin *origin)
{
    const struct field_items all = schema_items(field, base);

    fprintf(out, "%*s%s:\n", 2 * depth, "", field->key);
    for (size_t i = 0; i < all.n; i++) {
        const char *item = all.items + i * field->inner->size;
        const char *name = NULL;
        struct origin own;

        memcpy(&name, item, sizeof name);
        own = below(origin, name);
        own.general = NULL; /* of this flow, even one called "placement" */
        fprintf(out, "%*s%s:\n", 2 * depth + 2, "", name);
        put_table(field->inner, item, depth + 2, out, &own);
    }
}

static void
put_table(const struct field_table *table, const void *base, int depth,
    FILE *out, const struct origin *origin)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct field *field = &table->fields[i];
        const struct origin own = below(origin, field->key);

        switch (field->type) {
        case FIELD_LATER:
            break;
        case FIELD_SECTION:
            put_section(field, base, depth, out, &own);
            break;
        case FIELD_NAMED:
            put_named(field, base, depth, out, &own);
            break;
        case FIELD_LIST:
            put_list(field, base, depth, out, &own);
            break;
        case FIELD_TEXT:
        case FIELD_ENUM:
        case FIELD_WORD:
        case FIELD_BOOL:
        case FIELD_MS:
        case FIELD_BYTES:
        case FIELD_INT:
            put_value(field, base, depth, out, &own);
            break;
        }
    }
}

void
effective_print(const struct policy *policy, const char *path, FILE *out)
{
    const struct origin origin = { .path = path,
        .root = policy->tree,
        .node = policy->tree };

    put_table(fields_root(), policy, 0, out, &origin);
}

/* ---- JSON ------------------------------------------------------------------ */

static struct json *
json_list(const struct field *field, const void *base)
{
    const struct field_list list = schema_list(field, base);
    struct json *all = json_new_array();

    for (size_t i = 0; i < list.n; i++)
        json_add_text(all, list.items[i]);
    return all;
}

/* Numbers are in ms and bytes here: tools do not want to read units. */
static void
json_scalar(struct json *one, const struct field *field, const void *base,
    const char *text)
{
    const char *at = (const char *)base + field->at;
    int64_t number = 0;

    if (field->type == FIELD_BOOL) {
        json_put_bool(one, "value", *(const bool *)(const void *)at);
    } else if (field->type == FIELD_MS || field->type == FIELD_BYTES ||
               field->type == FIELD_INT) {
        memcpy(&number, at, sizeof number);
        json_put_int(one, "value", number);
    } else {
        json_put_text(one, "value", text);
    }
}

static struct json *
json_value(const struct field *field, const void *base,
    const struct origin *origin)
{
    const struct yaml *node = said_at(origin);
    struct json *one = NULL;
    char text[TEXT_MAX];

    if (field->type != FIELD_LIST) {
        value_text(field, base, text, sizeof text);
        if (text[0] == '\0')
            return NULL;
    }
    one = json_new_object();
    if (field->type == FIELD_LIST) {
        struct json *list = json_list(field, base);

        json_put(one, "value", &list);
    } else {
        json_scalar(one, field, base, text);
    }
    if (node != NULL)
        json_put_int(one, "line", node->at.line);
    else
        json_put_null(one, "line");
    return one;
}

static struct json *json_table(const struct field_table *table,
    const void *base, const struct origin *origin);

static struct json *
json_named(const struct field *field, const void *base,
    const struct origin *origin)
{
    const struct field_items all = schema_items(field, base);
    struct json *map = json_new_object();

    for (size_t i = 0; i < all.n; i++) {
        const char *item = all.items + i * field->inner->size;
        const char *name = NULL;
        struct origin own;
        struct json *one = NULL;

        memcpy(&name, item, sizeof name);
        own = below(origin, name);
        own.general = NULL;
        one = json_table(field->inner, item, &own);
        json_put(map, name, &one);
    }
    return map;
}

static struct json *
json_section(const struct field *field, const void *base,
    const struct origin *origin)
{
    const char *at = (const char *)base + field->at;

    if (!is_given(field, base, said_at(origin)))
        return NULL;
    return json_table(field->inner, at, origin);
}

static struct json *
json_table(const struct field_table *table, const void *base,
    const struct origin *origin)
{
    struct json *map = json_new_object();

    for (size_t i = 0; i < table->n; i++) {
        const struct field *field = &table->fields[i];
        const struct origin own = below(origin, field->key);
        struct json *one = NULL;

        if (field->type == FIELD_SECTION)
            one = json_section(field, base, &own);
        else if (field->type == FIELD_NAMED)
            one = json_named(field, base, &own);
        else if (field->type != FIELD_LATER)
            one = json_value(field, base, &own);
        if (one != NULL)
            json_put(map, field->key, &one);
        else if (field->type == FIELD_SECTION && field->inner->switched)
            json_put_null(map, field->key); /* off */
    }
    return map;
}

bool
effective_print_json(const struct policy *policy, const char *path, FILE *out,
    struct err *err)
{
    const struct origin origin = { .path = path,
        .root = policy->tree,
        .node = policy->tree };
    struct json *all = json_new_object();
    struct json *table = json_table(fields_root(), policy, &origin);
    char *text = NULL;

    json_put_text(all, "file", path);
    json_put(all, "policy", &table);
    text = json_render_indented(all);
    json_free(all);
    if (text == NULL)
        return err_set(err, ERR_MEMORY, "the policy as JSON");
    fprintf(out, "%s\n", text);
    free(text);
    return true;
}
