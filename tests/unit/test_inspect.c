/* One judgement of a policy and its files, and three that ask for it: what
 * `kedge check` says, `kedge run` and a reload say too. */
#include "agentfix.h"
#include "clock.h"
#include "cmdfix.h"
#include "inspect.h"
#include "loaded.h"
#include "policyfix.h"
#include "secret.h"
#include "selfsigned.h"

/* A CA, a client's certificate and key, a key of somebody else, a certificate
 * that has ended, a password. */
static struct agentfix files;

static struct selfsigned *
make(enum selfsigned_kind kind, const struct selfsigned *issuer,
    int64_t until_ms)
{
    int64_t now = clock_wall_ms(clock_system());
    const struct selfsigned_options options = {
        .kind = kind,
        .common_name = "test",
        .from_wall_ms = now - 7200000,
        .until_wall_ms = now + until_ms,
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
    struct selfsigned *ca = make(SELFSIGNED_CA, NULL, 3600000);
    struct selfsigned *edge = make(SELFSIGNED_CLIENT, ca, 3600000);
    struct selfsigned *other = make(SELFSIGNED_CLIENT, ca, 3600000);
    struct selfsigned *ended = make(SELFSIGNED_CLIENT, ca, -3600000);
    const char *key = secret_text(selfsigned_key_pem(edge));

    (void)state;
    agentfix_new(&files);
    agentfix_file(&files, "ca", selfsigned_cert_pem(ca), 0644, NULL);
    agentfix_file(&files, "cert", selfsigned_cert_pem(edge), 0644, NULL);
    agentfix_file(&files, "ended", selfsigned_cert_pem(ended), 0644, NULL);
    agentfix_file(&files, "ended-key", secret_text(selfsigned_key_pem(ended)),
        0600, NULL);
    agentfix_file(&files, "key", key, 0600, NULL);
    agentfix_file(&files, "open-key", key, 0644, NULL);
    agentfix_file(&files, "other-key", secret_text(selfsigned_key_pem(other)),
        0600, NULL);
    agentfix_file(&files, "pw", "S3cr3t-canary-91\n", 0600, NULL);
    agentfix_file(&files, "open-pw", "S3cr3t-canary-91\n", 0644, NULL);
    agentfix_file(&files, "empty-pw", "", 0600, NULL);
    selfsigned_free(ended);
    selfsigned_free(other);
    selfsigned_free(edge);
    selfsigned_free(ca);
    return 0;
}

static int
remove_files(void **state)
{
    (void)state;
    agentfix_free(&files);
    return 0;
}

/* The names of files of the folder; "" stands for the folder itself. */
static const struct {
    const char *label, *ca, *cert, *key, *password, *other_words, *codes;
    int status;
} cases[] = {
    { "all is well", "ca", "cert", "key", "pw", "", "", CMD_OK },
    { "a CA that is missing", "no", "cert", "key", "pw", "", "KP090",
        CMD_NO_INPUT },
    { "a certificate that is missing", "ca", "no", "key", "pw", "", "KP090",
        CMD_NO_INPUT },
    { "a key that is missing", "ca", "cert", "no", "pw", "", "KP090",
        CMD_NO_INPUT },
    { "a password that is missing", "ca", "cert", "key", "no", "", "KP090",
        CMD_NO_INPUT },
    { "all four are missing, each is said", "no", "no", "no", "no", "",
        "KP090 KP090 KP090 KP090", CMD_NO_INPUT },
    { "a folder for a CA", "", "cert", "key", "pw", "", "KP091", CMD_CONFIG },
    { "an empty password", "ca", "cert", "key", "empty-pw", "", "KP091",
        CMD_CONFIG },
    { "a key that others may read", "ca", "cert", "open-key", "pw", "", "KP092",
        CMD_CONFIG },
    { "a password that others may read", "ca", "cert", "key", "open-pw", "",
        "KP092", CMD_CONFIG },
    { "a CA that is a key", "key", "cert", "key", "pw", "", "KP093",
        CMD_CONFIG },
    { "a key of another certificate", "ca", "cert", "other-key", "pw", "",
        "KP093", CMD_CONFIG },
    { "a certificate that has ended", "ca", "ended", "ended-key", "pw", "",
        "KP093", CMD_CONFIG },
    { "one missing and one wrong", "no", "cert", "other-key", "pw", "",
        "KP090 KP093", CMD_CONFIG },
    { "one missing and one open", "no", "cert", "open-key", "pw", "",
        "KP090 KP092", CMD_CONFIG },
    { "words that are refused are said alone", "no", "cert", "key", "pw",
        "flosw: 1\n", "KP020", CMD_CONFIG },
};

static void
put_policy(size_t i)
{
    const char *dir = files.folder;
    char text[2048];

    (void)snprintf(text, sizeof text,
        "version: 1\nagent: {site: cloud}\nclusters:\n"
        "  plant7: {site: cloud, bootstrap: ['127.0.0.1:1'], tls: off}\n"
        "  cloud:\n    site: cloud\n    bootstrap: ['127.0.0.1:2']\n"
        "    tls:\n      ca: %s/%s\n      cert: %s/%s\n      key: %s/%s\n"
        "    sasl: {mechanism: SCRAM-SHA-512, username: u,\n"
        "      password: {file: %s/%s}}\n"
        "flows:\n  f: {from: plant7, to: cloud, topics: {include: [t]}}\n"
        "admin: {socket: %s}\n%s",
        dir, cases[i].ca, dir, cases[i].cert, dir, cases[i].key, dir,
        cases[i].password, files.socket, cases[i].other_words);
    agentfix_file(&files, "p", text, 0600, NULL);
}

/* What to do stands where the other findings have it, not in the text. */
static void
expect_help(const char *label, const struct findings *found)
{
    for (size_t i = 0; i < findings_count(found); i++) {
        const struct finding *one = findings_at(found, i);

        if (strstr(one->text, "mend:") != NULL)
            fail_msg("%s: %s", label, one->text);
        if (strcmp(label, "a CA that is a key") == 0)
            assert_string_equal(one->remedy,
                "give the certificate of who signs the brokers' certificates, "
                "not key");
    }
}

static void
test_inspect(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        struct inspect inspect;
        struct err err = { 0 };
        char codes[128];

        put_policy(i);
        assert_true(inspect_open(&inspect, files.path, true,
            clock_wall_ms(clock_system()), &err));
        policyfix_codes(inspect.found, codes, sizeof codes);
        if (strcmp(codes, cases[i].codes) != 0)
            fail_msg("%s: '%s'", cases[i].label, codes);
        assert_int_equal(inspect_verdict(&inspect),
            cases[i].status == CMD_OK         ? ERR_NONE
            : cases[i].status == CMD_NO_INPUT ? ERR_MISSING
                                              : ERR_POLICY);
        assert_int_equal(strlen(inspect.digest), 64);
        expect_help(cases[i].label, inspect.found);
        if (cases[i].status != CMD_OK) {
            assert_false(inspect_err(&inspect, &err));
            assert_int_equal(err.kind, inspect_verdict(&inspect));
            assert_non_null(strstr(err.text, " is refused: "));
            assert_non_null(strstr(err.text, "first KP"));
        }
        inspect_close(&inspect);
    }
}

static void
test_own_words_alone(void **state)
{
    struct inspect inspect;
    struct err err;

    (void)state;
    put_policy(5); /* all files are missing */
    assert_true(inspect_open(&inspect, files.path, false,
        clock_wall_ms(clock_system()), &err));
    assert_int_equal(inspect_verdict(&inspect), ERR_NONE);
    assert_non_null(inspect.policy);
    inspect_close(&inspect);
    assert_false(inspect_open(&inspect, "/nowhere/policy", true, 0, &err));
    assert_int_equal(err.kind, ERR_MISSING);
}

static void
forget(void *ctx, const char *path, const struct findings *found,
    const char *text)
{
    int *calls = ctx;

    (void)path;
    (void)found;
    (void)text;
    ++*calls;
}

/* A start or a reload: passes or not, and with the verdict's kind. */
static void
expect_loaded(size_t i)
{
    int calls = 0;
    const struct loaded_options options = { .path = files.path,
        .now_wall_ms = clock_wall_ms(clock_system()),
        .found = forget,
        .ctx = &calls };
    struct err err = { 0 };
    struct loaded *loaded = loaded_read(&options, &err);

    if ((loaded != NULL) != (cases[i].status == CMD_OK))
        fail_msg("%s: %s", cases[i].label, err.text);
    assert_int_equal(calls, loaded == NULL);
    loaded_drop(loaded);
}

/* `kedge run` prints what `kedge check` prints, then its own line; the status
 * is the same. */
static void
test_run_says_what_check_says(void **state)
{
    char check_line[128], run_line[128];

    (void)state;
    (void)snprintf(check_line, sizeof check_line, "check %s", files.path);
    (void)snprintf(run_line, sizeof run_line, "run %s", files.path);
    for (size_t i = 0; i < N(cases); i++) {
        struct cmdfix check, run;
        const char *summary;

        put_policy(i);
        expect_loaded(i);
        if (cmdfix_run(&check, cmd_check_run, check_line) != cases[i].status)
            fail_msg("%s: %s", cases[i].label, check.out);
        if (cases[i].status != CMD_OK) {
            if (cmdfix_run(&run, cmd_run_run, run_line) != cases[i].status)
                fail_msg("%s: %s", cases[i].label, run.err);
            summary = strstr(check.out, files.path);
            assert_non_null(summary);
            while (strstr(summary + 1, files.path) != NULL)
                summary = strstr(summary + 1, files.path);
            assert_true(summary > check.out);
            assert_memory_equal(run.err, check.out,
                (size_t)(summary - check.out));
            assert_non_null(strstr(run.err, "\nkedge: policy: "));
            assert_null(strstr(run.err, "S3cr3t"));
            assert_string_equal(run.out, "");
            cmdfix_free(&run);
        }
        cmdfix_free(&check);
    }
}

/* Above the limit of a policy, and below that of reading a file at all. */
static void
test_too_large_is_a_finding(void **state)
{
    static const size_t sizes[] = { POLICY_BYTES_MAX + 1,
        (size_t)5 * 1024 * 1024 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        static const char begin[] = "version: 1\n#";
        struct inspect inspect;
        struct err err;
        char codes[128];
        char *text = calloc(1, sizes[i] + 1);

        assert_non_null(text);
        memset(text, 'x', sizes[i]);
        memcpy(text, begin, sizeof begin - 1);
        agentfix_file(&files, "p", text, 0600, NULL);
        free(text);
        assert_true(inspect_open(&inspect, files.path, true, 0, &err));
        policyfix_codes(inspect.found, codes, sizeof codes);
        assert_string_equal(codes, "KP007");
        inspect_close(&inspect);
        expect_loaded(1); /* refused, by the finding */
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_own_words_alone),
        cmocka_unit_test(test_run_says_what_check_says),
        cmocka_unit_test(test_too_large_is_a_finding),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
