#include "loop.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct watch {
    int fd; /* -1: a free slot */
    uint32_t incarnation;
    bool timer; /* ours: read before the callback, closed at the end */
    loop_ready_fn *ready;
    void *ctx;
};

/* All of it is own to the main thread. */
struct loop {
    const struct clock *clock;
    int epoll;
    int signals; /* -1: not asked for */
    loop_signal_fn *on_signal;
    void *signal_ctx;
    bool quit;
    struct watch watches[LOOP_WATCH_MAX];
};

static void
fill_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

bool
loop_block_signals(struct err *err)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t set;

    fill_signals(&set);
    if ((errno = pthread_sigmask(SIG_BLOCK, &set, NULL)) != 0)
        return err_sys(err, ERR_IO, "signal mask");
    sigemptyset(&ignore.sa_mask);
    if (sigaction(SIGPIPE, &ignore, NULL) == -1)
        return err_sys(err, ERR_IO, "SIGPIPE");
    if (sigaction(SIGXFSZ, &ignore, NULL) == -1)
        return err_sys(err, ERR_IO, "SIGXFSZ");
    return true;
}

struct loop *
loop_new(const struct clock *clock, struct err *err)
{
    struct loop *loop = calloc(1, sizeof *loop);

    if (loop == NULL) {
        err_set(err, ERR_MEMORY, "event loop");
        return NULL;
    }
    loop->clock = clock;
    loop->signals = -1;
    for (size_t i = 0; i < LOOP_WATCH_MAX; i++)
        loop->watches[i].fd = -1;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll == -1) {
        err_sys(err, ERR_IO, "epoll");
        free(loop);
        return NULL;
    }
    return loop;
}

void
loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    for (size_t i = 0; i < LOOP_WATCH_MAX; i++) {
        if (loop->watches[i].fd != -1 && loop->watches[i].timer)
            close(loop->watches[i].fd);
    }
    if (loop->signals != -1)
        close(loop->signals);
    close(loop->epoll);
    free(loop);
}

static struct watch *
find(struct loop *loop, int fd)
{
    for (size_t i = 0; i < LOOP_WATCH_MAX; i++) {
        if (loop->watches[i].fd == fd)
            return &loop->watches[i];
    }
    return NULL;
}

bool
loop_watch(struct loop *loop, int fd, loop_ready_fn *ready, void *ctx,
    struct err *err)
{
    struct watch *watch = find(loop, -1);
    struct epoll_event event = { .events = EPOLLIN };

    assert(fd >= 0 && find(loop, fd) == NULL);
    if (watch == NULL)
        return err_set(err, ERR_IO, "more than %d descriptors to watch",
            LOOP_WATCH_MAX);
    /* An event that was fetched before its watch ended finds another
     * incarnation and is dropped. */
    watch->incarnation++;
    event.data.u64 =
        (uint64_t)watch->incarnation << 32 | (uint64_t)(watch - loop->watches);
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == -1)
        return err_sys(err, ERR_IO, "watch descriptor %d", fd);
    watch->fd = fd;
    watch->timer = false;
    watch->ready = ready;
    watch->ctx = ctx;
    return true;
}

void
loop_unwatch(struct loop *loop, int fd)
{
    struct watch *watch = fd < 0 ? NULL : find(loop, fd);

    if (watch == NULL)
        return;
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
    watch->fd = -1;
    watch->incarnation++;
}

bool
loop_every(struct loop *loop, int64_t interval_ms, loop_ready_fn *ready,
    void *ctx, struct err *err)
{
    const struct timespec interval = { .tv_sec = interval_ms / 1000,
        .tv_nsec = interval_ms % 1000 * 1000000 };
    const struct itimerspec every = { .it_interval = interval,
        .it_value = interval };
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    assert(interval_ms > 0);
    if (fd == -1 || timerfd_settime(fd, 0, &every, NULL) == -1) {
        err_sys(err, ERR_IO, "timer");
        if (fd != -1)
            close(fd);
        return false;
    }
    if (!loop_watch(loop, fd, ready, ctx, err)) {
        close(fd);
        return false;
    }
    find(loop, fd)->timer = true;
    return true;
}

/* Reads every signal that came, one callback each. */
static void
drain_signals(void *ctx, int64_t now_ms)
{
    struct loop *loop = ctx;
    struct signalfd_siginfo info;

    while (read(loop->signals, &info, sizeof info) == (ssize_t)sizeof info)
        loop->on_signal(loop->signal_ctx, (int)info.ssi_signo, now_ms);
}

bool
loop_on_signal(struct loop *loop, loop_signal_fn *fn, void *ctx,
    struct err *err)
{
    sigset_t set;

    assert(loop->signals == -1);
    fill_signals(&set);
    loop->on_signal = fn;
    loop->signal_ctx = ctx;
    loop->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signals == -1)
        return err_sys(err, ERR_IO, "signalfd");
    return loop_watch(loop, loop->signals, drain_signals, loop, err);
}

static void
deliver(struct loop *loop, uint64_t token, int64_t now_ms)
{
    struct watch *watch = &loop->watches[token & UINT32_MAX];
    uint64_t times;

    if (watch->fd == -1 || watch->incarnation != token >> 32)
        return; /* ended by a callback of this very turn */
    if (watch->timer && read(watch->fd, &times, sizeof times) == -1)
        return;
    watch->ready(watch->ctx, now_ms);
}

bool
loop_turn(struct loop *loop, int timeout_ms, struct err *err)
{
    struct epoll_event events[LOOP_WATCH_MAX];
    int n = epoll_wait(loop->epoll, events, LOOP_WATCH_MAX, timeout_ms);
    int64_t now_ms;

    if (n == -1 && errno == EINTR)
        return true;
    if (n == -1)
        return err_sys(err, ERR_IO, "epoll");
    now_ms = clock_mono_ms(loop->clock);
    for (int i = 0; i < n; i++)
        deliver(loop, events[i].data.u64, now_ms);
    return true;
}

bool
loop_run(struct loop *loop, struct err *err)
{
    while (!loop->quit) {
        if (!loop_turn(loop, -1, err))
            return false;
    }
    return true;
}

void
loop_quit(struct loop *loop)
{
    loop->quit = true;
}
