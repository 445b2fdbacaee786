#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "kworker.h"
#include "wake.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_MS 10000 /* an upper bound, never slept through when it works */

/* What one test shares with its jobs, some of which outlive their worker. */
struct scene {
    atomic_int_fast64_t now_ms;
    struct clock clock;
    struct kwatch *watch;
    struct wake wake;
    sem_t running, go, ended; /* of jobs that wait to be let go */
    sem_t freed;              /* once for each job */
    atomic_int ran[64], n_ran, n_freed, n_ended, n_tired;
    atomic_bool ends_late; /* what is held ends when it is let go */
};

struct step {
    struct kjob job;
    struct scene *scene;
    int number;
    bool waits;
    bool saw_cancel;
};

static int64_t
scene_now(void *ctx)
{
    struct scene *scene = ctx;

    return atomic_load(&scene->now_ms);
}

static void
scene_tired(void *ctx)
{
    struct scene *scene = ctx;

    atomic_fetch_add(&scene->n_tired, 1);
}

static struct scene *
scene_new(void)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    scene->clock = (struct clock){ scene_now, scene_now, scene };
    scene->watch = kworker_watch_new(scene_tired, scene, &err);
    assert_non_null(scene->watch);
    assert_true(wake_open(&scene->wake, &err));
    assert_int_equal(sem_init(&scene->running, 0, 0), 0);
    assert_int_equal(sem_init(&scene->go, 0, 0), 0);
    assert_int_equal(sem_init(&scene->ended, 0, 0), 0);
    assert_int_equal(sem_init(&scene->freed, 0, 0), 0);
    return scene;
}

static void
scene_free(struct scene *scene)
{
    kworker_watch_drop(scene->watch);
    wake_close(&scene->wake);
    (void)sem_destroy(&scene->running);
    (void)sem_destroy(&scene->go);
    (void)sem_destroy(&scene->ended);
    (void)sem_destroy(&scene->freed);
    free(scene);
}

static void
scene_end(void *held)
{
    struct scene *scene = held;

    while (atomic_load(&scene->ends_late) && sem_wait(&scene->go) != 0)
        continue;
    atomic_fetch_add(&scene->n_ended, 1);
    (void)sem_post(&scene->ended);
}

static void
step_run(struct kjob *job, void *held)
{
    struct step *step = (struct step *)job;
    struct scene *scene = held;

    if (step->waits) {
        (void)sem_post(&scene->running);
        while (sem_wait(&scene->go) != 0)
            continue;
    }
    step->saw_cancel = kworker_cancelled(job);
    atomic_store(&scene->ran[atomic_fetch_add(&scene->n_ran, 1)], step->number);
}

static void
step_free(struct kjob *job)
{
    struct step *step = (struct step *)job;

    struct scene *scene = step->scene;

    free(step);
    atomic_fetch_add(&scene->n_freed, 1);
    (void)sem_post(&scene->freed);
}

static struct kworker *
start(struct scene *scene)
{
    const struct kworker_options options = {
        .name = "a name that is longer than a thread's may be",
        .held = scene,
        .end = scene_end,
        .end_timeout_ms = 1000,
        .wake = &scene->wake,
        .clock = &scene->clock,
        .watch = scene->watch,
    };
    struct err err;
    struct kworker *worker = kworker_start(&options, &err);

    assert_non_null(worker);
    return worker;
}

static bool
push(struct kworker *worker, struct scene *scene, int number, bool waits)
{
    struct step *step = calloc(1, sizeof *step);
    struct kjob *job = &step->job;
    bool taken = false;

    assert_non_null(step);
    *step = (struct step){
        .job = { .run = step_run, .free = step_free, .timeout_ms = 1000 },
        .scene = scene,
        .number = number,
        .waits = waits
    };
    taken = kworker_push(worker, &job);
    assert_true(taken == (job == NULL));
    if (!taken)
        free(step);
    return taken;
}

/* Sleeps on the wake until a job is back; fails after WAIT_MS.  Gives its
 * number, negative when it saw itself cancelled. */
static int
take(struct kworker *worker, struct scene *scene)
{
    struct kjob *job = NULL;
    struct step *step = NULL;
    int number = 0;

    while ((job = kworker_take(worker)) == NULL) {
        struct pollfd fd = { scene->wake.fd, POLLIN, 0 };

        assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
        wake_wait(&scene->wake, 0);
    }
    step = (struct step *)job;
    number = step->saw_cancel ? -step->number : step->number;
    job->free(job);
    return number;
}

static void
jobs_run_and_come_back_in_order(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_true(push(worker, scene, i, false));
    for (int i = 0; i < 10; i++)
        assert_int_equal(take(worker, scene), i);
    for (int i = 0; i < 10; i++)
        assert_int_equal(atomic_load(&scene->ran[i]), i);
    assert_null(kworker_take(worker));
    assert_false(kworker_overdue(worker));
    assert_true(kworker_stop(worker));
    assert_int_equal(atomic_load(&scene->n_freed), 10);
    assert_int_equal(atomic_load(&scene->n_ended), 1);
    scene_free(scene);
}

static void
more_than_it_may_hold_are_not_taken(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);

    (void)state;
    assert_true(push(worker, scene, 0, true));
    for (int i = 1; i < KWORKER_JOBS; i++)
        assert_true(push(worker, scene, i, false));
    assert_false(push(worker, scene, 99, false));
    (void)sem_post(&scene->go);
    assert_int_equal(take(worker, scene), 0);
    assert_true(push(worker, scene, KWORKER_JOBS, false));
    for (int i = 1; i <= KWORKER_JOBS; i++)
        assert_int_equal(take(worker, scene), i);
    assert_true(kworker_stop(worker));
    scene_free(scene);
}

static void
a_stop_frees_what_was_not_taken(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);

    (void)state;
    assert_true(push(worker, scene, 1, true));
    assert_true(push(worker, scene, 2, true));
    assert_true(push(worker, scene, 3, true));
    assert_int_equal(sem_wait(&scene->running), 0);
    /* The first is let go by one post; were the second to run it would wait
     * for another, and the stop for it. */
    (void)sem_post(&scene->go);
    atomic_store(&scene->now_ms, 0);
    assert_int_equal(take(worker, scene), 1);
    (void)sem_post(&scene->go);
    (void)sem_post(&scene->go);
    assert_true(kworker_stop(worker));
    assert_int_equal(atomic_load(&scene->n_freed), 3);
    assert_int_equal(atomic_load(&scene->n_ended), 1);
    assert_int_equal(atomic_load(&scene->n_tired), 0);
    scene_free(scene);
}

static void
what_was_pushed_before_a_cancel_sees_it(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);

    (void)state;
    assert_true(push(worker, scene, 1, true));
    assert_true(push(worker, scene, 2, false));
    assert_int_equal(sem_wait(&scene->running), 0);
    kworker_cancel(worker);
    assert_true(push(worker, scene, 3, false));
    (void)sem_post(&scene->go);
    assert_int_equal(take(worker, scene), -1);
    assert_int_equal(take(worker, scene), -2);
    assert_int_equal(take(worker, scene), 3);
    assert_true(kworker_stop(worker));
    scene_free(scene);
}

static void
progress_run(struct kjob *job, void *held)
{
    step_run(job, held);
    kworker_progress(job);
    step_run(job, held);
}

static void
a_job_that_gets_on_has_its_time_anew(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);
    struct step *step = calloc(1, sizeof *step);
    struct kjob *job = &step->job;

    (void)state;
    assert_non_null(step);
    *step = (struct step){
        .job = { .run = progress_run, .free = step_free, .timeout_ms = 1000 },
        .scene = scene,
        .waits = true
    };
    assert_true(kworker_push(worker, &job));
    assert_int_equal(sem_wait(&scene->running), 0);
    atomic_store(&scene->now_ms, 1001 + KWORKER_GRACE_MS);
    assert_true(kworker_overdue(worker));
    (void)sem_post(&scene->go);
    assert_int_equal(sem_wait(&scene->running), 0);
    assert_false(kworker_overdue(worker));
    atomic_store(&scene->now_ms, INT64_C(2) * (1001 + KWORKER_GRACE_MS));
    assert_true(kworker_overdue(worker));
    (void)sem_post(&scene->go);
    (void)take(worker, scene);
    assert_true(kworker_stop(worker));
    scene_free(scene);
}

static const struct {
    const char *label;
    int64_t at_ms; /* the job starts at 0 and may take 1000 */
    bool want;
} overdue_cases[] = {
    { "at its start it is not", 0, false },
    { "at its own time-out it is not", 1000, false },
    { "at the end of the grace it is not", 1000 + KWORKER_GRACE_MS, false },
    { "after the grace it is", 1001 + KWORKER_GRACE_MS, true },
};

static void
a_job_is_overdue_after_its_time_and_the_grace(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);

    (void)state;
    assert_false(kworker_overdue(worker));
    assert_true(push(worker, scene, 1, true));
    assert_int_equal(sem_wait(&scene->running), 0);
    for (size_t i = 0; i < sizeof overdue_cases / sizeof overdue_cases[0];
         i++) {
        atomic_store(&scene->now_ms, overdue_cases[i].at_ms);
        if (kworker_overdue(worker) != overdue_cases[i].want)
            fail_msg("%s", overdue_cases[i].label);
    }
    (void)sem_post(&scene->go);
    assert_int_equal(take(worker, scene), 1);
    assert_false(kworker_overdue(worker));
    assert_true(kworker_stop(worker));
    scene_free(scene);
}

/* Starts a worker whose job hangs, and gives it up at `at_ms`. */
static void
abandon_one(struct scene *scene, int64_t at_ms)
{
    struct kworker *worker = start(scene);

    assert_true(push(worker, scene, 1, true));
    assert_true(push(worker, scene, 2, false));
    assert_int_equal(sem_wait(&scene->running), 0);
    atomic_store(&scene->now_ms, at_ms);
    assert_true(kworker_overdue(worker));
    assert_false(kworker_stop(worker));
}

static void
a_late_result_is_dropped_and_the_worker_tidies_up(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    abandon_one(scene, 100000);
    assert_int_equal(atomic_load(&scene->n_freed), 0);
    assert_int_equal(atomic_load(&scene->n_ended), 0);
    wake_wait(&scene->wake, 0);
    (void)sem_post(&scene->go);
    assert_int_equal(sem_wait(&scene->ended), 0);
    assert_int_equal(atomic_load(&scene->n_ran), 1);
    assert_int_equal(atomic_load(&scene->n_freed), 2);
    assert_int_equal(poll(&(struct pollfd){ scene->wake.fd, POLLIN, 0 }, 1, 0),
        0);
    scene_free(scene);
}

/* It does so between the look and the stop, and its client takes long to end. */
static void
a_worker_that_was_overdue_is_not_waited_for(void **state)
{
    struct scene *scene = scene_new();
    struct kworker *worker = start(scene);

    (void)state;
    assert_true(push(worker, scene, 1, true));
    assert_int_equal(sem_wait(&scene->running), 0);
    atomic_store(&scene->now_ms, 1001 + KWORKER_GRACE_MS);
    assert_true(kworker_overdue(worker));
    atomic_store(&scene->ends_late, true);
    (void)sem_post(&scene->go);
    assert_int_equal(poll(&(struct pollfd){ scene->wake.fd, POLLIN, 0 }, 1,
                         WAIT_MS),
        1);
    assert_false(kworker_overdue(worker));
    assert_false(kworker_stop(worker));
    (void)sem_post(&scene->go);
    assert_int_equal(sem_wait(&scene->ended), 0);
    assert_int_equal(sem_wait(&scene->freed), 0); /* the last that it does */
    scene_free(scene);
}

#define MIN_MS INT64_C(60000)

static const struct {
    const char *label;
    int64_t at_ms[5]; /* when one is abandoned; 0 ends */
    int want_tired;
} tired_cases[] = {
    { "two are borne", { 1 * MIN_MS, 2 * MIN_MS }, 0 },
    { "the third within an hour is too much",
        { 1 * MIN_MS, 2 * MIN_MS, 61 * MIN_MS }, 1 },
    { "three in more than an hour are borne",
        { 1 * MIN_MS, 2 * MIN_MS, 61 * MIN_MS + 1 }, 0 },
    { "the hour moves on: the fourth with the two before it",
        { 1 * MIN_MS, 60 * MIN_MS, 90 * MIN_MS, 119 * MIN_MS }, 1 },
    { "each one after that says it again",
        { 1 * MIN_MS, 2 * MIN_MS, 3 * MIN_MS, 4 * MIN_MS }, 2 },
};

static void
the_third_within_an_hour_ends_the_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tired_cases / sizeof tired_cases[0]; i++) {
        struct scene *scene = scene_new();
        int n = 0;

        assert_false(kworker_watch_leaked(scene->watch));
        for (; n < 5 && tired_cases[i].at_ms[n] != 0; n++)
            abandon_one(scene, tired_cases[i].at_ms[n]);
        assert_true(kworker_watch_leaked(scene->watch));
        if (atomic_load(&scene->n_tired) != tired_cases[i].want_tired)
            fail_msg("%s", tired_cases[i].label);
        for (int j = 0; j < n; j++)
            (void)sem_post(&scene->go);
        for (int j = 0; j < n; j++)
            assert_int_equal(sem_wait(&scene->ended), 0);
        scene_free(scene);
    }
}

static void
nothing_to_stop_is_fine(void **state)
{
    struct err err;
    struct kwatch *watch = kworker_watch_new(NULL, NULL, &err);

    (void)state;
    assert_non_null(watch);
    assert_true(kworker_stop(NULL));
    kworker_watch_drop(NULL);
    kworker_watch_drop(kworker_watch_hold(watch));
    kworker_watch_drop(watch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_and_come_back_in_order),
        cmocka_unit_test(more_than_it_may_hold_are_not_taken),
        cmocka_unit_test(a_stop_frees_what_was_not_taken),
        cmocka_unit_test(what_was_pushed_before_a_cancel_sees_it),
        cmocka_unit_test(a_job_that_gets_on_has_its_time_anew),
        cmocka_unit_test(a_job_is_overdue_after_its_time_and_the_grace),
        cmocka_unit_test(a_late_result_is_dropped_and_the_worker_tidies_up),
        cmocka_unit_test(a_worker_that_was_overdue_is_not_waited_for),
        cmocka_unit_test(the_third_within_an_hour_ends_the_process),
        cmocka_unit_test(nothing_to_stop_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
