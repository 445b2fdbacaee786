/* What `kedge check`, `explain` and `policy show` say, and how they end. */
#include "clock.h"
#include "cmdfix.h"
#include "file.h"
#include "json.h"
#include "policyfix.h"
#include "secret.h"
#include "selfsigned.h"

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
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static struct selfsigned *
make(enum selfsigned_kind kind, const struct selfsigned *issuer)
{
    int64_t now = clock_wall_ms(clock_system());
    const struct selfsigned_options options = {
        .kind = kind,
        .common_name = "test",
        .from_wall_ms = now - 3600000,
        .until_wall_ms = now + 3600000,
        .issuer = issuer,
    };
    struct err err = { 0 };
    struct selfsigned *made = selfsigned_new(&options, &err);

    assert_non_null(made);
    return made;
}

static int
make_files(void **state)
{
    struct selfsigned *ca = make(SELFSIGNED_CA, NULL);
    struct selfsigned *edge = make(SELFSIGNED_CLIENT, ca);
    struct selfsigned *other = make(SELFSIGNED_CLIENT, ca);

    char pipe[128];

    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/kedge-check-XXXXXX");
    assert_non_null(mkdtemp(folder));
    put_file("ca.pem", 0644, selfsigned_cert_pem(ca));
    put_file("edge.pem", 0644, selfsigned_cert_pem(edge));
    put_file("edge.key", 0600, secret_text(selfsigned_key_pem(edge)));
    put_file("other.key", 0600, secret_text(selfsigned_key_pem(other)));
    put_file("open.key", 0644, secret_text(selfsigned_key_pem(edge)));
    (void)snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    selfsigned_free(other);
    selfsigned_free(edge);
    selfsigned_free(ca);
    return 0;
}

static int
remove_files(void **state)
{
    static const char *const names[] = { "ca.pem", "edge.pem", "edge.key",
        "other.key", "open.key", "policy.yaml", "pipe" };
    char path[128];

    (void)state;
    for (size_t i = 0; i < N(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/* @DIR@ is the folder. */
static char *
with_folder(const char *text)
{
    char *now = strdup(text);

    while (strstr(now, "@DIR@") != NULL) {
        char *next = policyfix_change(now, "@DIR@", folder);

        free(now);
        now = next;
    }
    return now;
}

static void
put_policy(const char *text)
{
    char *whole = with_folder(text);

    put_file("policy.yaml", 0644, whole);
    free(whole);
}

static int
run(struct cmdfix *fix, cmd_fn *command, const char *words)
{
    char *line = with_folder(words);
    int status = cmdfix_run(fix, command, line);

    free(line);
    return status;
}

/* A change of the good policy, and the end of `kedge check`. */
static const struct {
    const char *label, *was, *is;
    int status;
    const char *code; /* NULL: nothing is found */
} cases[] = {
    { "a policy that passes", "/etc/kedge/tls/cloud-ca.pem", "@DIR@/ca.pem",
        CMD_OK, NULL },
    { "a certificate with its key", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/ca.pem, cert: @DIR@/edge.pem, key: @DIR@/edge.key", CMD_OK,
        NULL },
    { "a file that is missing", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/absent.pem", CMD_NO_INPUT, "KP090" },
    { "a missing file and a wrong one", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/absent.pem, cert: @DIR@/edge.pem, key: @DIR@/other.key",
        CMD_CONFIG, "KP093" },
    { "a folder for a file", "/etc/kedge/tls/cloud-ca.pem", "@DIR@", CMD_CONFIG,
        "KP091" },
    { "a pipe for a file", "/etc/kedge/tls/cloud-ca.pem", "@DIR@/pipe",
        CMD_CONFIG, "KP091" },
    { "pipes for a pair", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/ca.pem, cert: @DIR@/pipe, key: @DIR@/pipe", CMD_CONFIG,
        "KP091" },
    { "a key of another certificate", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/ca.pem, cert: @DIR@/edge.pem, key: @DIR@/other.key", CMD_CONFIG,
        "KP093" },
    { "a key for a certificate", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/ca.pem, cert: @DIR@/edge.key, key: @DIR@/edge.key", CMD_CONFIG,
        "KP093" },
    { "a key where authorities are meant", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/edge.key", CMD_CONFIG, "KP093" },
    { "a key that others may read", "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/ca.pem, cert: @DIR@/edge.pem, key: @DIR@/open.key", CMD_CONFIG,
        "KP092" },
    { "a policy that is refused", "acks: all", "acks: 1", CMD_CONFIG, "KP045" },
    { "no YAML", "version: 1", "version 1", CMD_CONFIG, "KP001" },
};

static void
test_check(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        char *text =
            policyfix_change(policyfix_good, cases[i].was, cases[i].is);
        struct cmdfix fix;
        int status = 0;

        put_policy(text);
        status = run(&fix, cmd_check_run, "check @DIR@/policy.yaml");
        if (status != cases[i].status ||
            (cases[i].code != NULL && strstr(fix.out, cases[i].code) == NULL) ||
            (cases[i].code == NULL && strstr(fix.out, "KP") != NULL))
            fail_msg("%s: %d\n%s", cases[i].label, status, fix.out);
        assert_string_equal(fix.err, "");
        cmdfix_free(&fix);
        free(text);
    }
}

/* The pair whose fault is in what the files hold. */
static void
test_corpus_pair(void **state)
{
    static const struct {
        const char *path;
        int status;
    } pair[] = {
        { CORPUS "/good/KP093.yaml", CMD_OK },
        { CORPUS "/bad/KP093.yaml", CMD_CONFIG },
    };

    (void)state;
    for (size_t i = 0; i < N(pair); i++) {
        struct err err = { 0 };
        size_t len = 0;
        char *text = file_read(pair[i].path, POLICY_BYTES_MAX, &len, &err);
        struct cmdfix fix;

        assert_non_null(text);
        put_policy(text);
        assert_int_equal(run(&fix, cmd_check_run, "check @DIR@/policy.yaml"),
            pair[i].status);
        assert_int_equal(strstr(fix.out, "KP093") != NULL, i == 1);
        cmdfix_free(&fix);
        free(text);
    }
}

static void
test_what_it_says_of_a_good_one(void **state)
{
    char *text = policyfix_change(policyfix_good, "/etc/kedge/tls/cloud-ca.pem",
        "@DIR@/ca.pem");
    struct cmdfix fix;

    (void)state;
    put_policy(text);
    assert_int_equal(run(&fix, cmd_check_run, "check @DIR@/policy.yaml"),
        CMD_OK);
    assert_non_null(strstr(fix.out,
        "  flow telemetry: plant7 to cloud, produced remotely because of "
        "firewall, 3d without the link; topics orders as plant7.*\n"));
    assert_non_null(strstr(fix.out, "passes, 0 warnings"));
    cmdfix_free(&fix);
    free(text);
}

static void
test_json(void **state)
{
    static const char *const lines[] = {
        "check --format=json @DIR@/policy.yaml",
        "check --json @DIR@/policy.yaml"
    };
    char *text = policyfix_change(policyfix_good, "acks: all", "acks: 1");

    (void)state;
    put_policy(text);
    for (size_t i = 0; i < N(lines); i++) {
        struct cmdfix fix;
        struct err err = { 0 };
        struct json *json = NULL;
        const struct json *one = NULL;
        int64_t line = 0;

        assert_int_equal(run(&fix, cmd_check_run, lines[i]), CMD_CONFIG);
        json = json_parse(fix.out, fix.out_len, &err);
        assert_non_null(json);
        one = json_item(json_get(json, "findings"), 0);
        assert_string_equal(json_get_text(one, "code"), "KP045");
        assert_true(json_get_int(one, "line", &line));
        assert_int_equal(line, 18);
        json_free(json);
        cmdfix_free(&fix);
    }
    free(text);
}

/* More than is read at all is still a finding, in the form that was asked. */
static void
test_json_of_a_huge_one(void **state)
{
    const size_t len = (size_t)5 * 1024 * 1024;
    char *text = calloc(1, len + 1);
    struct cmdfix fix;
    struct err err = { 0 };
    struct json *json = NULL;

    (void)state;
    assert_non_null(text);
    memset(text, '#', len);
    put_policy(text);
    free(text);
    assert_int_equal(run(&fix, cmd_check_run,
                         "check --format=json @DIR@/policy.yaml"),
        CMD_CONFIG);
    json = json_parse(fix.out, fix.out_len, &err);
    assert_non_null(json);
    assert_string_equal(json_get_text(json_item(json_get(json, "findings"), 0),
                            "code"),
        "KP007");
    assert_string_equal(fix.err, "");
    json_free(json);
    cmdfix_free(&fix);
}

static void
test_words(void **state)
{
    static const struct {
        const char *line;
        cmd_fn *command;
        int status;
    } lines[] = {
        { "check --format xml @DIR@/policy.yaml", cmd_check_run, CMD_USAGE },
        { "check a b", cmd_check_run, CMD_USAGE },
        { "check --fix", cmd_check_run, CMD_USAGE },
        { "check --online @DIR@/policy.yaml", cmd_check_run, CMD_USAGE },
        { "check @DIR@/absent.yaml", cmd_check_run, CMD_NO_INPUT },
        { "check @DIR@/pipe", cmd_check_run, CMD_CONFIG },
        { "check @DIR@", cmd_check_run, CMD_CONFIG },
        { "policy show @DIR@/absent.yaml", cmd_check_policy, CMD_NO_INPUT },
        { "policy", cmd_check_policy, CMD_USAGE },
        { "policy sign x", cmd_check_policy, CMD_USAGE },
        { "policy show --format=xml x", cmd_check_policy, CMD_USAGE },
        { "explain KP045", cmd_check_explain, CMD_OK },
        { "explain kp045", cmd_check_explain, CMD_OK },
        { "explain", cmd_check_explain, CMD_OK },
        { "explain KP997", cmd_check_explain, CMD_USAGE },
        { "explain --schema=markdown", cmd_check_explain, CMD_OK },
        { "explain --schema mdoc", cmd_check_explain, CMD_OK },
        { "explain --schema=xsd", cmd_check_explain, CMD_USAGE },
    };

    (void)state;
    for (size_t i = 0; i < N(lines); i++) {
        struct cmdfix fix;
        int status = run(&fix, lines[i].command, lines[i].line);

        if (status != lines[i].status || (fix.out_len > 0) != (status == 0) ||
            (fix.err_len > 0) != (status != 0))
            fail_msg("%s: %d, '%s', '%s'", lines[i].line, status, fix.out,
                fix.err);
        cmdfix_free(&fix);
    }
}

static void
test_show(void **state)
{
    char *bad = policyfix_change(policyfix_good, "acks: all", "acks: 1");
    struct cmdfix fix;

    (void)state;
    put_policy(policyfix_good); /* files need not be there to be shown */
    assert_int_equal(run(&fix, cmd_check_policy,
                         "policy show @DIR@/policy.yaml"),
        CMD_OK);
    assert_non_null(strstr(fix.out, "# default\n"));
    cmdfix_free(&fix);
    assert_int_equal(run(&fix, cmd_check_policy,
                         "policy show @DIR@/policy.yaml --json"),
        CMD_OK);
    assert_int_equal(fix.out[0], '{');
    cmdfix_free(&fix);
    put_policy(bad);
    assert_int_equal(run(&fix, cmd_check_policy,
                         "policy show @DIR@/policy.yaml"),
        CMD_CONFIG);
    assert_string_equal(fix.out, "");
    assert_non_null(strstr(fix.err, "KP045"));
    cmdfix_free(&fix);
    free(bad);
}

/* A password where none belongs is in the file alone. */
static void
test_no_secret_is_printed(void **state)
{
    static const char *const lines[] = { "check @DIR@/policy.yaml",
        "check --format=json @DIR@/policy.yaml" };
    char *text = policyfix_change(policyfix_good, "flows:",
        "    sasl: {mechanism: PLAIN, username: u, password: S3cr3t-91}\n"
        "flows:");

    (void)state;
    put_policy(text);
    for (size_t i = 0; i < N(lines); i++) {
        struct cmdfix fix;

        assert_int_equal(run(&fix, cmd_check_run, lines[i]), CMD_CONFIG);
        assert_non_null(strstr(fix.out, "KP033"));
        assert_null(strstr(fix.out, "S3cr3t"));
        cmdfix_free(&fix);
    }
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_corpus_pair),
        cmocka_unit_test(test_what_it_says_of_a_good_one),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_a_huge_one),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_no_secret_is_printed),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
