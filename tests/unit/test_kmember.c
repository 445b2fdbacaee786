#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "kmember.h"
#include "kworker.h"
#include "ledger.h"

#include <stdatomic.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#define LANES KAFKAFIX_PARTITIONS
#define API_OFFSET_COMMIT 8
#define API_JOIN_GROUP 11

struct scene {
    struct kafkafix fix;
    struct group group;
    struct kwatch *watch;
    bool has[LANES];
    int failed, answers;
    struct group_event answer;
    int in;        /* GROUP_IN, so many times */
    int up, down;  /* GROUP_UP, GROUP_DOWN */
    char why[256]; /* of the last GROUP_FAILED */
    struct clock clock;
    atomic_int_fast64_t ahead_ms; /* of this machine's clock */
};

static int clients_refused; /* so many that follow cannot be made */

static int64_t
scene_now(void *ctx)
{
    struct scene *scene = ctx;

    return clock_mono_ms(clock_system()) + atomic_load(&scene->ahead_ms);
}

/* Who is thrown out waits until the group has forgotten who it was. */
static void
short_configure(rd_kafka_conf_t *conf)
{
    char errstr[128];

    if (clients_refused > 0 && clients_refused-- > 0)
        (void)rd_kafka_conf_set(conf, "max.poll.interval.ms", "1", errstr,
            sizeof errstr);
    (void)rd_kafka_conf_set(conf, "session.timeout.ms", "6000", errstr,
        sizeof errstr);
    (void)rd_kafka_conf_set(conf, "heartbeat.interval.ms", "300", errstr,
        sizeof errstr);
}

static void
open_group(struct scene *scene, const char *topic)
{
    struct err err;
    const struct kmember_options options = {
        .target = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .topic = topic,
        .group_id = "kedge.plant7.telemetry",
        .wake = &scene->fix.wake,
        .watch = scene->watch,
        .silent_ms = 1500,
        .clock = &scene->clock,
        .configure = short_configure,
    };
    if (!kmember_open(&scene->group, &options, &err))
        fail_msg("%s", err.text);
}

static int
set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    scene->clock = (struct clock){ scene_now, scene_now, scene };
    scene->watch = kworker_watch_new(NULL, NULL, &err);
    assert_non_null(scene->watch);
    open_group(scene, "out");
    *state = scene;
    return 0;
}

static int
tear_down(void **state)
{
    struct scene *scene = *state;

    scene->group.ops->free(scene->group.self);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
    free(scene);
    return 0;
}

static void
hear(struct scene *scene, const struct group_event *event)
{
    switch (event->kind) {
    case GROUP_IN:
        scene->in++;
        assert_int_equal(event->lane, -1);
        break;
    case GROUP_ASSIGNED:
        assert_true(scene->in > 0); /* told before any lane */
        scene->has[event->lane] = true;
        break;
    case GROUP_REVOKED:
        scene->has[event->lane] = false;
        scene->group.ops->release(scene->group.self, event->lane);
        break;
    case GROUP_LOST:
        scene->has[event->lane] = false;
        break;
    case GROUP_PROVED:
    case GROUP_REFUSED:
    case GROUP_UNSURE:
        scene->answers++;
        scene->answer = *event;
        break;
    case GROUP_UP:
        scene->up++;
        assert_int_equal(event->lane, -1);
        break;
    case GROUP_DOWN:
        scene->down++;
        assert_true(event->err.kind == ERR_NET && event->err.retry);
        break;
    case GROUP_FAILED:
        scene->failed++;
        assert_int_equal(event->lane, -1);
        (void)snprintf(scene->why, sizeof scene->why, "%s", event->err.text);
        break;
    }
}

static void
look(struct scene *scene)
{
    struct group_event event;

    while (scene->group.ops->event(scene->group.self, &event))
        hear(scene, &event);
}

static void
join(struct scene *scene)
{
    struct err err;

    if (!scene->group.ops->join(scene->group.self, &err))
        fail_msg("%s", err.text);
}

static void
wait_for_all(struct scene *scene)
{
    int64_t deadline_ms = kafkafix_deadline();

    for (int lane = 0; lane < LANES;) {
        look(scene);
        if (scene->has[lane])
            lane++;
        else
            kafkafix_wait(&scene->fix, deadline_ms, "all lanes");
    }
}

/* A broker that is gone, and one that keeps its connections and says nothing:
 * silent until it answers again. */
static void
a_target_that_says_nothing_is_down(void **state)
{
    static const bool freezes[] = { false, true };
    struct scene *scene = *state;
    int64_t deadline_ms;

    join(scene);
    wait_for_all(scene);
    assert_int_equal(scene->up, 1);
    for (size_t i = 0; i < sizeof freezes / sizeof freezes[0]; i++) {
        int up = scene->up, down = scene->down;

        for (int32_t broker = 1; broker <= 2; broker++)
            assert_int_equal(freezes[i]
                                 ? rd_kafka_mock_broker_set_rtt(scene->fix.to,
                                       broker, 4000)
                                 : rd_kafka_mock_broker_set_down(scene->fix.to,
                                       broker),
                0);
        deadline_ms = kafkafix_deadline();
        for (look(scene); scene->down == down; look(scene))
            kafkafix_wait(&scene->fix, deadline_ms, "silence");
        assert_int_equal(scene->up, up);
        for (int32_t broker = 1; broker <= 2; broker++)
            assert_int_equal(freezes[i]
                                 ? rd_kafka_mock_broker_set_rtt(scene->fix.to,
                                       broker, 0)
                                 : rd_kafka_mock_broker_set_up(scene->fix.to,
                                       broker),
                0);
        for (look(scene); scene->up == up; look(scene))
            kafkafix_wait(&scene->fix, deadline_ms, "an answer");
    }
}

static enum group_event_kind
prove(struct scene *scene, int32_t lane, int64_t hint)
{
    int64_t deadline_ms = kafkafix_deadline();
    int answers = scene->answers;

    scene->group.ops->prove(scene->group.self, lane, hint);
    for (look(scene); scene->answers == answers; look(scene))
        kafkafix_wait(&scene->fix, deadline_ms, "an answer");
    assert_int_equal(scene->answers, answers + 1);
    assert_int_equal(scene->answer.lane, lane);
    return scene->answer.kind;
}

static void
the_only_member_gets_and_proves_all(void **state)
{
    struct scene *scene = *state;

    join(scene);
    join(scene); /* joined already */
    wait_for_all(scene);
    assert_int_equal(prove(scene, 2, GROUP_NO_HINT), GROUP_PROVED);
    assert_int_equal(scene->answer.hint, GROUP_NO_HINT);
    assert_int_equal(prove(scene, 2, 77), GROUP_PROVED);
    assert_int_equal(prove(scene, 2, GROUP_NO_HINT), GROUP_PROVED);
    assert_int_equal(scene->answer.hint, 77);
    assert_int_equal(prove(scene, 3, GROUP_NO_HINT), GROUP_PROVED);
    assert_int_equal(scene->answer.hint, GROUP_NO_HINT);
    assert_int_equal(scene->failed, 0);
}

static void
every_proof_is_answered_once_also_many_at_a_time(void **state)
{
    struct scene *scene = *state;
    int64_t deadline_ms = kafkafix_deadline();
    int wanted = 3 * KWORKER_JOBS;

    join(scene);
    wait_for_all(scene);
    for (int i = 0; i < wanted; i++)
        scene->group.ops->prove(scene->group.self, i % LANES, i);
    for (look(scene); scene->answers < wanted; look(scene))
        kafkafix_wait(&scene->fix, deadline_ms, "answers");
    assert_int_equal(scene->answers, wanted);
    assert_int_equal(prove(scene, 1, GROUP_NO_HINT), GROUP_PROVED);
    assert_int_equal(scene->answer.hint, wanted - LANES + 1);
}

static void
who_never_joined_proves_nothing(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(prove(scene, 0, 1), GROUP_REFUSED);
    scene->group.ops->release(scene->group.self, 0);
    scene->group.ops->leave(scene->group.self);
}

static void
a_lane_that_was_not_given_is_refused(void **state)
{
    struct scene *scene = *state;

    join(scene);
    wait_for_all(scene);
    assert_int_equal(prove(scene, LANES + 3, 1), GROUP_REFUSED);
}

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    enum group_event_kind want;
} faults[] = {
    { "a broker that is past our generation refuses",
        RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, GROUP_REFUSED },
    { "a broker that knows us no more refuses",
        RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, GROUP_REFUSED },
    { "a broker in the middle of a rebalance does not know",
        RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, GROUP_UNSURE },
    { "a broker that may not say does not",
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, GROUP_UNSURE },
};

static void
what_a_broker_says_to_a_proof_is_its_answer(void **state)
{
    struct scene *scene = *state;

    join(scene);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        wait_for_all(scene); /* refused ones join anew by themselves */
        rd_kafka_mock_push_request_errors(scene->fix.to, API_OFFSET_COMMIT, 1,
            faults[i].code);
        if (prove(scene, 1, 5) != faults[i].want)
            fail_msg("%s: %d", faults[i].label, (int)scene->answer.kind);
        if (scene->answer.err.kind == ERR_NONE)
            fail_msg("%s: no reason given", faults[i].label);
    }
}

static void
after_leaving_nothing_is_ours_and_one_can_come_back(void **state)
{
    struct scene *scene = *state;

    join(scene);
    wait_for_all(scene);
    assert_int_equal(prove(scene, 0, 9), GROUP_PROVED);
    scene->group.ops->prove(scene->group.self, 1, 1); /* is owed its answer */
    scene->answers = 0;
    scene->group.ops->leave(scene->group.self);
    memset(scene->has, 0, sizeof scene->has);
    for (int64_t deadline_ms = kafkafix_deadline(); scene->answers == 0;
         look(scene))
        kafkafix_wait(&scene->fix, deadline_ms, "the answer owed");
    assert_int_equal(scene->answer.kind, GROUP_REFUSED);
    assert_int_equal(prove(scene, 0, 1), GROUP_REFUSED);
    join(scene);
    wait_for_all(scene);
    assert_int_equal(prove(scene, 0, GROUP_NO_HINT), GROUP_PROVED);
    assert_int_equal(scene->answer.hint, 9);
}

static void
who_may_not_join_is_told_once(void **state)
{
    struct scene *scene = *state;
    int64_t deadline_ms = kafkafix_deadline();

    rd_kafka_mock_push_request_errors(scene->fix.to, API_JOIN_GROUP, 3,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
    join(scene);
    for (look(scene); scene->failed == 0; look(scene))
        kafkafix_wait(&scene->fix, deadline_ms, "a failure");
    assert_true(scene->why[0] != '\0');
    wait_for_all(scene); /* it goes on trying */
    assert_int_equal(scene->failed, 1);
}

/* What this thread makes meanwhile may stay where it is for good. */
static void
may_be_left(bool begins)
{
#ifdef __SANITIZE_ADDRESS__
    if (begins)
        __lsan_disable();
    else
        __lsan_enable();
#else
    (void)begins;
#endif
}

static int
set_up_to_be_left(void **state)
{
    int failed;

    may_be_left(true);
    failed = set_up(state);
    may_be_left(false);
    return failed;
}

/* A proof that does not come back takes its client with it, and those that are
 * to follow cannot be made at first. */
static void
whose_client_cannot_be_made_anew_tries_again(void **state)
{
    struct scene *scene = *state;
    int64_t deadline_ms = kafkafix_deadline();

    may_be_left(true);
    join(scene);
    may_be_left(false);
    wait_for_all(scene);
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_push_request_error_rtts(scene->fix
                                                                          .to,
                             broker, API_OFFSET_COMMIT, 1,
                             RD_KAFKA_RESP_ERR_NO_ERROR, 600000),
            0);
    clients_refused = 2;
    scene->in = 0;
    scene->group.ops->prove(scene->group.self, 1, 1);
    for (look(scene); scene->in == 0; look(scene)) {
        kafkafix_wait(&scene->fix, deadline_ms, "the group");
        atomic_fetch_add(&scene->ahead_ms, 20000);
    }
    assert_int_equal(scene->answer.kind, GROUP_UNSURE);
    assert_int_equal(scene->failed, 2);
    assert_true(kworker_watch_leaked(scene->watch));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_only_member_gets_and_proves_all),
        TEST(every_proof_is_answered_once_also_many_at_a_time),
        TEST(who_never_joined_proves_nothing),
        TEST(a_lane_that_was_not_given_is_refused),
        TEST(what_a_broker_says_to_a_proof_is_its_answer),
        TEST(after_leaving_nothing_is_ours_and_one_can_come_back),
        TEST(a_target_that_says_nothing_is_down),
        TEST(who_may_not_join_is_told_once),
        cmocka_unit_test_setup_teardown(
            whose_client_cannot_be_made_anew_tries_again, set_up_to_be_left,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
