#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "ksink.h"
#include "ksource.h"

#include <inttypes.h>

#define DONES_MAX 4096
#define PRODUCE 0  /* the request's number */
#define LARGE 8000 /* a value that is held and not copied */

struct told {
    int32_t lane, part;
    int64_t offset, target_offset;
    bool failed, retry;
};

struct scene {
    struct kafkafix fix;
    struct source source;
    struct sink sink;
    struct told told[DONES_MAX];
    size_t n_told;
    size_t n_failed; /* calls of on_failed() */
    size_t n_told_at_failure;
    struct err failure;
};

static void
on_done(void *ctx, const struct sink_done *done)
{
    struct scene *scene = ctx;

    assert_true(scene->n_told < DONES_MAX);
    scene->told[scene->n_told++] = (struct told){ done->lane, done->part,
        done->offset, done->target_offset, done->err != NULL,
        done->err != NULL && done->err->retry };
}

static void
on_failed(void *ctx, int32_t lane, const struct err *err)
{
    struct scene *scene = ctx;

    assert_int_equal(lane, 0);
    scene->n_failed++;
    scene->n_told_at_failure = scene->n_told;
    scene->failure = *err;
}

static void
set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char why[128];

    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) !=
        RD_KAFKA_CONF_OK)
        fail_msg("%s", why);
}

static void
small_queue(rd_kafka_conf_t *conf)
{
    set(conf, "queue.buffering.max.messages", "10");
}

static void
small_messages(rd_kafka_conf_t *conf)
{
    set(conf, "message.max.bytes", "2000");
    set(conf, "batch.size", "2000");
}

static struct scene *
scene_open(void (*configure)(rd_kafka_conf_t *conf), int64_t linger_ms)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    const struct ksource_options source = {
        .cluster = &scene->fix.source,
        .agent = "a1",
        .flow = "telemetry",
        .group_id = "g",
        .wake = &scene->fix.wake,
    };
    const struct ksink_options sink = {
        .cluster = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .linger_ms = linger_ms,
        .done = on_done,
        .failed = on_failed,
        .ctx = scene,
        .wake = &scene->fix.wake,
        .configure = configure,
    };
    if (!ksource_open(&scene->source, &source, &err) ||
        !ksink_open(&scene->sink, &sink, &err))
        fail_msg("%s", err.text);
    return scene;
}

static void
scene_close(struct scene *scene)
{
    scene->sink.ops->free(scene->sink.self);
    scene->source.ops->free(scene->source.self);
    kafkafix_close(&scene->fix);
    free(scene);
}

static int
set_up(void **state)
{
    *state = scene_open(NULL, 1);
    return 0;
}

static int
set_up_slow(void **state) /* what is sent within a second is one batch */
{
    *state = scene_open(NULL, 1000);
    return 0;
}

static int
set_up_small_queue(void **state)
{
    *state = scene_open(small_queue, 1);
    return 0;
}

static int
set_up_small_messages(void **state)
{
    *state = scene_open(small_messages, 1);
    return 0;
}

static int
tear_down(void **state)
{
    scene_close(*state);
    return 0;
}

static void
open_lane(struct scene *scene, int32_t lane)
{
    struct err err;

    if (!scene->sink.ops->open(scene->sink.self, lane, 0, &err))
        fail_msg("%s", err.text);
}

static void
attach(struct scene *scene, int32_t part, int32_t lane, int32_t partition)
{
    struct err err;

    if (!scene->sink.ops->attach(scene->sink.self, part, lane, "out", partition,
            &err))
        fail_msg("%s", err.text);
}

static void
read_part(struct scene *scene, int32_t part, int32_t partition, int64_t offset)
{
    struct err err;

    if (!scene->source.ops->read(scene->source.self, part, "in", partition,
            offset, -1, &err))
        fail_msg("%s", err.text);
}

/* Exactly one record. */
static void
take(struct scene *scene, struct record *record)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (scene->source.ops->next(scene->source.self, record, 1) == 0)
        kafkafix_wait(&scene->fix, deadline_ms, "a record");
}

static enum sink_answer
try_send(struct scene *scene, struct record *record, struct err *err)
{
    return scene->sink.ops->send(scene->sink.self, record, err);
}

static void
send_one(struct scene *scene, struct record *record)
{
    struct err err;

    if (try_send(scene, record, &err) != SINK_TAKEN)
        fail_msg("offset %" PRId64 " was not taken", record->offset);
    assert_null(record->hold);
}

/* Reads and sends `n` records. */
static void
forward(struct scene *scene, size_t n)
{
    struct record record;

    while (n-- > 0) {
        take(scene, &record);
        send_one(scene, &record);
    }
}

static void
wait_told(struct scene *scene, size_t n)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (scene->n_told < n) {
        if (scene->sink.ops->poll(scene->sink.self, 50) == 0)
            kafkafix_wait(&scene->fix, deadline_ms, "reports");
    }
    assert_int_equal(scene->n_told, n);
}

static void
wait_failed(struct scene *scene)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (scene->n_failed == 0)
        if (scene->sink.ops->poll(scene->sink.self, 50) == 0)
            kafkafix_wait(&scene->fix, deadline_ms, "the failure");
}

static void
set_target(struct scene *scene, bool up)
{
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(up ? rd_kafka_mock_broker_set_up(scene->fix.to, broker)
                            : rd_kafka_mock_broker_set_down(scene->fix.to,
                                  broker),
            0);
}

/* --- fidelity --- */

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
fill_faithful(struct scene *scene, const char *large)
{
    for (size_t i = 0; i < 2 * N_FAITHFUL; i++) {
        size_t row = i / 2;
        const char *value = faithful[row].value;
        const char *key = faithful[row].key;
        size_t key_len = key != NULL ? strlen(key) : 0, value_len;
        rd_kafka_headers_t *headers = rd_kafka_headers_new(5);

        if (i % 2 == 1 && value != NULL && value[0] != '\0')
            value = large;
        value_len = value != NULL ? strlen(value) : 0;
        for (size_t h = 0; h < faithful[row].n_headers; h++) {
            const struct header *header = &faithful[row].headers[h];

            assert_int_equal(rd_kafka_header_add(headers, header->name, -1,
                                 header->value, -1),
                0);
        }
        assert_int_equal(rd_kafka_producev(scene->fix.filler,
                             RD_KAFKA_V_TOPIC("in"), RD_KAFKA_V_PARTITION(2),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                             RD_KAFKA_V_KEY(key, key_len),
                             RD_KAFKA_V_VALUE((void *)(uintptr_t)value,
                                 value_len),
                             RD_KAFKA_V_TIMESTAMP(faithful[row].time),
                             RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END),
            0);
        assert_int_equal(rd_kafka_flush(scene->fix.filler, KAFKAFIX_WAIT_MS),
            0);
    }
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
    struct scene *scene = *state;
    rd_kafka_message_t *messages[2 * N_FAITHFUL + 2];
    rd_kafka_timestamp_type_t type;
    char large[LARGE + 1];

    memset(large, 'L', LARGE);
    large[LARGE] = '\0';
    fill_faithful(scene, large);
    open_lane(scene, 0);
    attach(scene, 7, 0, 2);
    read_part(scene, 7, 2, 0);
    forward(scene, 2 * N_FAITHFUL);
    wait_told(scene, 2 * N_FAITHFUL);
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
        const char *want;
    } cases[] = {
        { "1970", 0, 0, "time is 0" },
        { "before 1970", -5, 0, "before 1970" },
        { "headers that no message carries", 1, 10, "headers" },
    };
    struct scene *scene = *state;

    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct record record = {
            .offset = 3,
            .timestamp_wall_ms = cases[i].time,
            .header_bytes = cases[i].header_bytes,
        };

        print_message("%s\n", cases[i].label);
        assert_int_equal(try_send(scene, &record, &err), SINK_REFUSED);
        assert_false(err.retry);
        assert_non_null(strstr(err.text, cases[i].want));
    }
}

static void
a_record_above_the_limit_is_refused_with_its_size(void **state)
{
    struct scene *scene = *state;
    struct record record;
    struct err err;

    kafkafix_fill_large(&scene->fix, 0, 1, 5000);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    take(scene, &record);
    assert_int_equal(try_send(scene, &record, &err), SINK_REFUSED);
    assert_non_null(strstr(err.text, "5000 bytes"));
    assert_non_null(record.hold); /* it stays with the caller */
    record_release(&record);
}

/* --- order and reports --- */

static void
each_record_is_told_once_and_in_order(void **state)
{
    struct scene *scene = *state;
    int64_t next[3] = { 0 };
    rd_kafka_message_t *messages[202];

    for (int32_t p = 0; p < 3; p++)
        kafkafix_fill(&scene->fix, p, 0, 200);
    kafkafix_fill_large(&scene->fix, 1, 20, LARGE);
    for (int32_t p = 0; p < 3; p++) {
        open_lane(scene, p);
        attach(scene, p, p, p);
        read_part(scene, p, p, 0);
    }
    forward(scene, 620);
    wait_told(scene, 620);
    for (size_t i = 0; i < 620; i++) {
        assert_false(scene->told[i].failed);
        assert_int_equal(scene->told[i].lane, scene->told[i].part);
        assert_int_equal(scene->told[i].offset, next[scene->told[i].part]++);
    }
    for (int32_t p = 0; p < 3; p++) {
        kafkafix_read_back(&scene->fix, p, 200, messages);
        for (int i = 0; i < 200; i++) {
            char value[16];

            assert_int_equal(messages[i]->len,
                snprintf(value, sizeof value, "%d", i));
            assert_memory_equal(messages[i]->payload, value, messages[i]->len);
        }
        kafkafix_done_reading(messages, 200);
    }
    assert_int_equal(scene->n_failed, 0);
}

/* Retries inside the library neither repeat nor reorder. */
static void
errors_that_pass_are_not_seen(void **state)
{
    struct scene *scene = *state;
    rd_kafka_message_t *messages[52];

    kafkafix_fill(&scene->fix, 0, 0, 50);
    rd_kafka_mock_push_request_errors(scene->fix.to, PRODUCE, 4,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    forward(scene, 50);
    wait_told(scene, 50);
    for (size_t i = 0; i < 50; i++) {
        assert_false(scene->told[i].failed);
        assert_int_equal(scene->told[i].offset, i);
    }
    kafkafix_read_back(&scene->fix, 0, 50, messages);
    kafkafix_done_reading(messages, 50);
    assert_int_equal(scene->n_failed, 0);
}

static void
a_full_queue_takes_the_record_later(void **state)
{
    struct scene *scene = *state;
    struct record record;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 11);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    set_target(scene, false);
    read_part(scene, 0, 0, 0);
    forward(scene, 10);
    take(scene, &record);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_send(scene, &record, &err), SINK_FULL);
    assert_non_null(record.hold);
    set_target(scene, true);
    wait_told(scene, 10);
    send_one(scene, &record);
    wait_told(scene, 11);
    for (size_t i = 0; i < 11; i++)
        assert_int_equal(scene->told[i].offset, i);
}

/* A header list that was handed over and not taken is the record's again. */
static void
a_record_that_was_not_taken_keeps_its_headers(void **state)
{
    struct scene *scene = *state;
    rd_kafka_message_t *messages[13];
    static const struct header want = { "h", "x" };
    struct record record;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    assert_int_equal(rd_kafka_producev(scene->fix.filler,
                         RD_KAFKA_V_TOPIC("in"), RD_KAFKA_V_PARTITION(0),
                         RD_KAFKA_V_HEADER("h", "x", 1), RD_KAFKA_V_END),
        0);
    assert_int_equal(rd_kafka_flush(scene->fix.filler, KAFKAFIX_WAIT_MS), 0);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    set_target(scene, false);
    read_part(scene, 0, 0, 0);
    forward(scene, 10);
    take(scene, &record);
    assert_int_equal(record.header_bytes, 2);
    assert_int_equal(try_send(scene, &record, &err), SINK_FULL);
    set_target(scene, true);
    wait_told(scene, 10);
    send_one(scene, &record);
    wait_told(scene, 11);
    kafkafix_read_back(&scene->fix, 0, 11, messages);
    check_headers(messages[10], &want, 1);
    kafkafix_done_reading(messages, 11);
}

/* --- what is refused for good --- */

static void
a_record_refused_alone_is_the_culprit(void **state)
{
    struct scene *scene = *state;
    rd_kafka_message_t *messages[7];

    kafkafix_fill(&scene->fix, 0, 0, 5);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    forward(scene, 2);
    wait_told(scene, 2);
    rd_kafka_mock_push_request_errors(scene->fix.to, PRODUCE, 1,
        RD_KAFKA_RESP_ERR_INVALID_RECORD);
    forward(scene, 1);
    wait_told(scene, 3);
    assert_true(scene->told[2].failed);
    assert_false(scene->told[2].retry);
    assert_int_equal(scene->told[2].offset, 2);
    wait_failed(scene);
    assert_int_equal(scene->n_failed, 1);
    assert_true(scene->failure.retry);
    scene->sink.ops->close(scene->sink.self, 0);
    open_lane(scene, 0); /* the partition is still attached */
    read_part(scene, 0, 0, 2);
    forward(scene, 3);
    wait_told(scene, 6);
    for (size_t i = 3; i < 6; i++) {
        assert_false(scene->told[i].failed);
        assert_int_equal(scene->told[i].offset, i - 1);
    }
    kafkafix_read_back(&scene->fix, 0, 5, messages);
    kafkafix_done_reading(messages, 5);
}

static void
what_lies_behind_a_refused_record_is_not_written(void **state)
{
    struct scene *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 20);
    kafkafix_fill_large(&scene->fix, 0, 20, LARGE);
    rd_kafka_mock_push_request_errors(scene->fix.to, PRODUCE, 1,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    forward(scene, 40);
    wait_failed(scene);
    /* each had its report before the failure was told, none succeeded */
    assert_int_equal(scene->n_told, 40);
    assert_int_equal(scene->n_told_at_failure, 40);
    assert_false(scene->told[0].retry); /* of the topic: the first is it */
    for (size_t i = 0; i < 40; i++)
        assert_true(scene->told[i].failed);
}

/* The batch of five is refused because of its third. */
static void
the_culprit_of_a_batch_is_found(void **state)
{
    struct scene *scene = *state;
    struct record record;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 6);
    rd_kafka_mock_push_request_errors(scene->fix.to, PRODUCE, 1,
        RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    forward(scene, 5);
    wait_failed(scene);
    assert_int_equal(scene->n_told, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(scene->told[i].failed && scene->told[i].retry);
    scene->sink.ops->close(scene->sink.self, 0);
    scene->sink.ops->detach(scene->sink.self, 0);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    scene->n_told = scene->n_failed = 0;
    for (size_t i = 0; i < 3; i++) {
        if (i == 2)
            rd_kafka_mock_push_request_errors(scene->fix.to, PRODUCE, 1,
                RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP);
        forward(scene, 1);
        take(scene, &record); /* one at a time */
        assert_int_equal(try_send(scene, &record, &err), SINK_FULL);
        wait_told(scene, i + 1);
        if (i < 2)
            assert_false(scene->told[i].failed);
        record_release(&record);
        read_part(scene, 0, 0, (int64_t)i + 1);
    }
    assert_int_equal(scene->told[2].offset, 2);
    assert_true(scene->told[2].failed);
    assert_false(scene->told[2].retry);
}

/* Once what was refused is through, batches have several records again. */
static void
after_a_batch_is_through_there_are_batches_again(void **state)
{
    struct scene *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    rd_kafka_mock_push_request_errors(scene->fix.to, PRODUCE, 1,
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    read_part(scene, 0, 0, 0);
    forward(scene, 3);
    wait_failed(scene);
    scene->sink.ops->close(scene->sink.self, 0);
    open_lane(scene, 0);
    read_part(scene, 0, 0, 0);
    scene->n_told = 0;
    for (size_t i = 0; i < 3; i++) {
        forward(scene, 1);
        wait_told(scene, i + 1);
    }
    forward(scene, 7);
    wait_told(scene, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_false(scene->told[i].failed);
        assert_int_equal(scene->told[i].offset, i);
    }
}

/* --- closing --- */

static void
nothing_is_told_of_a_closed_lane(void **state)
{
    struct scene *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    kafkafix_fill_large(&scene->fix, 0, 10, LARGE);
    open_lane(scene, 0);
    open_lane(scene, 1);
    attach(scene, 0, 0, 0);
    attach(scene, 1, 1, 1);
    set_target(scene, false);
    read_part(scene, 0, 0, 0);
    forward(scene, 20);
    scene->sink.ops->close(scene->sink.self, 0);
    scene->sink.ops->close(scene->sink.self, 0);  /* not open: fine */
    scene->sink.ops->close(scene->sink.self, 99); /* nor ever */
    kafkafix_fill(&scene->fix, 1, 0, 5);
    set_target(scene, true);
    read_part(scene, 1, 1, 0);
    scene->source.ops->stop(scene->source.self, 0);
    forward(scene, 5);
    wait_told(scene, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(scene->told[i].lane, 1);
    /* free() gives back what is held: the source could not end otherwise */
}

static void
a_sink_ends_with_everything_in_flight(void **state)
{
    struct scene *scene = *state;

    kafkafix_fill_large(&scene->fix, 3, 10, LARGE);
    open_lane(scene, 0);
    attach(scene, 0, 0, 3);
    set_target(scene, false);
    read_part(scene, 0, 3, 0);
    forward(scene, 10);
    assert_int_equal(scene->n_told, 0);
}

static void
a_partition_that_the_target_lacks_waits(void **state)
{
    struct scene *scene = *state;
    struct record record;
    struct err err;
    int64_t deadline_ms = kafkafix_deadline();

    kafkafix_fill(&scene->fix, 0, 0, 2);
    open_lane(scene, 0);
    attach(scene, 0, 0, 0);
    attach(scene, 1, 0, 99);
    read_part(scene, 0, 0, 0);
    forward(scene, 1); /* after its report the topic's size is known */
    wait_told(scene, 1);
    take(scene, &record);
    record.part = 1;
    while (try_send(scene, &record, &err) != SINK_FULL)
        kafkafix_wait(&scene->fix, deadline_ms, "no");
    record_release(&record);
}

int
main(void)
{
#define TEST(name, up) cmocka_unit_test_setup_teardown(name, up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(records_arrive_as_they_were, set_up),
        TEST(what_cannot_be_carried_is_refused, set_up),
        TEST(a_record_above_the_limit_is_refused_with_its_size,
            set_up_small_messages),
        TEST(each_record_is_told_once_and_in_order, set_up),
        TEST(errors_that_pass_are_not_seen, set_up),
        TEST(a_full_queue_takes_the_record_later, set_up_small_queue),
        TEST(a_record_that_was_not_taken_keeps_its_headers, set_up_small_queue),
        TEST(a_record_refused_alone_is_the_culprit, set_up),
        TEST(what_lies_behind_a_refused_record_is_not_written, set_up_slow),
        TEST(the_culprit_of_a_batch_is_found, set_up_slow),
        TEST(after_a_batch_is_through_there_are_batches_again, set_up_slow),
        TEST(nothing_is_told_of_a_closed_lane, set_up),
        TEST(a_sink_ends_with_everything_in_flight, set_up),
        TEST(a_partition_that_the_target_lacks_waits, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
