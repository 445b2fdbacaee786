#include "kworker.h"

#include "clock.h"
#include "queue.h"
#include "wake.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS INT64_C(3600000)
#define LOOK_MS 50 /* how often kworker_stop() looks at what it waits for */

struct kwatch {
    /* fixed */
    kwatch_tired_fn *tired;
    void *ctx;
    /* shared */
    atomic_int holders;
    pthread_mutex_t lock; /* of the two below */
    int abandoned;
    int64_t last_ms[2]; /* of the last two, the older first */
};

/* Owned by the owner and by its thread together: whoever leaves last frees it,
 * so that a thread which was given up may still come back. */
struct kworker {
    /* fixed */
    char name[16];
    void *held;
    void (*end)(void *held);
    int64_t end_timeout_ms;
    const struct clock *clock;
    struct kwatch *watch;
    /* own to the owner */
    pthread_t thread;
    int in_hand;     /* pushed and not taken */
    uint64_t pushed; /* ever; the number of the newest job */
    bool overdue;    /* was seen to be, and no job came back since */
    /* shared */
    struct queue *orders, *results;
    atomic_int_fast64_t due_ms;     /* when what runs is overdue; 0: idle */
    atomic_uint_fast64_t cancelled; /* jobs up to this number are */
    atomic_bool stopping;
    atomic_int holders;
    pthread_mutex_t lock; /* of the two below */
    const struct wake *wake;
    bool abandoned;
};

struct kwatch *
kworker_watch_new(kwatch_tired_fn *tired, void *ctx, struct err *err)
{
    struct kwatch *watch = calloc(1, sizeof *watch);

    if (watch == NULL) {
        err_set(err, ERR_MEMORY, "watchdog");
        return NULL;
    }
    watch->tired = tired;
    watch->ctx = ctx;
    atomic_init(&watch->holders, 1);
    (void)pthread_mutex_init(&watch->lock, NULL);
    return watch;
}

struct kwatch *
kworker_watch_hold(struct kwatch *watch)
{
    atomic_fetch_add(&watch->holders, 1);
    return watch;
}

void
kworker_watch_drop(struct kwatch *watch)
{
    if (watch == NULL || atomic_fetch_sub(&watch->holders, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&watch->lock);
    free(watch);
}

bool
kworker_watch_leaked(struct kwatch *watch)
{
    bool leaked;

    (void)pthread_mutex_lock(&watch->lock);
    leaked = watch->abandoned > 0;
    (void)pthread_mutex_unlock(&watch->lock);
    return leaked;
}

static void
watch_count(struct kwatch *watch, int64_t now_ms)
{
    bool tired = false;

    (void)pthread_mutex_lock(&watch->lock);
    tired = watch->abandoned >= 2 && now_ms - watch->last_ms[0] <= HOUR_MS;
    watch->abandoned++;
    watch->last_ms[0] = watch->abandoned == 1 ? now_ms : watch->last_ms[1];
    watch->last_ms[1] = now_ms;
    (void)pthread_mutex_unlock(&watch->lock);
    if (!tired)
        return;
    if (watch->tired == NULL)
        _exit(KWORKER_ABANDONED_EXIT);
    watch->tired(watch->ctx);
}

static void
drop_job(void *item)
{
    struct kjob *job = item;

    job->free(job);
}

static void
let_go(struct kworker *worker)
{
    if (atomic_fetch_sub(&worker->holders, 1) > 1)
        return;
    if (worker->results != NULL)
        queue_free(worker->results, drop_job);
    if (worker->orders != NULL)
        queue_free(worker->orders, drop_job);
    (void)pthread_mutex_destroy(&worker->lock);
    kworker_watch_drop(worker->watch);
    free(worker);
}

static void
set_due(struct kworker *worker, int64_t timeout_ms)
{
    atomic_store(&worker->due_ms,
        clock_mono_ms(worker->clock) + timeout_ms + KWORKER_GRACE_MS);
}

/* Hands a job back, or drops it when nobody waits for it any more. */
static void
deliver(struct kworker *worker, struct kjob *job)
{
    void *item = job;

    (void)pthread_mutex_lock(&worker->lock);
    /* The owner has at most KWORKER_JOBS in hand, so there is room. */
    if (!worker->abandoned && queue_push(worker->results, &item) &&
        worker->wake != NULL)
        wake_signal(worker->wake);
    (void)pthread_mutex_unlock(&worker->lock);
    if (item != NULL)
        job->free(job);
}

static void *
worker_main(void *arg)
{
    struct kworker *worker = arg;
    struct kjob *job = NULL;

    while ((job = queue_pop(worker->orders, -1)) != NULL) {
        set_due(worker, job->timeout_ms);
        if (atomic_load(&worker->stopping)) {
            job->free(job);
            atomic_store(&worker->due_ms, 0);
            continue;
        }
        job->run(job, worker->held);
        atomic_store(&worker->due_ms, 0);
        deliver(worker, job);
    }
    if (worker->end != NULL) {
        set_due(worker, worker->end_timeout_ms);
        worker->end(worker->held);
        atomic_store(&worker->due_ms, 0);
    }
    queue_close(worker->results);
    let_go(worker);
    return NULL;
}

static struct kworker *
worker_new(const struct kworker_options *options, struct err *err)
{
    struct kworker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        err_set(err, ERR_MEMORY, "worker");
        return NULL;
    }
    strncpy(worker->name, options->name, sizeof worker->name - 1);
    worker->end_timeout_ms = options->end_timeout_ms;
    worker->clock = options->clock;
    worker->wake = options->wake;
    worker->watch = kworker_watch_hold(options->watch);
    atomic_init(&worker->due_ms, 0);
    atomic_init(&worker->cancelled, 0);
    atomic_init(&worker->stopping, false);
    atomic_init(&worker->holders, 1);
    (void)pthread_mutex_init(&worker->lock, NULL);
    if ((worker->orders = queue_new(KWORKER_JOBS, NULL, err)) == NULL ||
        (worker->results = queue_new(KWORKER_JOBS, NULL, err)) == NULL) {
        let_go(worker);
        return NULL;
    }
    return worker;
}

struct kworker *
kworker_start(const struct kworker_options *options, struct err *err)
{
    struct kworker *worker = worker_new(options, err);

    if (worker == NULL)
        return NULL;
    worker->held = options->held;
    worker->end = options->end;
    atomic_store(&worker->holders, 2);
    errno = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (errno != 0) {
        err_sys(err, ERR_IO, "thread of %s", worker->name);
        atomic_store(&worker->holders, 1);
        let_go(worker);
        return NULL;
    }
    (void)pthread_setname_np(worker->thread, worker->name);
    return worker;
}

bool
kworker_push(struct kworker *worker, struct kjob **job)
{
    void *item = *job;

    if (worker->in_hand == KWORKER_JOBS)
        return false;
    (*job)->worker = worker;
    (*job)->number = ++worker->pushed;
    if (!queue_push(worker->orders, &item))
        return false;
    worker->in_hand++;
    *job = NULL;
    return true;
}

struct kjob *
kworker_take(struct kworker *worker)
{
    struct kjob *job = queue_pop(worker->results, 0);

    if (job != NULL) {
        worker->in_hand--;
        worker->overdue = false;
    }
    return job;
}

void
kworker_cancel(struct kworker *worker)
{
    atomic_store(&worker->cancelled, worker->pushed);
}

bool
kworker_cancelled(const struct kjob *job)
{
    return job->number <= atomic_load(&job->worker->cancelled) ||
           atomic_load(&job->worker->stopping);
}

void
kworker_progress(const struct kjob *job)
{
    set_due(job->worker, job->timeout_ms);
}

bool
kworker_overdue(struct kworker *worker)
{
    int64_t due_ms = atomic_load(&worker->due_ms);

    bool overdue = due_ms != 0 && clock_mono_ms(worker->clock) > due_ms;

    worker->overdue = worker->overdue || overdue;
    return overdue;
}

static void
abandon(struct kworker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->abandoned = true;
    worker->wake = NULL;
    (void)pthread_mutex_unlock(&worker->lock);
    (void)pthread_detach(worker->thread);
    watch_count(worker->watch, clock_mono_ms(worker->clock));
}

bool
kworker_stop(struct kworker *worker)
{
    struct kjob *job = NULL;
    bool ended = true;

    if (worker == NULL)
        return true;
    atomic_store(&worker->stopping, true);
    queue_close(worker->orders);
    while (!queue_is_closed(worker->results) && !kworker_overdue(worker) &&
           !worker->overdue) {
        if ((job = queue_pop(worker->results, LOOK_MS)) != NULL)
            job->free(job);
    }
    ended = queue_is_closed(worker->results);
    if (ended)
        (void)pthread_join(worker->thread, NULL);
    else
        abandon(worker);
    let_go(worker);
    return ended;
}
