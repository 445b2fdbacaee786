#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agentfix.h"
#include "diag.h"
#include "kflow.h"
#include "loaded.h"
#include "policy.h"

#define NOW_WALL_MS INT64_C(1790000000000)

/* What was found, printed as the agent prints it. */
struct seen {
    int calls;
    char text[8192];
};

static void
note(void *ctx, const char *path, const struct findings *found,
    const char *text)
{
    struct seen *seen = ctx;
    FILE *out = fmemopen(seen->text, sizeof seen->text, "w");

    assert_non_null(out);
    findings_print(found, out, path, text, strlen(text));
    assert_int_equal(fclose(out), 0);
    seen->calls++;
}

static struct loaded *
load(const struct agentfix *fix, struct seen *seen, struct err *err)
{
    const struct loaded_options options = { .path = fix->path,
        .now_wall_ms = NOW_WALL_MS,
        .found = note,
        .ctx = seen };

    *seen = (struct seen){ 0 };
    return loaded_read(&options, err);
}

static void
test_accepted(void **state)
{
    struct agentfix fix;
    struct seen seen;
    struct err err;
    struct loaded *loaded;
    const struct policy_flow *flow;
    char digest[LOADED_DIGEST_SIZE];

    (void)state;
    agentfix_new(&fix);
    agentfix_write(&fix, AGENTFIX_FLOW("a", "x") AGENTFIX_FLOW("b", "y"));
    loaded = load(&fix, &seen, &err);
    assert_non_null(loaded);
    assert_int_equal(loaded_policy(loaded)->n_flows, 2);
    assert_int_equal(strlen(loaded_digest(loaded)), 64);
    loaded_file_digest(fix.path, digest);
    assert_string_equal(digest, loaded_digest(loaded));
    loaded_file_digest("/nowhere", digest);
    assert_string_equal(digest, "");
    flow = loaded_flow(loaded, "b");
    assert_non_null(flow);
    assert_null(loaded_flow(loaded, "c"));
    assert_string_equal(loaded_source(loaded, flow)->bootstrap, "127.0.0.1:1");
    assert_string_equal(loaded_target(loaded, flow)->bootstrap, "127.0.0.1:2");
    assert_null(loaded_tls_floor(loaded));
    assert_ptr_equal(loaded_keep(loaded), loaded);
    loaded_drop(loaded);
    assert_string_equal(loaded_flow(loaded, "a")->name, "a"); /* one is left */
    loaded_drop(loaded);
    loaded_drop(NULL);
    agentfix_free(&fix);
}

static const struct {
    const char *label, *text; /* NULL: no file at all */
    enum err_kind want;
    const char *want_err, *want_found; /* NULL: no findings */
} bad[] = {
    { "no file", NULL, ERR_MISSING, "", NULL },
    { "not a policy", "version: 1\nflosw: {}\n", ERR_POLICY,
        "is refused: ", "flosw" },
    { "a password where none belongs",
        AGENTFIX_HEAD AGENTFIX_FLOW("a", "x") "password: S3cr3t-canary-91\n",
        ERR_POLICY, "is refused: ", "password" },
    { "a file that is missing",
        "version: 1\nagent: {site: p}\nclusters:\n"
        "  one: {site: p, bootstrap: [127.0.0.1:1], tls: off}\n"
        "  two: {site: p, bootstrap: [127.0.0.1:2], tls: {ca: /nowhere/ca}}\n"
        "flows:\n" AGENTFIX_FLOW("a", "x"),
        ERR_MISSING, "KP090", "/nowhere/ca" },
};

static void
test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct agentfix fix;
        struct seen seen;
        struct err err = { 0 };

        print_message("%s\n", bad[i].label);
        agentfix_new(&fix);
        if (bad[i].text != NULL)
            agentfix_file(&fix, "p", bad[i].text, 0600, NULL);
        assert_null(load(&fix, &seen, &err));
        assert_int_equal(err.kind, bad[i].want);
        assert_non_null(strstr(err.text, bad[i].want_err));
        assert_int_equal(seen.calls, bad[i].want_found != NULL);
        if (bad[i].want_found != NULL)
            assert_non_null(strstr(seen.text, bad[i].want_found));
        assert_null(strstr(seen.text, "S3cr3t"));
        assert_null(strstr(err.text, "S3cr3t"));
        agentfix_free(&fix);
    }
}

/* Which changes make a flow start anew? */
static const struct {
    const char *label, *before, *after;
    bool want_same;
} changes[] = {
    { "nothing", AGENTFIX_FLOW("a", "x"), AGENTFIX_FLOW("a", "x"), true },
    { "a comment", AGENTFIX_FLOW("a", "x"), AGENTFIX_FLOW("a", "x") "# c\n",
        true },
    { "another flow", AGENTFIX_FLOW("a", "x"),
        AGENTFIX_FLOW("b", "y") AGENTFIX_FLOW("a", "x"), true },
    { "what another one brings", AGENTFIX_FLOW("a", "x"),
        AGENTFIX_FLOW("a",
            "x") "  b: {from: two, to: one, topics: {include: [y]}}\n",
        false },
    { "its topics", AGENTFIX_FLOW("a", "x"), AGENTFIX_FLOW("a", "xy"), false },
    { "its direction", AGENTFIX_FLOW("a", "x"),
        "  a: {from: two, to: one, topics: {include: [x]}}\n", false },
    { "a limit", AGENTFIX_FLOW("a", "x"),
        "  a: {from: one, to: two, topics: {include: [x]}, "
        "limits: {bytes_per_second: 1MiB}}\n",
        false },
    { "its compression", AGENTFIX_FLOW("a", "x"),
        "  a: {from: one, to: two, topics: {include: [x]}, "
        "producer: {compression.type: lz4}}\n",
        false },
    { "its names", AGENTFIX_FLOW("a", "x"),
        "  a: {from: one, to: two, topics: {include: [x]}, "
        "rename: {policy: prefix, separator: \"-\"}}\n",
        false },
};

static void
test_signature(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct agentfix fix;
        struct loaded *before, *after;
        struct seen seen;
        struct err err = { 0 };

        print_message("%s\n", changes[i].label);
        agentfix_new(&fix);
        agentfix_write(&fix, changes[i].before);
        before = load(&fix, &seen, &err);
        assert_non_null(before);
        agentfix_write(&fix, changes[i].after);
        after = load(&fix, &seen, &err);
        if (after == NULL)
            fail_msg("%s\n%s", err.text, seen.text);
        assert_int_equal(loaded_signature(before, loaded_flow(before, "a")) ==
                             loaded_signature(after, loaded_flow(after, "a")),
            changes[i].want_same);
        assert_int_equal(strcmp(loaded_digest(before), loaded_digest(after)) ==
                             0,
            i == 0);
        loaded_drop(before);
        loaded_drop(after);
        agentfix_free(&fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_signature),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
