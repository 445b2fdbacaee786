#include "nearest.h"

#include "fields.h"
#include "policyfix.h"

static void
test_distance(void **state)
{
    static const struct {
        const char *a, *b;
        int want;
    } cases[] = {
        { "acks", "acks", 0 },
        { "ack", "acks", 1 },
        { "akcs", "acks", 1 },
        { "", "acks", 4 },
        { "acks", "", 4 },
        { "kitten", "sitting", 3 },
        { "a", "b", 1 },
        { "01234567890123456789012345678901234567890", "a", -1 },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++)
        if (nearest_distance(cases[i].a, cases[i].b) != cases[i].want)
            fail_msg("'%s' '%s': %d", cases[i].a, cases[i].b,
                nearest_distance(cases[i].a, cases[i].b));
}

static void
test_word(void **state)
{
    static const char *const words[] = { "none", "gzip", "zstd", NULL };

    (void)state;
    assert_string_equal(nearest_word("zst", words), "zstd");
    assert_string_equal(nearest_word("nome", words), "none");
    assert_string_equal(nearest_word("GZIP", words), "gzip");
    assert_null(nearest_word("deflate", words));
    assert_null(nearest_word("", words));
    assert_null(nearest_word("zstd", NULL));
    assert_true(nearest_is("zstd", words));
    assert_false(nearest_is("ZSTD", words));
    assert_false(nearest_is("zst", words));
}

static const struct field_table *
table_of(const struct field_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->fields[i].key, key) == 0)
            return table->fields[i].inner;
    fail_msg("no %s", key);
    return NULL;
}

static void
test_field(void **state)
{
    static const struct {
        const char *label, *key, *here, *there;
    } cases[] = {
        { "a letter less", "form", "from", NULL },
        { "singular", "error.tolerance", "errors.tolerance", NULL },
        { "underscores for dots", "errors_tolerance", "errors.tolerance",
            NULL },
        { "of a section below", "compression.type", "compression.type",
            "flows.NAME.producer" },
        { "of a section below, in other letters", "max_request_size",
            "max.request.size", "flows.NAME.producer" },
        { "of a section elsewhere", "bootstrap", "bootstrap", "clusters.NAME" },
        { "of nothing", "dead_letter_topic", NULL, NULL },
        { "too short to guess", "x", NULL, NULL },
    };
    const struct field_table *root = fields_root();
    const struct field_table *flow = table_of(root, "flows");

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        const char *here = NULL, *there = NULL;
        const struct field *field =
            nearest_field(root, flow, cases[i].key, &here, &there);

        if ((here == NULL) != (cases[i].here == NULL) ||
            (there == NULL) != (cases[i].there == NULL) ||
            (here != NULL && strcmp(here, cases[i].here) != 0) ||
            (there != NULL && strcmp(there, cases[i].there) != 0))
            fail_msg("%s: '%s' of '%s'", cases[i].label,
                here != NULL ? here : "-", there != NULL ? there : "-");
        assert_true((field != NULL) == (here != NULL && there == NULL));
    }
}

static void
test_form(void **state)
{
    const struct field_table *flow = table_of(fields_root(), "flows");
    char word[] = "identity", text[64], small[8];
    struct yaml value = { .kind = YAML_TEXT, .text = word };

    (void)state;
    assert_true(
        nearest_form(table_of(flow, "rename"), &value, text, sizeof text));
    assert_string_equal(text, "{policy: identity}");
    assert_true(
        nearest_form(table_of(flow, "rename"), &value, small, sizeof small));
    assert_string_equal(small, "{policy"); /* cut, not over it */
    assert_true(
        nearest_form(table_of(flow, "topics"), &value, text, sizeof text));
    assert_string_equal(text, "{include: ['identity']}");
    assert_false(
        nearest_form(table_of(flow, "producer"), &value, text, sizeof text));
}

static void
test_list(void **state)
{
    char text[16];
    char whole[512];

    (void)state;
    nearest_list(table_of(fields_root(), "admin"), whole, sizeof whole);
    assert_string_equal(whole, "socket, metrics");
    nearest_list(fields_root(), text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1); /* cut, not over it */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_field),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
