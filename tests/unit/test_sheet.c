#include "sheet.h"

#include "policyfix.h"

static const struct {
    const char *label, *text, *want;
    bool readable;
    size_t n_lines;
    int line, column;
    size_t len; /* of one that has a NUL in it; 0: up to that */
} cases[] = {
    { "nothing", "", "", true, 1, 0, 0, 0 },
    { "two lines", "a\nb\n", "", true, 3, 0, 0, 0 },
    { "Windows", "a\r\nb\r\n", "", true, 3, 0, 0, 0 },
    { "a tab behind words", "a\tb\n", "KP006", true, 2, 1, 2, 0 },
    { "many tabs are one finding", "a\tb\n\nc\td\te\n", "KP006", true, 4, 1, 2,
        0 },
    { "a tab in front", "a\n \tb\n", "KP006", false, 0, 2, 2, 0 },
    { "a control", "a\nb\x01\n", "KP008", false, 0, 2, 2, 0 },
    { "not UTF-8", "\xc3\xa4\xff", "KP008", false, 0, 1, 3, 0 },
    { "a byte order mark",
        "\xef\xbb\xbf"
        "a: 1\n",
        "KP008 (BOM)", false, 0, 1, 1, 0 },
    { "a mark that is not in front", "a\xef\xbb\xbf", "KP008", false, 0, 1, 2,
        0 },
    { "half of a mark", "\xef\xbb", "KP008", false, 0, 1, 1, 0 },
    { "UTF-16 as Windows has it",
        "\xff\xfe"
        "a\0:\0",
        "KP008 UTF-16", false, 0, 1, 1, 6 },
    { "UTF-16 the other way round", "\xfe\xff\0a\0:", "KP008 UTF-16", false, 0,
        1, 1, 6 },
    { "UTF-16 without a mark", "a\0:\0", "KP008 UTF-16", false, 0, 1, 1, 4 },
    { "the other way round", "\0a\0:", "KP008 UTF-16", false, 0, 1, 1, 4 },
    { "zeros alone", "\0\0", "KP008", false, 0, 1, 1, 2 },
    { "a zero and a control", "\0\x01", "KP008", false, 0, 1, 1, 2 },
    { "a zero", "\0", "KP008", false, 0, 1, 1, 1 },
    { "a carriage return alone at the end", "a\r", "KP008", false, 0, 1, 2, 0 },
};

static void
test_cases(void **state)
{
    static const char *const encodings[] = { "(BOM)", "UTF-16" };
    char codes[64];

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        struct findings *found = findings_new();
        struct sheet sheet;
        size_t len = cases[i].len > 0 ? cases[i].len : strlen(cases[i].text);
        bool ok = sheet_read(&sheet, cases[i].text, len, found);

        policyfix_codes(found, codes, sizeof codes);
        for (size_t k = 0; k < N(encodings) && codes[0] != '\0'; k++)
            if (strstr(findings_at(found, 0)->text, encodings[k]) != NULL)
                (void)strcat(strcat(codes, " "), encodings[k]);
        if (ok != cases[i].readable || strcmp(codes, cases[i].want) != 0 ||
            (ok && sheet.n_lines != cases[i].n_lines))
            fail_msg("%s: '%s', %d, %zu lines", cases[i].label, codes, ok,
                sheet.n_lines);
        if (ok)
            assert_null(strchr(sheet.text, '\t'));
        if (codes[0] != '\0') {
            assert_int_equal(findings_at(found, 0)->at.line, cases[i].line);
            assert_int_equal(findings_at(found, 0)->at.column, cases[i].column);
        }
        sheet_drop(&sheet);
        sheet_drop(&sheet); /* harmless */
        findings_free(found);
    }
}

static void
test_places(void **state)
{
    static const char text[] = "a\n\xc3\xa4\xe2\x82\xac"
                               "bc\n";
    static const struct {
        const char *label;
        size_t line, column, end_line, end_column;
        struct span want;
    } rows[] = {
        { "plain", 0, 0, 0, 1, { 1, 1, 1 } },
        { "behind wide characters", 1, 2, 1, 4, { 2, 6, 2 } },
        { "a wide character", 1, 1, 1, 2, { 2, 3, 3 } },
        { "nothing is one byte", 1, 3, 1, 3, { 2, 7, 1 } },
        { "over lines is one byte", 0, 0, 1, 2, { 1, 1, 1 } },
        { "beyond the end", 9, 9, 9, 9, { 3, 1, 1 } },
    };
    struct findings *found = findings_new();
    struct sheet sheet;

    (void)state;
    assert_true(sheet_read(&sheet, text, strlen(text), found));
    for (size_t i = 0; i < N(rows); i++) {
        struct span at = sheet_span(&sheet, rows[i].line, rows[i].column,
            rows[i].end_line, rows[i].end_column);

        if (at.line != rows[i].want.line || at.column != rows[i].want.column ||
            at.length != rows[i].want.length)
            fail_msg("%s: %d:%d+%d", rows[i].label, at.line, at.column,
                at.length);
    }
    sheet_drop(&sheet);
    findings_free(found);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
