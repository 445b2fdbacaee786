#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "kposition.h"
#include "log.h"

#include <unistd.h>

#define GROUP "kedge.plant7.telemetry"
#define OFFSET_COMMIT 8
#define FIND_COORDINATOR 10
#define HOUR_MS INT64_C(3600000)
#define MOST_LOOKS 8

struct scene {
    struct kafkafix fix;
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    struct log *log;
    int lines;       /* of position.hidden */
    char error[128]; /* of the newest */
    struct kposition *position;
};

static void
on_line(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    struct scene *scene = ctx;

    if (level > LEVEL_INFO || strcmp(event, "position.hidden") != 0)
        return;
    scene->lines++;
    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, "error") == 0)
            (void)snprintf(scene->error, sizeof scene->error, "%s",
                fields->text);
}

static int
set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    /* no consumer: that one would look for the coordinator by itself */
    scene->rk =
        kafkafix_client(RD_KAFKA_PRODUCER, scene->fix.source.bootstrap, "");
    scene->queue = rd_kafka_queue_new(scene->rk);
    scene->log = log_new(STDERR_FILENO, LEVEL_DEBUG, clock_system(), &err);
    assert_non_null(scene->log);
    log_set_sink(scene->log, on_line, scene);
    const struct kposition_options options = {
        .rk = scene->rk,
        .queue = scene->queue,
        .cluster = &scene->fix.source,
        .group_id = GROUP,
        .flow = "telemetry",
        .log = scene->log,
    };
    scene->position = kposition_new(&options, &err);
    assert_non_null(scene->position);
    rd_kafka_mock_start_request_tracking(scene->fix.from);
    *state = scene;
    return 0;
}

static int
tear_down(void **state)
{
    struct scene *scene = *state;

    kposition_free(scene->position);
    rd_kafka_queue_destroy(scene->queue);
    rd_kafka_destroy(scene->rk);
    log_free(scene->log);
    kafkafix_close(&scene->fix);
    free(scene);
    return 0;
}

/* One request at `now_ms`, answered at that time. */
static void
send_due(struct scene *scene, int64_t now_ms)
{
    rd_kafka_event_t *event;

    kposition_serve(scene->position, now_ms);
    event = rd_kafka_queue_poll(scene->queue, KAFKAFIX_WAIT_MS);
    assert_int_equal(rd_kafka_event_type(event),
        RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT);
    kposition_result(scene->position, event, now_ms);
    rd_kafka_event_destroy(event);
}

static size_t
commits(struct scene *scene)
{
    size_t n_all, n = 0;
    rd_kafka_mock_request_t **all =
        rd_kafka_mock_get_requests(scene->fix.from, &n_all);

    for (size_t i = 0; i < n_all; i++)
        n += rd_kafka_mock_request_api_key(all[i]) == OFFSET_COMMIT;
    rd_kafka_mock_request_destroy_array(all, n_all);
    return n;
}

/* As somebody else sees it; -1: there is none. */
static int64_t
shown_of(struct scene *scene, const char *topic, int32_t partition)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_t *rk = kafkafix_client(RD_KAFKA_CONSUMER,
        scene->fix.source.bootstrap, "group.id=" GROUP);
    int64_t offset;

    rd_kafka_topic_partition_list_add(list, topic, partition);
    assert_int_equal(rd_kafka_committed(rk, list, KAFKAFIX_WAIT_MS), 0);
    offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
    return offset < 0 ? -1 : offset;
}

static int64_t
shown(struct scene *scene, int32_t partition)
{
    return shown_of(scene, "in", partition);
}

static void
what_moved_is_shown_in_one_request(void **state)
{
    struct scene *scene = *state;

    for (int32_t p = 0; p < 3; p++)
        kposition_told(scene->position, 7 - p, "in", p, 10 + p);
    send_due(scene, 0);
    for (int32_t p = 0; p < 3; p++)
        assert_int_equal(shown(scene, p), 10 + p);
    assert_int_equal(shown(scene, 3), -1);
    kposition_told(scene->position, 7, "in", 0, 25);
    kposition_told(scene->position, 6, "in", 1, 11);
    kposition_serve(scene->position, 4999); /* not yet */
    kposition_told(scene->position, 7, "in", 0, 30);
    send_due(scene, 5000);
    assert_int_equal(shown(scene, 0), 30);
    assert_int_equal(commits(scene), 2);
    assert_int_equal(scene->lines, 0);
}

static void
many_partitions_are_shown_at_once_in_several_requests(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(rd_kafka_mock_topic_create(scene->fix.from, "wide", 2500,
                         1),
        0);
    for (int32_t p = 0; p < 2500; p++)
        kposition_told(scene->position, p, "wide", p, 1 + p);
    for (int k = 0; k < 3; k++)
        send_due(scene, 0);
    assert_int_equal(commits(scene), 3);
    for (int32_t p = 0; p < 2500; p += 833)
        assert_int_equal(shown_of(scene, "wide", p), 1 + p);
    kposition_told(scene->position, 7, "wide", 7, 100);
    kposition_serve(scene->position, 4999); /* not yet */
    send_due(scene, 5000);
    assert_int_equal(commits(scene), 4);
    assert_int_equal(shown_of(scene, "wide", 7), 100);
}

static void
what_did_not_move_is_shown_again_every_hour(void **state)
{
    struct scene *scene = *state;

    kposition_told(scene->position, 0, "in", 0, 10);
    kposition_told(scene->position, 1, "in", 1, 20);
    send_due(scene, 0);
    for (int64_t at_ms = 0; at_ms < HOUR_MS; at_ms += 5000) {
        kposition_told(scene->position, 0, "in", 0, 10);
        kposition_told(scene->position, 1, "in", 1, 20);
        kposition_serve(scene->position, at_ms);
    }
    assert_int_equal(commits(scene), 1);
    kposition_told(scene->position, 0, "in", 0, 10);
    send_due(scene, HOUR_MS);
    assert_int_equal(commits(scene), 2);
    /* one that another agent has by now is not told any more */
    for (int64_t at_ms = HOUR_MS; at_ms < 3 * HOUR_MS; at_ms += 5000)
        kposition_serve(scene->position, at_ms);
    assert_int_equal(commits(scene), 2);
}

static void
a_number_may_become_another_partition(void **state)
{
    struct scene *scene = *state;

    kposition_told(scene->position, 0, "in", 0, 10);
    send_due(scene, 0);
    kposition_told(scene->position, 0, "in", 1, 10);
    send_due(scene, 5000);
    assert_int_equal(shown(scene, 1), 10);
}

static const struct failure_row {
    const char *label;
    int16_t api;
    rd_kafka_resp_err_t error;
    int times;
    int64_t again_ms; /* when it is tried again after the first failure */
    int lines;        /* after all of them */
} failure_rows[] = {
    { "the group is not ours to find", FIND_COORDINATOR,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 1, HOUR_MS, 1 },
    { "the group is not ours to write", OFFSET_COMMIT,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 1, HOUR_MS, 1 },
    { "still not, and it is said once", OFFSET_COMMIT,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 4, HOUR_MS, 1 },
    { "somebody else's group of that name has members", OFFSET_COMMIT,
        RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, 1, 5000, 0 },
    { "for longer", OFFSET_COMMIT, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, 5, 5000,
        1 },
};

static void
what_fails_is_said_once_and_tried_again(void **state)
{
    struct scene *scene = *state;

    for (size_t i = 0; i < sizeof failure_rows / sizeof failure_rows[0]; i++) {
        const struct failure_row *row = &failure_rows[i];
        int64_t now_ms = 0;

        if (i > 0) {
            assert_int_equal(tear_down(state), 0);
            assert_int_equal(set_up(state), 0);
            scene = *state;
        }
        print_message("%s\n", row->label);
        /* the library may look for a coordinator more than once at a time */
        for (int k = 0; k < row->times + MOST_LOOKS; k++)
            rd_kafka_mock_push_request_errors(scene->fix.from, row->api, 1,
                row->error);
        for (int k = 0; k < row->times; k++, now_ms += HOUR_MS) {
            kposition_told(scene->position, 0, "in", 0, 10 + k);
            send_due(scene, now_ms);
        }
        rd_kafka_mock_clear_request_errors(scene->fix.from, row->api);
        assert_int_equal(scene->lines, row->lines);
        if (row->times == 1) {
            kposition_told(scene->position, 0, "in", 0, 50);
            kposition_serve(scene->position, row->again_ms - 1);
            assert_int_equal(shown(scene, 0), -1);
            now_ms = row->again_ms;
        }
        kposition_told(scene->position, 0, "in", 0, 60);
        send_due(scene, now_ms);
        assert_int_equal(shown(scene, 0), 60);
        assert_int_equal(scene->lines, row->lines);
    }
}

static void
a_partition_that_is_refused_holds_up_no_other(void **state)
{
    struct scene *scene = *state;

    kposition_told(scene->position, 0, "in", 0, 10);
    kposition_told(scene->position, 1, "gone", 0, 20);
    send_due(scene, 0);
    assert_int_equal(shown(scene, 0), 10);
    for (int64_t at_ms = 5000; at_ms < 600000; at_ms += 5000) {
        kposition_told(scene->position, 1, "gone", 0, 20 + at_ms);
        kposition_serve(scene->position, at_ms);
    }
    assert_int_equal(commits(scene), 1);
    kposition_told(scene->position, 0, "in", 0, 11);
    send_due(scene, 600000);
    assert_int_equal(shown(scene, 0), 11);
    assert_int_equal(scene->lines, 0);
}

/* Also when no other goes with it. */
static void
a_partition_that_is_refused_alone_holds_up_no_other(void **state)
{
    struct scene *scene = *state;

    kposition_told(scene->position, 0, "in", 0, 10);
    kposition_told(scene->position, 1, "gone", 0, 20);
    send_due(scene, 0);
    kposition_told(scene->position, 1, "gone", 0, 20);
    send_due(scene, 600000);
    kposition_told(scene->position, 0, "in", 0, 11);
    send_due(scene, 605000);
    assert_int_equal(shown(scene, 0), 11);
    kposition_told(scene->position, 1, "gone", 0, 20);
    send_due(scene, 1200000);
    kposition_told(scene->position, 0, "in", 0, 12);
    kposition_last(scene->position, clock_system());
    assert_int_equal(shown(scene, 0), 12);
    assert_int_equal(scene->lines, 0);
}

static void
the_last_position_is_shown_at_the_end(void **state)
{
    struct scene *scene = *state;

    kposition_told(scene->position, 0, "in", 0, 10);
    kposition_serve(scene->position, clock_mono_ms(clock_system()));
    kposition_told(scene->position, 0, "in", 0, 11); /* while under way */
    kposition_told(scene->position, 1, "in", 1, 12);
    kposition_last(scene->position, clock_system());
    assert_int_equal(shown(scene, 0), 11);
    assert_int_equal(shown(scene, 1), 12);
    kposition_last(scene->position, clock_system()); /* nothing moved */
    assert_int_equal(commits(scene), 2);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_moved_is_shown_in_one_request),
        TEST(many_partitions_are_shown_at_once_in_several_requests),
        TEST(what_did_not_move_is_shown_again_every_hour),
        TEST(a_number_may_become_another_partition),
        TEST(what_fails_is_said_once_and_tried_again),
        TEST(a_partition_that_is_refused_holds_up_no_other),
        TEST(a_partition_that_is_refused_alone_holds_up_no_other),
        TEST(the_last_position_is_shown_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
