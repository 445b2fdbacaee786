#include "child.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 10
#define FDS_MAX 4096

struct child {
    pid_t pid;
    bool ended;
    int status; /* of waitpid(2) */
    int64_t peak_kib;
    char log[PATH_MAX];
    char words[400];
};

/* What the embedded clusters have open is not the agent's. */
static void
close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) == 0)
        return;
#endif
    for (int fd = STDERR_FILENO + 1; fd < FDS_MAX; fd++)
        (void)close(fd);
}

/* Between fork and exec: only what may be called there. */
static _Noreturn void
become(const char *path, char *const *argv, int log, pid_t parent)
{
    sigset_t none;

    sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
        dup2(log, STDOUT_FILENO) != -1 && dup2(log, STDERR_FILENO) != -1) {
        close_others();
        (void)execv(path, argv);
    }
    _exit(127);
}

static void
take_end(struct child *child, int status)
{
    child->ended = true;
    child->status = status;
}

struct child *
child_start(const char *path, char *const *argv, const char *log,
    struct err *err)
{
    struct child *child = calloc(1, sizeof *child);
    pid_t parent = getpid();
    int fd = -1;
    bool ok = false;

    if (child == NULL) {
        err_set(err, ERR_MEMORY, "agent");
        goto out;
    }
    (void)snprintf(child->log, sizeof child->log, "%s", log);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd == -1) {
        err_sys(err, ERR_IO, "%s", log);
        goto out;
    }
    child->pid = fork();
    if (child->pid == 0)
        become(path == NULL ? "/proc/self/exe" : path, argv, fd, parent);
    if (child->pid == -1) {
        err_sys(err, ERR_IO, "fork");
        goto out;
    }
    ok = true;
out:
    if (fd != -1)
        close(fd);
    if (!ok) {
        free(child);
        child = NULL;
    }
    return child;
}

void
child_free(struct child *child)
{
    int status;

    if (child == NULL)
        return;
    if (!child->ended) {
        (void)kill(child->pid, SIGKILL);
        (void)waitpid(child->pid, &status, 0);
    }
    free(child);
}

pid_t
child_pid(const struct child *child)
{
    return child->pid;
}

bool
child_runs(struct child *child)
{
    int status = 0;

    if (!child->ended && waitpid(child->pid, &status, WNOHANG) == child->pid)
        take_end(child, status);
    return !child->ended;
}

/* The last line of the log that is not empty, without its line break. */
static void
last_line(const char *path, char *line, size_t size)
{
    char tail[2048];
    const char *start;
    FILE *file = fopen(path, "r");
    size_t len = 0;

    *line = '\0';
    if (file == NULL)
        return;
    if (fseek(file, -(long)(sizeof tail - 1), SEEK_END) != 0)
        rewind(file);
    len = fread(tail, 1, sizeof tail - 1, file);
    (void)fclose(file);
    while (len > 0 && (tail[len - 1] == '\n' || tail[len - 1] == '\r'))
        len--;
    tail[len] = '\0';
    start = memrchr(tail, '\n', len);
    start = start == NULL ? tail : start + 1;
    (void)snprintf(line, size, "%.*s", (int)size - 1, start);
}

const char *
child_words(struct child *child)
{
    char line[256];
    int used;

    if (child_runs(child))
        used = snprintf(child->words, sizeof child->words, "runs");
    else if (WIFSIGNALED(child->status))
        used = snprintf(child->words, sizeof child->words,
            "was ended by signal %d", WTERMSIG(child->status));
    else
        used = snprintf(child->words, sizeof child->words,
            "ended with status %d", WEXITSTATUS(child->status));
    last_line(child->log, line, sizeof line);
    if (*line != '\0')
        (void)snprintf(child->words + used, sizeof child->words - (size_t)used,
            "; its last line: %s", line);
    return child->words;
}

int64_t
child_peak_kib(struct child *child)
{
    char path[64], line[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)child->pid);
    if (child->ended || (file = fopen(path, "r")) == NULL)
        return child->peak_kib;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            child->peak_kib = strtoll(line + 6, NULL, 10);
    (void)fclose(file);
    return child->peak_kib;
}

bool
child_stop(struct child *child, int timeout_ms, struct err *err)
{
    const struct clock *clock = clock_system();
    int64_t until_ms = clock_mono_ms(clock) + timeout_ms;
    const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
    int status = 0;

    if (child_runs(child))
        (void)kill(child->pid, SIGTERM);
    while (child_runs(child) && clock_mono_ms(clock) < until_ms)
        (void)nanosleep(&look, NULL);
    if (child_runs(child)) {
        (void)kill(child->pid, SIGKILL);
        if (waitpid(child->pid, &status, 0) == child->pid)
            take_end(child, status);
        return err_set(err, ERR_IO, "the agent did not end within %d s",
            timeout_ms / 1000);
    }
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0)
        return err_set(err, ERR_IO, "the agent %s", child_words(child));
    return true;
}
