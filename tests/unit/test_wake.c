#include "wake.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

static bool
is_signalled(const struct wake *wake)
{
    struct pollfd place = { .fd = wake->fd, .events = POLLIN };

    return poll(&place, 1, 0) == 1;
}

static void
test_a_signal_before_the_wait_is_not_lost(void **state)
{
    struct wake wake;
    struct err err;
    (void)state;

    assert_true(wake_open(&wake, &err));
    assert_false(is_signalled(&wake));
    wake_signal(&wake);
    wake_signal(&wake);
    assert_true(is_signalled(&wake));
    wake_wait(&wake, INT64_MAX); /* would never return otherwise */
    assert_false(is_signalled(&wake));
    wake_close(&wake);
    assert_int_equal(wake.fd, -1);
    wake_close(&wake); /* closed already: fine */
}

static void
test_a_wait_of_nothing_clears(void **state)
{
    struct wake wake;
    struct err err;
    (void)state;

    assert_true(wake_open(&wake, &err));
    wake_wait(&wake, 0); /* nothing there: returns */
    wake_signal(&wake);
    wake_wait(&wake, 0);
    assert_false(is_signalled(&wake));
    wake_wait(&wake, 1); /* a time-out ends it, too */
    wake_close(&wake);
}

static void
test_a_library_may_write_to_it(void **state)
{
    const uint64_t one = 1;
    struct wake wake;
    struct err err;
    (void)state;

    assert_true(wake_open(&wake, &err));
    assert_int_equal(write(wake.fd, &one, sizeof one), sizeof one);
    wake_wait(&wake, INT64_MAX);
    assert_false(is_signalled(&wake));
    wake_close(&wake);
}

static void *
signal_it(void *ctx)
{
    wake_signal(ctx);
    return NULL;
}

static void
test_another_thread_ends_the_sleep(void **state)
{
    struct wake wake;
    struct err err;
    pthread_t other;
    (void)state;

    assert_true(wake_open(&wake, &err));
    assert_int_equal(pthread_create(&other, NULL, signal_it, &wake), 0);
    wake_wait(&wake, -1);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_false(is_signalled(&wake));
    wake_close(&wake);
}

static void
test_no_descriptor_left(void **state)
{
    struct rlimit old, none;
    struct wake wake;
    struct err err;
    bool opened;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    opened = wake_open(&wake, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_false(opened);
    assert_int_equal(err.kind, ERR_IO);
    assert_string_equal(err.text, "eventfd: Too many open files");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signal_before_the_wait_is_not_lost),
        cmocka_unit_test(test_a_wait_of_nothing_clears),
        cmocka_unit_test(test_a_library_may_write_to_it),
        cmocka_unit_test(test_another_thread_ends_the_sleep),
        cmocka_unit_test(test_no_descriptor_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
