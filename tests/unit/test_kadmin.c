#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kadmin.h"
#include "kafkafix.h"
#include "kworker.h"

#include <semaphore.h>
#include <stdatomic.h>

#define STEP_MS 600000 /* no call of a test is over by it */
#define SOON_MS 500
#define API_LIST_OFFSETS 2

struct scene {
    struct kafkafix fix;
    atomic_int_fast64_t now_ms; /* of the worker, whose time the test makes */
    struct clock clock;
    struct kwatch *watch;
    struct kworker *worker;
    struct kadmin *admin;
};

typedef bool call_fn(struct kadmin *admin, const struct kjob *job,
    struct err *err);

/* Calls one after the other, between which the test has a say. */
struct calls {
    struct kjob job;
    call_fn *const *list;
    size_t n;
    sem_t *done, *go;
    bool ok;
    struct err err;
};

static int64_t
scene_now(void *ctx)
{
    struct scene *scene = ctx;

    return atomic_load(&scene->now_ms);
}

static int
set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct kadmin_options admin = { .agent = "a1",
        .flow = "telemetry",
        .step_ms = STEP_MS };
    struct kworker_options options = { .name = "test" };
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    scene->clock = (struct clock){ scene_now, scene_now, scene };
    scene->watch = kworker_watch_new(NULL, NULL, &err);
    assert_non_null(scene->watch);
    admin.cluster = &scene->fix.target;
    scene->admin = kadmin_open(&admin, &err);
    assert_non_null(scene->admin);
    options.held = scene->admin;
    options.clock = &scene->clock;
    options.watch = scene->watch;
    scene->worker = kworker_start(&options, &err);
    assert_non_null(scene->worker);
    *state = scene;
    return 0;
}

static int
tear_down(void **state)
{
    struct scene *scene = *state;

    assert_true(kworker_stop(scene->worker));
    kadmin_close(scene->admin);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
    free(scene);
    return 0;
}

static bool
call_id(struct kadmin *admin, const struct kjob *job, struct err *err)
{
    char id[LEDGER_ID_MAX];

    return kadmin_cluster_id(admin, job, id, err);
}

static bool
call_list(struct kadmin *admin, const struct kjob *job, struct err *err)
{
    struct kadmin_topic *topics = NULL;
    size_t n = 0;
    bool ok = kadmin_list(admin, job, &topics, &n, err);

    free(topics);
    return ok;
}

static bool
call_request(struct kadmin *admin, const struct kjob *job, struct err *err)
{
    rd_kafka_AdminOptions_t *options =
        kadmin_request(admin, job, RD_KAFKA_ADMIN_OP_LISTOFFSETS, err);

    if (options != NULL)
        rd_kafka_AdminOptions_destroy(options);
    return options != NULL;
}

static bool
call_highs(struct kadmin *admin, const struct kjob *job, struct err *err)
{
    struct catalog_partition end = { .topic = "out" };

    kadmin_highs(admin, job, &end, 1, err);
    return end.high != CATALOG_UNKNOWN;
}

static bool
call_highs_soon(struct kadmin *admin, const struct kjob *job, struct err *err)
{
    bool ok;

    kadmin_until(admin, clock_mono_ms(clock_system()) + SOON_MS);
    ok = call_highs(admin, job, err);
    kadmin_until(admin, KADMIN_STEPS);
    return ok;
}

static void
run(struct kjob *job, void *held)
{
    struct calls *calls = (struct calls *)job;

    calls->ok = true;
    for (size_t i = 0; i < calls->n; i++) {
        calls->ok = calls->list[i](held, job, &calls->err) && calls->ok;
        (void)sem_post(calls->done);
        (void)sem_wait(calls->go);
    }
}

static void
keep(struct kjob *job)
{
    (void)job;
}

static void
begin(struct scene *scene, struct calls *calls)
{
    struct kjob *job = &calls->job;

    calls->job =
        (struct kjob){ .run = run, .free = keep, .timeout_ms = STEP_MS };
    assert_int_equal(sem_init(calls->done, 0, 0), 0);
    assert_int_equal(sem_init(calls->go, 0, 0), 0);
    assert_true(kworker_push(scene->worker, &job));
}

static void
end(struct scene *scene, struct calls *calls)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (kworker_take(scene->worker) == NULL)
        kafkafix_wait(&scene->fix, deadline_ms, "the job");
    (void)sem_destroy(calls->done);
    (void)sem_destroy(calls->go);
}

/* Each takes all of a step, and together they take many. */
static void
each_request_has_a_step_of_its_own(void **state)
{
    static call_fn *const list[] = { call_id, call_list, call_id, call_request,
        call_highs, call_list, call_highs };
    sem_t done, go;
    struct calls calls = { .list = list,
        .n = sizeof list / sizeof list[0],
        .done = &done,
        .go = &go };
    struct scene *scene = *state;

    begin(scene, &calls);
    for (size_t i = 0; i < calls.n; i++) {
        assert_int_equal(sem_wait(&done), 0);
        atomic_fetch_add(&scene->now_ms, STEP_MS);
        print_message("  call %zu\n", i);
        assert_false(kworker_overdue(scene->worker));
        (void)sem_post(&go);
    }
    end(scene, &calls);
    if (!calls.ok)
        fail_msg("%s", calls.err.text);
}

static void
brokers_away(struct scene *scene)
{
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_set_down(scene->fix.to, broker),
            0);
}

static void
leaders_silent(struct scene *scene)
{
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_push_request_error_rtts(scene->fix
                                                                          .to,
                             broker, API_LIST_OFFSETS, 1,
                             RD_KAFKA_RESP_ERR_NO_ERROR, STEP_MS),
            0);
}

static const struct {
    const char *label;
    void (*trouble)(struct scene *scene);
} until_rows[] = {
    { "no broker answers any more", brokers_away },
    { "the first request is answered and the second is not", leaders_silent },
};

static void
a_question_can_be_over_before_its_requests_are(void **state)
{
    static call_fn *const list[] = { call_list, call_highs_soon };

    (void)state;
    for (size_t i = 0; i < sizeof until_rows / sizeof until_rows[0]; i++) {
        sem_t done, go;
        struct calls calls = { .list = list, .n = 2, .done = &done, .go = &go };
        struct scene *scene = NULL;

        print_message("  %s\n", until_rows[i].label);
        assert_int_equal(set_up((void **)&scene), 0);
        begin(scene, &calls);
        assert_int_equal(sem_wait(&done), 0);
        assert_true(calls.ok);
        until_rows[i].trouble(scene);
        (void)sem_post(&go);
        assert_int_equal(sem_wait(&done), 0);
        (void)sem_post(&go);
        end(scene, &calls);
        assert_false(calls.ok);
        assert_true(calls.err.retry);
        assert_int_equal(tear_down((void **)&scene), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_request_has_a_step_of_its_own,
            set_up, tear_down),
        cmocka_unit_test(a_question_can_be_over_before_its_requests_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
