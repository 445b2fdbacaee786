/* wallclock.c - a wall clock that a test sets: LD_PRELOAD or link it, and write
 * seconds into the file that WALLCLOCK names, made where there is none.
 *
 * As in the kernel, a wait until a moment of the wall clock ends when that
 * clock, as it is by then, has come to it.  Monotonic time stays what it is. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 20000000
#define LONG_AGO 1000000000 /* no uptime is that long, so it is wall time */

typedef int wait_fn(pthread_cond_t *, pthread_mutex_t *,
    const struct timespec *);

static const volatile int64_t *step;
static wait_fn *real;

__attribute__((constructor)) static void
begin(void)
{
    int fd = open(getenv("WALLCLOCK"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (ftruncate(fd, sizeof *step) == -1)
        abort();
    step = mmap(NULL, sizeof *step, PROT_READ, MAP_SHARED, fd, 0);
    if (step == MAP_FAILED)
        abort();
    close(fd);
}

int
clock_gettime(clockid_t id, struct timespec *at)
{
    long result = syscall(SYS_clock_gettime, id, at);

    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += step == NULL ? 0 : *step;
    return (int)result;
}

int
gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) == -1)
        return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t
time(time_t *at)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (at != NULL)
        *at = now.tv_sec;
    return now.tv_sec;
}

static int
earlier(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec ||
           (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

int
pthread_cond_timedwait(pthread_cond_t *restrict cond,
    pthread_mutex_t *restrict lock, const struct timespec *restrict until)
{
    struct timespec now, at;
    int result;

    if (until->tv_sec < LONG_AGO)
        return real(cond, lock, until);
    do {
        clock_gettime(CLOCK_REALTIME, &now);
        if (!earlier(&now, until))
            return ETIMEDOUT;
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &at);
        at.tv_nsec += SLICE_NS;
        if (at.tv_nsec >= 1000000000) {
            at.tv_nsec -= 1000000000;
            at.tv_sec++;
        }
        result = real(cond, lock, &at);
    } while (result == ETIMEDOUT);
    return result;
}
