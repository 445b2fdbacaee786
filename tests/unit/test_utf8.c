#include "utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static void
test_next(void **state)
{
    static const struct {
        const char *label, *text;
        size_t want;
        uint32_t point;
    } cases[] = {
        { "nothing", "", 0, 0 },
        { "ASCII", "a", 1, 'a' },
        { "two bytes", "\xC3\xBC", 2, 0xFC },
        { "three bytes", "\xE2\x82\xAC", 3, 0x20AC },
        { "four bytes", "\xF0\x9F\x98\x80", 4, 0x1F600 },
        { "the last one there is", "\xF4\x8F\xBF\xBF", 4, 0x10FFFF },
        { "beyond the last one", "\xF4\x90\x80\x80", 0, 0 },
        { "a tail alone", "\x80", 0, 0 },
        { "cut after the first byte", "\xC3", 0, 0 },
        { "cut after the third byte", "\xF0\x9F\x98", 0, 0 },
        { "a head where a tail should be", "\xC3\xC3", 0, 0 },
        { "a slash in two bytes", "\xC0\xAF", 0, 0 },
        { "a slash in three bytes", "\xE0\x80\xAF", 0, 0 },
        { "a slash in four bytes", "\xF0\x80\x80\xAF", 0, 0 },
        { "half a pair", "\xED\xA0\x80", 0, 0 },
        { "a byte that never occurs", "\xFF", 0, 0 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        uint32_t point = 0;

        print_message("%s\n", cases[i].label);
        assert_int_equal(utf8_next(cases[i].text, strlen(cases[i].text),
                             &point),
            cases[i].want);
        assert_int_equal(point, cases[i].point);
    }
}

static void
test_safe_and_width(void **state)
{
    static const struct {
        const char *label;
        uint32_t point;
        bool safe;
        size_t width;
    } cases[] = {
        { "a letter", 'a', true, 1 },
        { "a space", ' ', true, 1 },
        { "a line break", '\n', false, 1 },
        { "DEL", 0x7F, false, 1 },
        { "CSI in one byte", 0x9B, false, 1 },
        { "u with dots", 0xFC, true, 1 },
        { "dots alone", 0x308, true, 0 },
        { "the line separator", 0x2028, false, 1 },
        { "text from right to left begins", 0x202E, false, 1 },
        { "an isolate begins", 0x2066, false, 1 },
        { "a byte order mark", 0xFEFF, false, 1 },
        { "a Chinese character", 0x4E2D, true, 2 },
        { "a face", 0x1F600, true, 2 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        print_message("%s\n", cases[i].label);
        assert_int_equal(utf8_is_safe(cases[i].point), cases[i].safe);
        assert_int_equal(utf8_width(cases[i].point), cases[i].width);
    }
}

static void
test_escape(void **state)
{
    static const struct {
        const char *label, *text;
        size_t size;
        const char *want;
    } cases[] = {
        { "it fits", "abc", 4, "abc" },
        { "one byte too small", "abc", 3, "ab" },
        { "room for the NUL alone", "abc", 1, "" },
        { "controls are spelled out", "a\tb", 20, "a\\x09b" },
        { "an escape is whole or not there", "a\tb", 5, "a" },
        { "a character is whole or not there", "a\xC3\xBC", 3, "a" },
        { "all bytes of an unsafe character", "\xE2\x80\xAE", 20,
            "\\xe2\\x80\\xae" },
        { "what is no UTF-8 byte by byte", "\xC3\xFFz", 20, "\\xc3\\xffz" },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        char out[32];
        size_t len;

        print_message("%s\n", cases[i].label);
        len = utf8_escape(out, cases[i].size, cases[i].text,
            strlen(cases[i].text));
        assert_string_equal(out, cases[i].want);
        assert_int_equal(len, strlen(cases[i].want));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_safe_and_width),
        cmocka_unit_test(test_escape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
