#include "policyfix.h"
#include "yaml_tree.h"

/* What is found in a text, and whether a tree comes of it. */
static const struct {
    const char *label, *text, *want;
    bool tree;
    int line, column; /* of the first finding */
} cases[] = {
    { "a map", "a: 1\n", "", true, 0, 0 },
    { "no line break at the end", "a: 1", "", true, 0, 0 },
    { "line ends of Windows", "a: 1\r\nb: 2\r\n", "", true, 0, 0 },
    { "a leading document mark", "---\na: 1\n", "", true, 0, 0 },
    { "a closing document mark", "a: 1\n...\n", "", true, 0, 0 },
    { "nothing", "", "KP011", false, 0, 0 },
    { "comments only", "# a\n# b\n", "KP011", false, 0, 0 },
    { "an empty document", "---\n", "KP011", false, 2, 1 },
    { "a text", "hello\n", "KP011", false, 1, 1 },
    { "a text over lines", "hello\nyou\n", "KP011", false, 1, 1 },
    { "a text with a tag", "!x hello\n", "KP004", false, 1, 1 },
    { "lines of a properties file", "a = 1\nb.c = 2\n", "KP011", false, 1, 1 },
    { "a list", "- a\n", "KP011", false, 1, 1 },
    { "a colon missing", "a: 1\nb\n", "KP001", false, 3, 1 },
    { "a bracket not closed", "a: [1, 2\nb: 3\n", "KP001", false, 2, 2 },
    { "a brace not closed", "a: {b: 1\n", "KP001", false, 2, 1 },
    { "a quote not closed", "a: 'b\n", "KP001", false, 2, 1 },
    { "two colons on a line", "a: b: c\n", "KP001", false, 1, 5 },
    { "an at sign", "a: @b\n", "KP001", false, 1, 4 },
    { "indented wrongly", "a:\n    b: 1\n  c: 2\n", "KP001", false, 3, 3 },
    { "an unknown escape", "a: \"\\q\"\n", "KP001", false, 1, 5 },
    { "an undefined tag handle", "a: !x!y z\n", "KP001", false, 1, 4 },
    { "a key twice", "a: 1\nb: 2\na: 3\n", "KP002", true, 3, 1 },
    { "a key three times", "a: 1\na: 2\na: 3\n", "KP002 KP002", true, 2, 1 },
    { "a key twice, once in quotes", "a: 1\n'a': 2\n", "KP002", true, 2, 1 },
    { "an anchor on a text", "a: &x 1\n", "KP003", true, 1, 4 },
    { "an anchor on a map", "a: &x {b: 1}\n", "KP003", true, 1, 4 },
    { "an alias", "a: *x\n", "KP003", true, 1, 4 },
    { "an alias as a key", "*x : 1\n", "KP003", true, 1, 1 },
    { "a merge of an alias", "<<: *x\na: 1\n", "KP003", true, 1, 5 },
    { "a tag on a text", "a: !!str 1\n", "KP004", true, 1, 4 },
    { "a tag on a list", "a: !x [1]\n", "KP004", true, 1, 4 },
    { "a tag that says nothing", "a: ! 1\n", "KP004", true, 1, 4 },
    { "a second document", "a: 1\n---\nb: 2\n", "KP005", false, 2, 1 },
    { "a tab in front", "a:\n\tb: 1\n", "KP006", false, 2, 1 },
    { "tabs behind a value are one finding", "a: 1\t# x\nb: 2\t# y\n", "KP006",
        true, 1, 5 },
    { "a byte that is not UTF-8", "a: \xff\n", "KP008", false, 1, 4 },
    { "half a character at the end", "a: \xc3", "KP008", false, 1, 4 },
    { "a byte order mark",
        "\xef\xbb\xbf"
        "a: 1\n",
        "KP008", false, 1, 1 },
    { "a carriage return in a line", "a: 1\rb: 2\n", "KP008", false, 1, 5 },
    { "a terminal control", "a: \x1b[31m\n", "KP008", false, 1, 4 },
    { "a line separator", "a: \xe2\x80\xa8x\n", "KP008", false, 1, 4 },
    { "an escape that makes a line break", "a: \"x\\ny\"\n", "KP008", true, 1,
        4 },
    { "an escape that makes a NUL", "a: \"x\\0y\"\n", "KP008", true, 1, 4 },
    { "a map as a key", "{a: b}: c\n", "KP009", true, 1, 1 },
    { "a list as a key", "? [a]\n: c\n", "KP009", true, 1, 3 },
    { "an empty key", "'': c\n", "KP009", true, 1, 1 },
    { "a block text", "a: |\n  b\n", "KP010", true, 1, 4 },
    { "a folded text", "a: >\n  b\n", "KP010", true, 1, 4 },
    { "a plain text over two lines", "a: b\n  c\n", "KP010", true, 1, 4 },
    { "a quoted text over two lines", "a: 'b\n  c'\n", "KP010", true, 1, 4 },
    { "as deep as it may be", "a: [[[[[[[[[[[1]]]]]]]]]]]\n", "", true, 0, 0 },
    { "one deeper", "a: [[[[[[[[[[[[1]]]]]]]]]]]]\n", "KP012", false, 1, 15 },
    { "a version directive", "%YAML 1.1\n---\na: 1\n", "KP013", true, 1, 1 },
    { "a tag directive", "%TAG !e! tag:x,2026:\n---\na: 1\n", "KP013", true, 1,
        1 },
    { "several things wrong, all said", "a: &x 1\nb: !y 2\na: 3\nc: |\n  d\n",
        "KP003 KP004 KP002 KP010", true, 1, 4 },
    { "places behind characters of several bytes",
        "a: '\xc3\xa4\xe2\x82\xac', b: *x\n", "KP001", false, 1, 11 },
    { "in bytes in a flow map", "a: {k: '\xc3\xa4\xe2\x82\xac', b: *x}\n",
        "KP003", true, 1, 20 },
};

static void
test_cases(void **state)
{
    char codes[256];

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        struct findings *found = findings_new();
        const char *text = cases[i].text;
        struct yaml *tree = yaml_read(text, strlen(text), found);

        policyfix_codes(found, codes, sizeof codes);
        if (strcmp(codes, cases[i].want) != 0 ||
            (tree != NULL) != cases[i].tree)
            fail_msg("%s: found '%s', tree %d", cases[i].label, codes,
                tree != NULL);
        if (findings_count(found) > 0 &&
            (findings_at(found, 0)->at.line != cases[i].line ||
                findings_at(found, 0)->at.column != cases[i].column))
            fail_msg("%s: at %d:%d", cases[i].label,
                findings_at(found, 0)->at.line,
                findings_at(found, 0)->at.column);
        yaml_drop(tree);
        findings_free(found);
    }
}

static void
test_tree(void **state)
{
    static const char text[] = "one: 1\n"
                               "two: {a: 'x y', b: [p, \"q\"]}\n"
                               "three: ~\n"
                               "four: '~'\n";
    struct findings *found = findings_new();
    struct yaml *tree = yaml_read(text, strlen(text), found);
    struct yaml *two = NULL;
    const struct yaml *list = NULL;

    (void)state;
    assert_non_null(tree);
    assert_int_equal(tree->kind, YAML_MAP);
    assert_int_equal(tree->n, 4);
    assert_string_equal(yaml_find(tree, "one")->text, "1");
    two = yaml_find(tree, "two");
    assert_int_equal(two->key_at.line, 2);
    assert_int_equal(two->key_at.column, 1);
    assert_int_equal(two->key_at.length, 3);
    assert_int_equal(two->at.column, 6);
    assert_string_equal(yaml_find(two, "a")->text, "x y");
    assert_int_equal(yaml_find(two, "a")->at.length, 5);
    assert_true(yaml_find(two, "a")->quoted);
    list = yaml_find(two, "b");
    assert_int_equal(list->kind, YAML_LIST);
    assert_int_equal(list->n, 2);
    assert_string_equal(list->first->next->text, "q");
    assert_null(list->first->next->next);
    assert_true(yaml_is_nothing(yaml_find(tree, "three")));
    assert_false(yaml_is_nothing(yaml_find(tree, "four")));
    assert_null(yaml_find(tree, "five"));
    assert_null(yaml_find(NULL, "five"));
    assert_null(yaml_find(list, "five"));
    assert_int_equal(yaml_place(list->first).line, 2);
    assert_int_equal(yaml_place(two).column, 1);
    yaml_drop(tree);
    findings_free(found);
}

static void
expect_too_large(const char *label, const char *text, size_t len)
{
    struct findings *found = findings_new();
    struct yaml *tree = yaml_read(text, len, found);

    if (policyfix_find(found, "KP007") == NULL || findings_count(found) != 1)
        fail_msg("%s: not one KP007", label);
    yaml_drop(tree);
    findings_free(found);
}

static void
test_limits(void **state)
{
    size_t size = YAML_BYTES_MAX + 1;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    memset(text, '#', size);
    expect_too_large("a long file", text, size);
    memset(text, ' ', size);
    memcpy(text, "a: x", 4);
    memset(text + 3, 'x', YAML_TEXT_MAX + 1);
    expect_too_large("a long value", text, 3 + YAML_TEXT_MAX + 1);
    memcpy(text, "a: [", 4);
    for (size_t i = 4; i + 1 < size; i += 2)
        memcpy(text + i, "1,", 2);
    expect_too_large("many values", text, size - 1);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
