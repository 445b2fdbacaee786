#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmdfix.h"
#include "option.h"

static const struct {
    const char *label, *line;
    int want;
    bool want_flag;
    const char *want_value, *want_plain; /* the first plain word */
    size_t want_n;
    const char *want_said;
} cases[] = {
    { "nothing", "x word", CMD_OK, false, NULL, "word", 1, NULL },
    { "a flag", "x --json word", CMD_OK, true, NULL, "word", 1, NULL },
    { "a value behind", "x --name v word", CMD_OK, false, "v", "word", 1,
        NULL },
    { "a value with =", "x word --name=v=w", CMD_OK, false, "v=w", "word", 1,
        NULL },
    { "an empty value", "x word --name=", CMD_OK, false, "", "word", 1, NULL },
    { "a value that looks like an option", "x word --name --json", CMD_OK,
        false, "--json", "word", 1, NULL },
    { "the end of options", "x -- --json b", CMD_OK, false, NULL, "--json", 2,
        NULL },
    { "a lone dash is a word", "x -", CMD_OK, false, NULL, "-", 1, NULL },
    { "no such option", "x word --jso", CMD_USAGE, false, NULL, NULL, 0,
        "kedge: x: no such option: --jso\nsee 'kedge help x'\n" },
    { "a flag with a value", "x word --json=1", CMD_USAGE, false, NULL, NULL, 0,
        "kedge: x: no value belongs to --json\nsee 'kedge help x'\n" },
    { "no value", "x word --name", CMD_USAGE, false, NULL, NULL, 0,
        "kedge: x: a value is missing behind --name\nsee 'kedge help x'\n" },
    { "too many words", "x a b c", CMD_USAGE, false, NULL, NULL, 0,
        "kedge: x: one word too many: c\nsee 'kedge help x'\n" },
    { "too few words", "x --json", CMD_USAGE, false, NULL, NULL, 0,
        "kedge: x: a word is missing\nsee 'kedge help x'\n" },
};

static void
test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *plain[2] = { NULL, NULL };
        const char *value = NULL;
        bool flag = false;
        const struct option_row rows[] = { { "--name", &value, NULL },
            { "--json", NULL, &flag } };
        struct option_words words = { .rows = rows,
            .n_rows = 2,
            .plain = plain,
            .min_plain = 1,
            .max_plain = 2 };
        struct cmdfix fix;

        print_message("%s\n", cases[i].label);
        cmdfix_begin(&fix, cases[i].line);
        assert_int_equal(option_parse(&fix.ctx, fix.argc, fix.argv, &words),
            cases[i].want);
        cmdfix_done(&fix);
        if (cases[i].want == CMD_OK) {
            assert_int_equal(flag, cases[i].want_flag);
            assert_int_equal(words.n_plain, cases[i].want_n);
            assert_string_equal(plain[0], cases[i].want_plain);
            assert_int_equal(value == NULL, cases[i].want_value == NULL);
            if (value != NULL)
                assert_string_equal(value, cases[i].want_value);
        } else {
            assert_string_equal(fix.err, cases[i].want_said);
        }
        cmdfix_free(&fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
