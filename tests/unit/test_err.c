#include "err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static void
test_set(void **state)
{
    static const struct {
        const char *label, *text, *want;
    } cases[] = {
        { "plain words stay", "no such topic", "no such topic" },
        { "UTF-8 stays",
            "Gr\xC3\xBC\xC3\x9F"
            "e",
            "Gr\xC3\xBC\xC3\x9F"
            "e" },
        { "a line break cannot forge a line", "a\nb", "a\\x0ab" },
        { "an escape sequence is defused", "\x1B[31m", "\\x1b[31m" },
        { "what is not UTF-8 is spelled out", "\xFFx", "\\xffx" },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct err err = { .retry = true };

        print_message("%s\n", cases[i].label);
        assert_false(err_set(&err, ERR_NET, "%s", cases[i].text));
        assert_string_equal(err.text, cases[i].want);
        assert_int_equal(err.kind, ERR_NET);
        assert_false(err.retry);
    }
}

static void
test_retry(void **state)
{
    struct err err = { 0 };
    (void)state;

    assert_false(err_set_retry(&err, ERR_KAFKA, "broker %d is away", 3));
    assert_string_equal(err.text, "broker 3 is away");
    assert_int_equal(err.kind, ERR_KAFKA);
    assert_true(err.retry);
}

static void
test_sys(void **state)
{
    char name[400];
    struct err err = { .retry = true };
    (void)state;

    errno = ENOENT;
    assert_false(err_sys(&err, ERR_MISSING, "%s", "/a"));
    assert_string_equal(err.text, "/a: No such file or directory");
    assert_false(err.retry);

    /* The words for errno are the part that must not be cut. */
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    errno = EACCES;
    (void)err_sys(&err, ERR_IO, "%s", name);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 1 -
                            strlen(": Permission denied"),
        ": Permission denied");
}

static void
test_wrap(void **state)
{
    struct err err;
    (void)state;

    err_set_retry(&err, ERR_CERT, "open to others");
    assert_false(err_wrap(&err, "%s", "/etc/key.pem"));
    assert_false(err_wrap(&err, "identity"));
    assert_string_equal(err.text, "identity: /etc/key.pem: open to others");
    assert_int_equal(err.kind, ERR_CERT);
    assert_true(err.retry);
}

static void
test_its_own_text_may_go_in(void **state)
{
    struct err err;
    (void)state;

    err_set(&err, ERR_IO, "disk full");
    err_set(&err, ERR_CONFIG, "again: %s", err.text);
    assert_string_equal(err.text, "again: disk full");
    err_wrap(&err, "[%s]", err.text);
    assert_string_equal(err.text, "[again: disk full]: again: disk full");
}

static void
test_too_long(void **state)
{
    char text[400];
    struct err err;
    (void)state;

    /* Two bytes each: the last one would be cut in its middle. */
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    text[sizeof text - 2] = '\0';
    err_set(&err, ERR_IO, "%s", text);
    assert_int_equal(strlen(err.text), 254);
    err_wrap(&err, "%s", text);
    assert_true(strlen(err.text) < sizeof err.text);
    for (int i = 0; i < 100; i++)
        err_wrap(&err, "layer");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "layer: layer: ", 14);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_sys),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_its_own_text_may_go_in),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
