#include <jansson.h>

#undef json_is_array /* ours are functions */
#undef json_is_object

#include "json.h"

#include "utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A struct json is a json_t of the library.  A container in which something
 * could not be put for want of memory carries one reference more than its
 * owner's: that is the mark, and it needs no memory. */

static const json_t *
node(const struct json *json)
{
    return (const json_t *)json;
}

static json_t *
own(struct json *json)
{
    return (json_t *)json;
}

static bool
is_marked(const struct json *json)
{
    /* Constants such as true have no count. */
    return json == NULL || ((json_is_array(json) || json_is_object(json)) &&
                               node(json)->refcount > 1);
}

static void
mark(struct json *json)
{
    if (!is_marked(json))
        json_incref(own(json));
}

static bool
is_too_deep(json_t *json, int left)
{
    const char *key;
    json_t *child;
    size_t i;

    if (left == 0 &&
        (json_typeof(json) == JSON_ARRAY || json_typeof(json) == JSON_OBJECT))
        return true;
    json_array_foreach(json, i, child)
    {
        if (is_too_deep(child, left - 1))
            return true;
    }
    json_object_foreach(json, key, child)
    {
        if (is_too_deep(child, left - 1))
            return true;
    }
    return false;
}

struct json *
json_parse(const char *text, size_t len, struct err *err)
{
    json_error_t error;
    json_t *json;

    if (len > JSON_BYTES_MAX) {
        err_set(err, ERR_CONFIG, "JSON: more than %u bytes", JSON_BYTES_MAX);
        return NULL;
    }
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        err_set(err, ERR_CONFIG, "JSON: line %d, column %d: %s", error.line,
            error.column, error.text);
        return NULL;
    }
    if (is_too_deep(json, JSON_DEPTH_MAX)) {
        json_decref(json);
        err_set(err, ERR_CONFIG, "JSON: more than %d levels deep",
            JSON_DEPTH_MAX);
        return NULL;
    }
    return (struct json *)json;
}

void
json_free(struct json *json)
{
    if (json == NULL)
        return;
    if (is_marked(json))
        json_decref(own(json));
    json_decref(own(json));
}

struct json *
json_new_object(void)
{
    return (struct json *)json_object();
}

struct json *
json_new_array(void)
{
    return (struct json *)json_array();
}

const struct json *
json_get(const struct json *object, const char *key)
{
    return (const struct json *)json_object_get(node(object), key);
}

const char *
json_get_text(const struct json *object, const char *key)
{
    return json_string_value(node(json_get(object, key)));
}

/* An optional minus and digits, nothing else, and in range. */
static bool
read_int(const char *text, int64_t *number)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    long long value;

    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    value = strtoll(text, NULL, 10);
    if (errno != 0)
        return false;
    *number = value;
    return true;
}

bool
json_get_int(const struct json *object, const char *key, int64_t *number)
{
    const json_t *value = node(json_get(object, key));

    if (json_is_string(value))
        return read_int(json_string_value(value), number);
    if (!json_is_integer(value))
        return false;
    *number = json_integer_value(value);
    return true;
}

bool
json_get_bool(const struct json *object, const char *key, bool *flag)
{
    const json_t *value = node(json_get(object, key));

    if (!json_is_boolean(value))
        return false;
    *flag = json_is_true(value);
    return true;
}

bool
json_is_array(const struct json *json)
{
    return json != NULL && json_typeof(node(json)) == JSON_ARRAY;
}

bool
json_is_object(const struct json *json)
{
    return json != NULL && json_typeof(node(json)) == JSON_OBJECT;
}

size_t
json_count(const struct json *array)
{
    /* Each gives 0 for what is of another type. */
    return json_array_size(node(array)) + json_object_size(node(array));
}

const struct json *
json_item(const struct json *array, size_t i)
{
    return (const struct json *)json_array_get(node(array), i);
}

const char *
json_item_text(const struct json *array, size_t i)
{
    return json_string_value(node(json_item(array, i)));
}

size_t
json_members(const struct json *object)
{
    return json_object_size(node(object));
}

/* Each byte that is not UTF-8 as U+FFFD; NULL without memory. */
static json_t *
repaired(const char *text)
{
    size_t len = strlen(text), used = 0;
    char *out = len < SIZE_MAX / 3 ? malloc(3 * len + 1) : NULL;
    json_t *string;

    if (out == NULL)
        return NULL;
    for (size_t at = 0; at < len;) {
        uint32_t point;
        size_t n = utf8_next(text + at, len - at, &point);

        memcpy(out + used, n == 0 ? "\xEF\xBF\xBD" : text + at, n == 0 ? 3 : n);
        used += n == 0 ? 3 : n;
        at += n == 0 ? 1 : n;
    }
    string = json_stringn(out, used);
    free(out);
    return string;
}

static json_t *
new_text(const char *text)
{
    json_t *string = json_string(text); /* NULL if it is not UTF-8, too */

    return string != NULL ? string : repaired(text);
}

/* Takes `value`, NULL if it could not be made. */
static void
put(struct json *parent, const char *key, json_t *value)
{
    int result;

    if (parent == NULL || value == NULL) {
        json_decref(value);
        if (parent != NULL)
            mark(parent);
        return;
    }
    assert((key != NULL) == json_is_object(parent));
    /* Both take the value in any case. */
    result = key != NULL ? json_object_set_new(own(parent), key, value)
                         : json_array_append_new(own(parent), value);
    if (result != 0)
        mark(parent);
}

void
json_put_text(struct json *object, const char *key, const char *text)
{
    put(object, key, text == NULL ? json_null() : new_text(text));
}

void
json_put_int(struct json *object, const char *key, int64_t number)
{
    put(object, key, json_integer(number));
}

void
json_put_text64(struct json *object, const char *key, int64_t number)
{
    put(object, key, json_sprintf("%lld", (long long)number));
}

void
json_put_bool(struct json *object, const char *key, bool flag)
{
    put(object, key, json_boolean(flag));
}

void
json_put_null(struct json *object, const char *key)
{
    put(object, key, json_null());
}

void
json_put(struct json *parent, const char *key, struct json **child)
{
    struct json *mine = *child;

    *child = NULL;
    if (is_marked(mine)) { /* or could not be made at all */
        json_free(mine);
        mine = NULL;
    }
    put(parent, key, own(mine));
}

void
json_add_text(struct json *array, const char *text)
{
    put(array, NULL, new_text(text));
}

static char *
render(const struct json *json, size_t flags)
{
    if (is_marked(json))
        return NULL;
    return json_dumps(node(json), flags | JSON_ENCODE_ANY);
}

char *
json_render(const struct json *json, size_t *len)
{
    char *text = render(json, JSON_COMPACT);

    if (text != NULL && len != NULL)
        *len = strlen(text);
    return text;
}

char *
json_render_indented(const struct json *json)
{
    return render(json, JSON_INDENT(2));
}
