#include "secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static char path[] = "/tmp/kedge-test-secret-XXXXXX";

static int
set_up(void **state)
{
    int fd;
    (void)state;

    fd = mkstemp(path);
    assert_true(fd >= 0);
    return close(fd);
}

static int
tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void
fill(const char *bytes, size_t len, mode_t mode)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void
test_from_file(void **state)
{
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        const char *label, *bytes;
        size_t len;
        const char *want; /* NULL: refused */
    } cases[] = {
        { "without a line break", BYTES("pass"), "pass" },
        { "one line break goes", BYTES("pass\n"), "pass" },
        { "one of Windows goes", BYTES("pass\r\n"), "pass" },
        { "the second line break stays", BYTES("pass\n\n"), "pass\n" },
        { "blanks stay", BYTES(" pa ss "), " pa ss " },
        { "a lone carriage return stays", BYTES("pass\r"), "pass\r" },
        { "empty", BYTES(""), NULL },
        { "a line break alone", BYTES("\n"), NULL },
        { "a NUL inside", BYTES("a\0b"), NULL },
    };
#undef BYTES
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct err err = { 0 };
        struct secret *secret;

        print_message("%s\n", cases[i].label);
        fill(cases[i].bytes, cases[i].len, 0600);
        secret = secret_from_file(path, &err);
        assert_int_equal(secret != NULL, cases[i].want != NULL);
        if (secret == NULL) {
            assert_int_equal(err.kind, ERR_CONFIG);
            assert_memory_equal(err.text, path, strlen(path));
            continue;
        }
        assert_string_equal(secret_text(secret), cases[i].want);
        assert_int_equal(secret_len(secret), strlen(cases[i].want));
        secret_free(secret);
    }
}

static void
test_size(void **state)
{
    char bytes[SECRET_MAX + 1];
    struct err err = { 0 };
    struct secret *secret;
    (void)state;

    memset(bytes, 'x', sizeof bytes);
    bytes[SECRET_MAX] = '\n';
    fill(bytes, sizeof bytes, 0600);
    secret = secret_from_file(path, &err);
    assert_non_null(secret); /* just as long as may be */
    assert_int_equal(secret_len(secret), SECRET_MAX);
    secret_free(secret);

    bytes[SECRET_MAX] = 'x';
    fill(bytes, sizeof bytes, 0600);
    assert_null(secret_from_file(path, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_null(strstr(err.text, "xx")); /* nothing of it is said */
}

static void
test_file_that_others_read(void **state)
{
    struct err err = { 0 };
    (void)state;

    fill("pass", 4, 0644);
    assert_null(secret_from_file(path, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "open to others"));
}

static void
test_no_file(void **state)
{
    struct err err = { 0 };
    (void)state;

    assert_null(secret_from_file("/none/such", &err));
    assert_int_equal(err.kind, ERR_MISSING);
}

static void
test_equals(void **state)
{
    static const struct {
        const char *other;
        bool want;
    } cases[] = {
        { "pass", true },
        { "pasS", false },
        { "pas", false },
        { "passs", false },
        { "", false },
    };
    struct err err;
    struct secret *secret = secret_from_bytes("pass", 4, &err);
    (void)state;

    assert_non_null(secret);
    for (size_t i = 0; i < N(cases); i++)
        assert_int_equal(secret_equals(secret, cases[i].other,
                             strlen(cases[i].other)),
            cases[i].want);
    secret_free(secret);
    secret_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_file),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_file_that_others_read),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_equals),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
