/* json.h - JSON in and out, with limits.
 *
 * The only door to the JSON library.  A document is a tree; parsed ones are
 * at most JSON_BYTES_MAX bytes and JSON_DEPTH_MAX deep, with no duplicate
 * keys, valid UTF-8 and no embedded NUL.  64-bit numbers that other tools must
 * not round are written as strings (put_text64) and read from either form.
 *
 * Thread: one owner for each tree.
 * Memory: the root owns everything below it; json_free(root).  A child that
 *         was put into a parent belongs to the parent.  Running out of memory
 *         while building marks the tree: json_render() then gives NULL. */
#ifndef KEDGE_JSON_H
#define KEDGE_JSON_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define JSON_BYTES_MAX (1u << 20)
#define JSON_DEPTH_MAX 32

struct json;

/* The text need not end in NUL.  NULL with err ERR_CONFIG and the position. */
struct json *json_parse(const char *text, size_t len,
    struct err *err) MUST_CHECK;
void json_free(struct json *json); /* NULL is fine */

struct json *json_new_object(void);
struct json *json_new_array(void);

/* Reading.  The object may be NULL (then: absent).  False or NULL when the key
 * is absent or its value is of another type. */
const char *json_get_text(const struct json *object, const char *key);
bool json_get_int(const struct json *object, const char *key, int64_t *number);
bool json_get_bool(const struct json *object, const char *key, bool *flag);
const struct json *json_get(const struct json *object, const char *key);
bool json_is_array(const struct json *json);
bool json_is_object(const struct json *json);
size_t json_count(const struct json *array); /* or members of an object */
const struct json *json_item(const struct json *array, size_t i);
const char *json_item_text(const struct json *array, size_t i);
size_t json_members(const struct json *object); /* to refuse unknown keys */

/* Building.  Text that is not UTF-8 is written with U+FFFD in its place. */
void json_put_text(struct json *object, const char *key, const char *text);
void json_put_int(struct json *object, const char *key, int64_t number);
void json_put_text64(struct json *object, const char *key, int64_t number);
void json_put_bool(struct json *object, const char *key, bool flag);
void json_put_null(struct json *object, const char *key);
/* Takes *child and sets it to NULL; `key` NULL appends to an array. */
void json_put(struct json *parent, const char *key, struct json **child);
void json_add_text(struct json *array, const char *text);

/* A NUL-terminated text, one line, keys in the order they were put; the
 * caller frees it.  NULL without memory. */
char *json_render(const struct json *json, size_t *len) MUST_CHECK;
char *json_render_indented(const struct json *json) MUST_CHECK;

#endif
