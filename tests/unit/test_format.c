#include "format.h"

#include "policyfix.h"

static void
test_numbers(void **state)
{
    static const struct {
        const char *label, *text;
        enum format_result (*read)(const char *text, int64_t *number);
        enum format_result want;
        int64_t number;
    } cases[] = {
        { "milliseconds", "250ms", format_duration, FORMAT_FITS, 250 },
        { "seconds", "30s", format_duration, FORMAT_FITS, 30000 },
        { "minutes", "10m", format_duration, FORMAT_FITS, 600000 },
        { "hours", "72h", format_duration, FORMAT_FITS, 259200000 },
        { "days", "7d", format_duration, FORMAT_FITS, 604800000 },
        { "no unit", "30", format_duration, FORMAT_NO_UNIT, 30 },
        { "a blank in front of the unit", "30 s", format_duration, FORMAT_BAD,
            0 },
        { "a unit of another kind", "30MiB", format_duration, FORMAT_BAD, 0 },
        { "a large letter", "30S", format_duration, FORMAT_BAD, 0 },
        { "a fraction", "1.5h", format_duration, FORMAT_BAD, 0 },
        { "less than nothing", "-1s", format_duration, FORMAT_BAD, 0 },
        { "a unit alone", "s", format_duration, FORMAT_BAD, 0 },
        { "nothing", "", format_duration, FORMAT_BAD, 0 },
        { "too many digits", "99999999999999999999s", format_duration,
            FORMAT_BAD, 0 },
        { "too large with its unit", "9223372036854775807s", format_duration,
            FORMAT_BAD, 0 },
        { "bytes", "512B", format_bytes, FORMAT_FITS, 512 },
        { "binary", "64MiB", format_bytes, FORMAT_FITS, 67108864 },
        { "decimal", "20MB", format_bytes, FORMAT_FITS, 20000000 },
        { "a size without a unit", "1048576", format_bytes, FORMAT_NO_UNIT,
            1048576 },
        { "a size with half a unit", "64Mi", format_bytes, FORMAT_BAD, 0 },
        { "a size too large", "9223372036854775807KiB", format_bytes,
            FORMAT_BAD, 0 },
        { "a number", "42", format_int, FORMAT_FITS, 42 },
        { "a negative number", "-1", format_int, FORMAT_FITS, -1 },
        { "a number with a word", "42x", format_int, FORMAT_BAD, 0 },
        { "a minus alone", "-", format_int, FORMAT_BAD, 0 },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        int64_t number = 0;
        enum format_result got = cases[i].read(cases[i].text, &number);

        if (got != cases[i].want ||
            (got == FORMAT_FITS && number != cases[i].number))
            fail_msg("%s: %d, %lld", cases[i].label, (int)got,
                (long long)number);
    }
}

static void
test_texts_read_back(void **state)
{
    static const int64_t numbers[] = { 0, 1, 999, 1000, 1500, 60000, 90000,
        3600000, 259200000, 1024, 67108864, 20971521, INT64_C(1) << 40 };
    char text[FORMAT_TEXT_SIZE];
    int64_t number = 0;

    (void)state;
    for (size_t i = 0; i < N(numbers); i++) {
        format_duration_text(text, sizeof text, numbers[i]);
        assert_int_equal(format_duration(text, &number), FORMAT_FITS);
        assert_int_equal(number, numbers[i]);
        format_bytes_text(text, sizeof text, numbers[i]);
        assert_int_equal(format_bytes(text, &number), FORMAT_FITS);
        assert_int_equal(number, numbers[i]);
    }
    format_duration_text(text, sizeof text, 259200000);
    assert_string_equal(text, "3d");
    format_bytes_text(text, sizeof text, 67108864);
    assert_string_equal(text, "64MiB");
}

static void
test_forms(void **state)
{
    static const struct {
        const char *text;
        bool (*is)(const char *text);
        bool want;
    } cases[] = {
        { "plant7", format_is_name, true },
        { "a-b-0", format_is_name, true },
        { "", format_is_name, false },
        { "Plant", format_is_name, false },
        { "a_b", format_is_name, false },
        { "a.b", format_is_name, false },
        { "0123456789012345678901234567890123456789", format_is_name, true },
        { "01234567890123456789012345678901234567890", format_is_name, false },
        { "b1.cloud.test:9092", format_is_address, true },
        { "192.0.2.1:1", format_is_address, true },
        { "[2001:db8::1]:65535", format_is_address, true },
        { "b1:0", format_is_address, false },
        { "b1:65536", format_is_address, false },
        { "b1:", format_is_address, false },
        { "b1", format_is_address, false },
        { ":9092", format_is_address, false },
        { "2001:db8::1:9092", format_is_address, false },
        { "[b1]:9092", format_is_address, false },
        { "b1:9092,b2:9092", format_is_address, false },
        { "https://b1:9092", format_is_address, false },
        { "b 1:9092", format_is_address, false },
        { "192.0.2.0/24", format_is_network, true },
        { "2001:db8::/32", format_is_network, true },
        { "192.0.2.0/33", format_is_network, false },
        { "192.0.2.0/", format_is_network, false },
        { "192.0.2/24", format_is_network, false },
        { "/24", format_is_network, false },
        { "::/129", format_is_network, false },
        { "/etc/kedge", format_is_path, true },
        { "etc/kedge", format_is_path, false },
        { "/", format_is_path, false },
        { "2026-11-30", format_is_date, true },
        { "2024-02-29", format_is_date, true },
        { "2023-02-29", format_is_date, false },
        { "2026-13-01", format_is_date, false },
        { "2026-1-1", format_is_date, false },
        { "1969-12-31", format_is_date, false },
        { "2026-11-30T00:00:00Z", format_is_date, false },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++)
        if (cases[i].is(cases[i].text) != cases[i].want)
            fail_msg("row %zu: '%s'", i, cases[i].text);
}

static void
test_ratios(void **state)
{
    static const char *const good[] = { "1.8", "2", "0.5", "12.50" };
    static const char *const bad[] = { "0", "0.0", "1.", ".5", "-1", "1,8",
        "1.8x", "faster", "" };

    (void)state;
    for (size_t i = 0; i < N(good); i++)
        if (!format_is_ratio(good[i]))
            fail_msg("'%s'", good[i]);
    for (size_t i = 0; i < N(bad); i++)
        if (format_is_ratio(bad[i]))
            fail_msg("'%s'", bad[i]);
}

static void
test_times(void **state)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: is no time */
    } cases[] = {
        { "1970-01-01", 0 },
        { "1970-01-01T00:00:01Z", 1000 },
        { "1970-01-02T00:00:00Z", 86400000 },
        { "2000-03-01T00:00:00Z", INT64_C(951868800000) },
        { "2026-11-30T21:56:12Z", INT64_C(1796075772000) },
        { "2026-11-30T21:56:12.5Z", INT64_C(1796075772500) },
        { "2026-11-30 21:56:12.123456Z", INT64_C(1796075772123) },
        { "2026-11-30T22:56:12+01:00", INT64_C(1796075772000) },
        { "2026-11-30T16:26:12-05:30", INT64_C(1796075772000) },
        { "1970-01-01T00:00:00+01:00", -1 },
        { "2026-11-30T21:56:12", -1 },
        { "2026-11-30T21:56Z", -1 },
        { "2026-11-30T24:00:00Z", -1 },
        { "2026-11-30T21:56:12Zx", -1 },
        { "2026-11-30T", -1 },
        { "yesterday", -1 },
        { "", -1 },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        int64_t wall_ms = 0;

        if (!format_time(cases[i].text, &wall_ms))
            wall_ms = -1;
        if (wall_ms != cases[i].want)
            fail_msg("'%s': %lld", cases[i].text, (long long)wall_ms);
    }
}

/* With the limits of settings that there are: the outage budget, refresh, what
 * is in flight, and none. */
static void
test_guesses(void **state)
{
    static const int64_t minute = 60000, day = 86400000, mib = 1 << 20;
    const struct {
        const char *number;
        bool bytes;
        int64_t min, max;
        const char *want; /* "": no unit fits */
    } cases[] = {
        { "48", false, minute, 365 * day, "48h" },
        { "72", false, minute, 365 * day, "72h" },
        { "3", false, minute, 365 * day, "3h" },
        { "259200", false, minute, 365 * day, "259200s" },
        { "259200000", false, minute, 365 * day, "259200000ms" },
        { "0", false, minute, 365 * day, "" },
        { "30", false, 1000, 60 * minute, "30s" },
        { "5000", false, 1000, 60 * minute, "5000ms" },
        { "30", false, 0, 0, "30s" },
        { "64", true, mib, 16384 * mib, "64MiB" },
        { "67108864", true, mib, 16384 * mib, "67108864B" },
        { "65536", true, mib, 16384 * mib, "65536KiB" },
        { "64", true, 0, 0, "64MiB" },
        { "99999999999999999999", true, 0, 0, "" },
        { "64M", true, 0, 0, "64MiB" },
        { "64 mib", true, mib, 16384 * mib, "64MiB" },
        { "64kB/s", true, mib, 16384 * mib, "64KiB" },
        { "72 h", false, minute, 365 * day, "72h" },
        { "72hours", false, minute, 365 * day, "72h" },
        { "5 Minutes", false, minute, 365 * day, "5m" },
        { "250MS", false, 0, 0, "250ms" },
        { "250 msec", false, 0, 0, "250ms" },
        { "3 weeks", false, minute, 365 * day, "" },
        { "3.5h", false, minute, 365 * day, "" },
        { "soon", false, minute, 365 * day, "" },
        { "", false, minute, 365 * day, "" },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        char text[FORMAT_TEXT_SIZE];
        bool ok = cases[i].bytes
                      ? format_bytes_guess(text, sizeof text, cases[i].number,
                            cases[i].min, cases[i].max)
                      : format_duration_guess(text, sizeof text,
                            cases[i].number, cases[i].min, cases[i].max);

        if (strcmp(text, cases[i].want) != 0 || ok != (text[0] != '\0'))
            fail_msg("'%s': '%s'", cases[i].number, text);
    }
}

static void
test_split(void **state)
{
    char host[16];
    int port = 0;

    (void)state;
    assert_true(format_split_address("[::1]:9", host, sizeof host, &port));
    assert_string_equal(host, "::1");
    assert_int_equal(port, 9);
    assert_false(format_split_address("a-host-that-is-long:9", host,
        sizeof host, &port));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts_read_back),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
