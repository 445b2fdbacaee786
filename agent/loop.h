/* loop.h - descriptors, timers and signals on the main thread.
 *
 * The main thread waits in one place.  What it waits for is a descriptor that
 * becomes readable, an interval that passes, or a signal, and each has one
 * callback, in which every function may be called: no handler ever interrupts
 * anything.  The only place that includes sys/epoll.h.
 *
 * Thread: the main thread; callbacks run on it, from loop_run().
 * Memory: loop_new() takes room for LOOP_WATCH_MAX watches, nothing later.
 * Cost:   one epoll_wait(2) a turn.
 * Errors: ERR_IO. */
#ifndef KEDGE_LOOP_H
#define KEDGE_LOOP_H

#include "err.h"

#include <stdint.h>

#define LOOP_WATCH_MAX 16

struct clock;
struct loop;

/* Called once for each turn in which the descriptor is readable, or the
 * interval has passed (however often).  `now_ms` is monotonic. */
typedef void loop_ready_fn(void *ctx, int64_t now_ms);

/* Called once for each signal that came. */
typedef void loop_signal_fn(void *ctx, int signal, int64_t now_ms);

/* Blocks SIGTERM, SIGINT and SIGHUP and ignores SIGPIPE and SIGXFSZ.  Before
 * the second thread exists: threads inherit the mask. */
bool loop_block_signals(struct err *err) MUST_CHECK;

/* The clock is borrowed for the life of the loop. */
struct loop *loop_new(const struct clock *clock, struct err *err) MUST_CHECK;
void loop_free(struct loop *loop); /* NULL is fine; closes what it made */

/* `fd` stays the caller's and is to be unwatched before it is closed; `ctx` is
 * borrowed until then.  A descriptor is watched once. */
bool loop_watch(struct loop *loop, int fd, loop_ready_fn *ready, void *ctx,
    struct err *err) MUST_CHECK;

/* Also from within a callback; none comes for `fd` afterwards. */
void loop_unwatch(struct loop *loop, int fd);

/* Every `interval_ms` from now on, until loop_free(). */
bool loop_every(struct loop *loop, int64_t interval_ms, loop_ready_fn *ready,
    void *ctx, struct err *err) MUST_CHECK;

/* The signals of loop_block_signals(), which was called before. */
bool loop_on_signal(struct loop *loop, loop_signal_fn *fn, void *ctx,
    struct err *err) MUST_CHECK;

/* Turns until loop_quit(). */
bool loop_run(struct loop *loop, struct err *err) MUST_CHECK;
void loop_quit(struct loop *loop);

/* One turn: waits at most `timeout_ms` (-1: for ever) and calls what is due. */
bool loop_turn(struct loop *loop, int timeout_ms, struct err *err) MUST_CHECK;

#endif
