#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "service.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The tests have one thread. */
static void
set_env(const char *name, const char *value)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    assert_int_equal(setenv(name, value, 1), 0);
}

static void
unset_env(const char *name)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    assert_int_equal(unsetenv(name), 0);
}

/* A service manager's end of the notify socket. */
static int
open_notify(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char name[64];

    (void)snprintf(name, sizeof name, "kedge-test-notify-%d", (int)getpid());
    /* The abstract kind: it begins with NUL, which is written as '@'. */
    memcpy(address.sun_path + 1, name, strlen(name));
    assert_int_equal(bind(fd, (struct sockaddr *)&address,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                     1 + strlen(name))),
        0);
    memmove(name + 1, name, strlen(name) + 1);
    name[0] = '@';
    set_env("NOTIFY_SOCKET", name);
    return fd;
}

static void
say_ready(void)
{
    service_ready();
}

static void
say_reloading(void)
{
    service_reloading(1500);
}

static void
say_stopping(void)
{
    service_stopping(30000);
}

static void
say_status(void)
{
    service_status("forwarding 2 flows");
}

static void
say_much(void)
{
    char text[400];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    service_status(text);
}

static const struct {
    const char *label;
    void (*say)(void);
    const char *want; /* how it begins */
    size_t want_len;  /* 0: as long as want */
} said[] = {
    { "ready", say_ready, "READY=1", 0 },
    { "reloading, and since when", say_reloading,
        "RELOADING=1\nMONOTONIC_USEC=1500000", 0 },
    { "stopping, and how long it may take", say_stopping,
        "STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000", 0 },
    { "a status", say_status, "STATUS=forwarding 2 flows", 0 },
    { "a status that is too long is cut", say_much, "STATUS=xxx", 207 },
    { "alive", service_alive, "WATCHDOG=1", 0 },
};

static void
test_notify(void **state)
{
    int fd = open_notify();

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char got[512];
        ssize_t n;

        print_message("%s\n", said[i].label);
        said[i].say();
        n = recv(fd, got, sizeof got - 1, 0);
        assert_in_range(n, 1, sizeof got - 1);
        got[n] = '\0';
        assert_memory_equal(got, said[i].want, strlen(said[i].want));
        assert_int_equal(n,
            said[i].want_len == 0 ? strlen(said[i].want) : said[i].want_len);
    }
    unset_env("NOTIFY_SOCKET");
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        said[i].say(); /* without a manager: nothing */
    close(fd);
}

static void
test_watchdog(void **state)
{
    char pid[32];

    (void)state;
    unset_env("WATCHDOG_USEC");
    assert_int_equal(service_watchdog_ms(), 0);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    set_env("WATCHDOG_PID", pid);
    set_env("WATCHDOG_USEC", "30000000");
    assert_int_equal(service_watchdog_ms(), 30000);
    set_env("WATCHDOG_PID", "1");
    assert_int_equal(service_watchdog_ms(), 0); /* meant for another process */
    unset_env("WATCHDOG_USEC");
    unset_env("WATCHDOG_PID");
}

static void
test_journal_stream(void **state)
{
    struct stat st;
    char stream[64];

    (void)state;
    unset_env("JOURNAL_STREAM");
    assert_false(service_has_journal());
    set_env("JOURNAL_STREAM", "1:2");
    assert_false(service_has_journal()); /* another one's: it was redirected */
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(stream, sizeof stream, "%llu:%llu",
        (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    set_env("JOURNAL_STREAM", stream);
    assert_true(service_has_journal());
    unset_env("JOURNAL_STREAM");
}

/* Handed-in descriptors begin at 3, so each row is a process of its own. */
enum handed { NOTHING, UNIX, INET, DATAGRAM, NOT_LISTENING };

static const struct {
    const char *label;
    enum handed sockets[3];
    bool want;
    int want_admin, want_metrics;
} handed_in[] = {
    { "nothing", { NOTHING }, true, -1, -1 },
    { "the admin socket", { UNIX }, true, 3, -1 },
    { "both", { UNIX, INET }, true, 3, 4 },
    { "both, the other way round", { INET, UNIX }, true, 4, 3 },
    { "two of a kind", { UNIX, UNIX }, false, 0, 0 },
    { "datagrams", { DATAGRAM }, false, 0, 0 },
    { "one that does not listen", { NOT_LISTENING }, false, 0, 0 },
};

/* Makes the socket as descriptor `want_fd`. */
static bool
make_socket(enum handed kind, int want_fd)
{
    struct sockaddr_in any = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un unnamed = { .sun_family = AF_UNIX };
    int fd;

    (void)close(want_fd);
    fd = kind == INET       ? socket(AF_INET, SOCK_STREAM, 0)
         : kind == DATAGRAM ? socket(AF_UNIX, SOCK_DGRAM, 0)
                            : socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd != want_fd && (dup2(fd, want_fd) == -1 || close(fd) == -1))
        return false;
    if (kind == INET &&
        bind(want_fd, (struct sockaddr *)&any, sizeof any) == -1)
        return false;
    /* A short address: the kernel chooses an abstract name. */
    if (kind == UNIX &&
        bind(want_fd, (struct sockaddr *)&unnamed, sizeof(sa_family_t)) == -1)
        return false;
    return kind == DATAGRAM || kind == NOT_LISTENING || listen(want_fd, 1) == 0;
}

static int
in_child(size_t row)
{
    struct service_sockets sockets;
    struct err err;
    char text[32];
    int n = 0;
    bool ok;

    while (n < 3 && handed_in[row].sockets[n] != NOTHING) {
        if (!make_socket(handed_in[row].sockets[n], 3 + n))
            return 2;
        n++;
    }
    (void)snprintf(text, sizeof text, "%d", (int)getpid());
    set_env("LISTEN_PID", text);
    (void)snprintf(text, sizeof text, "%d", n);
    if (n > 0)
        set_env("LISTEN_FDS", text);
    ok = service_sockets_take(&sockets, &err);
    if (ok != handed_in[row].want)
        return 3;
    if (!ok)
        return err.kind == ERR_CONFIG ? 0 : 4;
    if (sockets.admin != handed_in[row].want_admin ||
        sockets.metrics != handed_in[row].want_metrics)
        return 5;
    return getenv("LISTEN_FDS") == NULL ? 0 : 6;
}

static void
test_sockets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof handed_in / sizeof handed_in[0]; i++) {
        pid_t child;
        int status = -1;

        print_message("%s\n", handed_in[i].label);
        child = fork();
        assert_int_not_equal(child, -1);
        if (child == 0)
            _exit(in_child(i));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void
test_journal_fields(void **state)
{
    static const char *const want[] = {
        "PRIORITY=4",
        "MESSAGE=flow.held flow=orders topic=a b lag=7 none=",
        "KEDGE_EVENT=flow.held",
        "KEDGE_FLOW=orders",
        "KEDGE_TOPIC=a\nb",
        "KEDGE_LAG=7",
        "KEDGE_NONE=",
    };
    const struct kv fields[] = { kv_str("flow", "orders"),
        kv_str("topic", "a\nb"), kv_int("lag", 7), kv_str("none", NULL),
        { 0 } };
    const struct service_line line = { LEVEL_WARN, "flow.held", fields };
    struct iovec parts[SERVICE_FIELDS_MAX];
    char text[1024];
    size_t n = service_journal_fields(parts, text, sizeof text, &line);

    (void)state;
    assert_int_equal(n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(parts[i].iov_len, strlen(want[i]));
        assert_memory_equal(parts[i].iov_base, want[i], strlen(want[i]));
    }
}

/* What does not fit is left out, whole fields at a time; the rest is sent. */
static void
test_journal_without_room(void **state)
{
    char value[300];
    const struct kv fields[] = { kv_str("flow", "orders"),
        kv_str("long", value), kv_str("a-b", "c"), { 0 } };
    const struct service_line line = { LEVEL_ERROR, "e", fields };
    struct iovec parts[SERVICE_FIELDS_MAX];
    char text[100];
    size_t n;

    (void)state;
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    n = service_journal_fields(parts, text, sizeof text, &line);
    assert_int_equal(n, 4);
    assert_memory_equal(parts[0].iov_base, "PRIORITY=3", parts[0].iov_len);
    assert_memory_equal(parts[1].iov_base, "KEDGE_EVENT=e", parts[1].iov_len);
    assert_memory_equal(parts[2].iov_base, "KEDGE_FLOW=orders",
        parts[2].iov_len);
    assert_memory_equal(parts[3].iov_base, "KEDGE_A_B=c", parts[3].iov_len);
    service_journal(NULL, LEVEL_DEBUG, "e", fields); /* without a journal */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notify),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_journal_stream),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_journal_fields),
        cmocka_unit_test(test_journal_without_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
