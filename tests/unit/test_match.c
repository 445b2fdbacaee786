#include "match.h"

#include "policyfix.h"

struct patterns {
    const char *include[3], *exclude[3];
};

static struct match *
compile(const struct patterns *patterns)
{
    struct err err = { 0 };
    struct match *match = match_new(&err);
    size_t at = 0;

    assert_non_null(match);
    for (size_t i = 0; i < 3 && patterns->include[i] != NULL; i++)
        assert_true(match_add(match, patterns->include[i], false, &at, &err));
    for (size_t i = 0; i < 3 && patterns->exclude[i] != NULL; i++)
        assert_true(match_add(match, patterns->exclude[i], true, &at, &err));
    return match;
}

static void
test_topics(void **state)
{
    static const struct {
        const char *label;
        struct patterns patterns;
        const char *topic;
        enum match_answer want;
    } cases[] = {
        { "a name", { { "orders" }, { NULL } }, "orders", MATCH_YES },
        { "not the start of a longer one", { { "orders" }, { NULL } },
            "orders2", MATCH_NO },
        { "not the end of a longer one", { { "orders" }, { NULL } }, "myorders",
            MATCH_NO },
        { "each branch matches the whole name", { { "a|ab" }, { NULL } }, "ab",
            MATCH_YES },
        { "a dot is any character", { { "a.b" }, { NULL } }, "aXb", MATCH_YES },
        { "but not two", { { "a.b" }, { NULL } }, "a.b.c", MATCH_NO },
        { "an escaped dot is a dot", { { "a\\.b" }, { NULL } }, "aXb",
            MATCH_NO },
        { "lookahead as in Java", { { "(?!t).*" }, { NULL } }, "topic",
            MATCH_NO },
        { "and the other way", { { "(?!t).*" }, { NULL } }, "orders",
            MATCH_YES },
        { "classes as in Java", { { "^t-[\\w]*" }, { NULL } }, "t-1_2",
            MATCH_YES },
        { "digits", { { "t\\d+" }, { NULL } }, "t12", MATCH_YES },
        { "without regard to case", { { "(?i)orders" }, { NULL } }, "ORDERS",
            MATCH_YES },
        { "back references", { { "(a|b)-\\1" }, { NULL } }, "a-b", MATCH_NO },
        { "the second of two", { { "a", "b" }, { NULL } }, "b", MATCH_YES },
        { "exclude wins", { { ".*" }, { ".*\\.debug" } }, "x.debug",
            MATCH_EXCLUDED },
        { "exclude leaves the rest", { { ".*" }, { ".*\\.debug" } }, "x",
            MATCH_YES },
        { "excluded and not included", { { "a" }, { "b" } }, "b",
            MATCH_EXCLUDED },
        { "nothing included", { { NULL }, { NULL } }, "a", MATCH_NO },
        { "an empty name", { { ".*" }, { NULL } }, "", MATCH_NO },
        { "a line break at the end is part of the name", { { "a$" }, { NULL } },
            "a\n", MATCH_NO },
        { "a pattern that backtracks without end", { { "(a+)+b" }, { NULL } },
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabc", MATCH_UNDECIDED },
        { "one that excludes, and cannot be decided",
            { { "a.*" }, { "(a+)+b" } },
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabc", MATCH_UNDECIDED },
        { "a certain exclude goes before what cannot be decided",
            { { "(a+)+b" }, { ".*c" } },
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabc", MATCH_EXCLUDED },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        struct match *match = compile(&cases[i].patterns);
        enum match_answer got = match_topic(match, cases[i].topic);

        if (got != cases[i].want)
            fail_msg("%s: %d", cases[i].label, (int)got);
        match_free(match);
    }
}

static void
test_work_is_bounded(void **state)
{
    static const char name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac";
    const struct patterns slow = { { "orders", "t-.*" }, { "(a+)+[bd]" } };
    struct match *match = compile(&slow);
    int asked = 0;

    (void)state;
    for (; !match_is_spent(match) && asked <= MATCH_WORK; asked++)
        assert_int_equal(match_topic(match, name), MATCH_UNDECIDED);
    assert_in_range(asked, 2, MATCH_WORK / MATCH_STEPS);
    assert_int_equal(match_topic(match, "t-1"), MATCH_UNDECIDED);
    match_settle(match);
    assert_false(match_is_spent(match));
    assert_int_equal(match_topic(match, "t-1"), MATCH_YES);
    match_free(match);
}

/* What takes few steps may be asked often: as by fifty flows. */
static void
test_usual_patterns_are_not_spent(void **state)
{
    const struct patterns usual = { { "orders", "telemetry\\..*" },
        { ".*\\.debug", "(?!t).*" } };
    struct match *match = compile(&usual);

    (void)state;
    for (int i = 0; i < 5000; i++)
        assert_int_equal(match_topic(match, "telemetry.line7.press2"),
            MATCH_YES);
    assert_false(match_is_spent(match));
    match_free(match);
}

static void
test_long_names(void **state)
{
    const struct patterns any = { { ".*" }, { NULL } };
    struct match *match = compile(&any);
    char name[MATCH_NAME_MAX + 2];

    (void)state;
    memset(name, 'a', sizeof name);
    name[MATCH_NAME_MAX] = '\0';
    assert_int_equal(match_topic(match, name), MATCH_YES);
    name[MATCH_NAME_MAX] = 'a';
    name[MATCH_NAME_MAX + 1] = '\0';
    assert_int_equal(match_topic(match, name), MATCH_NO);
    match_free(match);
    match_free(NULL);
}

static void
test_refused_patterns(void **state)
{
    static const struct {
        const char *label, *pattern;
        size_t at;
    } cases[] = {
        { "a bracket not closed", "a(b", 3 },
        { "a range the wrong way", "a[z-a]", 4 },
        { "a quantifier first", "*a", 0 },
        { "a byte of UTF-8 at a time", "a\\Cb", 3 },
        { "UTF asked for", "(*UTF)a", 0 },
        { "nested too deeply",
            "(((((((((((((((((((((((((a)))))))))))))))))))))))))", 0 },
        { "a table as large as memory", "((a{1000}){1000}){1000}", 0 },
    };
    struct err err = { 0 };
    struct match *match = match_new(&err);
    char *huge = malloc(MATCH_PATTERN_MAX + 2);
    size_t at = 0;

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        err.kind = ERR_NONE;
        if (match_add(match, cases[i].pattern, false, &at, &err) ||
            err.kind != ERR_CONFIG || err.text[0] == '\0')
            fail_msg("%s: taken", cases[i].label);
        if (cases[i].at != 0 && at != cases[i].at)
            fail_msg("%s: at %zu", cases[i].label, at);
    }
    memset(huge, 'a', MATCH_PATTERN_MAX + 1);
    huge[MATCH_PATTERN_MAX + 1] = '\0';
    assert_false(match_add(match, huge, false, &at, &err));
    assert_string_equal(err.text, "longer than 512 bytes");
    huge[MATCH_PATTERN_MAX] = '\0';
    assert_true(match_add(match, huge, false, &at, &err));
    free(huge);
    match_free(match);
}

static void
test_stems(void **state)
{
    static const struct {
        const char *pattern, *stem;
        bool exact;
    } cases[] = {
        { "orders", "orders", true },
        { "plant\\.orders", "plant.orders", true },
        { "^orders$", "orders", true },
        { "a\\-b", "a-b", true },
        { "orders.*", "orders", false },
        { "telemetry\\..*", "telemetry.", false },
        { "ab*", "a", false },
        { "ab?c", "a", false },
        { "ab{2}", "a", false },
        { "a\\.+", "a", false },
        { "a|b", "", false },
        { "(?i)orders", "", false },
        { "[ab]c", "", false },
        { "a\\d", "a", false },
        { "a\\", "a", false },
        { "", "", false },
        { ".*", "", false },
        { "a$b", "a", false },
        { "ab\\E*", "a", false },
        { "ab(?#)*", "a", false },
        { "ab+", "ab", false },
        { "a++", "a", false },
    };
    char stem[32];

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        bool exact = match_stem(cases[i].pattern, stem, sizeof stem);

        if (exact != cases[i].exact || strcmp(stem, cases[i].stem) != 0)
            fail_msg("'%s': '%s' %d", cases[i].pattern, stem, exact);
    }
    assert_false(match_stem("orders", stem, 4));
    assert_string_equal(stem, "ord"); /* shorter is right, too */
}

static void
test_tails(void **state)
{
    static const struct {
        const char *pattern, *tail;
    } cases[] = {
        { "orders", "orders" },
        { ".*\\.orders$", ".orders" },
        { "a.b", "b" },
        { "ab*c", "c" },
        { "ab?", "" },
        { "a{2}b", "b" },
        { "[x]y]z", "z" }, /* a class, and a ']' by itself */
        { "a|b", "" },
        { "(a|b)c", "c" },
        { "(a\\)b)c", "c" },
        { "((a)b)c", "c" },
        { "a(b", "" },
        { "a[b", "" },
        { "\\dc", "c" },
        { "\\x41", "" },
        { "\\Qa\\E", "" },
        { "a\\", "" },
        { "(?i)orders", "" },
        { "(*CRLF)orders", "" },
        { "a$b", "b" },
        { "", "" },
    };
    char tail[32];

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        match_tail(cases[i].pattern, tail, sizeof tail);
        if (strcmp(tail, cases[i].tail) != 0)
            fail_msg("'%s': '%s'", cases[i].pattern, tail);
    }
    match_tail("orders", tail, 4);
    assert_string_equal(tail, "rs"); /* shorter is right, too */
}

static void
test_branches(void **state)
{
    static const struct {
        const char *pattern, *want; /* with a blank behind each */
    } cases[] = {
        { "a", "a " },
        { "a|b", "a b " },
        { "(a|b)|c", "(a|b) c " },
        { "a\\|b", "a\\|b " },
        { "[|]|x{1|2}", "[|] x{1|2} " },
        { "", " " },
        { "a|", "a  " },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        const char *at = cases[i].pattern;
        char branch[16], text[64] = "";

        while (match_branch(&at, branch, sizeof branch))
            (void)strcat(strcat(text, branch), " ");
        assert_null(at);
        if (strcmp(text, cases[i].want) != 0)
            fail_msg("'%s': '%s'", cases[i].pattern, text);
    }
    {
        const char *at = "abcd|e";
        char branch[4];

        assert_false(match_branch(&at, branch, sizeof branch));
        assert_non_null(at); /* too long, not the end */
    }
}

static void
test_loose(void **state)
{
    static const struct {
        const char *pattern;
        bool want;
    } cases[] = {
        { "a.b", true },
        { "a\\.b", false },
        { "a\\.b.c", true },
        { "a.*", false },
        { "(a.b)", false },
        { "a", false },
        { "", false },
        { ".", true },
        { "a.b\\d", false },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++)
        if (match_is_loose(cases[i].pattern) != cases[i].want)
            fail_msg("'%s'", cases[i].pattern);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_work_is_bounded),
        cmocka_unit_test(test_usual_patterns_are_not_spent),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_refused_patterns),
        cmocka_unit_test(test_stems),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_loose),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
