#include "json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static void
test_parse(void **state)
{
    static const struct {
        const char *label, *text;
        const char *want; /* rendered again; NULL: refused */
    } cases[] = {
        { "an object", " { \"a\" : 1 }\n", "{\"a\":1}" },
        { "an array", "[1, -2, true, false, null, \"x\"]",
            "[1,-2,true,false,null,\"x\"]" },
        { "the order of the keys stays", "{\"b\":1,\"a\":2}",
            "{\"b\":1,\"a\":2}" },
        { "escapes", "[\"\\u00fc\\n\\/\"]", "[\"\xC3\xBC\\n/\"]" },
        { "the largest number", "[9223372036854775807]",
            "[9223372036854775807]" },
        { "a larger number", "[9223372036854775808]", NULL },
        { "a number too large for any", "[1e999]", NULL },
        { "nothing", "", NULL },
        { "a word alone", "true", NULL },
        { "cut", "{\"a\":", NULL },
        { "something behind the end", "{} x", NULL },
        { "the same key twice", "{\"a\":1,\"a\":2}", NULL },
        { "the same key twice, deep inside", "[{\"a\":{\"b\":1,\"b\":1}}]",
            NULL },
        { "a NUL in a text", "[\"a\\u0000b\"]", NULL },
        { "a NUL in a key", "{\"a\\u0000\":1}", NULL },
        { "bytes that are not UTF-8", "[\"\xFF\"]", NULL },
        { "half a pair", "[\"\\ud800\"]", NULL },
        { "a control in a text", "[\"\n\"]", NULL },
        { "a comment", "[1] // x", NULL },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct err err = { 0 };
        struct json *json;
        size_t len = 0;
        char *text;

        print_message("%s\n", cases[i].label);
        json = json_parse(cases[i].text, strlen(cases[i].text), &err);
        assert_int_equal(json != NULL, cases[i].want != NULL);
        if (json == NULL) {
            assert_int_equal(err.kind, ERR_CONFIG);
            assert_memory_equal(err.text, "JSON: line ", 11);
            continue;
        }
        text = json_render(json, &len);
        assert_string_equal(text, cases[i].want);
        assert_int_equal(len, strlen(text));
        free(text);
        json_free(json);
    }
}

static void
test_text_without_end(void **state)
{
    struct err err;
    struct json *json = json_parse("[1]]]]", 3, &err);
    (void)state;

    assert_non_null(json);
    assert_int_equal(json_count(json), 1);
    json_free(json);
    json_free(NULL);
}

/* `levels` brackets of one kind. */
static struct json *
parse_deep(size_t levels, bool objects, struct err *err)
{
    static char text[100000];
    size_t len = 0;

    for (size_t i = 0; i < levels; i++) {
        if (objects) {
            memcpy(text + len, "{\"a\":", 5);
            len += 5;
        } else {
            text[len++] = '[';
        }
    }
    if (objects)
        text[len++] = '1';
    for (size_t i = 0; i < levels; i++)
        text[len++] = objects ? '}' : ']';
    return json_parse(text, len, err);
}

static void
test_depth(void **state)
{
    static const struct {
        size_t levels;
        bool objects, want;
    } cases[] = {
        { JSON_DEPTH_MAX, false, true },
        { JSON_DEPTH_MAX, true, true },
        { JSON_DEPTH_MAX + 1, false, false },
        { JSON_DEPTH_MAX + 1, true, false },
        { 10000, false, false },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct err err = { 0 };
        struct json *json = parse_deep(cases[i].levels, cases[i].objects, &err);

        assert_int_equal(json != NULL, cases[i].want);
        if (json == NULL)
            assert_int_equal(err.kind, ERR_CONFIG);
        json_free(json);
    }
}

static void
test_size(void **state)
{
    size_t len = JSON_BYTES_MAX + 1;
    char *text = malloc(len);
    struct err err = { 0 };
    struct json *json;
    (void)state;

    assert_non_null(text);
    memset(text, ' ', len);
    memcpy(text, "[]", 2);
    json = json_parse(text, len - 1, &err);
    assert_non_null(json);
    json_free(json);
    assert_null(json_parse(text, len, &err));
    assert_string_equal(err.text, "JSON: more than 1048576 bytes");
    free(text);
}

static void
test_get(void **state)
{
    static const char text[] =
        "{\"s\":\"x\",\"i\":-5,\"n\":\"-9223372036854775808\",\"b\":true,"
        "\"r\":1.5,\"o\":{\"s\":\"y\"},\"a\":[\"p\",1],\"z\":null}";
    struct err err;
    struct json *json = json_parse(text, strlen(text), &err);
    int64_t number = 7;
    bool flag = false;
    const struct json *array;
    (void)state;

    assert_non_null(json);
    assert_true(json_is_object(json));
    assert_false(json_is_array(json));
    assert_int_equal(json_members(json), 8);
    assert_int_equal(json_count(json), 8);
    assert_string_equal(json_get_text(json, "s"), "x");
    assert_null(json_get_text(json, "i"));
    assert_null(json_get_text(json, "none"));
    assert_true(json_get_int(json, "i", &number));
    assert_int_equal(number, -5);
    assert_true(json_get_int(json, "n", &number));
    assert_true(number == INT64_MIN);
    assert_false(json_get_int(json, "r", &number));
    assert_false(json_get_int(json, "z", &number));
    assert_true(json_get_bool(json, "b", &flag));
    assert_true(flag);
    assert_false(json_get_bool(json, "i", &flag));
    assert_string_equal(json_get_text(json_get(json, "o"), "s"), "y");
    assert_non_null(json_get(json, "z"));
    array = json_get(json, "a");
    assert_true(json_is_array(array));
    assert_int_equal(json_count(array), 2);
    assert_int_equal(json_members(array), 0);
    assert_string_equal(json_item_text(array, 0), "p");
    assert_null(json_item_text(array, 1));
    assert_null(json_item(array, 2));
    json_free(json);
}

static void
test_get_from_nothing(void **state)
{
    int64_t number;
    bool flag;
    (void)state;

    assert_null(json_get(NULL, "a"));
    assert_null(json_get_text(NULL, "a"));
    assert_false(json_get_int(NULL, "a", &number));
    assert_false(json_get_bool(NULL, "a", &flag));
    assert_false(json_is_array(NULL));
    assert_false(json_is_object(NULL));
    assert_int_equal(json_count(NULL), 0);
    assert_int_equal(json_members(NULL), 0);
    assert_null(json_item_text(NULL, 0));
}

static void
test_numbers_in_texts(void **state)
{
    static const struct {
        const char *text;
        bool want;
        int64_t number;
    } cases[] = {
        { "0", true, 0 },
        { "-1", true, -1 },
        { "9223372036854775807", true, INT64_MAX },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "+1", false, 0 },
        { " 1", false, 0 },
        { "1 ", false, 0 },
        { "0x10", false, 0 },
        { "1e3", false, 0 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct json *json = json_new_object();
        int64_t number = 77;

        json_put_text(json, "n", cases[i].text);
        assert_int_equal(json_get_int(json, "n", &number), cases[i].want);
        assert_true(number == (cases[i].want ? cases[i].number : 77));
        json_free(json);
    }
}

static void
test_build(void **state)
{
    struct json *json = json_new_object();
    struct json *list = json_new_array();
    struct json *inner = json_new_object();
    char *text;
    (void)state;

    json_put_text(json, "t", "a\"b");
    json_put_text(json, "none", NULL);
    json_put_int(json, "i", -3);
    json_put_text64(json, "n", INT64_MAX);
    json_put_bool(json, "b", false);
    json_put_null(json, "z");
    json_add_text(list, "x");
    json_put_int(inner, "k", 1);
    json_put(list, NULL, &inner);
    assert_null(inner);
    json_put(json, "l", &list);
    assert_null(list);
    text = json_render(json, NULL);
    assert_string_equal(text,
        "{\"t\":\"a\\\"b\",\"none\":null,\"i\":-3,"
        "\"n\":\"9223372036854775807\",\"b\":false,\"z\":null,"
        "\"l\":[\"x\",{\"k\":1}]}");
    free(text);
    text = json_render(json_get(json, "b"), NULL);
    assert_string_equal(text, "false");
    free(text);
    text = json_render_indented(json_get(json, "l"));
    assert_string_equal(text, "[\n  \"x\",\n  {\n    \"k\": 1\n  }\n]");
    free(text);
    json_free(json);
}

static void
test_text_that_is_not_utf8(void **state)
{
    struct json *json = json_new_object();
    char *text;
    (void)state;

    json_put_text(json, "t", "a\xFF\xC3\xBC\xC3");
    text = json_render(json, NULL);
    assert_string_equal(text, "{\"t\":\"a\xEF\xBF\xBD\xC3\xBC\xEF\xBF\xBD\"}");
    free(text);
    json_free(json);
}

/* A child that could not be made is as if memory ran out. */
static void
test_a_hole_marks_the_tree(void **state)
{
    struct json *json = json_new_object();
    struct json *list = json_new_array();
    struct json *none = NULL;
    (void)state;

    json_put(list, NULL, &none);
    json_put(list, NULL, &none); /* twice is as once */
    json_add_text(list, "still goes");
    assert_null(json_render(list, NULL));
    json_put(json, "list", &list); /* and passes it on */
    assert_null(list);
    json_put_int(json, "n", 1);
    assert_null(json_render(json, NULL));
    assert_null(json_render_indented(json));
    json_free(json);

    assert_null(json_render(NULL, NULL));
    json_put_int(NULL, "n", 1); /* a parent that could not be made */
    json_add_text(NULL, "x");
    list = json_new_array();
    json_put(NULL, "n", &list);
    assert_null(list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_text_without_end),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_get_from_nothing),
        cmocka_unit_test(test_numbers_in_texts),
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_text_that_is_not_utf8),
        cmocka_unit_test(test_a_hole_marks_the_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
