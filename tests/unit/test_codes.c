/* Each code has a file that shows it and one that differs only in the fix. */
#include "codes.h"
#include "file.h"
#include "files.h"
#include "policyfix.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void
put_file(const char *name, mode_t mode, const char *text)
{
    char path[128];
    int fd = -1;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* The files that policies under @DIR@ name. */
static int
make_files(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/kedge-codes-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    put_file("ca.pem", 0644, "-");
    put_file("edge.pem", 0644, "-");
    put_file("edge.key", 0600, "-");
    put_file("other.key", 0600, "-");
    put_file("open.key", 0644, "-");
    return 0;
}

static int
remove_files(void **state)
{
    static const char *const names[] = { "ca.pem", "edge.pem", "edge.key",
        "other.key", "open.key" };
    char path[128];

    (void)state;
    for (size_t i = 0; i < N(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static char *
read_corpus(const char *kind, const char *code)
{
    char path[512];
    struct err err = { 0 };
    size_t len = 0;
    char *text = NULL;

    (void)snprintf(path, sizeof path, "%s/%s/%s.yaml", CORPUS, kind, code);
    text = file_read(path, POLICY_BYTES_MAX, &len, &err);
    if (text == NULL) {
        fail_msg("%s", err.text);
        abort();
    }
    assert_int_equal(strlen(text), len);
    return text;
}

static char *
with_folder(const char *text)
{
    char *now = strdup(text);

    if (now == NULL)
        abort();
    while (strstr(now, "@DIR@") != NULL) {
        char *next = policyfix_change(now, "@DIR@", folder);

        free(now);
        now = next;
    }
    return now;
}

/* Everything that is found, files included where the policy names ours. */
static struct findings *
judge(const char *text, bool *taken)
{
    struct findings *found = findings_new();
    char *whole = with_folder(text);
    struct policy *policy = NULL;

    assert_non_null(found);
    policy = policy_parse(whole, strlen(whole), NOW_WALL_MS, found);
    if (policy != NULL && strstr(text, "@DIR@") != NULL)
        files_check(policy, found);
    *taken = policy != NULL && !findings_refuse(found);
    policy_free(policy);
    free(whole);
    return found;
}

/* Whether the contents of a certificate fit is known to those who know
 * certificates: test_cmd_check.c has that pair. */
static bool
is_elsewhere(const char *code)
{
    return strcmp(code, "KP093") == 0;
}

static void
test_bad_files_show_their_code_alone(void **state)
{
    char codes[256];

    (void)state;
    for (size_t i = 0; i < codes_count(); i++) {
        const char *code = codes_at(i)->code;
        char *text = read_corpus("bad", code);
        bool taken = false;
        struct findings *found = judge(text, &taken);

        policyfix_codes(found, codes, sizeof codes);
        if (!is_elsewhere(code) && strcmp(codes, code) != 0)
            fail_msg("bad/%s.yaml: found '%s'", code, codes);
        if (!is_elsewhere(code) &&
            taken != (policyfix_find(found, code)->severity != SEVERITY_REFUSE))
            fail_msg("bad/%s.yaml: taken %d", code, taken);
        findings_free(found);
        free(text);
    }
}

static void
test_good_files_pass_in_silence(void **state)
{
    char codes[256];

    (void)state;
    for (size_t i = 0; i < codes_count(); i++) {
        char *text = read_corpus("good", codes_at(i)->code);
        bool taken = false;
        struct findings *found = judge(text, &taken);

        policyfix_codes(found, codes, sizeof codes);
        if (!taken || codes[0] != '\0')
            fail_msg("good/%s.yaml: found '%s'", codes_at(i)->code, codes);
        findings_free(found);
        free(text);
    }
}

static size_t
lines(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

/* From the first byte that differs to the last. */
static void
test_pairs_differ_only_in_the_fix(void **state)
{
    (void)state;
    for (size_t i = 0; i < codes_count(); i++) {
        const char *code = codes_at(i)->code;
        char *good = read_corpus("good", code);
        char *bad = read_corpus("bad", code);
        size_t n = strlen(good), m = strlen(bad), front = 0, back = 0;

        while (front < n && front < m && good[front] == bad[front])
            front++;
        while (back < n - front && back < m - front &&
               good[n - 1 - back] == bad[m - 1 - back])
            back++;
        if (front == n && front == m)
            fail_msg("%s: the two files are the same", code);
        if (strcmp(code, "KP011") != 0 && /* around the whole file */
            (lines(good + front, n - front - back) > 4 ||
                lines(bad + front, m - front - back) > 4))
            fail_msg("%s: the files differ in more than the fix", code);
        free(good);
        free(bad);
    }
}

static void
test_table_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < codes_count(); i++) {
        const struct code *code = codes_at(i);

        assert_int_equal(strlen(code->code), 5);
        assert_memory_equal(code->code, "KP", 2);
        if (i > 0)
            assert_true(strcmp(codes_at(i - 1)->code, code->code) < 0);
        assert_true(strlen(code->what) > 3);
        assert_true(strlen(code->why) > 10);
        assert_true(strlen(code->mend) > 2);
        assert_ptr_equal(codes_find(code->code), code);
    }
    assert_ptr_equal(codes_find("kp045"), codes_find("KP045"));
    assert_null(codes_find("KP999"));
    assert_null(codes_find(""));
}

/* A code that the source names, and nobody can look up. */
static void
check_source(const char *path, bool *used)
{
    struct err err = { 0 };
    size_t len = 0;
    char *text = file_read(path, 1u << 20, &len, &err);
    const char *at = text;

    if (text == NULL) {
        fail_msg("%s", err.text);
        abort();
    }
    while ((at = strstr(at, "\"KP")) != NULL) {
        char code[6] = "";

        memcpy(code, ++at, 5);
        if (!isdigit((unsigned char)code[2]))
            continue;
        if (codes_find(code) == NULL)
            fail_msg("%s: %s cannot be explained", path, code);
        used[codes_find(code) - codes_at(0)] = true;
    }
    free(text);
}

static void
test_every_code_is_used_and_explained(void **state)
{
    bool used[200] = { false };
    DIR *dir = opendir(SOURCE "/policy");
    const struct dirent *entry = NULL;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        char path[600];
        const char *dot = strrchr(entry->d_name, '.');

        if (dot == NULL || strcmp(dot, ".c") != 0 ||
            strcmp(entry->d_name, "codes.c") == 0)
            continue;
        (void)snprintf(path, sizeof path, SOURCE "/policy/%s", entry->d_name);
        check_source(path, used);
    }
    closedir(dir);
    check_source(SOURCE "/agent/cmd_check.c", used);
    check_source(SOURCE "/agent/inspect.c", used);
    for (size_t i = 0; i < codes_count(); i++)
        if (!used[i])
            fail_msg("%s is explained and never used", codes_at(i)->code);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_files_show_their_code_alone),
        cmocka_unit_test(test_good_files_pass_in_silence),
        cmocka_unit_test(test_pairs_differ_only_in_the_fix),
        cmocka_unit_test(test_table_is_complete),
        cmocka_unit_test(test_every_code_is_used_and_explained),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
