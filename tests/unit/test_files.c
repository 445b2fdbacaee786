#include "files.h"

#include "policyfix.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUT "put the password into "

static char folder[64];

static int
make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/kedge-files-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void
path_of(char *path, size_t size, const char *name)
{
    (void)snprintf(path, size, "%s/%s", folder, name);
}

static void
put(const char *name, mode_t mode, const char *text)
{
    char path[128];
    int fd = -1;

    path_of(path, sizeof path, name);
    if (S_ISFIFO(mode)) {
        assert_int_equal(mkfifo(path, 0600), 0);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void
drop(const char *name)
{
    char path[128];

    path_of(path, sizeof path, name);
    unlink(path);
}

/* Mode 0: the file is not there; with S_IFIFO, it is a pipe. */
static const struct {
    const char *label;
    mode_t ca, key, password;
    const char *secret, *want;
} cases[] = {
    { "all is well", 0644, 0600, 0600, "pw", "" },
    { "no CA", 0, 0600, 0600, "pw", "KP090" },
    { "no key", 0644, 0, 0600, "pw", "KP090" },
    { "no password", 0644, 0600, 0, "", "KP090" },
    { "none of the three, three findings", 0, 0, 0, "", "KP090 KP090 KP090" },
    { "a key that others may read", 0644, 0644, 0600, "pw", "KP092" },
    { "a password that the group may write", 0644, 0600, 0660, "pw", "KP092" },
    { "pipes", S_IFIFO | 0644, S_IFIFO | 0600, S_IFIFO | 0600, "pw",
        "KP091 KP091 KP091" },
    { "an empty password", 0644, 0600, 0600, "", "KP091" },
};

static void
test_cases(void **state)
{
    char text[1024], codes[128];

    (void)state;
    (void)snprintf(text, sizeof text,
        "version: 1\nagent: {site: cloud}\nclusters:\n"
        "  a:\n    site: cloud\n    bootstrap: ['a.test:1']\n"
        "    tls: {ca: %s/ca, cert: %s/cert, key: %s/key}\n"
        "    sasl: {mechanism: PLAIN, username: u, password: {file: %s/pw}}\n"
        "  b:\n    site: cloud\n    bootstrap: ['b.test:1']\n    tls: off\n"
        "flows:\n  f: {from: a, to: b, topics: {include: [t]}}\n",
        folder, folder, folder, folder);
    for (size_t i = 0; i < N(cases); i++) {
        struct findings *found = findings_new();
        struct policy *policy =
            policy_parse(text, strlen(text), NOW_WALL_MS, found);

        assert_non_null(policy);
        put("cert", 0644, "-");
        if (cases[i].ca != 0)
            put("ca", cases[i].ca, "-");
        if (cases[i].key != 0)
            put("key", cases[i].key, "-");
        if (cases[i].password != 0)
            put("pw", cases[i].password, cases[i].secret);
        files_check(policy, found);
        policyfix_codes(found, codes, sizeof codes);
        if (strcmp(codes, cases[i].want) != 0)
            fail_msg("%s: '%s'", cases[i].label, codes);
        for (size_t k = 0; k < findings_count(found); k++) {
            assert_in_range(findings_at(found, k)->at.line, 7, 8);
            assert_non_null(findings_at(found, k)->remedy);
            assert_non_null(strstr(findings_at(found, k)->remedy, folder));
            assert_true(
                (cases[i].password != 0 && cases[i].secret[0] == '\0') ==
                (strncmp(findings_at(found, k)->remedy, PUT, strlen(PUT)) ==
                    0));
        }
        drop("cert");
        drop("ca");
        drop("key");
        drop("pw");
        policy_free(policy);
        findings_free(found);
    }
}

static void
test_folder_for_a_file(void **state)
{
    char text[1024];
    struct findings *found = findings_new();
    struct policy *policy = NULL;

    (void)state;
    (void)snprintf(text, sizeof text, "tls: {ca: %s}", folder);
    {
        char *changed = policyfix_change(policyfix_good,
            "tls: {ca: /etc/kedge/tls/cloud-ca.pem}", text);

        policy = policy_parse(changed, strlen(changed), NOW_WALL_MS, found);
        free(changed);
    }
    assert_non_null(policy);
    files_check(policy, found);
    assert_int_equal(findings_count(found), 1);
    assert_string_equal(findings_at(found, 0)->code, "KP091");
    assert_int_equal(findings_at(found, 0)->at.column, 15);
    policy_free(policy);
    findings_free(found);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_folder_for_a_file),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
