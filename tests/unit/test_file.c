#include "file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

struct place {
    char folder[64];
    int dir;
};

static int
set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    strcpy(place->folder, "/tmp/kedge-test-file-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    place->dir = open(place->folder, O_RDONLY | O_DIRECTORY);
    assert_true(place->dir >= 0);
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    static const char *const names[] = { "a", ".a.new", "pipe", "folder",
        "link", "socket" };
    struct place *place = *state;

    for (size_t i = 0; i < N(names); i++) {
        (void)unlinkat(place->dir, names[i], 0);
        (void)unlinkat(place->dir, names[i], AT_REMOVEDIR);
    }
    close(place->dir);
    /* Fails if something was left that the test does not know of. */
    assert_int_equal(rmdir(place->folder), 0);
    free(place);
    return 0;
}

static const char *
path_of(const struct place *place, const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    return path;
}

static void
make_file(const struct place *place, const char *name, const void *bytes,
    size_t len, mode_t mode)
{
    int fd = openat(place->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static void
test_read(void **state)
{
    static const struct {
        const char *label;
        size_t len, max;
        bool want;
    } cases[] = {
        { "empty", 0, 10, true },
        { "empty, and nothing is allowed", 0, 0, true },
        { "just as much as is allowed", 10, 10, true },
        { "one byte more than is allowed", 11, 10, false },
        { "something where nothing is allowed", 1, 0, false },
        { "one page less a byte", 4095, 100000, true },
        { "one page", 4096, 100000, true },
        { "several pages", 90000, 100000, true },
        { "many pages more than is allowed", 90000, 100, false },
    };
    static char bytes[90000];
    struct place *place = *state;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 % 251);
    for (size_t i = 0; i < N(cases); i++) {
        struct err err = { 0 };
        size_t len = 77;
        char *got;

        print_message("%s\n", cases[i].label);
        make_file(place, "a", bytes, cases[i].len, 0644);
        got = file_read(path_of(place, "a"), cases[i].max, &len, &err);
        assert_int_equal(got != NULL, cases[i].want);
        if (got == NULL) {
            assert_int_equal(err.kind, ERR_CONFIG);
            assert_non_null(strstr(err.text, "more than"));
            continue;
        }
        assert_int_equal(len, cases[i].len);
        assert_memory_equal(got, bytes, len);
        assert_int_equal(got[len], '\0');
        free(got);
    }
}

static void
make_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(close(fd), 0);
}

static void
test_what_is_no_file(void **state)
{
    static const struct {
        const char *label, *name;
        enum err_kind want;
    } cases[] = {
        { "absent", "none", ERR_MISSING },
        { "a file where a folder should be", "a/b", ERR_MISSING },
        { "a folder", "folder", ERR_CONFIG },
        { "a pipe that nobody writes", "pipe", ERR_CONFIG },
        { "a socket", "socket", ERR_CONFIG },
        { "a device", "/dev/null", ERR_CONFIG },
        { "a link to itself", "link", ERR_IO },
    };
    struct place *place = *state;

    make_file(place, "a", "x", 1, 0600);
    assert_int_equal(mkdirat(place->dir, "folder", 0700), 0);
    assert_int_equal(symlinkat("link", place->dir, "link"), 0);
    assert_int_equal(mkfifoat(place->dir, "pipe", 0600), 0);
    make_socket(path_of(place, "socket"));
    for (size_t i = 0; i < N(cases); i++) {
        struct err err = { 0 };
        const char *path = cases[i].name[0] == '/'
                               ? cases[i].name
                               : path_of(place, cases[i].name);
        size_t len;

        print_message("%s\n", cases[i].label);
        assert_null(file_read(path, 100, &len, &err));
        assert_int_equal(err.kind, cases[i].want);
        assert_memory_equal(err.text, path, strlen(path));
        assert_null(file_read_private(path, 100, &len, &err));
        assert_int_equal(err.kind, cases[i].want);
    }
}

static void
test_private(void **state)
{
    static const struct {
        const char *label;
        mode_t mode;
        bool roots, others;
    } cases[] = {
        { "the owner alone", 0600, true, true },
        { "the owner may only read", 0400, true, true },
        { "the group may read", 0640, true, false },
        { "the group may write", 0660, false, false },
        { "the group may execute", 0610, false, false },
        { "others may read", 0604, false, false },
        { "others may write", 0602, false, false },
        { "everybody may read", 0644, false, false },
    };
    struct place *place = *state;

    for (size_t i = 0; i < N(cases); i++) {
        bool want = geteuid() == 0 ? cases[i].roots : cases[i].others;
        struct err err = { 0 };
        size_t len = 0;
        char *got;

        print_message("%s\n", cases[i].label);
        make_file(place, "a", "x", 1, cases[i].mode);
        got = file_read_private(path_of(place, "a"), 10, &len, &err);
        assert_int_equal(got != NULL, want);
        if (!want) {
            assert_int_equal(err.kind, ERR_CONFIG);
            assert_non_null(strstr(err.text, "open to"));
        }
        free(got);
    }
}

static void
test_somebody_elses(void **state)
{
    struct place *place = *state;
    struct err err = { 0 };
    size_t len;

    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    make_file(place, "a", "x", 1, 0600);
    assert_int_equal(fchownat(place->dir, "a", 12345, 12345, 0), 0);
    assert_null(file_read_private(path_of(place, "a"), 10, &len, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "belongs to somebody else"));
}

static void
expect_bytes(const struct place *place, const char *want)
{
    struct err err;
    size_t len;
    char *got = file_read_private(path_of(place, "a"), 100, &len, &err);

    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

static void
test_replace(void **state)
{
    struct place *place = *state;
    struct err err;

    assert_true(file_replace(place->dir, "a", "one", 3, &err));
    expect_bytes(place, "one");
    assert_true(file_replace(place->dir, "a", "", 0, &err));
    expect_bytes(place, "");
    /* What a crash left behind is in nobody's way. */
    make_file(place, ".a.new", "half", 4, 0644);
    assert_true(file_replace(place->dir, "a", "two", 3, &err));
    expect_bytes(place, "two");
}

static void
test_replace_that_fails(void **state)
{
    static const struct {
        const char *label, *name;
    } cases[] = {
        { "a folder has the name", "folder" },
        { "a folder has the name of the new file", "a" },
    };
    struct place *place = *state;
    char long_name[300];
    struct err err = { 0 };

    make_file(place, "a", "old", 3, 0600);
    assert_int_equal(mkdirat(place->dir, "folder", 0700), 0);
    assert_int_equal(mkdirat(place->dir, ".a.new", 0700), 0);
    for (size_t i = 0; i < N(cases); i++) {
        print_message("%s\n", cases[i].label);
        assert_false(file_replace(place->dir, cases[i].name, "new", 3, &err));
        assert_int_equal(err.kind, ERR_IO);
        expect_bytes(place, "old");
    }
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_false(file_replace(place->dir, long_name, "new", 3, &err));
    assert_non_null(strstr(err.text, "xxx"));
    assert_false(file_replace(-1, "a", "new", 3, &err));
    assert_string_equal(err.text, "a: Bad file descriptor");
}

/* A limit on the size of files stands in for the full disk. */
static void
test_replace_on_a_full_disk(void **state)
{
    struct place *place = *state;
    struct rlimit old, small;
    struct err err = { 0 };
    bool replaced;

    assert_true(file_replace(place->dir, "a", "old", 3, &err));
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    replaced = file_replace(place->dir, "a", "new bytes", 9, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(replaced);
    assert_string_equal(err.text, "a: File too large");
    expect_bytes(place, "old");
    /* The half of it is not left lying about. */
    assert_int_equal(faccessat(place->dir, ".a.new", F_OK, 0), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_file, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_private, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_somebody_elses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replace_that_fails, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_replace_on_a_full_disk, set_up,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
