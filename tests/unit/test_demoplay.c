#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "chain.h"
#include "clock.h"
#include "demo.h"
#include "identity.h"
#include "load.h"
#include "playbill.h"
#include "proof.h"
#include "secret.h"
#include "stage.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    int64_t number;
    const char *want;
} numbers[] = {
    { 0, "0" },
    { 999, "999" },
    { 1000, "1 000" },
    { 100000, "100 000" },
    { 1234567, "1 234 567" },
    { -12, "-12" },
    { -123456, "-123 456" },
    { INT64_MIN, "-9 223 372 036 854 775 808" },
};

static void
test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[32];

        assert_string_equal(playbill_number(text, numbers[i].number),
            numbers[i].want);
    }
}

static void
test_progress_is_a_line_where_there_is_no_terminal(void **state)
{
    const struct playbill_line line = { .produced = 1000,
        .arrived = 900,
        .per_s = 450,
        .lag = 100,
        .in_flight = -1,
        .cut = true };
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_non_null(out);
    playbill_progress(out, &line, 1500);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text,
        "  1.5 s  sent 1 000  arrived 900  link cut  lag 100  in flight ?\n");
    free(text);
}

/* As much as the demo has without --records, in a terminal of 80 columns. */
static void
test_progress_is_not_too_wide(void **state)
{
    const struct playbill_line line = { .produced = 100000,
        .arrived = 100000,
        .per_s = 20000,
        .lag = 100000,
        .in_flight = 20000 };
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_non_null(out);
    playbill_progress(out, &line, 99900);
    assert_int_equal(fclose(out), 0);
    assert_in_range(len, 60, 80); /* its end included */
    free(text);
}

/* An empty folder of the test's own, in which the demo makes its. */
static int
setup(void **state)
{
    char *folder = strdup("/tmp/kedge-play-XXXXXX");

    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    *state = folder;
    return 0;
}

static int
teardown(void **state)
{
    assert_int_equal(rmdir(*state), 0);
    free(*state);
    return 0;
}

/* Everything the agent needs is in the folder, and only we may read it. */
static void
test_a_stage_is_ready_and_leaves_nothing(void **state)
{
    struct err err;
    struct stage *stage = stage_open(&err);
    int64_t now = clock_wall_ms(clock_system());
    char ca[PATH_MAX], cert[PATH_MAX], key[PATH_MAX];
    const struct identity_files files = { .key = key, .cert = cert };
    struct identity *identity;
    struct chain *chain;
    struct stat st;

    if (stage == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(strncmp(stage->folder, *state, strlen(*state)), 0);
    assert_int_equal(stat(stage->folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    (void)snprintf(ca, sizeof ca, "%s/cloud-ca.pem", stage->folder);
    (void)snprintf(cert, sizeof cert, "%s/edge.pem", stage->folder);
    (void)snprintf(key, sizeof key, "%s/edge.key", stage->folder);
    assert_non_null(strstr(stage->policy_text, ca));
    assert_non_null(strstr(stage->policy_text, key));
    assert_non_null(strstr(stage->policy_text, stage->socket));
    chain = chain_load(ca, now, &err);
    assert_non_null(chain);
    identity = identity_load(&files, now, &err);
    if (identity == NULL)
        fail_msg("%s", err.text);
    identity_free(identity);
    chain_free(chain);
    stage_close(stage, false);
}

/* Removes what a failed demo left, after looking for its files. */
static void
clear(const char *folder)
{
    static const char *const names[] = { "policy.yaml", "agent.log",
        "cloud-ca.pem", "edge.pem", "edge.key" };
    char path[2 * PATH_MAX];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The only folder in this one. */
static void
clear_in(const char *folder)
{
    DIR *dir = opendir(folder);
    char path[2 * PATH_MAX] = "";

    assert_non_null(dir);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): of a DIR that is ours alone */
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(dir);
    clear(path);
}

static void
test_an_agent_that_ends_is_a_failure(void **state)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    const struct demo_options options = {
        .records = LOAD_RECORDS_MIN,
        .program = "/bin/false",
        .out = out,
    };
    struct err err;
    char *stays;

    assert_non_null(out);
    assert_false(demo_run(&options, &err));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(err.text, "the agent ended with status 1");
    assert_non_null(strstr(text, "    errors.tolerance: none\n"));
    assert_null(strstr(text, "What was proven"));
    stays = strstr(text, "The policy and the agent's log stay in ");
    assert_non_null(stays);
    stays = strstr(stays, *state);
    assert_non_null(stays);
    stays[strcspn(stays, "\n")] = '\0';
    clear(stays);
    free(text);
}

static const struct {
    const char *label;
    int number;
    bool ignored;
    const char *want;
} signals[] = {
    { "a hang-up", SIGHUP, false, "interrupted" },
    { "a hang-up under nohup", SIGHUP, true, "the agent ended with status 1" },
    { "a kill", SIGTERM, false, "interrupted" },
};

/* Each is pending when the play begins.  Nothing stays of one that a signal
 * ended, whoever ignored it sees it go on. */
static void
test_what_ends_it_and_what_does_not(void **state)
{
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        FILE *out = fopen("/dev/null", "w");
        const struct demo_options options = { .records = LOAD_RECORDS_MIN,
            .program = "/bin/false",
            .out = out };
        struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
        sigset_t set, mask;
        struct err err;

        print_message("%s\n", signals[i].label);
        assert_non_null(out);
        sigemptyset(&set);
        sigaddset(&set, signals[i].number);
        (void)pthread_sigmask(SIG_BLOCK, &set, &mask);
        (void)sigaction(signals[i].number, signals[i].ignored ? &ignore : NULL,
            &before);
        (void)raise(signals[i].number);
        assert_false(demo_run(&options, &err));
        assert_string_equal(err.text, signals[i].want);
        assert_int_equal(err.retry, !signals[i].ignored);
        assert_int_equal(fclose(out), 0);
        if (signals[i].ignored)
            clear_in(*state);
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
        (void)sigaction(signals[i].number, &before, NULL);
    }
}

/* The page, with one record missing of 1000 and one that came twice. */
static void
test_the_page_says_what_did_not_hold(void **state)
{
    const struct load_plan plan = { .records = 1000, .base_wall_ms = 1 };
    struct playbill bill = { .all_ms = 12300,
        .cut_ms = 4000,
        .catch_ms = 700,
        .peak_kib = 20480,
        .peak_lag = 5000 };
    struct err err;
    struct stage *stage = stage_open(&err);
    struct proof *proof = proof_new(&plan, &err);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_true(stage != NULL && proof != NULL && out != NULL);
    for (int64_t number = 0; number < plan.records; number++) {
        struct load_room room;
        struct load_record record;

        load_make(&plan, number == 77 ? 76 : number, &room, &record);
        proof_add(proof, &record, number);
    }
    playbill_proof(out, stage, proof, &bill);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "It did not hold."));
    assert_non_null(strstr(text, "FAULT     1 records missing, the first: "));
    assert_non_null(strstr(text, "999 arrived, 1 missing, 0 altered"));
    assert_non_null(strstr(text, "1 arrived again"));
    assert_non_null(strstr(text, "20.0 MiB at most"));
    assert_non_null(strstr(text, "of them 4.0 s cut; then it took 0.7 s more"));
    assert_null(strstr(text, "What was proven"));
    free(text);
    proof_free(proof);
    stage_close(stage, false);
}

/* The page of records that all arrived, which admits what it does not show. */
static void
test_the_page_says_what_it_does_not_prove(void **state)
{
    const struct load_plan plan = { .records = 1000, .base_wall_ms = 1 };
    const struct playbill bill = { .all_ms = 12300 };
    struct err err;
    struct stage *stage = stage_open(&err);
    struct proof *proof = proof_new(&plan, &err);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_true(stage != NULL && proof != NULL && out != NULL);
    for (int64_t number = 0; number < plan.records; number++) {
        struct load_room room;
        struct load_record record;

        load_make(&plan, number, &room, &record);
        proof_add(proof, &record, number);
    }
    playbill_proof(out, stage, proof, &bill);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "What was proven: every record arrived"));
    assert_null(strstr(text, "FAULT"));
    assert_non_null(strstr(text, "1 000 arrived, 0 missing, 0 altered"));
    assert_non_null(strstr(text, stage->policy));
    assert_non_null(strstr(text, "does not prove is durability"));
    free(text);
    proof_free(proof);
    stage_close(stage, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_progress_is_a_line_where_there_is_no_terminal),
        cmocka_unit_test(test_progress_is_not_too_wide),
        TEST(test_a_stage_is_ready_and_leaves_nothing),
        TEST(test_an_agent_that_ends_is_a_failure),
        TEST(test_what_ends_it_and_what_does_not),
        TEST(test_the_page_says_what_did_not_hold),
        TEST(test_the_page_says_what_it_does_not_prove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
