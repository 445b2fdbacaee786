#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* A sanitizer has its own threads, and maps more than any limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const struct {
    const char *label;
    int what;            /* -1: nothing is limited */
    uint64_t soft, hard; /* hard 0: as it is */
    uid_t user;          /* 0: as whom we run; root may start any number */
    const char *want;    /* in the text; NULL: it is enough */
} cases[] = {
    { "as we are", -1, 0, 0, 0, NULL },
    { "few files that may be more", RLIMIT_NOFILE, 20, 0, 0, NULL },
    { "few files", RLIMIT_NOFILE, 255, 255, 0,
        "no more than 255 open files are allowed here, and 256 are needed" },
    { "enough files", RLIMIT_NOFILE, 256, 256, 0, NULL },
    { "few addresses", RLIMIT_AS, 2047 * MIB, 2047 * MIB, 0,
        "no more than 2047 MiB of addresses are allowed here, and 2048 are" },
    { "few addresses that may be more", RLIMIT_AS, 900 * MIB, 0, 0, NULL },
    { "few threads", RLIMIT_NPROC, 5, 5, 65534,
        " threads can be started here, and 64 are needed at least: TasksMax=" },
};

/* In a process of its own: 0 as wanted, 1 not, 2 it cannot be tried here. */
static int
try_case(size_t i)
{
    struct rlimit limit = { cases[i].soft, cases[i].hard };
    struct limits limits = { 0 };
    struct rlimit now;
    struct err err = { 0 };
    bool ok;

    if (cases[i].user != 0 && geteuid() == 0 && setuid(cases[i].user) == -1)
        return 2;
    if (cases[i].what != -1) {
        if (getrlimit((__rlimit_resource_t)cases[i].what, &now) == -1)
            return 1;
        if (cases[i].hard == 0)
            limit.rlim_max = now.rlim_max;
        if (setrlimit((__rlimit_resource_t)cases[i].what, &limit) == -1)
            return 1;
    }
    ok = limits_raise(&limits, &err);
    if (ok != (cases[i].want == NULL) ||
        (!ok && (err.kind != ERR_CONFIG ||
                    strstr(err.text, cases[i].want) == NULL))) {
        (void)fprintf(stderr, "%d '%s'\n", ok, err.text);
        return 1;
    }
    return ok && limits.files < LIMITS_FILES;
}

static void
test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = -1;
        pid_t child;

        if (SANITIZED && cases[i].what != RLIMIT_NOFILE)
            continue;
        print_message("%s\n", cases[i].label);
        (void)fflush(NULL);
        child = fork();
        assert_int_not_equal(child, -1);
        if (child == 0)
            _exit(try_case(i));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
