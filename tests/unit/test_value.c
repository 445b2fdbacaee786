#include "value.h"

#include "policyfix.h"

static const char *const letters[] = { "a", "b", NULL };
static const char *const planned[] = { "c", NULL };

/* One field of each kind, and what its texts come to; what is written again
 * is in `again`, or else the code. */
static const struct {
    const char *label;
    struct field field;
    const char *text, *again, *code;
} cases[] = {
    { "a text", { "k", FIELD_TEXT, .at = 0 }, "x y", "x y", NULL },
    { "an empty text", { "k", FIELD_TEXT, .at = 0 }, "", NULL, "KP032" },
    { "the word for nothing", { "k", FIELD_TEXT, .nothing = "off" }, "off",
        "off", NULL },
    { "a name", { "k", FIELD_TEXT, .form = FORM_NAME }, "plant7", "plant7",
        NULL },
    { "not a name", { "k", FIELD_TEXT, .form = FORM_NAME }, "Plant 7", NULL,
        "KP029" },
    { "not an address", { "k", FIELD_TEXT, .form = FORM_ADDRESS }, "b1", NULL,
        "KP035" },
    { "not a network", { "k", FIELD_TEXT, .form = FORM_NETWORK }, "1.2.3.4",
        NULL, "KP037" },
    { "not a path", { "k", FIELD_TEXT, .form = FORM_PATH }, "ca.pem", NULL,
        "KP038" },
    { "not a date", { "k", FIELD_TEXT, .form = FORM_DATE }, "soon", NULL,
        "KP036" },
    { "a word", { "k", FIELD_WORD, .choices = letters, .fallback = "a" }, "b",
        "b", NULL },
    { "another word", { "k", FIELD_WORD, .choices = letters }, "d", NULL,
        "KP024" },
    { "a word for later",
        { "k", FIELD_WORD, .choices = letters, .later = planned }, "c", NULL,
        "KP030" },
    { "a choice with a default",
        { "k", FIELD_ENUM, .choices = letters, .fallback = "a" }, "b", "b",
        NULL },
    { "a choice without", { "k", FIELD_ENUM, .choices = letters }, "a", "a",
        NULL },
    { "another choice", { "k", FIELD_ENUM, .choices = letters }, "A", NULL,
        "KP024" },
    { "yes in full", { "k", FIELD_BOOL, .at = 0 }, "true", "true", NULL },
    { "no in full", { "k", FIELD_BOOL, .at = 0 }, "false", "false", NULL },
    { "yes", { "k", FIELD_BOOL, .at = 0 }, "yes", NULL, "KP028" },
    { "a number as a truth", { "k", FIELD_BOOL, .at = 0 }, "1", NULL, "KP028" },
    { "a duration", { "k", FIELD_MS, .at = 0 }, "90s", "90s", NULL },
    { "a duration in larger units", { "k", FIELD_MS, .at = 0 }, "120s", "2m",
        NULL },
    { "a duration without a unit", { "k", FIELD_MS, .at = 0 }, "90", NULL,
        "KP025" },
    { "no duration", { "k", FIELD_MS, .at = 0 }, "soon", NULL, "KP026" },
    { "a size", { "k", FIELD_BYTES, .at = 0 }, "1024KiB", "1MiB", NULL },
    { "a size without a unit", { "k", FIELD_BYTES, .at = 0 }, "1024", NULL,
        "KP025" },
    { "no size", { "k", FIELD_BYTES, .at = 0 }, "big", NULL, "KP026" },
    { "no limit",
        { "k", FIELD_BYTES, .nothing = "unlimited", .min = 5, .max = 9 },
        "unlimited", "unlimited", NULL },
    { "a number", { "k", FIELD_INT, .min = 1, .max = 9 }, "9", "9", NULL },
    { "a number that is too large", { "k", FIELD_INT, .min = 1, .max = 9 },
        "10", NULL, "KP027" },
    { "a number that is too small", { "k", FIELD_INT, .min = 1, .max = 9 }, "0",
        NULL, "KP027" },
    { "no number", { "k", FIELD_INT, .at = 0 }, "nine", NULL, "KP026" },
    { "no value of one text", { "k", FIELD_LATER, .at = 0 }, "x", NULL, "" },
};

static void
test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        const struct field *field = &cases[i].field;
        char text[64], again[64];
        struct yaml node = { .kind = YAML_TEXT, .text = text };
        struct findings *found = findings_new();
        char base[16] = { 0 };
        bool ok = false;

        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        ok = value_read(found, field, &node, base);
        if (ok != (cases[i].again != NULL))
            fail_msg("%s: %d", cases[i].label, ok);
        if (!ok && cases[i].code[0] != '\0')
            assert_string_equal(findings_at(found, 0)->code, cases[i].code);
        if (!ok) {
            for (size_t k = 0; k < sizeof base; k++)
                assert_int_equal(base[k], 0); /* nothing was written */
        } else {
            value_text(field, base, again, sizeof again);
            assert_string_equal(again, cases[i].again);
        }
        findings_free(found);
    }
}

static void
test_help(void **state)
{
    static const struct field field = { "k", FIELD_WORD, .choices = letters };
    char text[] = "bb";
    struct yaml node = { .kind = YAML_TEXT, .text = text };
    struct findings *found = findings_new();
    const char *at = NULL;

    (void)state;
    assert_false(value_read(found, &field, &node, &at));
    assert_string_equal(findings_at(found, 0)->text,
        "k: 'bb' is not one of: a, b");
    findings_free(found);
}

static void
test_types(void **state)
{
    static const struct field_table plain = { "x", NULL, 0, 0, false, 0 };
    static const struct field_table tls = { "x", NULL, 0, 0, true, 0 };
    static const struct {
        struct field field;
        const char *want;
    } types[] = {
        { { "k", FIELD_TEXT, .at = 0 }, "text" },
        { { "k", FIELD_MS, .at = 0 }, "duration" },
        { { "k", FIELD_BYTES, .at = 0 }, "size" },
        { { "k", FIELD_WORD, .choices = letters }, "a, b" },
        { { "k", FIELD_SECTION, .inner = &plain }, "section" },
        { { "k", FIELD_SECTION, .inner = &tls }, "off, on, or section" },
        { { "k", FIELD_LATER, .at = 0 }, "not in this version" },
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < N(types); i++) {
        value_type_text(&types[i].field, text, sizeof text);
        assert_string_equal(text, types[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
