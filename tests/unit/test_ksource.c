#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sourcefix.h"

#include <inttypes.h>

static void
every_record_comes_once_and_in_order(void **state)
{
    struct sourcefix *scene = *state;
    struct record records[SOURCEFIX_BATCH];
    int64_t next[3] = { 0, 0, 100 };
    size_t n_left = 300 + 300 + 200;

    for (int32_t p = 0; p < 3; p++)
        kafkafix_fill(&scene->fix, p, 0, 300);
    sourcefix_read(scene, 0, 0, 0);
    sourcefix_read(scene, 1, 1, 0);
    sourcefix_read(scene, 2, 2, 100); /* not from the beginning */
    while (n_left > 0) {
        size_t n = sourcefix_take(scene, records, 7);

        for (size_t i = 0; i < n; i++) {
            char value[16];
            int64_t *at = &next[records[i].part];

            assert_int_equal(records[i].offset, *at);
            (void)snprintf(value, sizeof value, "%" PRId64, *at);
            assert_int_equal(records[i].value_len, strlen(value));
            assert_memory_equal(records[i].value, value, strlen(value));
            assert_int_equal(records[i].timestamp_wall_ms, 1000 + *at);
            (*at)++;
        }
        sourcefix_release(records, n);
        n_left -= n;
    }
    assert_int_equal(scene->source.ops->next(scene->source.self, records,
                         SOURCEFIX_BATCH),
        0);
}

/* What a reading of another place may leave behind is more than one record in
 * the library's queue, so the place is changed while the queue is full. */
static void
another_place_gives_nothing_of_the_earlier_one(void **state)
{
    struct sourcefix *scene = *state;
    struct record records[SOURCEFIX_BATCH];
    unsigned seed = 42;

    kafkafix_fill(&scene->fix, 0, 0, 500);
    for (int round = 0; round < 150; round++) {
        int64_t offset = rand_r(&seed) % 500;
        size_t n;

        sourcefix_read(scene, 0, 0, rand_r(&seed) % 500);
        if (round % 2 == 0) /* on top of each other, or between two reads */
            sourcefix_release(records,
                sourcefix_take(scene, records, 1 + (size_t)round % 5));
        sourcefix_read(scene, 0, 0, offset);
        n = sourcefix_take(scene, records, SOURCEFIX_BATCH);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(records[i].offset, offset + (int64_t)i);
        sourcefix_release(records, n);
    }
}

static void
a_stopped_partition_gives_nothing(void **state)
{
    struct sourcefix *scene = *state;
    struct record records[SOURCEFIX_BATCH];
    size_t n_other = 0;

    kafkafix_fill(&scene->fix, 0, 0, 100);
    kafkafix_fill(&scene->fix, 1, 0, 100);
    sourcefix_read(scene, 0, 0, 0);
    sourcefix_release(records, sourcefix_take(scene, records, 10));
    scene->source.ops->stop(scene->source.self, 0);
    scene->source.ops->stop(scene->source.self, 0);  /* not reading: fine */
    scene->source.ops->stop(scene->source.self, 77); /* nor ever read */
    sourcefix_read(scene, 1, 1, 0);
    while (n_other < 100) {
        size_t n = sourcefix_take(scene, records, SOURCEFIX_BATCH);

        for (size_t i = 0; i < n; i++)
            assert_int_equal(records[i].part, 1);
        n_other += n;
        sourcefix_release(records, n);
    }
}

static void
a_number_may_stand_for_another_partition(void **state)
{
    struct sourcefix *scene = *state;
    struct record record;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    kafkafix_fill(&scene->fix, 3, 500, 10);
    sourcefix_read(scene, 0, 0, 0);
    (void)sourcefix_take(scene, &record, 1);
    assert_memory_equal(record.value, "0", 1);
    record_release(&record);
    sourcefix_read(scene, 0, 3, 2);
    (void)sourcefix_take(scene, &record, 1);
    assert_int_equal(record.offset, 2);
    assert_memory_equal(record.value, "502", 3);
    record_release(&record);
}

static void
what_cannot_be_read_is_refused_at_once(void **state)
{
    struct sourcefix *scene = *state;
    struct err err;

    assert_false(
        scene->source.ops->read(scene->source.self, 0, "in", 0, -1, -1, &err));
    assert_non_null(strstr(err.text, "in [0]"));
    assert_false(
        scene->source.ops->read(scene->source.self, 0, "in", -1, 0, -1, &err));
}

static void
a_position_that_is_gone_is_named_and_not_jumped(void **state)
{
    static const struct {
        const char *label;
        int32_t partition;
        int64_t offset;
        int large; /* the mock keeps 5 MiB of a partition */
        bool low_is_zero;
    } cases[] = {
        { "beyond the end", 0, 1000, 0, true },
        { "below the first that is left", 1, 2, 12, false },
    };
    struct sourcefix *scene = *state;
    struct record record;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source_event event;

        print_message("%s\n", cases[i].label);
        kafkafix_fill(&scene->fix, cases[i].partition, 0, 10);
        if (cases[i].large > 0)
            kafkafix_fill_large(&scene->fix, cases[i].partition, cases[i].large,
                900000);
        sourcefix_read(scene, (int32_t)i, cases[i].partition, cases[i].offset);
        event = sourcefix_expect(scene, SOURCE_OUT_OF_RANGE);
        assert_int_equal(event.part, i);
        assert_int_equal(event.offset, cases[i].offset);
        assert_int_equal(event.low == 0, cases[i].low_is_zero);
        assert_int_equal(event.high, 10 + cases[i].large);
        assert_int_equal(scene->source.ops->next(scene->source.self, &record,
                             1),
            0);
        /* a person decided: on from what is there */
        sourcefix_read(scene, (int32_t)i, cases[i].partition, event.low);
        (void)sourcefix_take(scene, &record, 1);
        assert_int_equal(record.offset, event.low);
        record_release(&record);
        scene->source.ops->stop(scene->source.self, (int32_t)i);
    }
}

/* The error does not say which reading it is of, and lies in the library's
 * queue behind records of another partition. */
static void
an_error_of_an_earlier_place_is_none_of_this_one(void **state)
{
    struct sourcefix *scene = *state;
    struct record records[SOURCEFIX_BATCH];

    kafkafix_fill(&scene->fix, 0, 0, 100);
    kafkafix_fill(&scene->fix, 1, 0, 100);
    for (int round = 0; round < 6; round++) {
        int64_t until_ms =
            clock_mono_ms(clock_system()) + 100 + INT64_C(25) * round;

        sourcefix_read(scene, 1, 1, 0);
        sourcefix_read(scene, 0, 0, 1000 + round);
        (void)scene->source.ops->next(scene->source.self, records, 0);
        while (clock_mono_ms(clock_system()) < until_ms)
            wake_wait(&scene->fix.wake, 10); /* it is queued, or under way */
        sourcefix_read(scene, 0, 0, round);
        for (int64_t next = round; next < 100;) {
            size_t n = sourcefix_take(scene, records, SOURCEFIX_BATCH);

            for (size_t i = 0; i < n; i++)
                if (records[i].part == 0)
                    assert_int_equal(records[i].offset, next++);
            sourcefix_release(records, n);
        }
    }
}

/* What was before the position is not what was read there. */
static void
a_log_that_was_written_anew_is_not_read_on(void **state)
{
    struct sourcefix *scene = *state;
    struct source_event event;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from, "in",
                         0, 2),
        0);
    kafkafix_fill(&scene->fix, 0, 10, 10); /* of the second leader */
    assert_true(
        scene->source.ops->read(scene->source.self, 0, "in", 0, 15, 0, &err));
    event = sourcefix_expect(scene, SOURCE_OUT_OF_RANGE);
    assert_int_equal(event.offset, 15);
    assert_int_equal(event.cut, 10);
    assert_int_equal(event.high, 20);
}

static void
starts_are_resolved(void **state)
{
    static const struct {
        const char *label;
        enum start start;
        rd_kafka_resp_err_t error; /* of the first answers */
        int64_t want;
    } cases[] = {
        { "the beginning", START_EARLIEST, 0, 0 },
        { "the end", START_LATEST, 0, 20 },
        { "a time after everything is the end", START_TIME, 0, 20 },
        { "a leader that has moved is asked for again", START_LATEST,
            RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, 20 },
        { "stale knowledge of a leader is refreshed", START_LATEST,
            RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, 20 },
        { "a broker that cannot answer yet is asked again", START_LATEST,
            RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE, 20 },
    };
    struct sourcefix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source_event event;

        print_message("%s\n", cases[i].label);
        if (cases[i].error != 0)
            rd_kafka_mock_push_request_errors(scene->fix.from, 2, 2,
                cases[i].error, cases[i].error); /* ListOffsets */
        sourcefix_resolve(scene, (int32_t)i, "in", 0, cases[i].start,
            1790000000000);
        event = sourcefix_expect(scene, SOURCE_RESOLVED);
        assert_int_equal(event.part, i);
        assert_int_equal(event.offset, cases[i].want);
    }
}

static void
a_question_that_was_dropped_is_not_answered(void **state)
{
    struct sourcefix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 20);
    sourcefix_resolve(scene, 0, "in", 0, START_LATEST, 0);
    scene->source.ops->stop(scene->source.self, 0);
    sourcefix_resolve(scene, 1, "in", 0, START_LATEST, 0);
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 1);
    /* asked anew while the answer to the first is under way: the second's */
    sourcefix_resolve(scene, 2, "in", 1, START_LATEST, 0);
    sourcefix_resolve(scene, 2, "in", 0, START_EARLIEST, 0);
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).offset, 0);
}

static void
a_partition_without_leader_does_not_hold_up_the_others(void **state)
{
    struct sourcefix *scene = *state;
    struct source_event event;
    unsigned resolved = 0;

    kafkafix_fill(&scene->fix, 0, 0, 5);
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from, "in",
                         2, -1),
        0);
    for (int32_t p = 0; p < 4; p++)
        sourcefix_resolve(scene, p, "in", p, START_EARLIEST, 0);
    while (resolved != 0xb) {
        event = sourcefix_expect(scene, SOURCE_RESOLVED);
        assert_int_not_equal(event.part, 2);
        resolved |= 1U << event.part;
    }
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from, "in",
                         2, 1),
        0);
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 2);
}

/* There is a leader, and it does not answer. */
static void
a_dead_leader_does_not_hold_up_the_others(void **state)
{
    struct sourcefix *scene = *state;
    struct record record;
    unsigned resolved = 0;

    for (int32_t p = 0; p < 4; p++) {
        kafkafix_fill(&scene->fix, p, 0, 5);
        assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from,
                             "in", p, p == 2 ? 2 : 1),
            0);
    }
    sourcefix_read(scene, 9, 0, 0); /* the client knows the leaders */
    (void)sourcefix_take(scene, &record, 1);
    record_release(&record);
    scene->source.ops->stop(scene->source.self, 9);
    assert_int_equal(rd_kafka_mock_broker_set_down(scene->fix.from, 2), 0);
    for (int32_t p = 0; p < 4; p++)
        sourcefix_resolve(scene, p, "in", p, START_EARLIEST, 0);
    while (resolved != 0xb) {
        struct source_event event = sourcefix_expect(scene, SOURCE_RESOLVED);

        assert_int_not_equal(event.part, 2);
        resolved |= 1U << event.part;
    }
    sourcefix_resolve(scene, 5, "in", 3, START_LATEST, 0);
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 5);
    assert_int_equal(rd_kafka_mock_broker_set_up(scene->fix.from, 2), 0);
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 2);
}

/* While the clock stands the pause before the next try is not over. */
static void
a_new_question_does_not_wait_for_one_that_failed(void **state)
{
    struct sourcefix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 5);
    kafkafix_fill(&scene->fix, 1, 0, 5);
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from, "in",
                         2, -1),
        0);
    sourcefix_stop_clock(scene);
    sourcefix_resolve(scene, 2, "in", 2, START_EARLIEST, 0);
    sourcefix_resolve(scene, 0, "in", 0, START_EARLIEST, 0);
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 0);
    sourcefix_resolve(scene, 3, "in", 1, START_EARLIEST, 0); /* 2 has failed */
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 3);
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from, "in",
                         2, 1),
        0);
    scene->clock_stands = false;
    assert_int_equal(sourcefix_expect(scene, SOURCE_RESOLVED).part, 2);
}

static void
ends_say_what_there_is_and_how_far_was_read(void **state)
{
    struct sourcefix *scene = *state;
    struct record records[SOURCEFIX_BATCH];
    struct source_event event;
    unsigned seen = 0;
    size_t n = 0;

    kafkafix_fill(&scene->fix, 0, 0, 30);
    kafkafix_fill(&scene->fix, 1, 0, 40);
    sourcefix_read(scene, 0, 0, 0);
    while (n < 30) {
        size_t got = sourcefix_take(scene, records, SOURCEFIX_BATCH);

        sourcefix_release(records, got);
        n += got;
    }
    sourcefix_read(scene, 1, 1, 15);
    scene->source.ops->ask_ends(scene->source.self);
    scene->source.ops->ask_ends(scene->source.self); /* ignored */
    while (seen != 3) {
        int64_t deadline_ms = kafkafix_deadline();

        while (!scene->source.ops->event(scene->source.self, &event))
            kafkafix_wait(&scene->fix, deadline_ms, "ends");
        assert_int_equal(event.kind, SOURCE_ENDS);
        assert_false(seen & (1U << event.part));
        seen |= 1U << event.part;
        assert_int_equal(event.low, 0);
        assert_int_equal(event.high, event.part == 0 ? 30 : 40);
        assert_int_equal(event.stable, event.high);
        assert_int_equal(event.offset, event.part == 0 ? 30 : 15);
    }
}

/* An answer that still shows the position of the reading before would make
 * the flow skip what lies between. */
static void
ends_after_a_step_back_never_show_the_old_position(void **state)
{
    struct sourcefix *scene = *state;
    struct record records[SOURCEFIX_BATCH];
    size_t n = 0;

    kafkafix_fill(&scene->fix, 0, 0, 200);
    sourcefix_read(scene, 0, 0, 0);
    while (n < 200) {
        size_t got = sourcefix_take(scene, records, SOURCEFIX_BATCH);

        sourcefix_release(records, got);
        n += got;
    }
    for (int round = 0; round < 20; round++) {
        struct source_event event = { 0 };
        int64_t deadline_ms = kafkafix_deadline();

        sourcefix_read(scene, 0, 0, 50);
        scene->source.ops->ask_ends(scene->source.self);
        while (!scene->source.ops->event(scene->source.self, &event))
            kafkafix_wait(&scene->fix, deadline_ms, "ends");
        assert_int_equal(event.kind, SOURCE_ENDS);
        assert_int_equal(event.offset, 50);
        sourcefix_release(records,
            sourcefix_take(scene, records, SOURCEFIX_BATCH));
    }
}

static void
a_person_is_asked_when_reading_is_forbidden(void **state)
{
    struct sourcefix *scene = *state;
    struct source_event event;

    kafkafix_fill(&scene->fix, 0, 0, 1);
    /* below version 7 an answer has an error for each partition only */
    assert_int_equal(rd_kafka_mock_set_apiversion(scene->fix.from,
                         1 /* Fetch */, 0, 6),
        0);
    rd_kafka_mock_push_request_errors(scene->fix.from, 1, 1,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    sourcefix_read(scene, 0, 0, 0);
    event = sourcefix_expect(scene, SOURCE_FAILED);
    assert_int_equal(event.part, 0);
    assert_int_equal(event.err.kind, ERR_DENIED);
    assert_false(event.err.retry);
    assert_non_null(strstr(event.err.text, "grant"));
}

static void
losing_all_brokers_is_told_and_so_is_their_return(void **state)
{
    struct sourcefix *scene = *state;
    struct record record;
    struct source_event event;

    kafkafix_fill(&scene->fix, 0, 0, 1);
    sourcefix_read(scene, 0, 0, 0);
    (void)sourcefix_take(scene, &record, 1);
    record_release(&record);
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_set_down(scene->fix.from, broker),
            0);
    event = sourcefix_expect(scene, SOURCE_DOWN);
    assert_int_equal(event.part, -1);
    assert_int_not_equal(event.err.kind, ERR_NONE);
    assert_true(event.err.retry);
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_set_up(scene->fix.from, broker),
            0);
    event = sourcefix_expect(scene, SOURCE_UP);
    kafkafix_fill(&scene->fix, 0, 1, 1);
    (void)sourcefix_take(scene, &record, 1); /* it goes on by itself */
    assert_int_equal(record.offset, 1);
    record_release(&record);
}

int
main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, sourcefix_set_up, sourcefix_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_record_comes_once_and_in_order),
        TEST(another_place_gives_nothing_of_the_earlier_one),
        TEST(a_stopped_partition_gives_nothing),
        TEST(a_number_may_stand_for_another_partition),
        TEST(what_cannot_be_read_is_refused_at_once),
        TEST(a_position_that_is_gone_is_named_and_not_jumped),
        TEST(an_error_of_an_earlier_place_is_none_of_this_one),
        TEST(a_log_that_was_written_anew_is_not_read_on),
        TEST(starts_are_resolved),
        TEST(a_question_that_was_dropped_is_not_answered),
        TEST(a_partition_without_leader_does_not_hold_up_the_others),
        TEST(a_dead_leader_does_not_hold_up_the_others),
        TEST(a_new_question_does_not_wait_for_one_that_failed),
        TEST(ends_say_what_there_is_and_how_far_was_read),
        TEST(ends_after_a_step_back_never_show_the_old_position),
        TEST(a_person_is_asked_when_reading_is_forbidden),
        TEST(losing_all_brokers_is_told_and_so_is_their_return),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
