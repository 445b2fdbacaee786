/* Which topics a selection has, as a header keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "match.h"
#include "policy.h"
#include "selection.h"

#include <stdio.h>
#include <string.h>

static struct policy_flow
flow_of(const char **include, size_t n, const char **exclude, size_t m)
{
    struct policy_flow flow = { .name = "orders" };

    flow.include.items = include;
    flow.include.n = n;
    flow.exclude.items = exclude;
    flow.exclude.n = m;
    return flow;
}

static void
it_says_what_the_policy_says(void **state)
{
    const char *include[] = { "a\\..*", "b" }, *exclude[] = { "a\\.x" };
    struct policy_flow flow = flow_of(include, 2, exclude, 1);
    char text[64];

    (void)state;
    selection_text(&flow, text, sizeof text);
    assert_string_equal(text, "+a\\..*\n+b\n-a\\.x\n");
    assert_true(selection_has(text, "a.y"));
    assert_true(selection_has(text, "b"));
    assert_false(selection_has(text, "a.x"));
    assert_false(selection_has(text, "bb"));
}

static void
what_does_not_fit_is_not_told(void **state)
{
    const char *include[] = { "abcdefgh", "ij" }, *broken[] = { "a\n+b" };
    struct policy_flow flow = flow_of(include, 2, NULL, 0);
    char text[15];

    (void)state;
    selection_text(&flow, text, sizeof text); /* 10 and 4 bytes and the NUL */
    assert_string_equal(text, "+abcdefgh\n+ij\n");
    selection_text(&flow, text, sizeof text - 1);
    assert_string_equal(text, "");
    flow = flow_of(broken, 1, NULL, 0);
    selection_text(&flow, text, sizeof text);
    assert_string_equal(text, "");
}

static void
what_cannot_be_told_is_selected(void **state)
{
    static const char *const texts[] = { "", "+a", "a\n", "*a\n", "+(\n",
        "+(a|aa)+[bd]\n", "\n" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        print_message("%s\n", texts[i]);
        assert_true(selection_has(texts[i],
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"));
    }
}

/* What is shown of what a flow writes, and the pattern for all of it. */
static void
what_a_flow_writes(void **state)
{
    static const char *include[] = { "t\\..*" };
    static const char *exclude[] = { "t\\.x" };
    static const struct {
        enum policy_rename rename;
        const char *separator, *pattern, *name, *all;
        bool writes;
    } cases[] = {
        { POLICY_IDENTITY, ".", "t.*", "t.a", "t\\..*", true },
        { POLICY_IDENTITY, ".", "t.*", "t.x", "t\\..*", false },
        { POLICY_IDENTITY, ".", "t\\.x", NULL, "t\\..*", false },
        { POLICY_PREFIX, ".", ".*", "plant7.t.a", "plant7\\..*", true },
        { POLICY_PREFIX, ".", ".*", "plant7.t.x", "plant7\\..*", false },
        { POLICY_PREFIX, ".", "t\\.x", NULL, "plant7\\..*", true },
        { POLICY_PREFIX, "-_", ".*", "plant7", "plant7-_.*", false },
    };
    struct match *match = match_new(&(struct err){ 0 });
    struct policy_flow flow = { .from_name = "plant7",
        .topics = match,
        .include = { include, 1 },
        .exclude = { exclude, 1 } };
    char text[64];
    size_t at;

    (void)state;
    assert_true(match_add(match, include[0], false, &at, &(struct err){ 0 }));
    assert_true(match_add(match, exclude[0], true, &at, &(struct err){ 0 }));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        flow.rename = cases[i].rename;
        flow.separator = cases[i].separator;
        if (selection_writes(&flow, cases[i].pattern, cases[i].name) !=
            cases[i].writes)
            fail_msg("row %zu", i);
        selection_written(&flow, include[0], text, sizeof text);
        assert_string_equal(text, cases[i].all);
    }
    match_free(match);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_the_policy_says),
        cmocka_unit_test(what_does_not_fit_is_not_told),
        cmocka_unit_test(what_cannot_be_told_is_selected),
        cmocka_unit_test(what_a_flow_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
