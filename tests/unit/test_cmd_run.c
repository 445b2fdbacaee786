#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agentfix.h"
#include "cmdfix.h"
#include "flowfake.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define READY "event=admin.listen"

/* `kedge run` in a process of its own; its log comes by a pipe. */
struct child {
    pid_t pid;
    int log;
    char said[65536];
    size_t len;
};

static void
start(struct child *child, const char *line)
{
    int pipe_fds[2];

    *child = (struct child){ 0 };
    assert_int_equal(pipe(pipe_fds), 0);
    (void)fflush(NULL);
    child->pid = fork();
    assert_int_not_equal(child->pid, -1);
    if (child->pid == 0) {
        struct cmdfix fix;

        (void)dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[0]);
        cmdfix_begin(&fix, line);
        fix.ctx.err = stderr;
        _exit(cmd_run_run(&fix.ctx, fix.argc, fix.argv));
    }
    close(pipe_fds[1]);
    child->log = pipe_fds[0];
}

/* Reads its log until `want` is in it, or until it ends. */
static bool
wait_said(struct child *child, const char *want)
{
    while (want == NULL || strstr(child->said, want) == NULL) {
        ssize_t n = read(child->log, child->said + child->len,
            sizeof child->said - 1 - child->len);

        if (n <= 0)
            return false;
        child->len += (size_t)n;
        child->said[child->len] = '\0';
    }
    return true;
}

static int
wait_end(struct child *child)
{
    int status = -1;

    (void)wait_said(child, NULL);
    close(child->log);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    return status;
}

/* From the first event on, what is said is events and nothing else. */
static void
expect_events(const char *said)
{
    for (const char *line = said; *line != '\0';
         line += strcspn(line, "\n") + 1)
        if (strncmp(line, "time=", 5) != 0 || strstr(line, " event=") == NULL)
            fail_msg("not key=value: %s", line);
}

static const struct {
    const char *label;
    bool hang, unclean;
    int signals;     /* how many times SIGTERM */
    int want_signal; /* 0: exits with 0 */
    const char *want_said;
} ends[] = {
    { "everything was written down", false, false, 1, 0,
        "event=agent.drained" },
    { "not everything was", false, true, 1, SIGTERM, "event=agent.cut" },
    { "told twice", true, false, 2, SIGTERM, "told not to wait" },
};

static void
test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct agentfix fix;
        struct child child;
        char line[128];
        int status;

        print_message("%s\n", ends[i].label);
        flowfake = (struct flowfake){ .hang = ends[i].hang,
            .unclean = ends[i].unclean };
        agentfix_new(&fix);
        agentfix_write(&fix, AGENTFIX_FLOW("a", "x"));
        (void)snprintf(line, sizeof line, "run %s --name edge1", fix.path);
        start(&child, line);
        assert_true(wait_said(&child, READY));
        assert_int_equal(kill(child.pid, SIGTERM), 0);
        if (ends[i].signals == 2) {
            assert_true(wait_said(&child, "event=agent.drain "));
            assert_int_equal(kill(child.pid, SIGTERM), 0);
        }
        status = wait_end(&child);
        expect_events(child.said);
        assert_non_null(strstr(child.said, ends[i].want_said));
        assert_non_null(strstr(child.said, "agent=edge1"));
        if (ends[i].want_signal == 0) {
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), CMD_OK);
        } else {
            assert_true(WIFSIGNALED(status));
            assert_int_equal(WTERMSIG(status), ends[i].want_signal);
        }
        assert_int_equal(access(fix.socket, F_OK), -1);
        agentfix_free(&fix);
    }
}

static const struct {
    const char *label;
    const char *policy;  /* NULL: no file */
    const char *options; /* behind the policy's path */
    enum { FINE, OLD_LIBRARY, TIRES } fault;
    int want;
    const char *want_said;
} fails[] = {
    { "a policy that is refused", "version: 7\n", "", FINE, CMD_CONFIG,
        "is refused: " },
    { "no policy", NULL, "", FINE, CMD_NO_INPUT, "kedge: policy: " },
    { "a library that is too old", AGENTFIX_HEAD AGENTFIX_FLOW("a", "x"), "",
        OLD_LIBRARY, CMD_CONFIG, "event=agent.failed" },
    { "calls of the library that do not come back",
        AGENTFIX_HEAD AGENTFIX_FLOW("a", "x"), "", TIRES, CMD_SOFTWARE,
        "event=agent.tired" },
    { "a level that is not there", NULL, " --log-level loud", FINE, CMD_USAGE,
        "one of error, warn, info, debug" },
    { "an empty name", NULL, " --name=", FINE, CMD_USAGE, "1 to 64 bytes" },
    { "a second policy", NULL, " other", FINE, CMD_USAGE,
        "one word too many: other" },
};

static void
test_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fails / sizeof fails[0]; i++) {
        struct agentfix fix;
        struct child child;
        char line[160];
        int status;

        print_message("%s\n", fails[i].label);
        flowfake = (struct flowfake){
            .old_library = fails[i].fault == OLD_LIBRARY,
            .tires = fails[i].fault == TIRES,
        };
        agentfix_new(&fix);
        if (fails[i].policy != NULL)
            agentfix_file(&fix, "p", fails[i].policy, 0600, NULL);
        (void)snprintf(line, sizeof line, "run %s%s", fix.path,
            fails[i].options);
        start(&child, line);
        status = wait_end(&child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), fails[i].want);
        if (strstr(child.said, fails[i].want_said) == NULL)
            fail_msg("%s", child.said);
        if (strstr(child.said, "event=agent.start") != NULL)
            expect_events(child.said);
        agentfix_free(&fix);
    }
}

/* A refused reload says in the log what `kedge check` says. */
static void
test_refused_reload(void **state)
{
    struct agentfix fix;
    struct child child;
    char line[128];

    (void)state;
    flowfake = (struct flowfake){ 0 };
    agentfix_new(&fix);
    agentfix_write(&fix, AGENTFIX_FLOW("a", "x"));
    (void)snprintf(line, sizeof line, "run %s", fix.path);
    start(&child, line);
    assert_true(wait_said(&child, READY));
    agentfix_file(&fix, "p", "version: 7\nmisspelt: 1\n", 0600, NULL);
    assert_int_equal(kill(child.pid, SIGHUP), 0);
    assert_true(wait_said(&child, "event=reload.refused"));
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_int_equal(wait_end(&child), 0);
    expect_events(child.said);
    assert_non_null(strstr(child.said,
        "line=2 column=1 code=KP020 why=\"unknown key 'misspelt'\" help="));
    agentfix_free(&fix);
}

static void
test_levels(void **state)
{
    struct agentfix fix;
    struct child child;
    char line[128];
    int status;

    (void)state;
    flowfake = (struct flowfake){ 0 };
    agentfix_new(&fix);
    agentfix_write(&fix, AGENTFIX_FLOW("a", "x"));
    (void)snprintf(line, sizeof line, "run --log-level debug %s", fix.path);
    start(&child, line);
    assert_true(wait_said(&child, READY));
    assert_non_null(strstr(child.said, "event=agent.limits"));
    assert_non_null(strstr(child.said, "sha256="));
    assert_int_equal(kill(child.pid, SIGINT), 0);
    status = wait_end(&child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CMD_OK);
    agentfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_fails),
        cmocka_unit_test(test_refused_reload),
        cmocka_unit_test(test_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
