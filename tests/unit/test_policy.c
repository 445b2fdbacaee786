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

static struct policy *
parse_changed(const char *was, const char *is)
{
    char *text = policyfix_change(policyfix_good, was, is);
    struct policy *policy = parse(text);

    free(text); /* nothing borrows it */
    return policy;
}

/* Each setting has a value that is not its default. */
static const char everything[] =
    "version: 1\n"
    "agent: {site: plant7}\n"
    "placement: {because: encryption, outage_budget: 72h,\n"
    "            measured: {date: 2026-10-01, ratio: '1.8'}}\n"
    "clusters:\n"
    "  plant7:\n"
    "    site: plant7\n"
    "    bootstrap: ['192.0.2.1:9092', 'k2.plant7.test:9092']\n"
    "    tls: off\n"
    "    plaintext_networks: [192.0.2.0/24]\n"
    "  cloud:\n"
    "    site: eu-west-1\n"
    "    bootstrap: [b1.cloud.test:9093]\n"
    "    tls: {ca: /ca, cert: /cert, key: /key, min_version: '1.3'}\n"
    "    sasl: {mechanism: PLAIN, username: edge, password: {file: /pw}}\n"
    "    durability: {replicas: 1, because: single-broker}\n"
    "flows:\n"
    "  telemetry:\n"
    "    from: plant7\n"
    "    to: cloud\n"
    "    topics: {include: ['t\\..*', orders], exclude: ['.*\\.debug'],\n"
    "             start: 2026-11-30T21:56:12Z, refresh: 5s}\n"
    "    placement: {outage_budget: 24h, runs_at: source}\n"
    "    rename: {policy: identity, separator: _}\n"
    "    target_topics: {create: false}\n"
    "    producer: {acks: all, retries: unlimited, linger.ms: 7,\n"
    "               compression.type: zstd}\n"
    "    consumer: {isolation.level: read_committed}\n"
    "    errors.tolerance: none\n"
    "    failure_scope: partition\n"
    "    shared_target: true\n"
    "    limits: {max_in_flight: 8MiB, bytes_per_second: 1MB}\n"
    "admin: {socket: /tmp/s, metrics: '127.0.0.1:9464'}\n";

static void
test_clusters_in_their_place(void **state)
{
    struct policy *policy = parse(everything);
    const struct policy_cluster *plant = &policy->clusters[0];
    const struct policy_cluster *cloud = &policy->clusters[1];

    (void)state;
    assert_string_equal(policy->site, "plant7");
    assert_string_equal(policy->admin_socket, "/tmp/s");
    assert_string_equal(policy->metrics, "127.0.0.1:9464");
    assert_int_equal(policy->n_clusters, 2);
    assert_int_equal(policy->n_flows, 1);
    assert_string_equal(plant->name, "plant7");
    assert_false(plant->tls.on);
    assert_int_equal(plant->bootstrap.n, 2);
    assert_string_equal(plant->bootstrap.items[1], "k2.plant7.test:9092");
    assert_string_equal(plant->plaintext_networks.items[0], "192.0.2.0/24");
    assert_null(plant->sasl.mechanism);
    assert_true(cloud->tls.on);
    assert_string_equal(cloud->tls.ca, "/ca");
    assert_string_equal(cloud->tls.key, "/key");
    assert_string_equal(cloud->tls.min_version, "1.3");
    assert_string_equal(cloud->sasl.mechanism, "PLAIN");
    assert_string_equal(cloud->sasl.password_file, "/pw");
    assert_int_equal(cloud->durable_replicas, 1);
    policy_free(policy);
}

static void
test_flows_in_their_place(void **state)
{
    struct policy *policy = parse(everything);
    const struct policy_flow *flow = &policy->flows[0];

    (void)state;
    assert_ptr_equal(flow->from, &policy->clusters[0]);
    assert_ptr_equal(flow->to, &policy->clusters[1]);
    assert_true(flow->at_source);
    assert_false(flow->at_target);
    assert_int_equal(flow->start, POLICY_AT_TIME);
    assert_int_equal(flow->start_wall_ms, INT64_C(1796075772000));
    assert_int_equal(flow->refresh_ms, 5000);
    assert_int_equal(flow->placement.because, POLICY_ENCRYPTION);
    assert_int_equal(flow->placement.outage_budget_ms, 86400000);
    assert_int_equal(flow->placement.runs_at, POLICY_AT_SOURCE);
    assert_string_equal(flow->placement.measured_ratio, "1.8");
    assert_int_equal(flow->rename, POLICY_IDENTITY);
    assert_string_equal(flow->separator, "_");
    assert_false(flow->create_topics);
    assert_int_equal(flow->replication_factor, 1);
    assert_string_equal(flow->compression, "zstd");
    assert_int_equal(flow->linger_ms, 7);
    assert_string_equal(flow->isolation, "read_committed");
    assert_int_equal(flow->failure_scope, POLICY_STOP_PARTITION);
    assert_true(flow->shared_target);
    assert_int_equal(flow->max_in_flight_bytes, 8 << 20);
    assert_int_equal(flow->bytes_per_second, 1000000);
    policy_free(policy);
    policy_free(NULL);
}

static void
test_start(void **state)
{
    static const struct {
        const char *text;
        enum policy_start want;
        int64_t wall_ms;
    } cases[] = {
        { "earliest", POLICY_EARLIEST, 0 },
        { "latest", POLICY_LATEST, 0 },
        { "1970-01-02", POLICY_AT_TIME, 86400000 },
        { "'2026-11-30T22:56:12+01:00'", POLICY_AT_TIME,
            INT64_C(1796075772000) },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        char is[96];
        struct policy *policy = NULL;

        (void)snprintf(is, sizeof is, "{include: [orders], start: %s}",
            cases[i].text);
        policy = parse_changed("{include: [orders]}", is);
        assert_int_equal(policy->flows[0].start, cases[i].want);
        assert_int_equal(policy->flows[0].start_wall_ms, cases[i].wall_ms);
        policy_free(policy);
    }
}

static void
test_wants(void **state)
{
    static const struct {
        const char *label, *topic;
        bool want;
        const char *why; /* NULL: wanted, or nothing includes it */
    } cases[] = {
        { "included by its name", "orders", true, NULL },
        { "included by a pattern", "t.a", true, NULL },
        { "excluded", "t.a.debug", false,
            "a pattern of topics.exclude matches it" },
        { "not included", "orders2", false, NULL },
        { "a pattern that gives up",
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbcd", false,
            "takes too much work to decide on it: write the pattern" },
        { "no name", "", false, NULL },
    };
    struct policy *policy = parse_changed("[orders]",
        "['t\\..*', orders, '(b+)+c'], exclude: ['.*\\.debug']");

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        const char *why = "what was there before";
        bool wants = policy_flow_wants(&policy->flows[0], cases[i].topic, &why);

        if (wants != cases[i].want || (why == NULL) != (cases[i].why == NULL) ||
            (why != NULL && strstr(why, cases[i].why) == NULL))
            fail_msg("%s: %d, %s", cases[i].label, wants, why);
        assert_int_equal(policy_flow_wants(&policy->flows[0], cases[i].topic,
                             NULL),
            wants);
    }
    policy_free(policy);
}

/* "telemetry" makes plant7.orders at the cloud; this flow comes back. */
static void
test_what_is_brought(void **state)
{
    static const struct {
        const char *label, *rename, *topic;
        bool want;
    } cases[] = {
        { "what was brought", "{policy: identity}", "plant7.orders", false },
        { "the prefix on what is not brought", "{policy: identity}",
            "plant7.sales", true },
        { "what only begins alike", "{policy: identity}", "plant7orders",
            true },
        { "the name there", "{policy: identity}", "orders", true },
        { "by prefixes both ways", "{policy: prefix}", "plant7.orders", false },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        char more[300];
        const char *why = NULL;
        struct policy *policy;
        bool wants;

        (void)snprintf(more, sizeof more,
            "    errors.tolerance: none\n"
            "  back:\n    from: cloud\n    to: plant7\n"
            "    topics: {include: ['.*']}\n    rename: %s\n",
            cases[i].rename);
        policy = parse_changed("    errors.tolerance: none\n", more);
        wants = policy_flow_wants(&policy->flows[1], cases[i].topic, &why);
        if (wants != cases[i].want)
            fail_msg("%s: %d", cases[i].label, wants);
        assert_true(
            wants || strstr(why, "would come back to where they were") != NULL);
        /* by a pattern that may have it, and not by name */
        assert_true(policy_flow_wants(&policy->flows[0], "orders", NULL));
        policy_free(policy);
    }
}

static uint64_t
fingerprint(const char *topics)
{
    char is[160];
    struct policy *policy = NULL;
    uint64_t number = 0;

    (void)snprintf(is, sizeof is, "topics: {%s}", topics);
    policy = parse_changed("topics: {include: [orders]}", is);
    number = policy_fingerprint(&policy->flows[0]);
    policy_free(policy);
    return number;
}

static void
test_fingerprint(void **state)
{
    uint64_t base = fingerprint("include: [a, b], exclude: [c]");

    (void)state;
    assert_true(base == fingerprint("include: [b, a], exclude: [c]"));
    assert_true(
        base ==
        fingerprint("exclude: [c], include: [a, 'b'], start: earliest"));
    assert_true(
        base == fingerprint("include: [a, b], exclude: [c], refresh: 5s"));
    assert_true(base != fingerprint("include: [a, b]"));
    assert_true(base != fingerprint("include: [a, c], exclude: [b]"));
    assert_true(
        base != fingerprint("include: [a, b], exclude: [c], start: latest"));
    /* Written into ledgers: the same on every machine and for ever. */
    assert_true(
        fingerprint("include: [orders]") == UINT64_C(0x556b1d916da6f124));
}

/* Weaker words are warned about and have no effect. */
static void
test_what_is_in_force(void **state)
{
    char *site = policyfix_change(policyfix_good, "agent: {site: plant7}",
        "agent: {site: eu-west-1}");
    char *tls = policyfix_change(site, "tls: off", "tls: on");
    char *weak =
        policyfix_change(tls, "producer: {acks: all, retries: unlimited}",
            "producer: {acks: 1, retries: 3}");
    struct policy *policy = parse(weak);

    (void)state;
    assert_true(policy->flows[0].at_target);
    assert_string_equal(policy->flows[0].acks, "all");
    assert_string_equal(policy->flows[0].retries, "unlimited");
    assert_string_equal(policy->flows[0].errors_tolerance, "none");
    policy_free(policy);
    free(weak);
    free(tls);
    free(site);
}

/* What people try first, and what it is; one finding each. */
static void
test_other_files(void **state)
{
    static const struct {
        const char *label, *text, *want;
    } rows[] = {
        { "a resource of Kubernetes",
            "apiVersion: kafka.test/v1\nkind: KafkaMirrorMaker2\n"
            "spec: {replicas: 1}\n",
            "Kubernetes" },
        { "a connector", "{\"name\": \"x\", \"connector.class\": \"y\"}",
            "a connector" },
        { "properties", "clusters = a, b\na.bootstrap.servers = a:1\n",
            "properties" },
        { "properties with colons", "clusters : a, b\na->b.enabled = true\n",
            "':'" },
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        struct findings *found = findings_new();

        assert_null(policy_parse(rows[i].text, strlen(rows[i].text),
            NOW_WALL_MS, found));
        if (findings_count(found) != 1 ||
            strstr(findings_at(found, 0)->text, rows[i].want) == NULL)
            fail_msg("%s: %zu, %s", rows[i].label, findings_count(found),
                findings_at(found, 0)->text);
        findings_free(found);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters_in_their_place),
        cmocka_unit_test(test_flows_in_their_place),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_what_is_brought),
        cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_what_is_in_force),
        cmocka_unit_test(test_other_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
