#include "limits.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/resource.h>

static bool
raise_to_hard(int what, const char *name, struct rlimit *limit, struct err *err)
{
    if (getrlimit(what, limit) == -1)
        return err_sys(err, ERR_IO, "%s", name);
    limit->rlim_cur = limit->rlim_max;
    if (setrlimit(what, limit) == -1)
        return err_sys(err, ERR_IO, "%s", name);
    return true;
}

static bool
raise_files(struct limits *limits, struct err *err)
{
    struct rlimit limit;

    if (!raise_to_hard(RLIMIT_NOFILE, "RLIMIT_NOFILE", &limit, err))
        return false;
    limits->files = limit.rlim_cur;
    if (limit.rlim_cur < LIMITS_FILES)
        return err_set(err, ERR_CONFIG,
            "no more than %" PRIu64 " open files are allowed here, and %d are "
            "needed at least: LimitNOFILE= of the unit, or ulimit -n",
            (uint64_t)limit.rlim_cur, LIMITS_FILES);
    return true;
}

static bool
raise_addresses(struct err *err)
{
    struct rlimit limit;
    uint64_t mib;

    if (!raise_to_hard(RLIMIT_AS, "RLIMIT_AS", &limit, err))
        return false;
    mib = (uint64_t)limit.rlim_cur >> 20;
    if (limit.rlim_cur != RLIM_INFINITY && mib < LIMITS_ADDRESSES_MIB)
        return err_set(err, ERR_CONFIG,
            "no more than %" PRIu64 " MiB of addresses are allowed here, and "
            "%d are needed at least: LimitAS= of the unit, or ulimit -v "
            "(MemoryMax= limits the memory itself)",
            mib, LIMITS_ADDRESSES_MIB);
    return true;
}

static void *
wait_at(void *gate)
{
    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
    return NULL;
}

/* All of them at one time, as many as there will be. */
static bool
try_threads(struct err *err)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[LIMITS_THREADS];
    int n = 0, failed = 0;

    (void)pthread_mutex_lock(&gate);
    while (n < LIMITS_THREADS && failed == 0) {
        failed = pthread_create(&threads[n], NULL, wait_at, &gate);
        n += failed == 0;
    }
    (void)pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_mutex_destroy(&gate);
    if (failed == 0)
        return true;
    return err_set(err, ERR_CONFIG,
        "no more than %d threads can be started here, and %d are needed at "
        "least: TasksMax= and LimitNPROC= of the unit, or ulimit -u, or memory",
        n, LIMITS_THREADS);
}

bool
limits_raise(struct limits *limits, struct err *err)
{
    return raise_files(limits, err) && raise_addresses(err) && try_threads(err);
}
