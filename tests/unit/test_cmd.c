#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmdfix.h"
#include "err.h"
#include "file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmd_main() speaks to the process's own outputs: each row is a process. */
static int
run_main(const char *line, char *out, char *err, size_t size)
{
    int pipes[2][2];
    char *texts[2];
    int status = -1;
    pid_t child;

    texts[0] = out;
    texts[1] = err;
    assert_int_equal(pipe(pipes[0]) | pipe(pipes[1]), 0);
    (void)fflush(NULL);
    child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        struct cmdfix fix;

        (void)dup2(pipes[0][1], STDOUT_FILENO);
        (void)dup2(pipes[1][1], STDERR_FILENO);
        cmdfix_begin(&fix, line);
        status = cmd_main(fix.argc, fix.argv);
        (void)fflush(NULL);
        _exit(status);
    }
    for (int i = 0; i < 2; i++) {
        ssize_t n = 0, got;

        close(pipes[i][1]);
        while (
            (got = read(pipes[i][0], texts[i] + n, size - 1 - (size_t)n)) > 0)
            n += got;
        texts[i][n] = '\0';
        close(pipes[i][0]);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const struct {
    const char *label, *line;
    int want;
    const char *want_out, *want_err; /* in them; NULL: nothing is said */
} cases[] = {
    { "no command", "kedge", CMD_USAGE, NULL, "usage: kedge COMMAND" },
    { "help", "kedge help", CMD_OK, "  status   Show every flow", NULL },
    { "help as people try it", "kedge --help", CMD_OK, "usage: kedge COMMAND",
        NULL },
    { "help of a command", "kedge help run", CMD_OK,
        "usage: kedge run [POLICY] [--name NAME]", NULL },
    { "the policy without one", "kedge help run", CMD_OK,
        "the file; without it, /etc/kedge/policy.yaml\n", NULL },
    { "an option of run", "kedge help run", CMD_OK,
        "  --log-level LEVEL  error, warn, info (without it) or debug\n",
        NULL },
    { "an option of check", "kedge help check", CMD_OK,
        "  --json             the findings as one JSON object", NULL },
    { "the options of the demo", "kedge help demo", CMD_OK,
        "  --keep             leave all of it running", NULL },
    { "a command without words", "kedge help version", CMD_OK,
        "usage: kedge version\n\nSay which", NULL },
    { "the same, the other way round", "kedge flow --help", CMD_OK,
        "usage: kedge flow pause|resume|restart FLOW", NULL },
    { "help of a command as people try it", "kedge help --check", CMD_OK,
        "usage: kedge check [POLICY] [--json | --format human|json]", NULL },
    { "help of what there is not", "kedge help fly", CMD_USAGE, NULL,
        "there is no such command" },
    { "the metrics", "kedge help metrics", CMD_OK,
        "| `kedge_partition_true_lag` | gauge |", NULL },
    { "the version", "kedge version", CMD_OK, "librdkafka ", NULL },
    { "the version as people try it", "kedge --version", CMD_OK,
        "kedge " KEDGE_VERSION "\n", NULL },
    { "what it was built with", "kedge -V", CMD_OK, "SASL PLAIN", NULL },
    { "a command that is not there", "kedge fly", CMD_USAGE, NULL,
        "kedge: there is no command 'fly'\nsee 'kedge help'\n" },
    { "a word is missing", "kedge flow pause", CMD_USAGE, NULL,
        "kedge: a word is missing: kedge flow pause|resume|restart FLOW "
        "[--socket PATH]\nsee 'kedge help flow'\n" },
    { "too many words", "kedge version now", CMD_USAGE, NULL,
        "kedge: there are too many words: kedge version\n"
        "see 'kedge help version'\n" },
    { "the policy where the packages install it",
        "kedge run --name=", CMD_USAGE, NULL, "a name has 1 to 64 bytes" },
    { "a policy that is missing", "kedge run /nowhere/policy.yaml",
        CMD_NO_INPUT, NULL, "kedge.policy(5) says how a policy is written\n" },
    { "the same of check", "kedge check /nowhere/policy.yaml", CMD_NO_INPUT,
        NULL, "kedge.policy(5) says how a policy is written\n" },
    { "no agent", "kedge status --socket /nowhere/s", CMD_UNAVAILABLE, NULL,
        "kedge: no agent answers on /nowhere/s: start 'kedge run', or give "
        "--socket as in admin.socket of its policy\n" },
};

static void
test_main(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static char out[16384], err[16384];

        print_message("%s\n", cases[i].label);
        assert_int_equal(run_main(cases[i].line, out, err, sizeof out),
            cases[i].want);
        if (cases[i].want_out == NULL)
            assert_string_equal(out, "");
        else if (strstr(out, cases[i].want_out) == NULL)
            fail_msg("%s", out);
        if (cases[i].want_err == NULL)
            assert_string_equal(err, "");
        else if (strstr(err, cases[i].want_err) == NULL)
            fail_msg("%s", err);
    }
}

/* Every command that is listed stands in the manual, with how it ends. */
static void
test_manual(void **state)
{
    static char out[16384], said[16384];
    char *manual, *rest = NULL;
    const char *ends;
    struct err err;
    size_t len = 0;
    int n = 0;

    (void)state;
    manual = file_read(DOCS "/kedge.1", 1 << 20, &len, &err);
    assert_non_null(manual);
    ends = strstr(manual, "\n.Sh EXIT STATUS");
    assert_non_null(ends);
    assert_int_equal(run_main("kedge help", out, said, sizeof out), CMD_OK);
    for (char *line = strtok_r(out, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char row[64];

        if (strncmp(line, "  ", 2) != 0)
            continue;
        (void)snprintf(row, sizeof row, "\n.Nm kedge\n.Cm %.*s",
            (int)strcspn(line + 2, " "), line + 2);
        if (strstr(manual, row) == NULL)
            fail_msg("not in kedge.1: %s", line);
        (void)snprintf(row, sizeof row, "\n.It Cm %.*s",
            (int)strcspn(line + 2, " "), line + 2);
        if (strstr(ends, row) == NULL)
            fail_msg("kedge.1 does not say how it ends: %s", line);
        n++;
    }
    assert_in_range(n, 5, 30);
    free(manual);
}

/* What cannot be written was not said; and what cannot be had is. */
static const struct {
    const char *label, *line;
    int what; /* is limited; -1: the disk is full */
    rlim_t limit;
    int want;
} poor[] = {
    { "a full disk", "kedge help", -1, 0, CMD_SOFTWARE },
    { "a file that is too large", "kedge help", RLIMIT_FSIZE, 0, CMD_SOFTWARE },
    { "a demo without descriptors", "kedge demo", RLIMIT_NOFILE, 64,
        CMD_CONFIG },
};

static int
run_poor(size_t i)
{
    const struct rlimit limit = { poor[i].limit, poor[i].limit };
    FILE *out = poor[i].what == -1 ? fopen("/dev/full", "we") : tmpfile();
    struct cmdfix fix;

    if (out == NULL || dup2(fileno(out), STDOUT_FILENO) == -1 ||
        (poor[i].what != -1 &&
            setrlimit((__rlimit_resource_t)poor[i].what, &limit) == -1))
        return 99;
    cmdfix_begin(&fix, poor[i].line);
    return cmd_main(fix.argc, fix.argv);
}

static void
test_poor_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof poor / sizeof poor[0]; i++) {
        int status = -1;
        pid_t child;

        print_message("%s\n", poor[i].label);
        (void)fflush(NULL);
        child = fork();
        assert_int_not_equal(child, -1);
        if (child == 0)
            _exit(run_poor(i));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), poor[i].want);
    }
}

/* What is opened first does not take the place of a closed output. */
static void
test_closed_outputs(void **state)
{
    static const struct {
        const char *label, *line;
        int closed; /* up to which descriptor, from `from` */
        int from, want;
    } rows[] = {
        { "no output", "kedge help", STDOUT_FILENO, STDOUT_FILENO,
            CMD_SOFTWARE },
        { "no error output", "kedge fly", STDERR_FILENO, STDERR_FILENO,
            CMD_USAGE },
        { "none of the three", "kedge help", STDERR_FILENO, STDIN_FILENO,
            CMD_SOFTWARE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status = -1;
        pid_t child;

        print_message("%s\n", rows[i].label);
        (void)fflush(NULL);
        child = fork();
        assert_int_not_equal(child, -1);
        if (child == 0) {
            struct cmdfix fix;
            int end;

            cmdfix_begin(&fix, rows[i].line);
            for (int fd = rows[i].from; fd <= rows[i].closed; fd++)
                (void)close(fd);
            end = cmd_main(fix.argc, fix.argv);
            _exit(open("/dev/null", O_RDONLY | O_CLOEXEC) > STDERR_FILENO ? end
                                                                          : 99);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), rows[i].want);
    }
}

static void
test_statuses(void **state)
{
    static const struct {
        enum err_kind kind;
        int want;
    } rows[] = {
        { ERR_CONFIG, CMD_CONFIG },
        { ERR_MISSING, CMD_NO_INPUT },
        { ERR_POLICY, CMD_CONFIG },
        { ERR_DENIED, CMD_NO_PERMISSION },
        { ERR_LOGIN, CMD_NO_PERMISSION },
        { ERR_CERT, CMD_CONFIG },
        { ERR_NET, CMD_UNAVAILABLE },
        { ERR_KAFKA, CMD_UNAVAILABLE },
        { ERR_IO, CMD_SOFTWARE },
        { ERR_MEMORY, CMD_SOFTWARE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cmdfix fix;
        struct err err;

        cmdfix_begin(&fix, "x");
        err_set(&err, rows[i].kind, "why");
        assert_int_equal(cmd_fail(&fix.ctx, &err), rows[i].want);
        cmdfix_done(&fix);
        assert_string_equal(fix.err, "kedge: why\n");
        assert_string_equal(fix.out, "");
        cmdfix_free(&fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_main),
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_poor_machines),
        cmocka_unit_test(test_closed_outputs),
        cmocka_unit_test(test_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
