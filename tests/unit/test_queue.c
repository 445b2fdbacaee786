#include "queue.h"

#include "wake.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define MANY 5000

static struct queue *
make(size_t capacity, const struct wake *wake)
{
    struct err err;
    struct queue *queue = queue_new(capacity, wake, &err);

    assert_non_null(queue);
    return queue;
}

/* Each row: '+' pushes the next number, '-' pops and expects the next one,
 * 'F' pushes and is refused, '0' pops and finds nothing, 'c' closes. */
static void
test_steps(void **state)
{
    static const struct {
        const char *label, *steps;
    } cases[] = {
        { "nothing in it", "0" },
        { "first in, first out", "+++---0" },
        { "full is a no, and nothing is lost by it", "+++F---0" },
        { "room again after a pop", "+++F-+F---0" },
        { "many times around the ring", "++-+-+-+-+-+-+-+-+-+--0" },
        { "closed takes nothing, but gives what is there", "++cF--0" },
        { "closed twice is fine", "+cc-0F" },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        int numbers[32];
        size_t in = 0, out = 0;
        struct queue *queue = make(3, NULL);
        void *item;

        print_message("%s\n", cases[i].label);
        for (const char *step = cases[i].steps; *step != '\0'; step++) {
            item = &numbers[in];
            if (*step == '+') {
                assert_true(queue_push(queue, &item));
                assert_null(item);
                in++;
            } else if (*step == 'F') {
                assert_false(queue_push(queue, &item));
                assert_ptr_equal(item, &numbers[in]);
            } else if (*step == '-') {
                assert_ptr_equal(queue_pop(queue, 0), &numbers[out++]);
            } else if (*step == '0') {
                assert_null(queue_pop(queue, 0));
            } else {
                queue_close(queue);
                assert_true(queue_is_closed(queue));
            }
        }
        queue_free(queue, NULL);
    }
}

static void
drop(void *item)
{
    ++*(int *)item;
}

static void
test_free_hands_over_what_is_left(void **state)
{
    int dropped[3] = { 0 };
    struct queue *queue = make(4, NULL);
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        void *item = &dropped[i];

        assert_true(queue_push(queue, &item));
    }
    assert_ptr_equal(queue_pop(queue, 0), &dropped[0]);
    queue_free(queue, drop);
    assert_int_equal(dropped[0], 0);
    assert_int_equal(dropped[1], 1);
    assert_int_equal(dropped[2], 1);
    queue_free(NULL, drop);
}

static void
test_wait_ends(void **state)
{
    int number;
    void *item = &number;
    struct queue *queue = make(1, NULL);
    (void)state;

    assert_null(queue_pop(queue, 1)); /* by the time-out */
    assert_true(queue_push(queue, &item));
    assert_ptr_equal(queue_pop(queue, -1), &number); /* by what is there */
    queue_close(queue);
    assert_null(queue_pop(queue, -1)); /* by the end of it all */
    assert_null(queue_pop(queue, INT64_C(86400999)));
    queue_free(queue, NULL);
}

static void
test_wake(void **state)
{
    struct wake wake;
    struct pollfd place = { .events = POLLIN };
    struct err err;
    struct queue *queue;
    int number;
    void *item = &number;
    (void)state;

    assert_true(wake_open(&wake, &err));
    place.fd = wake.fd;
    queue = make(1, &wake);
    assert_int_equal(poll(&place, 1, 0), 0);
    assert_true(queue_push(queue, &item));
    assert_int_equal(poll(&place, 1, 0), 1);
    wake_wait(&wake, 0);
    item = &number;
    assert_false(queue_push(queue, &item)); /* a no wakes nobody */
    assert_int_equal(poll(&place, 1, 0), 0);
    queue_close(queue);
    assert_int_equal(poll(&place, 1, 0), 1);
    assert_non_null(queue_pop(queue, 0));
    queue_free(queue, NULL);
    wake_close(&wake);
}

static void
test_too_large(void **state)
{
    struct err err;
    (void)state;

    assert_null(queue_new(SIZE_MAX / 4, NULL, &err));
    assert_int_equal(err.kind, ERR_MEMORY);
    assert_null(queue_new(SIZE_MAX, NULL, &err));
    assert_int_equal(err.kind, ERR_MEMORY);
}

struct transfer {
    struct queue *queue;
    int numbers[MANY];
};

static void *
push_all(void *ctx)
{
    struct transfer *transfer = ctx;

    for (int i = 0; i < MANY; i++) {
        void *item = &transfer->numbers[i];

        transfer->numbers[i] = i;
        while (!queue_push(transfer->queue, &item))
            sched_yield(); /* full: the popper is at work */
    }
    queue_close(transfer->queue);
    return NULL;
}

static void
test_two_threads(void **state)
{
    static struct transfer transfer;
    pthread_t pusher;
    int next = 0;
    const int *item;
    (void)state;

    transfer.queue = make(7, NULL);
    assert_int_equal(pthread_create(&pusher, NULL, push_all, &transfer), 0);
    while ((item = queue_pop(transfer.queue, -1)) != NULL)
        assert_int_equal(*item, next++);
    assert_int_equal(next, MANY);
    assert_int_equal(pthread_join(pusher, NULL), 0);
    queue_free(transfer.queue, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_free_hands_over_what_is_left),
        cmocka_unit_test(test_wait_ends),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_two_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
