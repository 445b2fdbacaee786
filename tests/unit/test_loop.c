#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "loop.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What happened, in order. */
struct seen {
    struct loop *loop;
    int calls, signals[4], n_signals;
    int fd, other; /* to read from, to unwatch */
    int64_t now_ms;
};

static void
read_one(void *ctx, int64_t now_ms)
{
    struct seen *seen = ctx;
    char byte;

    assert_int_equal(read(seen->fd, &byte, 1), 1);
    seen->calls++;
    seen->now_ms = now_ms;
}

static void
read_one_and_quit(void *ctx, int64_t now_ms)
{
    struct seen *seen = ctx;

    read_one(ctx, now_ms);
    loop_quit(seen->loop);
}

static void
unwatch_other(void *ctx, int64_t now_ms)
{
    struct seen *seen = ctx;

    read_one(ctx, now_ms);
    loop_unwatch(seen->loop, seen->other);
    loop_unwatch(seen->loop, seen->fd);
}

static void
count(void *ctx, int64_t now_ms)
{
    struct seen *seen = ctx;

    seen->calls++;
    seen->now_ms = now_ms;
}

static void
note_signal(void *ctx, int number, int64_t now_ms)
{
    struct seen *seen = ctx;

    assert_in_range(seen->n_signals, 0, 3);
    seen->signals[seen->n_signals++] = number;
    seen->now_ms = now_ms;
}

static int64_t
at_42(void *ctx)
{
    (void)ctx;
    return 42;
}

static const struct clock clock_42 = { .mono_ms = at_42, .wall_ms = at_42 };

static void
test_readable(void **state)
{
    struct err err;
    struct seen seen = { 0 };
    int pipe_fds[2];

    (void)state;
    assert_int_equal(pipe(pipe_fds), 0);
    seen.loop = loop_new(&clock_42, &err);
    seen.fd = pipe_fds[0];
    assert_non_null(seen.loop);
    assert_true(loop_watch(seen.loop, seen.fd, read_one_and_quit, &seen, &err));
    assert_true(loop_turn(seen.loop, 0, &err));
    assert_int_equal(seen.calls, 0); /* nothing to read yet */
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    assert_true(loop_run(seen.loop, &err));
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.now_ms, 42);
    loop_unwatch(seen.loop, seen.fd);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    assert_true(loop_turn(seen.loop, 0, &err));
    assert_int_equal(seen.calls, 1); /* not watched any more */
    loop_free(seen.loop);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

/* Two are readable in one turn, and the first one called ends both watches:
 * the second must not be called although its event was fetched. */
static void
test_unwatched_within_the_turn(void **state)
{
    struct err err;
    struct seen a = { 0 }, b = { 0 };
    int pipe_a[2], pipe_b[2];

    (void)state;
    assert_int_equal(pipe(pipe_a), 0);
    assert_int_equal(pipe(pipe_b), 0);
    a.loop = b.loop = loop_new(&clock_42, &err);
    a.fd = b.other = pipe_a[0];
    b.fd = a.other = pipe_b[0];
    assert_true(loop_watch(a.loop, a.fd, unwatch_other, &a, &err));
    assert_true(loop_watch(b.loop, b.fd, unwatch_other, &b, &err));
    assert_int_equal(write(pipe_a[1], "x", 1), 1);
    assert_int_equal(write(pipe_b[1], "x", 1), 1);
    assert_true(loop_turn(a.loop, -1, &err));
    assert_int_equal(a.calls + b.calls, 1);
    loop_free(a.loop);
    for (int i = 0; i < 2; i++) {
        close(pipe_a[i]);
        close(pipe_b[i]);
    }
}

static void
test_interval(void **state)
{
    struct err err;
    struct seen seen = { 0 };

    (void)state;
    seen.loop = loop_new(clock_system(), &err);
    assert_true(loop_every(seen.loop, 1, count, &seen, &err));
    while (seen.calls < 3)
        assert_true(loop_turn(seen.loop, -1, &err));
    assert_true(seen.now_ms <= clock_mono_ms(clock_system()));
    loop_free(seen.loop);
}

static void
test_signals(void **state)
{
    static const int numbers[] = { SIGHUP, SIGTERM, SIGINT };
    struct err err;
    struct seen seen = { 0 };

    (void)state;
    assert_true(loop_block_signals(&err));
    seen.loop = loop_new(&clock_42, &err);
    assert_true(loop_on_signal(seen.loop, note_signal, &seen, &err));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(kill(getpid(), numbers[i]), 0);
        assert_true(loop_turn(seen.loop, -1, &err));
        assert_int_equal(seen.n_signals, (int)i + 1);
        assert_int_equal(seen.signals[i], numbers[i]);
    }
    /* A pipe that nobody reads is an error of write(2), not an end. */
    assert_int_equal(kill(getpid(), SIGPIPE), 0);
    /* And so is a log that may not grow any more. */
    assert_int_equal(kill(getpid(), SIGXFSZ), 0);
    assert_int_equal(seen.now_ms, 42);
    loop_free(seen.loop);
}

static void
test_limits(void **state)
{
    struct err err;
    struct seen seen = { 0 };
    struct loop *loop = loop_new(&clock_42, &err);
    int fds[LOOP_WATCH_MAX + 1];

    (void)state;
    assert_false(loop_watch(loop, 1023, count, &seen, &err));
    assert_int_equal(err.kind, ERR_IO); /* no such descriptor */
    for (int i = 0; i <= LOOP_WATCH_MAX; i++) {
        int pipe_fds[2];

        assert_int_equal(pipe(pipe_fds), 0);
        close(pipe_fds[1]);
        fds[i] = pipe_fds[0];
        assert_int_equal(loop_watch(loop, fds[i], count, &seen, &err),
            i < LOOP_WATCH_MAX);
    }
    assert_non_null(strstr(err.text, "more than 16 descriptors"));
    assert_false(loop_every(loop, 1000, count, &seen, &err));
    loop_unwatch(loop, fds[3]); /* a place becomes free again */
    loop_unwatch(loop, fds[3]); /* twice is fine */
    assert_true(loop_watch(loop, fds[LOOP_WATCH_MAX], count, &seen, &err));
    loop_free(loop);
    loop_free(NULL);
    for (int i = 0; i <= LOOP_WATCH_MAX; i++)
        close(fds[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readable),
        cmocka_unit_test(test_unwatched_within_the_turn),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
