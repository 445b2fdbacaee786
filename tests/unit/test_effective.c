#include "effective.h"

#include "json.h"
#include "policyfix.h"

static struct policy *
parse(const char *text)
{
    struct findings *found = findings_new();
    struct policy *policy =
        policy_parse(text, strlen(text), NOW_WALL_MS, found);

    if (policy == NULL)
        findings_print(found, stderr, "policy", text, strlen(text));
    assert_non_null(policy);
    findings_free(found);
    return policy;
}

static char *
print(const struct policy *policy, bool json)
{
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    struct err err = { 0 };

    if (json)
        assert_true(effective_print_json(policy, "p.yaml", file, &err));
    else
        effective_print(policy, "p.yaml", file);
    assert_int_equal(fclose(file), 0);
    return out;
}

static void
expect_line(const char *out, const char *line)
{
    if (strstr(out, line) == NULL)
        fail_msg("'%s' is not in:\n%s", line, out);
}

static void
test_origins(void **state)
{
    struct policy *policy = parse(policyfix_good);
    char *out = print(policy, false);

    (void)state;
    expect_line(out,
        "version: 1                                      # p.yaml:1\n");
    expect_line(out,
        "  site: plant7                                  # p.yaml:2\n");
    expect_line(out,
        "      acks: all                                 # p.yaml:18\n");
    expect_line(out,
        "      linger.ms: 25                             # default\n");
    expect_line(out,
        "    tls: off                                    # p.yaml:8\n");
    expect_line(out,
        "      because: firewall                         # p.yaml:3\n");
    expect_line(out,
        "      include:                                  # p.yaml:17\n"
        "        - orders\n");
    expect_line(out,
        "      bytes_per_second: unlimited               # default\n");
    assert_null(strstr(out, "sasl"));
    free(out);
    policy_free(policy);
}

/* What is shown is a policy that says the same, all of it. */
static void
test_reads_back(void **state)
{
    static const char *const changes[][2] = {
        { "72h", "72h" },
        { "tls: {ca: /etc/kedge/tls/cloud-ca.pem}",
            "tls: on\n    sasl: {mechanism: PLAIN, username: 'it''s: #1',\n"
            "           password: {file: /etc/kedge/secrets/cloud}}" },
        { "[orders]", "['a\\.\\w+ ?#?', 'it['']s', '-']" },
        { "    errors.tol",
            "    placement: {because: encryption, outage_budget: 90m}\n"
            "    limits: {bytes_per_second: 1025KiB}\n    errors.tol" },
        { "version: 1", "version: 1\nadmin: {metrics: '[::1]:9464'}" },
    };

    (void)state;
    for (size_t i = 0; i < N(changes); i++) {
        char *text =
            policyfix_change(policyfix_good, changes[i][0], changes[i][1]);
        struct policy *policy = parse(text);
        char *out = print(policy, false);
        struct policy *again = parse(out);
        const struct policy_flow *a = &policy->flows[0];
        const struct policy_flow *b = &again->flows[0];

        assert_true(policy_fingerprint(a) == policy_fingerprint(b));
        assert_int_equal(a->bytes_per_second, b->bytes_per_second);
        assert_int_equal(a->placement.outage_budget_ms,
            b->placement.outage_budget_ms);
        assert_int_equal(a->placement.because, b->placement.because);
        if (a->to->sasl.username != NULL)
            assert_string_equal(a->to->sasl.username, b->to->sasl.username);
        policy_free(again);
        free(out);
        policy_free(policy);
        free(text);
    }
}

/* Copies that are fewer because the target has no more come from there. */
static void
test_origin_of_copies(void **state)
{
    static const struct {
        const char *label, *was, *is, *want;
    } rows[] = {
        { "nothing is said", "72h", "72h",
            "      replication.factor: 3                     # default\n" },
        { "the cluster admits one", "    site: eu-west-1",
            "    durability: {replicas: 1, because: single-broker}\n"
            "    site: eu-west-1",
            "      replication.factor: 1                     # p.yaml:10\n" },
        { "the cluster has more", "    site: eu-west-1",
            "    durability: {replicas: 5, because: large}\n"
            "    site: eu-west-1",
            "      replication.factor: 3                     # default\n" },
        { "the flow says it", "    errors.tol",
            "    target_topics: {replication.factor: 4}\n    errors.tol",
            "      replication.factor: 4                     # p.yaml:19\n" },
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = policyfix_change(policyfix_good, rows[i].was, rows[i].is);
        struct policy *policy = parse(text);
        char *out = print(policy, false);

        print_message("%s\n", rows[i].label);
        expect_line(out, rows[i].want);
        free(out);
        policy_free(policy);
        free(text);
    }
}

/* What somebody wrote and does not get is said. */
static void
test_weaker_words(void **state)
{
    char *site = policyfix_change(policyfix_good, "agent: {site: plant7}",
        "agent: {site: eu-west-1}");
    char *tls = policyfix_change(site, "tls: off", "tls: on");
    char *weak = policyfix_change(tls, "acks: all", "acks: 1");
    struct policy *policy = parse(weak);
    char *out = print(policy, false);

    (void)state;
    expect_line(out, "# instead of '1', p.yaml:18\n");
    free(out);
    policy_free(policy);
    free(weak);
    free(tls);
    free(site);
}

static void
test_json(void **state)
{
    struct policy *policy = parse(policyfix_good);
    char *out = print(policy, true);
    struct err err = { 0 };
    struct json *all = json_parse(out, strlen(out), &err);
    const struct json *flow =
        json_get(json_get(json_get(all, "policy"), "flows"), "telemetry");
    const struct json *refresh = json_get(json_get(flow, "topics"), "refresh");
    const struct json *include = json_get(json_get(flow, "topics"), "include");
    const struct json *acks = json_get(json_get(flow, "producer"), "acks");
    int64_t number = 0;

    (void)state;
    assert_non_null(all);
    assert_string_equal(json_get_text(all, "file"), "p.yaml");
    assert_true(json_get_int(refresh, "value", &number));
    assert_int_equal(number, 30000);
    assert_false(json_get_int(refresh, "line", &number));
    assert_string_equal(json_item_text(json_get(include, "value"), 0),
        "orders");
    assert_string_equal(json_get_text(acks, "value"), "all");
    assert_true(json_get_int(acks, "line", &number));
    assert_int_equal(number, 18);
    json_free(all);
    free(out);
    policy_free(policy);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_reads_back),
        cmocka_unit_test(test_origin_of_copies),
        cmocka_unit_test(test_weaker_words),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
