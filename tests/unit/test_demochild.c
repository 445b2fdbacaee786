#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 20000 /* an upper bound, never slept through when it works */

struct scene {
    char folder[32], log[64];
};

static int
setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    assert_non_null(scene);
    (void)strcpy(scene->folder, "/tmp/kedge-child-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    (void)snprintf(scene->log, sizeof scene->log, "%s/log", scene->folder);
    *state = scene;
    return 0;
}

static int
teardown(void **state)
{
    struct scene *scene = *state;

    (void)unlink(scene->log);
    assert_int_equal(rmdir(scene->folder), 0);
    free(scene);
    return 0;
}

static struct child *
start(const struct scene *scene, const char *script)
{
    char name[] = "sh", option[] = "-c", text[256];
    char *const argv[] = { name, option, text, NULL };
    struct err err;
    struct child *child;

    (void)snprintf(text, sizeof text, "%s", script);
    child = child_start("/bin/sh", argv, scene->log, &err);
    assert_non_null(child);
    return child;
}

/* Until the script has written a line, and so is where the test wants it. */
static void
wait_for_log(const struct scene *scene, const char *text)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        char bytes[256] = "";
        int fd = open(scene->log, O_RDONLY | O_CLOEXEC);

        assert_int_not_equal(fd, -1);
        assert_true(read(fd, bytes, sizeof bytes - 1) >= 0);
        assert_int_equal(close(fd), 0);
        if (strstr(bytes, text) != NULL)
            return;
        (void)poll(NULL, 0, 10);
    }
    fail_msg("'%s' was never written", text);
}

static const struct {
    const char *label, *script;
    bool want;
    const char *words; /* of the error */
} stops[] = {
    { "ends when asked", "trap 'exit 0' TERM; echo up; while :; do :; done",
        true, NULL },
    { "ends with a status of its own",
        "trap 'echo bye; exit 70' TERM; echo up; while :; do :; done", false,
        "the agent ended with status 70; its last line: bye" },
    { "does not end", "trap '' TERM; echo up; while :; do :; done", false,
        "the agent did not end within 0 s" },
    { "had ended by itself", "echo up; exit 0", true, NULL },
    { "had ended badly", "echo; echo up; echo; exit 78", false,
        "the agent ended with status 78; its last line: up" },
    { "was killed", "echo up; kill -9 $$", false,
        "the agent was ended by signal 9; its last line: up" },
};

static void
test_stops(void **state)
{
    const struct scene *scene = *state;

    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        struct err err = { 0 };
        struct child *child = start(scene, stops[i].script);
        bool stubborn = strstr(stops[i].script, "trap ''") != NULL;

        wait_for_log(scene, "up");
        if (child_stop(child, stubborn ? 50 : WAIT_MS, &err) != stops[i].want ||
            (!stops[i].want && strcmp(err.text, stops[i].words) != 0))
            fail_msg("%s: %s", stops[i].label, err.text);
        assert_false(child_runs(child));
        child_free(child);
        assert_int_equal(unlink(scene->log), 0);
    }
}

static void
test_is_killed_when_freed(void **state)
{
    const struct scene *scene = *state;
    struct child *child = start(scene, "echo up; while :; do :; done");
    pid_t pid = child_pid(child);

    wait_for_log(scene, "up");
    assert_true(child_runs(child));
    assert_string_equal(child_words(child), "runs; its last line: up");
    assert_true(child_peak_kib(child) > 0);
    child_free(child);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

/* Whoever starts it is killed without a word: the kernel ends the child.  This
 * process adopts it, so that its end can be waited for. */
static void
test_does_not_outlive_its_parent(void **state)
{
    const struct scene *scene = *state;
    pid_t parent, grandchild;
    int status;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    parent = fork();
    assert_int_not_equal(parent, -1);
    if (parent == 0) {
        struct child *child = start(scene, "echo up; while :; do :; done");

        wait_for_log(scene, "up");
        (void)child;
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(parent, &status, 0), parent);
    grandchild = waitpid(-1, &status, 0);
    assert_int_not_equal(grandchild, -1);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void
test_inherits_no_descriptor(void **state)
{
    const struct scene *scene = *state;
    int fds[2];
    struct child *child;
    char byte;

    assert_int_equal(pipe(fds), 0); /* without O_CLOEXEC */
    child = start(scene, "echo up; while :; do :; done");
    wait_for_log(scene, "up");
    assert_int_equal(close(fds[1]), 0);
    /* An end is seen only if nobody else has the writing side. */
    assert_int_equal(read(fds[0], &byte, 1), 0);
    assert_int_equal(close(fds[0]), 0);
    child_free(child);
}

static void
test_says_that_it_cannot_start(void **state)
{
    const struct scene *scene = *state;
    char name[] = "kedge";
    char *const argv[] = { name, NULL };
    struct err err;
    struct child *child;

    assert_null(child_start("/bin/sh", argv, "/nowhere/at/all", &err));
    assert_int_equal(err.kind, ERR_IO);
    child = child_start("/nowhere/at/all", argv, scene->log, &err);
    assert_non_null(child);
    while (child_runs(child))
        (void)poll(NULL, 0, 10);
    assert_false(child_stop(child, 0, &err));
    assert_string_equal(err.text, "the agent ended with status 127");
    child_free(child);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_stops),
        TEST(test_is_killed_when_freed),
        TEST(test_does_not_outlive_its_parent),
        TEST(test_inherits_no_descriptor),
        TEST(test_says_that_it_cannot_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
