#include "diag.h"

#include "clock.h"
#include "log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static const struct span nowhere = { 0 };

static struct span
at(int line, int column)
{
    return (struct span){ line, column, 1 };
}

static void
test_order(void **state)
{
    static const char *const want[] = { "none", "first", "second", "same",
        "later", "last" };
    struct findings *found = findings_new();
    (void)state;

    findings_add(found, "K1", SEVERITY_NOTE, at(9, 1), "last");
    findings_add(found, "K1", SEVERITY_NOTE, at(2, 5), "second");
    findings_add(found, "K1", SEVERITY_NOTE, at(2, 1), "first");
    findings_add(found, "K2", SEVERITY_NOTE, at(2, 5), "same");
    findings_add(found, "K1", SEVERITY_NOTE, at(3, 1), "later");
    findings_add(found, "K1", SEVERITY_NOTE, nowhere, "none");
    assert_int_equal(findings_count(found), N(want));
    for (size_t i = 0; i < N(want); i++)
        assert_string_equal(findings_at(found, i)->text, want[i]);
    findings_free(found);
    findings_free(NULL);
}

static void
test_each_cause_once(void **state)
{
    static const struct {
        const char *label, *code;
        struct span at;
        const char *text;
        size_t want;
    } cases[] = {
        { "the same again", "K1", { 3, 4, 1 }, "x", 1 },
        { "the same in other words", "K1", { 3, 4, 9 }, "y", 1 },
        { "another code", "K2", { 3, 4, 1 }, "x", 2 },
        { "another column", "K1", { 3, 5, 1 }, "x", 2 },
        { "another line", "K1", { 4, 4, 1 }, "x", 2 },
    };
    struct findings *found;
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        print_message("%s\n", cases[i].label);
        found = findings_new();
        findings_add(found, "K1", SEVERITY_WARNING, at(3, 4), "x");
        findings_add(found, cases[i].code, SEVERITY_WARNING, cases[i].at, "%s",
            cases[i].text);
        assert_int_equal(findings_count(found), cases[i].want);
        findings_free(found);
    }
    /* Without a place the text tells them apart. */
    found = findings_new();
    findings_add(found, "K1", SEVERITY_WARNING, nowhere, "a");
    findings_add(found, "K1", SEVERITY_WARNING, nowhere, "b");
    findings_add(found, "K1", SEVERITY_WARNING, nowhere, "a");
    assert_int_equal(findings_count(found), 2);
    findings_free(found);
}

static void
test_refuse(void **state)
{
    struct findings *found = findings_new();
    (void)state;

    assert_false(findings_refuse(found));
    findings_add(found, "K1", SEVERITY_NOTE, nowhere, "n");
    findings_add(found, "K2", SEVERITY_WARNING, nowhere, "w");
    assert_false(findings_refuse(found));
    findings_add(found, "K3", SEVERITY_REFUSE, nowhere, "r");
    assert_true(findings_refuse(found));
    findings_free(found);
}

static char *
print(const struct findings *found, const char *source)
{
    char *page = NULL;
    size_t len;
    FILE *out = open_memstream(&page, &len);

    assert_non_null(out);
    findings_print(found, out, "p.yaml", source,
        source == NULL ? 0 : strlen(source));
    assert_int_equal(fclose(out), 0);
    return page;
}

static void
test_too_many(void **state)
{
    struct findings *found = findings_new();
    char *page;
    (void)state;

    for (int i = 0; i < FINDINGS_MAX; i++)
        findings_add(found, "K1", SEVERITY_WARNING, at(i + 1, 1), "w");
    findings_add(found, "K1", SEVERITY_WARNING, at(1, 1), "known already");
    assert_int_equal(findings_dropped(found), 0);
    findings_add(found, "K2", SEVERITY_REFUSE, at(5, 1), "r");
    findings_remedy(found, "goes nowhere");
    assert_int_equal(findings_count(found), FINDINGS_MAX);
    assert_int_equal(findings_dropped(found), 1);
    assert_true(findings_refuse(found)); /* although it was not kept */
    for (size_t i = 0; i < FINDINGS_MAX; i++)
        assert_null(findings_at(found, i)->remedy);
    page = print(found, NULL);
    assert_non_null(strstr(page, "\np.yaml: note: 1 more are not shown\n"));
    free(page);
    findings_free(found);
}

static const struct {
    const char *label, *source;
    struct span at;
    const char *want;
} prints[] = {
    { "a word is underlined", "a: 1\n  acks: 1\n", { 2, 9, 1 },
        "p.yaml:2:9: refused: bad [K1]\n"
        "    2 |   acks: 1\n"
        "      |         ^\n" },
    { "a range is underlined", "acks: one", { 1, 7, 3 },
        "p.yaml:1:7: refused: bad [K1]\n"
        "    1 | acks: one\n"
        "      |       ^^^\n" },
    { "a whole line, but not what it is indented by", "  acks: 1\n",
        { 1, 3, 0 },
        "p.yaml:1:3: refused: bad [K1]\n"
        "    1 |   acks: 1\n"
        "      |   ^^^^^^^\n" },
    { "a tab goes to the next stop", "a\tb\n", { 1, 3, 1 },
        "p.yaml:1:3: refused: bad [K1]\n"
        "    1 | a       b\n"
        "      |         ^\n" },
    { "the tab itself", "a\tb\n", { 1, 2, 1 },
        "p.yaml:1:2: refused: bad [K1]\n"
        "    1 | a       b\n"
        "      |  ^^^^^^^\n" },
    { "a letter of two bytes takes one column", "\xC3\xBC: x\n", { 1, 5, 1 },
        "p.yaml:1:5: refused: bad [K1]\n"
        "    1 | \xC3\xBC: x\n"
        "      |    ^\n" },
    { "a wide letter takes two", "\xE4\xB8\xAD: x\n", { 1, 1, 3 },
        "p.yaml:1:1: refused: bad [K1]\n"
        "    1 | \xE4\xB8\xAD: x\n"
        "      | ^^\n" },
    { "what is no text is a question mark", "a\x1B\xFF: x\n", { 1, 2, 2 },
        "p.yaml:1:2: refused: bad [K1]\n"
        "    1 | a??: x\n"
        "      |  ^^\n" },
    { "a line of Windows", "acks: 1\r\nb\r\n", { 1, 7, 9 },
        "p.yaml:1:7: refused: bad [K1]\n"
        "    1 | acks: 1\n"
        "      |       ^\n" },
    { "behind the end of the line", "ab\n", { 1, 3, 1 },
        "p.yaml:1:3: refused: bad [K1]\n"
        "    1 | ab\n"
        "      |   ^\n" },
    { "far behind the end of the line", "ab\n", { 1, 50, 4 },
        "p.yaml:1:50: refused: bad [K1]\n"
        "    1 | ab\n"
        "      |   ^\n" },
    { "an empty line", "\n\n", { 2, 1, 0 },
        "p.yaml:2:1: refused: bad [K1]\n"
        "    2 | \n"
        "      | ^\n" },
    { "a line that is not there", "ab\n", { 9, 1, 1 },
        "p.yaml:9:1: refused: bad [K1]\n" },
    { "no source at all", NULL, { 2, 9, 1 },
        "p.yaml:2:9: refused: bad [K1]\n" },
    { "no column", "ab\n", { 1, 0, 0 },
        "p.yaml:1:1: refused: bad [K1]\n"
        "    1 | ab\n"
        "      | ^^\n" },
    { "no place at all", "ab\n", { 0, 0, 0 }, "p.yaml: refused: bad [K1]\n" },
};

static void
test_print(void **state)
{
    (void)state;

    for (size_t i = 0; i < N(prints); i++) {
        struct findings *found = findings_new();
        char *page;

        print_message("%s\n", prints[i].label);
        findings_add(found, "K1", SEVERITY_REFUSE, prints[i].at, "bad");
        page = print(found, prints[i].source);
        assert_string_equal(page, prints[i].want);
        free(page);
        findings_free(found);
    }
}

/* A line of 1000 columns whose byte n is the digit of n / 10. */
static void
test_very_long_lines(void **state)
{
    static const struct {
        const char *label;
        int column, length;
        const char *begins, *ends;
        size_t caret; /* column of the first caret behind the bar */
    } cases[] = {
        { "at the beginning", 1, 3, "    1 | 0000", "9...\n", 0 },
        { "in the middle", 501, 5, "    1 | ...6666", "5...\n", 43 },
        { "at the end", 1000, 1, "    1 | ...0000", "9\n", 102 },
        { "longer than what is shown", 501, 400, "    1 | ...6666", "5...\n",
            43 },
    };
    char source[1001];
    (void)state;

    for (size_t i = 0; i < 1000; i++)
        source[i] = (char)('0' + i / 10 % 10);
    source[1000] = '\0';
    for (size_t i = 0; i < N(cases); i++) {
        const struct span span = { 1, cases[i].column, cases[i].length };
        struct findings *found = findings_new();
        char *page, *shown, *carets;

        print_message("%s\n", cases[i].label);
        findings_add(found, "K1", SEVERITY_REFUSE, span, "bad");
        page = print(found, source);
        shown = strchr(page, '\n') + 1;
        carets = strchr(shown, '\n') + 1;
        assert_memory_equal(shown, cases[i].begins, strlen(cases[i].begins));
        assert_memory_equal(carets - strlen(cases[i].ends), cases[i].ends,
            strlen(cases[i].ends));
        assert_true(carets - shown < 120 && strlen(carets) < 120);
        assert_int_equal(strcspn(carets, "^"), 8 + cases[i].caret);
        free(page);
        findings_free(found);
    }
}

static void
test_remedy_and_severities(void **state)
{
    struct findings *found = findings_new();
    char *page;
    (void)state;

    findings_remedy(found, "nobody has asked yet");
    findings_add(found, "K1", SEVERITY_WARNING, at(1, 1), "odd");
    findings_remedy(found, "replaced below");
    findings_remedy(found, "producer:\n  acks: %s\n", "all\x1B");
    findings_add(found, "K2", SEVERITY_NOTE, nowhere, "two\nlines");
    page = print(found, "a\n");
    assert_string_equal(page, "p.yaml: note: two\\x0alines [K2]\n"
                              "p.yaml:1:1: warning: odd [K1]\n"
                              "    1 | a\n"
                              "      | ^\n"
                              "      help:\n"
                              "        producer:\n"
                              "          acks: all\\x1b\n");
    free(page);
    findings_free(found);
}

static void
test_json(void **state)
{
    struct findings *found = findings_new();
    char *page = NULL;
    size_t len;
    FILE *out = open_memstream(&page, &len);
    (void)state;

    findings_add(found, "K1", SEVERITY_REFUSE, (struct span){ 2, 3, 4 },
        "a \"b\"");
    findings_remedy(found, "x\ny");
    findings_add(found, "K2", SEVERITY_NOTE, nowhere, "n");
    findings_print_json(found, out, "p.yaml");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(page,
        "{\"file\":\"p.yaml\",\"refused\":true,\"not_shown\":0,\"findings\":["
        "{\"code\":\"K2\",\"severity\":\"note\",\"line\":0,\"column\":0,"
        "\"length\":0,\"text\":\"n\",\"remedy\":null},"
        "{\"code\":\"K1\",\"severity\":\"refused\",\"line\":2,\"column\":3,"
        "\"length\":4,\"text\":\"a \\\"b\\\"\",\"remedy\":\"x\\ny\"}]}\n");
    free(page);
    findings_free(found);
}

static void
take_line(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    FILE *out = ctx;

    fprintf(out, "%s %s", log_level_name(level), event);
    for (; fields->key != NULL; fields++)
        if (fields->is_number)
            fprintf(out, " %s=%lld", fields->key, (long long)fields->number);
        else
            fprintf(out, " %s=%s", fields->key, fields->text);
    fputc('\n', out);
}

static void
test_log(void **state)
{
    struct findings *found = findings_new();
    struct err err = { 0 };
    struct log *log = log_new(-1, LEVEL_INFO, clock_system(), &err);
    char *page = NULL;
    size_t len;
    FILE *out = open_memstream(&page, &len);
    (void)state;

    assert_non_null(log);
    log_set_sink(log, take_line, out);
    findings_add(found, "K1", SEVERITY_REFUSE, at(2, 3), "a");
    findings_remedy(found, "x");
    findings_add(found, "K2", SEVERITY_WARNING, at(4, 1), "b");
    for (int i = 0; i < FINDINGS_MAX; i++)
        findings_add(found, "K3", SEVERITY_NOTE, at(5 + i, 1), "n");
    findings_log(found, log, "p.yaml");
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strncmp(page,
                         "error policy.finding policy=p.yaml line=2 column=3 "
                         "code=K1 why=a help=x\n"
                         "warn policy.finding policy=p.yaml line=4 column=1 "
                         "code=K2 why=b\n"
                         "info policy.finding policy=p.yaml line=5 ",
                         160),
        0);
    assert_non_null(
        strstr(page, "warn policy.finding policy=p.yaml not_shown=2\n"));
    log_free(log);
    free(page);
    findings_free(found);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_each_cause_once),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_very_long_lines),
        cmocka_unit_test(test_remedy_and_severities),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
