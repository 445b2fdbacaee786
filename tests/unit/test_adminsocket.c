#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adminsocket.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[64];

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/kedge-test-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/sub/admin.sock", folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/sub", folder);
    (void)rmdir(path);
    (void)snprintf(path, sizeof path, "%s/admin.sock", folder);
    (void)unlink(path);
    return rmdir(folder);
}

static const char *
in_folder(char path[128], const char *name)
{
    (void)snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static void
test_only_owner_and_group(void **state)
{
    char path[128];
    struct err err;
    struct stat st;
    mode_t before = umask(022);
    int fd = adminsocket_unix(in_folder(path, "admin.sock"), &err);

    (void)state;
    assert_int_not_equal(fd, -1);
    assert_int_equal(umask(before), 022); /* put back as it was */
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0660);
    close(fd);
}

static void
test_folder_is_made(void **state)
{
    char path[128], sub[128];
    struct err err;
    struct stat st;
    int fd = adminsocket_unix(in_folder(path, "sub/admin.sock"), &err);

    (void)state;
    assert_int_not_equal(fd, -1);
    assert_int_equal(stat(in_folder(sub, "sub"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    close(fd);
}

static void
test_folder_of_a_folder_is_not(void **state)
{
    char path[128];
    struct err err;

    (void)state;
    assert_int_equal(adminsocket_unix(in_folder(path, "a/b/s"), &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "a/b/s"));
    assert_non_null(strstr(err.text, "/a/b is missing"));
}

/* Also for root: nobody makes folders in /proc. */
static void
test_folder_that_may_not_be_made(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(adminsocket_unix("/proc/1/kedge/s", &err), -1);
    assert_true(err.kind == ERR_DENIED || err.kind == ERR_CONFIG);
    assert_int_equal(adminsocket_unix("/dev/null/s", &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
}

static void
test_stale_one_is_replaced(void **state)
{
    char path[128];
    struct err err;
    int fd = adminsocket_unix(in_folder(path, "admin.sock"), &err);
    int client;

    (void)state;
    assert_int_not_equal(fd, -1);
    close(fd); /* as a crash does: the file stays */
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(adminsocket_connect(path, &err), -1);
    assert_int_equal(err.kind, ERR_NET);
    fd = adminsocket_unix(path, &err);
    assert_int_not_equal(fd, -1);
    client = adminsocket_connect(path, &err);
    assert_int_not_equal(client, -1);
    close(client);
    close(fd);
}

static void
test_second_agent_is_refused(void **state)
{
    char path[128];
    struct err err;
    int fd = adminsocket_unix(in_folder(path, "admin.sock"), &err);

    (void)state;
    assert_int_not_equal(fd, -1);
    assert_int_equal(adminsocket_unix(path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "another agent answers on"));
    assert_int_equal(access(path, F_OK), 0); /* the first one's is left */
    close(fd);
}

/* It is stopped, and as many as fit wait for it. */
static void
test_an_agent_that_does_not_accept_is_one(void **state)
{
    char path[128];
    struct err err;
    int fd = adminsocket_unix(in_folder(path, "admin.sock"), &err);
    int clients[64];
    size_t n = 0;

    (void)state;
    assert_int_not_equal(fd, -1);
    while (n < 64 && (clients[n] = adminsocket_connect(path, &err)) != -1)
        n++;
    assert_in_range(n, 1, 63);
    assert_int_equal(err.kind, ERR_NET);
    assert_true(err.retry);
    assert_int_equal(adminsocket_unix(path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "another agent answers on"));
    assert_int_equal(access(path, F_OK), 0);
    while (n > 0)
        close(clients[--n]);
    close(fd);
}

static void
test_a_socket_of_another_kind_stays(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct err err;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)state;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/admin.sock",
        folder);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(adminsocket_unix(address.sun_path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_int_equal(access(address.sun_path, F_OK), 0);
    close(fd);
}

static void
test_other_files_stay(void **state)
{
    char path[128];
    struct err err;
    int fd = open(in_folder(path, "admin.sock"), O_WRONLY | O_CREAT | O_CLOEXEC,
        0600);

    (void)state;
    assert_int_not_equal(fd, -1);
    close(fd);
    assert_int_equal(adminsocket_unix(path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "not a socket"));
    assert_int_equal(access(path, F_OK), 0);
}

static void
test_paths(void **state)
{
    char path[300];
    struct err err;

    (void)state;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[200] = '\0';
    assert_int_equal(adminsocket_unix(path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_int_equal(adminsocket_connect(path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_int_equal(adminsocket_unix("", &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_int_equal(adminsocket_connect(in_folder(path, "none"), &err), -1);
    assert_int_equal(err.kind, ERR_NET);
    assert_non_null(strstr(err.text, "no agent answers on"));
}

static void
test_loopback(void **state)
{
    static const struct {
        const char *label, *text;
        bool want;
    } rows[] = {
        { "the usual", "127.0.0.1:0", true },
        { "another of that network", "127.0.0.2:0", true },
        { "by its name", "localhost:0", true },
        { "any address", "0.0.0.0:9464", false },
        { "an address of a network", "192.0.2.1:9464", false },
        { "one that begins alike", "127.0.0.1.example:9464", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = { 0 };
        int fd = adminsocket_loopback(rows[i].text, &err);

        print_message("%s\n", rows[i].label);
        assert_int_equal(fd != -1, rows[i].want);
        if (fd != -1)
            close(fd);
        else
            assert_int_equal(err.kind, ERR_CONFIG);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_owner_and_group, setup,
            teardown),
        cmocka_unit_test_setup_teardown(test_folder_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder_of_a_folder_is_not, setup,
            teardown),
        cmocka_unit_test_setup_teardown(test_stale_one_is_replaced, setup,
            teardown),
        cmocka_unit_test_setup_teardown(test_second_agent_is_refused, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            test_an_agent_that_does_not_accept_is_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_socket_of_another_kind_stays,
            setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_files_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test(test_folder_that_may_not_be_made),
        cmocka_unit_test(test_loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
