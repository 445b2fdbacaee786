#include "schema.h"

#include "kafkaname.h"
#include "nearest.h"
#include "value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const struct field_table *root; /* to say where a key belongs */
    struct findings *found;
    const char *kind; /* of the named thing that is read: "clusters.NAME" */
    const char *name; /* of it; NULL: none is */
};

#define SECRET_PLACE "%s: {file: /etc/kedge/secrets/NAME}"

/* A place with the name in it that it has in this file, where it is known. */
#define PLACE_SIZE 128

static const char *
place_text(const struct reader *reader, const char *what, char *text)
{
    const char *at = strstr(what, "NAME");

    if (at == NULL || reader->name == NULL ||
        strncmp(what, reader->kind, strlen(reader->kind)) != 0)
        return what;
    (void)snprintf(text, PLACE_SIZE, "%.*s%.40s%s", (int)(at - what), what,
        reader->name, at + 4);
    return text;
}

static void read_table(const struct reader *reader,
    const struct field_table *table, struct yaml *node, void *base);

static const struct field *
field_of(const struct field_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->fields[i].key, key) == 0)
            return &table->fields[i];
    return NULL;
}

/* A default is a text like any other, and fits: the tests see to it. */
static void
set_default(const struct reader *reader, const struct field *field, void *base)
{
    struct yaml node = { .kind = YAML_TEXT };
    char *at = (char *)base + field->at;

    if (field->type == FIELD_SECTION)
        read_table(reader, field->inner, NULL, at);
    if (field->fallback == NULL)
        return;
    if (field->type == FIELD_TEXT) {
        memcpy(at, &field->fallback, sizeof field->fallback);
        return;
    }
    node.text = (char *)(uintptr_t)field->fallback; /* only read */
    value_read(reader->found, field, &node, at);
}

/* ---- lists, sections, named things -------------------------------------- */

static bool
check_count(const struct reader *reader, const struct field *field,
    const struct yaml *node)
{
    if (node->n == 0 && field->min > 0)
        findings_add(reader->found, "KP031", SEVERITY_REFUSE, node->at,
            "%s: at least one is needed", field->key);
    else if (field->max > 0 && node->n > (size_t)field->max)
        findings_add(reader->found, "KP031", SEVERITY_REFUSE, node->at,
            "%s: %zu of them; at most %lld", field->key, node->n,
            (long long)field->max);
    else
        return true;
    return false;
}

static void
read_list(const struct reader *reader, const struct field *field,
    const struct yaml *node, void *at)
{
    struct field_list list = { NULL, 0 };

    if (!check_count(reader, field, node) || node->n == 0 ||
        (list.items = calloc(node->n, sizeof *list.items)) == NULL)
        return;
    for (const struct yaml *item = node->first; item; item = item->next) {
        if (item->kind == YAML_BROKEN)
            continue;
        if (yaml_is_nothing(item))
            findings_add(reader->found, "KP039", SEVERITY_REFUSE, item->at,
                "%s: there is nothing in this place of the list", field->key);
        else if (item->kind != YAML_TEXT)
            findings_add(reader->found, "KP023", SEVERITY_REFUSE, item->at,
                "%s: a list of texts, but this is a map or a list", field->key);
        else if (value_read_text(reader->found, field, item,
                     &list.items[list.n]))
            list.n++;
    }
    memcpy(at, &list, sizeof list);
}

static void
read_named(const struct reader *reader, const struct field *field,
    const struct yaml *node, void *at)
{
    const struct field named = { .key = "this name", .form = FORM_NAME };
    struct reader inner = *reader;
    struct field_items all = { NULL, 0 };

    if (!check_count(reader, field, node) || node->n == 0 ||
        (all.items = calloc(node->n, field->inner->size)) == NULL)
        return;
    memcpy(at, &all, sizeof all);
    inner.kind = field->inner->what;
    for (struct yaml *one = node->first; one != NULL; one = one->next) {
        char *item = all.items + all.n * field->inner->size;
        struct yaml name = { .kind = YAML_TEXT,
            .text = one->key,
            .at = one->key_at };

        memcpy(item, &name.text, sizeof name.text);
        all.n++;
        inner.name = one->key;
        value_read_text(reader->found, &named, &name, item);
        if (one->kind == YAML_MAP)
            read_table(&inner, field->inner, one, item);
        else if (one->kind != YAML_BROKEN)
            findings_add(reader->found, "KP023", SEVERITY_REFUSE, one->key_at,
                "%.60s: needs the keys of %s below it", one->key,
                field->inner->what);
        if (one->kind != YAML_MAP) {
            one->spoiled = true;
            read_table(&inner, field->inner, NULL, item);
        }
    }
    memcpy(at, &all, sizeof all);
}

static void
refuse_secret(const struct reader *reader, const struct field *field,
    struct yaml *node)
{
    node->spoiled = true;
    findings_add(reader->found, "KP033", SEVERITY_REFUSE, node->key_at,
        "%s: a secret does not stand in the policy", field->key);
    findings_remedy(reader->found, SECRET_PLACE, field->key);
}

/* Where a secret is, and nothing that may be the secret itself.  False when
 * there is nothing more to say about it. */
static bool
check_place(const struct reader *reader, const struct field *field,
    struct yaml *node)
{
    const char *here = NULL, *there = NULL;
    const struct field *later = NULL, *now = NULL;

    for (const struct yaml *child = node->first; child; child = child->next) {
        const struct field *one = nearest_field(field->inner, field->inner,
            child->key, &here, &there);

        if (one == NULL) {
            refuse_secret(reader, field, node);
            return false;
        }
        if (one->type == FIELD_LATER)
            later = one;
        else
            now = one;
    }
    if (later == NULL || now != NULL)
        return true;
    node->spoiled = true;
    findings_add(reader->found, "KP030", SEVERITY_REFUSE, node->key_at,
        "%s.%s is not in this version", field->key, later->key);
    findings_remedy(reader->found, SECRET_PLACE, field->key);
    return false;
}

static void
read_section(const struct reader *reader, const struct field *field,
    struct yaml *node, void *base)
{
    bool *on = (bool *)(void *)((char *)base + field->inner->switch_at);

    if (field->inner->switched && node->kind == YAML_TEXT) {
        read_table(reader, field->inner, NULL, base);
        *on = strcmp(node->text, "on") == 0;
        if (!*on && strcmp(node->text, "off") != 0) {
            node->spoiled = true;
            findings_add(reader->found, "KP024", SEVERITY_REFUSE, node->at,
                "%s: '%.60s' is neither on, off, nor a map of keys", field->key,
                node->text);
            findings_remedy(reader->found, "%s: on\n%s: off", field->key,
                field->key);
        }
        return;
    }
    if (field->inner->switched)
        *on = true;
    if (field->form == FORM_SECRET_PLACE && !check_place(reader, field, node))
        return;
    read_table(reader, field->inner, node, base);
}

/* ---- one setting -------------------------------------------------------- */

static void
remedy_section(const struct reader *reader, const struct field *field,
    const struct yaml *node)
{
    char text[512], place[PLACE_SIZE];

    if (nearest_form(field->inner, node, text, sizeof text)) {
        findings_remedy(reader->found, "%s: %s", field->key, text);
        return;
    }
    nearest_list(field->inner, text, sizeof text);
    findings_remedy(reader->found, "keys of %s: %s",
        place_text(reader, field->inner->what, place), text);
}

static bool
refuse_kind(const struct reader *reader, const struct field *field,
    struct yaml *node)
{
    bool is_text = node->kind == YAML_TEXT;
    char shown[VALUE_SHOWN_SIZE];

    node->spoiled = true;
    if (field->form == FORM_SECRET_PLACE && is_text) {
        refuse_secret(reader, field, node);
        return false;
    }
    findings_add(reader->found, "KP023", SEVERITY_REFUSE, node->at,
        "%s: needs %s", field->key,
        field->type == FIELD_LIST      ? "a list"
        : field->type == FIELD_SECTION ? "a map of keys"
        : field->type == FIELD_NAMED   ? "a map of names"
                                       : "one value");
    if (field->type == FIELD_LIST && is_text) {
        value_shown(node->text, shown);
        findings_remedy(reader->found, "%s: ['%s']", field->key, shown);
    } else if (field->type == FIELD_SECTION) {
        remedy_section(reader, field, node);
    }
    return false;
}

static bool
kind_fits(const struct field *field, const struct yaml *node)
{
    if (field->type == FIELD_SECTION && field->inner->switched &&
        node->kind == YAML_TEXT)
        return true;
    if (field->type == FIELD_SECTION || field->type == FIELD_NAMED)
        return node->kind == YAML_MAP;
    if (field->type == FIELD_LIST)
        return node->kind == YAML_LIST;
    return node->kind == YAML_TEXT;
}

static void
read_field(const struct reader *reader, const struct field *field,
    struct yaml *node, void *base)
{
    char *at = (char *)base + field->at;

    if (node != NULL && field->type == FIELD_LATER) {
        findings_add(reader->found, "KP030", SEVERITY_REFUSE, node->key_at,
            "%s is not in this version", field->key);
        findings_remedy(reader->found, "take '%s' out", field->key);
        return;
    }
    set_default(reader, field, base);
    if (node == NULL || node->kind == YAML_BROKEN)
        return;
    if (yaml_is_nothing(node)) {
        node->spoiled = true;
        findings_add(reader->found, "KP039", SEVERITY_REFUSE, node->key_at,
            "%s: there is nothing behind the ':'", field->key);
    } else if (!kind_fits(field, node)) {
        refuse_kind(reader, field, node);
    } else if (field->type == FIELD_LIST) {
        read_list(reader, field, node, at);
    } else if (field->type == FIELD_NAMED) {
        read_named(reader, field, node, at);
    } else if (field->type == FIELD_SECTION) {
        read_section(reader, field, node, at);
    } else if (!value_read(reader->found, field, node, at)) {
        node->spoiled = true;
    }
}

/* ---- tables ------------------------------------------------------------- */

/* The key of `table` that leads to a place below it; NULL: none does. */
static const struct field *
way_to(const struct field_table *table, const struct kafkaname *name)
{
    size_t len = strlen(table->what);
    char key[64];

    if (name->place == NULL || strncmp(name->place, table->what, len) != 0)
        return NULL;
    if (name->place[len] == '\0')
        return field_of(table, name->key);
    (void)snprintf(key, sizeof key, "%.*s",
        (int)strcspn(name->place + len + 1, "."), name->place + len + 1);
    return name->place[len] == '.' ? field_of(table, key) : NULL;
}

/* A setting of Kafka's own: ours for it. */
static const struct field *
refuse_theirs(const struct reader *reader, const struct field_table *table,
    const struct yaml *node, const struct kafkaname *name)
{
    const char *form = name->form != NULL ? name->form : "";
    char place[PLACE_SIZE];

    findings_add(reader->found, "KP020", SEVERITY_REFUSE, node->key_at,
        "unknown key '%.60s'", node->key);
    if (name->place == NULL)
        findings_remedy(reader->found, "%s", form);
    else if (strcmp(name->place, table->what) == 0)
        findings_remedy(reader->found, "did you mean '%s'?%s%s", name->key,
            form[0] != '\0' ? "\n" : "", form);
    else
        findings_remedy(reader->found, "here it is '%s', in %s%s%s", name->key,
            place_text(reader, name->place, place),
            form[0] != '\0' ? ":\n" : "", form);
    return way_to(table, name);
}

/* Beside a secret, what is no key may be the secret: it is not repeated. */
static bool
is_beside_secret(const struct field_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->fields[i].form == FORM_SECRET_PLACE)
            return true;
    return false;
}

/* Names the nearest key; gives it, to keep quiet that it is missing. */
static const struct field *
refuse_key(const struct reader *reader, const struct field_table *table,
    const struct yaml *node)
{
    const struct kafkaname *name = kafkaname_find(node->key);
    const char *here = NULL, *there = NULL;
    const struct field *field = NULL;
    char list[512], place[PLACE_SIZE];

    if (name != NULL)
        return refuse_theirs(reader, table, node, name);
    field = nearest_field(reader->root, table, node->key, &here, &there);
    if (there != NULL)
        there = place_text(reader, there, place);
    findings_add(reader->found, there != NULL ? "KP021" : "KP020",
        SEVERITY_REFUSE, node->key_at,
        there != NULL ? "'%.60s' does not belong here%s%s"
                      : "unknown key '%.60s'%s%s",
        here == NULL && is_beside_secret(table) ? "..." : node->key,
        there != NULL ? "; it belongs under " : "", there != NULL ? there : "");
    if (there != NULL)
        findings_remedy(reader->found, "move it, as '%s', to %s", here, there);
    else if (here != NULL)
        findings_remedy(reader->found, "did you mean '%s'?", here);
    else {
        nearest_list(table, list, sizeof list);
        findings_remedy(reader->found, "keys of %s: %s",
            place_text(reader, table->what, place), list);
    }
    return field;
}

static void
refuse_missing(const struct reader *reader, const struct field_table *table,
    const struct yaml *node, const bool *excused)
{
    char list[512] = "", lines[2048] = "", place[PLACE_SIZE];
    size_t used = 0, written = 0;

    for (size_t i = 0; i < table->n && used < sizeof list; i++) {
        const struct field *field = &table->fields[i];

        if (!field->required || excused[i] ||
            yaml_find(node, field->key) != NULL)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'",
            used > 0 ? ", " : "", field->key);
        if (written < sizeof lines)
            written += (size_t)snprintf(lines + written, sizeof lines - written,
                "%s%s: ...    # %s", written > 0 ? "\n" : "", field->key,
                field->help);
    }
    if (used == 0)
        return;
    findings_add(reader->found, "KP022", SEVERITY_REFUSE, yaml_place(node),
        "%s needs %s as well", place_text(reader, table->what, place), list);
    findings_remedy(reader->found, "%s", lines);
}

/* A mechanism that is to come needs other keys than those that are here. */
static bool
needs_others(const struct field_table *table, const struct yaml *node)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->fields[i].form == FORM_NEAR_SECRET &&
            value_is_later(&table->fields[i],
                yaml_find(node, table->fields[i].key)))
            return true;
    return false;
}

static void
read_table(const struct reader *reader, const struct field_table *table,
    struct yaml *node, void *base)
{
    bool excused[32] = { false }; /* the longest table has fewer */

    for (struct yaml *child = node != NULL ? node->first : NULL; child != NULL;
         child = child->next) {
        const struct field *meant = NULL;

        if (field_of(table, child->key) != NULL)
            continue;
        node->spoiled = true;
        meant = refuse_key(reader, table, child);
        if (meant != NULL && yaml_find(node, meant->key) == NULL)
            excused[meant - table->fields] = true;
    }
    if (node != NULL && !needs_others(table, node))
        refuse_missing(reader, table, node, excused);
    for (size_t i = 0; i < table->n; i++)
        read_field(reader, &table->fields[i],
            yaml_find(node, table->fields[i].key), base);
}

void
schema_read(const struct field_table *table, struct yaml *tree, void *base,
    struct findings *found)
{
    const struct reader reader = { .root = table, .found = found };

    read_table(&reader, table, tree, base);
}

struct field_list
schema_list(const struct field *field, const void *base)
{
    struct field_list list;

    memcpy(&list, (const char *)base + field->at, sizeof list);
    return list;
}

struct field_items
schema_items(const struct field *field, const void *base)
{
    struct field_items all;

    memcpy(&all, (const char *)base + field->at, sizeof all);
    return all;
}

void
schema_clear(const struct field_table *table, void *base)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct field *field = &table->fields[i];

        if (field->type == FIELD_SECTION) {
            schema_clear(field->inner, (char *)base + field->at);
        } else if (field->type == FIELD_LIST) {
            free(schema_list(field, base).items);
        } else if (field->type == FIELD_NAMED) {
            struct field_items all = schema_items(field, base);

            for (size_t k = 0; k < all.n; k++)
                schema_clear(field->inner, all.items + k * field->inner->size);
            free(all.items);
        }
    }
}
