#include "queue.h"

#include "wake.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* fixed: capacity, wake.  Everything else: shared, under the lock. */
struct queue {
    size_t capacity;
    const struct wake *wake;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;
    size_t head, used;
    void *ring[];
};

static bool
start_locks(struct queue *queue)
{
    pthread_condattr_t attr;
    bool ok;

    if (pthread_condattr_init(&attr) != 0)
        return false;
    ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
         pthread_cond_init(&queue->changed, &attr) == 0;
    pthread_condattr_destroy(&attr);
    if (ok && pthread_mutex_init(&queue->lock, NULL) != 0) {
        pthread_cond_destroy(&queue->changed);
        ok = false;
    }
    return ok;
}

struct queue *
queue_new(size_t capacity, const struct wake *wake, struct err *err)
{
    struct queue *queue = NULL;

    assert(capacity > 0);
    if (capacity <= (SIZE_MAX - sizeof *queue) / sizeof queue->ring[0])
        queue = calloc(1, sizeof *queue + capacity * sizeof queue->ring[0]);
    if (queue == NULL || !start_locks(queue)) {
        free(queue);
        err_set(err, ERR_MEMORY, "queue of %zu", capacity);
        return NULL;
    }
    queue->capacity = capacity;
    queue->wake = wake;
    return queue;
}

void
queue_free(struct queue *queue, void (*drop)(void *item))
{
    if (queue == NULL)
        return;
    assert(drop != NULL || queue->used == 0);
    for (; queue->used > 0; queue->used--) {
        drop(queue->ring[queue->head]);
        queue->head = (queue->head + 1) % queue->capacity;
    }
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static void
announce(struct queue *queue)
{
    pthread_cond_signal(&queue->changed);
    if (queue->wake != NULL)
        wake_signal(queue->wake);
}

bool
queue_push(struct queue *queue, void **item)
{
    bool taken;

    assert(*item != NULL);
    pthread_mutex_lock(&queue->lock);
    taken = !queue->closed && queue->used < queue->capacity;
    if (taken) {
        size_t tail = (queue->head + queue->used) % queue->capacity;

        queue->ring[tail] = *item;
        queue->used++;
        *item = NULL;
        announce(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

static struct timespec
deadline_in(int64_t timeout_ms)
{
    struct timespec at;
    int failed = clock_gettime(CLOCK_MONOTONIC, &at);

    assert(failed == 0); /* it has nothing to fail by for this clock */
    (void)failed;
    at.tv_sec += (time_t)(timeout_ms / 1000);
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

/* With the lock held: until there is an item, the queue is closed, or the
 * time is over. */
static void
wait_for_item(struct queue *queue, int64_t timeout_ms)
{
    struct timespec at = { 0 };
    int result = 0;

    if (timeout_ms > 0)
        at = deadline_in(timeout_ms);
    while (queue->used == 0 && !queue->closed && result != ETIMEDOUT) {
        if (timeout_ms < 0)
            result = pthread_cond_wait(&queue->changed, &queue->lock);
        else
            result = pthread_cond_timedwait(&queue->changed, &queue->lock, &at);
    }
}

void *
queue_pop(struct queue *queue, int64_t timeout_ms)
{
    void *item = NULL;

    pthread_mutex_lock(&queue->lock);
    if (timeout_ms != 0)
        wait_for_item(queue, timeout_ms);
    if (queue->used > 0) {
        item = queue->ring[queue->head];
        queue->head = (queue->head + 1) % queue->capacity;
        queue->used--;
    }
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void
queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    announce(queue);
    pthread_mutex_unlock(&queue->lock);
}

bool
queue_is_closed(struct queue *queue)
{
    bool closed;

    pthread_mutex_lock(&queue->lock);
    closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}
