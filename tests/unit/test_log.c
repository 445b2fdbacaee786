#include "log.h"

#include "clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define HEAD "time=1970-01-01T00:00:00.000Z level=info event=e.x"

static int64_t
zero(void *ctx)
{
    (void)ctx;
    return 0;
}

static const struct clock stopped = { zero, zero, NULL };

struct place {
    struct log *log;
    int in, out;
};

static int
set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    int ends[2];
    struct err err;

    assert_int_equal(pipe(ends), 0);
    place->in = ends[1];
    place->out = ends[0];
    place->log = log_new(place->in, LEVEL_INFO, &stopped, &err);
    assert_non_null(place->log);
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;

    log_free(place->log);
    close(place->in);
    close(place->out);
    free(place);
    return 0;
}

/* What one write gave; a mark behind it shows that there was nothing else. */
static const char *
line_of(const struct place *place)
{
    static char line[LOG_LINE_MAX + 16];
    ssize_t n;

    assert_int_equal(write(place->in, "!", 1), 1);
    n = read(place->out, line, sizeof line - 1);
    assert_true(n >= 1);
    assert_int_equal(line[n - 1], '!');
    line[n - 1] = '\0';
    return line;
}

static void
test_values(void **state)
{
    static const struct {
        const char *label;
        const char *text, *want;
    } cases[] = {
        { "a word is bare", "plain", "plain" },
        { "punctuation is bare", "a-b_c.d:9/[x]", "a-b_c.d:9/[x]" },
        { "nothing is quoted", "", "\"\"" },
        { "no text at all is a dash", NULL, "-" },
        { "a space is quoted", "two words", "\"two words\"" },
        { "an equals sign is quoted", "a=b", "\"a=b\"" },
        { "a quote is escaped", "a\"b", "\"a\\\"b\"" },
        { "a backslash is escaped", "a\\b", "\"a\\\\b\"" },
        { "a line break cannot forge a line", "x\nlevel=error",
            "\"x\\x0alevel=error\"" },
        { "a terminal is not steered", "\x1B[2J", "\"\\x1b[2J\"" },
        { "UTF-8 stays", "Gr\xC3\xBC\xC3\x9F", "\"Gr\xC3\xBC\xC3\x9F\"" },
        { "what is no UTF-8 is spelled out", "\xC3(", "\"\\xc3(\"" },
        { "text is not turned around", "\xE2\x80\xAEx",
            "\"\\xe2\\x80\\xaex\"" },
    };
    struct place *place = *state;

    for (size_t i = 0; i < N(cases); i++) {
        char want[200];

        print_message("%s\n", cases[i].label);
        LOG(place->log, LEVEL_INFO, "e.x", kv_str("k", cases[i].text));
        snprintf(want, sizeof want, HEAD " k=%s\n", cases[i].want);
        assert_string_equal(line_of(place), want);
    }
}

static void
test_fields(void **state)
{
    static const struct kv none = { 0 };
    struct place *place = *state;

    LOG(place->log, LEVEL_INFO, "e.x", kv_int("n", INT64_MIN), kv_str("s", "x"),
        kv_int("m", 0));
    assert_string_equal(line_of(place),
        HEAD " n=-9223372036854775808 s=x m=0\n");
    log_write(place->log, LEVEL_INFO, "e.x", &none);
    assert_string_equal(line_of(place), HEAD "\n");
}

static void
test_levels(void **state)
{
    static const struct {
        enum log_level most, level;
        const char *name;
        bool want;
    } cases[] = {
        { LEVEL_ERROR, LEVEL_ERROR, "error", true },
        { LEVEL_ERROR, LEVEL_WARN, "warn", false },
        { LEVEL_INFO, LEVEL_INFO, "info", true },
        { LEVEL_INFO, LEVEL_DEBUG, "debug", false },
        { LEVEL_DEBUG, LEVEL_DEBUG, "debug", true },
        { LEVEL_DEBUG, LEVEL_WARN, "warn", true },
    };
    struct place *place = *state;

    for (size_t i = 0; i < N(cases); i++) {
        const char *line;

        log_set_level(place->log, cases[i].most);
        LOG(place->log, cases[i].level, "e.x", kv_int("n", 1));
        line = line_of(place);
        assert_int_equal(line[0] != '\0', cases[i].want);
        if (cases[i].want)
            assert_non_null(strstr(line, cases[i].name));
        assert_string_equal(log_level_name(cases[i].level), cases[i].name);
    }
    assert_string_equal(log_level_name((enum log_level)9), "unknown");
}

/* Each row: this many of these bytes as a value, with another field behind. */
static void
test_too_long(void **state)
{
    static const struct {
        const char *label, *unit;
        size_t n;
        const char *end; /* of the line */
    } cases[] = {
        { "it fits", "x", 3000, "xx\" last=1\n" },
        { "the value is cut and its quote closed", "x", 5000, "xx...\"\n" },
        { "an escape is not cut", "\n", 2000, "\\x0a...\"\n" },
        { "a character is not cut", "\xE2\x82\xAC", 2000,
            "\xE2\x82\xAC...\"\n" },
        { "an escaped quote is not cut", "\"", 4000, "\\\"...\"\n" },
    };
    struct place *place = *state;
    static char value[6001];

    for (size_t i = 0; i < N(cases); i++) {
        size_t unit = strlen(cases[i].unit), len;
        const char *line;

        print_message("%s\n", cases[i].label);
        for (size_t k = 0; k < cases[i].n; k++)
            memcpy(value + k * unit, cases[i].unit, unit);
        value[cases[i].n * unit] = '\0';
        LOG(place->log, LEVEL_INFO, "e.x", kv_str("k", value),
            kv_int("last", 1));
        line = line_of(place);
        len = strlen(line);
        assert_true(len <= LOG_LINE_MAX);
        assert_string_equal(line + len - strlen(cases[i].end), cases[i].end);
    }
}

/* Whatever the length of the first value, the line ends as it should. */
static void
test_every_length_near_the_end(void **state)
{
    struct place *place = *state;
    static char value[LOG_LINE_MAX + 1];

    memset(value, 'y', sizeof value);
    for (size_t n = LOG_LINE_MAX - 120; n < LOG_LINE_MAX; n++) {
        const char *line;
        size_t len, quotes;

        value[n] = '\0';
        LOG(place->log, LEVEL_INFO, "e.x", kv_str("k", value),
            kv_str("z", "a b"));
        value[n] = 'y';
        line = line_of(place);
        len = strlen(line);
        assert_true(len <= LOG_LINE_MAX && len > LOG_LINE_MAX - 64);
        assert_ptr_equal(strchr(line, '\n'), line + len - 1);
        for (quotes = 0; *line != '\0'; line++)
            quotes += *line == '"';
        assert_int_equal(quotes % 2, 0);
    }
}

static void
keep(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    snprintf(ctx, 64, "%d %s %s=%s", (int)level, event, fields[0].key,
        fields[0].text);
}

static void
test_sink(void **state)
{
    struct place *place = *state;
    char kept[64] = "";

    log_set_sink(place->log, keep, kept);
    LOG(place->log, LEVEL_DEBUG, "e.x", kv_str("k", "a b"));
    assert_string_equal(kept, ""); /* the level was judged */
    LOG(place->log, LEVEL_WARN, "e.x", kv_str("k", "a b"));
    assert_string_equal(kept, "1 e.x k=a b");
    assert_string_equal(line_of(place), ""); /* nothing at the descriptor */
}

static void
test_no_log(void **state)
{
    (void)state;
    LOG(NULL, LEVEL_ERROR, "e.x", kv_int("n", 1));
    log_set_level(NULL, LEVEL_ERROR);
    log_set_sink(NULL, keep, NULL);
    log_free(NULL);
}

static void *
write_many(void *ctx)
{
    for (int i = 0; i < 200; i++)
        LOG(ctx, LEVEL_INFO, "e.x", kv_int("n", 12345), kv_str("s", "a b"));
    return NULL;
}

static void
test_two_threads(void **state)
{
    static const char want[] = HEAD " n=12345 s=\"a b\"\n";
    struct place *place = *state;
    char line[sizeof want];
    pthread_t other;
    FILE *in;

    assert_int_equal(pthread_create(&other, NULL, write_many, place->log), 0);
    write_many(place->log);
    assert_int_equal(pthread_join(other, NULL), 0);
    in = fdopen(dup(place->out), "r");
    assert_non_null(in);
    for (int i = 0; i < 400; i++) {
        assert_non_null(fgets(line, sizeof line, in));
        assert_string_equal(line, want);
    }
    assert_int_equal(fclose(in), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values),
        TEST(test_fields),
        TEST(test_levels),
        TEST(test_too_long),
        TEST(test_every_length_near_the_end),
        TEST(test_sink),
        TEST(test_no_log),
        TEST(test_two_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
