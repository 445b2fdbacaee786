#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sinkfix.h"

static void
a_record_above_the_limit_is_refused_with_its_size(void **state)
{
    struct sinkfix *scene = *state;
    struct record record;
    struct err err;

    kafkafix_fill_large(&scene->fix, 0, 1, 5000);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_take(scene, &record);
    assert_int_equal(sinkfix_try_send(scene, &record, &err), SINK_REFUSED);
    assert_non_null(strstr(err.text, "5000 bytes"));
    assert_non_null(record.hold); /* it stays with the caller */
    record_release(&record);
}

/* --- order and reports --- */

static void
each_record_is_told_once_and_in_order(void **state)
{
    struct sinkfix *scene = *state;
    int64_t next[3] = { 0 };
    rd_kafka_message_t *messages[202];

    for (int32_t p = 0; p < 3; p++)
        kafkafix_fill(&scene->fix, p, 0, 200);
    kafkafix_fill_large(&scene->fix, 1, 20, SINKFIX_LARGE);
    for (int32_t p = 0; p < 3; p++) {
        sinkfix_open_lane(scene, p);
        sinkfix_attach(scene, p, p, p);
        sinkfix_read_part(scene, p, p, 0);
    }
    sinkfix_forward(scene, 620);
    sinkfix_wait_told(scene, 620);
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
    struct sinkfix *scene = *state;
    rd_kafka_message_t *messages[52];

    kafkafix_fill(&scene->fix, 0, 0, 50);
    rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 4,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 50);
    sinkfix_wait_told(scene, 50);
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
    struct sinkfix *scene = *state;
    struct record record;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 11);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 10);
    sinkfix_take(scene, &record);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sinkfix_try_send(scene, &record, &err), SINK_FULL);
    assert_non_null(record.hold);
    sinkfix_set_target(scene, true);
    sinkfix_wait_told(scene, 10);
    sinkfix_send_one(scene, &record);
    sinkfix_wait_told(scene, 11);
    for (size_t i = 0; i < 11; i++)
        assert_int_equal(scene->told[i].offset, i);
}

/* --- what is refused for good --- */

static void
a_record_refused_alone_is_the_culprit(void **state)
{
    struct sinkfix *scene = *state;
    rd_kafka_message_t *messages[7];

    kafkafix_fill(&scene->fix, 0, 0, 5);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 2);
    sinkfix_wait_told(scene, 2);
    rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 1,
        RD_KAFKA_RESP_ERR_INVALID_RECORD);
    sinkfix_forward(scene, 1);
    sinkfix_wait_told(scene, 3);
    assert_true(scene->told[2].failed);
    assert_false(scene->told[2].retry);
    assert_int_equal(scene->told[2].offset, 2);
    sinkfix_wait_failed(scene);
    assert_int_equal(scene->n_failed, 1);
    assert_true(scene->failure.retry);
    scene->sink.ops->close(scene->sink.self, 0, 0);
    sinkfix_open_lane(scene, 0); /* the partition is still attached */
    sinkfix_read_part(scene, 0, 0, 2);
    sinkfix_forward(scene, 3);
    sinkfix_wait_told(scene, 6);
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
    struct sinkfix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 20);
    kafkafix_fill_large(&scene->fix, 0, 20, SINKFIX_LARGE);
    rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 1,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 40);
    sinkfix_wait_failed(scene);
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
    struct sinkfix *scene = *state;
    struct record record;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 6);
    rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 1,
        RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 5);
    sinkfix_wait_failed(scene);
    assert_int_equal(scene->n_told, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(scene->told[i].failed && scene->told[i].retry);
    scene->sink.ops->close(scene->sink.self, 0, 0);
    scene->sink.ops->detach(scene->sink.self, 0);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    scene->n_told = scene->n_failed = 0;
    for (size_t i = 0; i < 3; i++) {
        if (i == 2)
            rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 1,
                RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP);
        sinkfix_forward(scene, 1);
        sinkfix_take(scene, &record); /* one at a time */
        assert_int_equal(sinkfix_try_send(scene, &record, &err), SINK_FULL);
        sinkfix_wait_told(scene, i + 1);
        if (i < 2)
            assert_false(scene->told[i].failed);
        record_release(&record);
        sinkfix_read_part(scene, 0, 0, (int64_t)i + 1);
    }
    assert_int_equal(scene->told[2].offset, 2);
    assert_true(scene->told[2].failed);
    assert_false(scene->told[2].retry);
}

/* Once what was refused is through, batches have several records again. */
static void
after_a_batch_is_through_there_are_batches_again(void **state)
{
    struct sinkfix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 1,
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 3);
    sinkfix_wait_failed(scene);
    scene->sink.ops->close(scene->sink.self, 0, 0);
    sinkfix_open_lane(scene, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    scene->n_told = 0;
    for (size_t i = 0; i < 3; i++) {
        sinkfix_forward(scene, 1);
        sinkfix_wait_told(scene, i + 1);
    }
    sinkfix_forward(scene, 7);
    sinkfix_wait_told(scene, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_false(scene->told[i].failed);
        assert_int_equal(scene->told[i].offset, i);
    }
}

/* The source can end only when nothing of it is held. */
static void
a_partition_that_stands_holds_nothing_of_the_source(void **state)
{
    struct sinkfix *scene = *state;
    struct source none = { 0 };

    kafkafix_fill(&scene->fix, 0, 0, 1); /* small: is copied in any case */
    kafkafix_fill_large(&scene->fix, 0, 5, SINKFIX_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_set_target(scene, false);
    (void)scene->sink.ops->poll(scene->sink.self, 1);
    sinkfix_forward(scene, 1);
    atomic_store(&scene->passed_ms, 2000);
    (void)scene->sink.ops->poll(scene->sink.self, 1);
    sinkfix_forward(scene, 5);
    scene->source.ops->free(scene->source.self);
    scene->source = none;
    sinkfix_set_target(scene, true);
    sinkfix_wait_told(scene, 6);
}

static char batch_size[16]; /* of the newest client */

static void
note_batch_size(rd_kafka_conf_t *conf)
{
    size_t size = sizeof batch_size;

    assert_int_equal(rd_kafka_conf_get(conf, "batch.size", batch_size, &size),
        RD_KAFKA_CONF_OK);
}

static int
set_up_noting(void **state)
{
    *state = sinkfix_open(note_batch_size, 1000);
    return 0;
}

static void
a_batch_that_is_too_large_halves_those_that_follow(void **state)
{
    static const struct {
        const char *label, *size;
        bool refused;
    } openings[] = {
        { "the first has the default", "1000000", true },
        { "refused once", "500000", true },
        { "refused twice", "250000", false },
        { "and it stays so", "250000", false },
    };
    struct sinkfix *scene = *state;
    int64_t at = 0;

    kafkafix_fill(&scene->fix, 0, 0, 50);
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        print_message("%s\n", openings[i].label);
        sinkfix_open_lane(scene, 0);
        assert_string_equal(batch_size, openings[i].size);
        sinkfix_attach(scene, 0, 0, 0);
        scene->n_failed = 0;
        at += 5; /* beyond those that go one at a time */
        sinkfix_read_part(scene, 0, 0, at);
        if (openings[i].refused) {
            rd_kafka_mock_push_request_errors(scene->fix.to, SINKFIX_PRODUCE, 1,
                RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
            sinkfix_forward(scene, 3);
            sinkfix_wait_failed(scene);
        }
        scene->sink.ops->close(scene->sink.self, 0, 0);
    }
}

static void
a_partition_that_the_target_lacks_waits(void **state)
{
    struct sinkfix *scene = *state;
    struct record record;
    struct err err;
    int64_t deadline_ms = kafkafix_deadline();

    kafkafix_fill(&scene->fix, 0, 0, 2);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_attach(scene, 1, 0, 99);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 1); /* after its report the topic's size is known */
    sinkfix_wait_told(scene, 1);
    sinkfix_take(scene, &record);
    record.part = 1;
    while (sinkfix_try_send(scene, &record, &err) != SINK_FULL)
        kafkafix_wait(&scene->fix, deadline_ms, "no");
    record_release(&record);
}

int
main(void)
{
#define TEST(name, up) \
    cmocka_unit_test_setup_teardown(name, up, sinkfix_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_record_above_the_limit_is_refused_with_its_size,
            sinkfix_set_up_small_messages),
        TEST(each_record_is_told_once_and_in_order, sinkfix_set_up),
        TEST(errors_that_pass_are_not_seen, sinkfix_set_up),
        TEST(a_full_queue_takes_the_record_later, sinkfix_set_up_small_queue),
        TEST(a_record_refused_alone_is_the_culprit, sinkfix_set_up),
        TEST(what_lies_behind_a_refused_record_is_not_written,
            sinkfix_set_up_slow),
        TEST(the_culprit_of_a_batch_is_found, sinkfix_set_up_slow),
        TEST(after_a_batch_is_through_there_are_batches_again,
            sinkfix_set_up_slow),
        TEST(a_partition_that_stands_holds_nothing_of_the_source,
            sinkfix_set_up),
        TEST(a_batch_that_is_too_large_halves_those_that_follow, set_up_noting),
        TEST(a_partition_that_the_target_lacks_waits, sinkfix_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
