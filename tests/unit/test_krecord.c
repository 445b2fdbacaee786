#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sinkfix.h"

struct header {
    const char *name, *value; /* NULL value: null */
};

static const struct {
    const char *label;
    const char *key, *value;
    int64_t time;
    size_t n_headers;
    struct header headers[5];
} faithful[] = {
    { "plain", "k", "v", 1700000000000, 0, { { 0 } } },
    { "no key is not an empty key", NULL, "v", 1, 0, { { 0 } } },
    { "an empty key is not no key", "", "v", 1, 0, { { 0 } } },
    { "a tombstone is not an empty value", "k", NULL, 1, 0, { { 0 } } },
    { "an empty value is not a tombstone", "k", "", 1, 0, { { 0 } } },
    { "nothing at all", NULL, NULL, 1, 0, { { 0 } } },
    { "no time", "k", "v", -1, 0, { { 0 } } },
    { "a time far ahead", "k", "v", 9999999999999, 0, { { 0 } } },
    { "headers keep their order", "k", "v", 5, 3,
        { { "b", "1" }, { "a", "2" }, { "c", "3" } } },
    { "a header twice, with the same and with another value", "k", "v", 5, 4,
        { { "a", "1" }, { "b", "x" }, { "a", "1" }, { "a", "2" } } },
    { "null and empty header values, an empty name", "k", "v", 5, 4,
        { { "n", NULL }, { "e", "" }, { "", "x" }, { "", "" } } },
    { "headers on a tombstone", "k", NULL, 5, 1, { { "why", "gone" } } },
};

#define N_FAITHFUL (sizeof faithful / sizeof faithful[0])

/* Each record twice: with a value that is copied, and with one so large that
 * it is held.  Null and empty values are always copied. */
static void
fill_faithful(struct sinkfix *scene, const char *large)
{
    for (size_t i = 0; i < 2 * N_FAITHFUL; i++) {
        size_t row = i / 2;
        const char *key = faithful[row].key, *value = faithful[row].value;
        struct kafkafix_record record = { .key = key,
            .key_len = key != NULL ? strlen(key) : 0,
            .time = faithful[row].time,
            .headers = rd_kafka_headers_new(5) };

        if (i % 2 == 1 && value != NULL && value[0] != '\0')
            value = large;
        record.value = value;
        record.value_len = value != NULL ? strlen(value) : 0;
        for (size_t h = 0; h < faithful[row].n_headers; h++) {
            const struct header *header = &faithful[row].headers[h];

            assert_int_equal(rd_kafka_header_add(record.headers, header->name,
                                 -1, header->value, -1),
                0);
        }
        kafkafix_put(&scene->fix, 2, &record);
    }
    kafkafix_flush(&scene->fix);
}

static void
check_bytes(const char *what, const void *got, size_t len, const char *want)
{
    if ((got == NULL) != (want == NULL))
        fail_msg("%s: null and not null", what);
    if (want == NULL)
        return;
    assert_int_equal(len, strlen(want));
    assert_memory_equal(got, want, len);
}

static void
check_headers(const rd_kafka_message_t *message, const struct header *want,
    size_t n)
{
    rd_kafka_headers_t *headers = NULL;
    const char *name;
    const void *value;
    size_t size;

    if (n == 0) {
        assert_int_equal(rd_kafka_message_headers(message, &headers),
            RD_KAFKA_RESP_ERR__NOENT);
        return;
    }
    assert_int_equal(rd_kafka_message_headers(message, &headers), 0);
    assert_int_equal(rd_kafka_header_cnt(headers), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rd_kafka_header_get_all(headers, i, &name, &value,
                             &size),
            0);
        assert_string_equal(name, want[i].name);
        check_bytes("header", value, size, want[i].value);
    }
}

static void
records_arrive_as_they_were(void **state)
{
    struct sinkfix *scene = *state;
    rd_kafka_message_t *messages[2 * N_FAITHFUL + 2];
    rd_kafka_timestamp_type_t type;
    char large[SINKFIX_LARGE + 1];

    memset(large, 'L', SINKFIX_LARGE);
    large[SINKFIX_LARGE] = '\0';
    fill_faithful(scene, large);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 7, 0, 2);
    sinkfix_read_part(scene, 7, 2, 0);
    sinkfix_forward(scene, 2 * N_FAITHFUL);
    sinkfix_wait_told(scene, 2 * N_FAITHFUL);
    kafkafix_read_back(&scene->fix, 2, 2 * N_FAITHFUL, messages);
    for (size_t i = 0; i < 2 * N_FAITHFUL; i++) {
        size_t row = i / 2;
        const char *value = faithful[row].value;

        print_message("%s%s\n", faithful[row].label,
            i % 2 == 1 ? ", held" : "");
        if (i % 2 == 1 && value != NULL && value[0] != '\0')
            value = large;
        assert_false(scene->told[i].failed);
        assert_int_equal(scene->told[i].offset, i);
        assert_int_equal(scene->told[i].target_offset, i);
        check_bytes("key", messages[i]->key, messages[i]->key_len,
            faithful[row].key);
        check_bytes("value", messages[i]->payload, messages[i]->len, value);
        assert_int_equal(rd_kafka_message_timestamp(messages[i], &type),
            faithful[row].time);
        check_headers(messages[i], faithful[row].headers,
            faithful[row].n_headers);
    }
    kafkafix_done_reading(messages, 2 * N_FAITHFUL);
}

static void
what_cannot_be_carried_is_refused(void **state)
{
    static const struct {
        const char *label;
        int64_t time;
        size_t header_bytes;
        const char *want, *way_on;
    } cases[] = {
        { "1970", 0, 0, "time is 0", "topics.start" },
        { "before 1970", -5, 0, "before 1970", "topics.start" },
        { "headers that no message carries", 1, 10, "headers", "" },
    };
    struct sinkfix *scene = *state;

    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct record record = {
            .offset = 3,
            .timestamp_wall_ms = cases[i].time,
            .header_bytes = cases[i].header_bytes,
        };

        print_message("%s\n", cases[i].label);
        assert_int_equal(sinkfix_try_send(scene, &record, &err), SINK_REFUSED);
        assert_false(err.retry);
        assert_non_null(strstr(err.text, cases[i].want));
        assert_non_null(strstr(err.text, cases[i].way_on));
        assert_null(strstr(err.text, "flow skip")); /* there is no such order */
    }
}

/* Why such a record is held: should the library ever send it as it is, this
 * says so. */
static void
the_library_takes_a_time_of_0_for_now(void **state)
{
    const struct kafkafix_record record = { .time = 0 };
    struct sinkfix *scene = *state;
    struct record sent;

    kafkafix_put(&scene->fix, 0, &record);
    kafkafix_flush(&scene->fix);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_take(scene, &sent);
    assert_int_not_equal(sent.timestamp_wall_ms, 0);
    record_release(&sent);
}

/* A header list that was handed over and not taken is the record's again. */
static void
a_record_that_was_not_taken_keeps_its_headers(void **state)
{
    struct sinkfix *scene = *state;
    rd_kafka_message_t *messages[13];
    static const struct header want = { "h", "x" };
    struct kafkafix_record last = { .time = 1,
        .headers = rd_kafka_headers_new(1) };
    struct record record;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    assert_int_equal(rd_kafka_header_add(last.headers, "h", -1, "x", 1), 0);
    kafkafix_put(&scene->fix, 0, &last);
    kafkafix_flush(&scene->fix);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 10);
    sinkfix_take(scene, &record);
    assert_int_equal(record.header_bytes, 2);
    assert_int_equal(sinkfix_try_send(scene, &record, &err), SINK_FULL);
    sinkfix_set_target(scene, true);
    sinkfix_wait_told(scene, 10);
    sinkfix_send_one(scene, &record);
    sinkfix_wait_told(scene, 11);
    kafkafix_read_back(&scene->fix, 0, 11, messages);
    check_headers(messages[10], &want, 1);
    kafkafix_done_reading(messages, 11);
}

/* More than the library reads: to it they are as good as damaged, and without
 * a word it gives none. */
static void
headers_that_cannot_be_read_are_not_left_out(void **state)
{
    enum { TOO_MANY = 100001 };
    struct sinkfix *scene = *state;
    struct kafkafix_record many = { .time = 1,
        .headers = rd_kafka_headers_new(TOO_MANY) };
    struct record record;
    struct err err;

    for (int i = 0; i < TOO_MANY; i++)
        assert_int_equal(rd_kafka_header_add(many.headers, "", 0, NULL, 0), 0);
    kafkafix_put(&scene->fix, 0, &many);
    kafkafix_flush(&scene->fix);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_take(scene, &record);
    assert_int_equal(sinkfix_try_send(scene, &record, &err), SINK_REFUSED);
    assert_false(err.retry);
    assert_non_null(strstr(err.text, "headers"));
    record_release(&record);
}

int
main(void)
{
#define TEST(name, up) \
    cmocka_unit_test_setup_teardown(name, up, sinkfix_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(records_arrive_as_they_were, sinkfix_set_up),
        TEST(what_cannot_be_carried_is_refused, sinkfix_set_up),
        TEST(the_library_takes_a_time_of_0_for_now, sinkfix_set_up),
        TEST(headers_that_cannot_be_read_are_not_left_out, sinkfix_set_up),
        TEST(a_record_that_was_not_taken_keeps_its_headers,
            sinkfix_set_up_small_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
