#include "schema.h"

#include "fields.h"
#include "policyfix.h"

/* What a change of the good policy is told about its form alone. */
static void
test_findings(void **state)
{
    static const struct policyfix_row rows[] = {
        { "an unknown key at the top", "version: 1", "version: 1\nfoo: 1",
            "KP020" },
        { "an unknown key far down", "{ca: ", "{pem: x, ca: ", "KP020" },
        { "one of another section", "    to: cloud",
            "    to: cloud\n    compression.type: zstd", "KP021" },
        { "one of another section, misspelt as well is unknown",
            "    to: cloud", "    to: cloud\n    compresion.typ: zstd",
            "KP020" },
        { "a required key misspelt is one finding", "site: eu-west-1",
            "sites: eu-west-1", "KP020" },
        { "two required keys missing are one finding",
            "    site: eu-west-1\n    bootstrap: [b1.cloud.test:9093]\n", "",
            "KP022" },
        { "no version", "version: 1\n", "", "KP022" },
        { "no topics", "    topics: {include: [orders]}\n", "", "KP022" },
        { "a list of maps", "[orders]", "[{a: b}]", "KP023" },
        { "a list of lists", "[orders]", "[[a]]", "KP023" },
        { "a text for a section", "producer: {acks: all, retries: unlimited}",
            "producer: safe", "KP023" },
        { "a map for a text", "to: cloud", "to: {cloud: 1}", "KP023" },
        { "a list for names", "flows:\n", "flows: []\nflow:\n", "KP023 KP020" },
        { "a text for a named thing",
            "  cloud:\n    site: eu-west-1\n"
            "    bootstrap: [b1.cloud.test:9093]\n"
            "    tls: {ca: /etc/kedge/tls/cloud-ca.pem}\n",
            "  cloud: b1.cloud.test:9093\n", "KP023" },
        { "TLS half on", "tls: off", "tls: maybe", "KP024" },
        { "nothing behind a colon", "to: cloud", "to:", "KP039" },
        { "null behind a colon", "acks: all", "acks: null", "KP039" },
        { "a tilde behind a colon", "acks: all", "acks: ~", "KP039" },
        { "nothing in a list", "[orders]", "[~]", "KP039" },
        { "nothing beside something", "[orders]", "[orders, null]", "KP039" },
        { "an empty list", "[orders]", "[]", "KP031" },
        { "no flows", "flows:\n  telemetry:", "flows: {}\nx:\n  telemetry:",
            "KP031 KP020" },
        { "a bad name", "  telemetry:", "  Tele_metry:", "KP029" },
        { "a name with a dot", "  cloud:", "  clo.ud:", "KP029 KP040" },
        { "a password", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u, password: x}\n"
            "    tls: {ca",
            "KP033" },
        { "a sealed password", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u,\n"
            "           password: {sealed: abc}}\n    tls: {ca",
            "KP030" },
        { "a mechanism that is to come needs other keys", "    tls: {ca",
            "    sasl: {mechanism: OAUTHBEARER}\n    tls: {ca", "KP030" },
        { "the same with some of ours", "    tls: {ca",
            "    sasl: {mechanism: GSSAPI, username: u}\n    tls: {ca",
            "KP030" },
        { "one that is there needs its own", "    tls: {ca",
            "    sasl: {mechanism: PLAIN}\n    tls: {ca", "KP022" },
        { "and so does none at all", "    tls: {ca",
            "    sasl: {username: u}\n    tls: {ca", "KP022" },
        { "a password one level down", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u, password: {value: x}}\n"
            "    tls: {ca",
            "KP033" },
        { "a password as a key", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u, password: {x}}\n"
            "    tls: {ca",
            "KP033" },
        { "a password beside its file", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u,\n"
            "           password: {file: /p, value: x}}\n    tls: {ca",
            "KP033" },
        { "a misspelt file of a password is one finding", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u,\n"
            "           password: {fiel: /p}}\n    tls: {ca",
            "KP020" },
        { "a password that is nowhere", "    tls: {ca",
            "    sasl: {mechanism: PLAIN, username: u, password: {}}\n"
            "    tls: {ca",
            "KP022" },
        { "the brokers by Kafka's name are not missing as well",
            "bootstrap: [b1", "bootstrap.servers: [b1", "KP020" },
        { "TLS by Kafka's names is not missing as well",
            "tls: {ca: /etc/kedge/tls/cloud-ca.pem}",
            "security.protocol: SSL\n    ssl.ca.location: /ca", "KP020 KP020" },
        { "every part that is to come", "    to: cloud",
            "    to: cloud\n    audit: {}\n    canary: {}\n"
            "    commit_interval: 1s\n    expected_rate: 1MiB\n"
            "    delivery: exactly-once\n    on_recreate: restart",
            "KP030 KP030 KP030 KP030 KP030 KP030" },
        { "egress, pins and profiles", "    tls: {ca: ",
            "    egress: {proxy: p}\n    profile: msk\n"
            "    tls: {pins: [x], ca: ",
            "KP030 KP030 KP030" },
        { "errors of all kinds in one run", "    to: cloud",
            "    to: cloud\n    shared_target: yes\n    limits: "
            "{max_in_flight: 64, bytes_per_second: 1}\n    foo: 1\n"
            "    failure_scope: world",
            "KP028 KP025 KP025 KP020 KP024" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

static void
expect_remedy(const char *was, const char *is, const char *code,
    const char *text, const char *remedy)
{
    char *changed = policyfix_change(policyfix_good, was, is);
    struct findings *found = findings_new();
    const struct finding *one = NULL;

    assert_null(policy_parse(changed, strlen(changed), NOW_WALL_MS, found));
    one = policyfix_find(found, code);
    assert_non_null(one);
    assert_string_equal(one->text, text);
    if (remedy != NULL)
        assert_string_equal(one->remedy, remedy);
    findings_free(found);
    free(changed);
}

static void
test_words(void **state)
{
    (void)state;
    expect_remedy("errors.tolerance", "error.tolerance", "KP020",
        "unknown key 'error.tolerance'", "did you mean 'errors.tolerance'?");
    expect_remedy("    to: cloud", "    to: cloud\n    acks: all", "KP021",
        "'acks' does not belong here; it belongs under "
        "flows.telemetry.producer",
        "move it, as 'acks', to flows.telemetry.producer");
    expect_remedy("    site: eu", "    acks: all\n    site: eu", "KP021",
        "'acks' does not belong here; it belongs under flows.NAME.producer",
        "move it, as 'acks', to flows.NAME.producer");
    expect_remedy("acks: all", "producer.acks: all", "KP020",
        "unknown key 'producer.acks'", "did you mean 'acks'?");
    expect_remedy("{ca: ", "{x: 1, ca: ", "KP020", "unknown key 'x'",
        "keys of clusters.cloud.tls: ca, cert, key, min_version, verify, "
        "pins");
    expect_remedy("bootstrap: [b1", "bootstrap.servers: [b1", "KP020",
        "unknown key 'bootstrap.servers'",
        "did you mean 'bootstrap'?\nbootstrap: [HOST:PORT, HOST:PORT]");
    expect_remedy("    tls: off", "    tls: off\n    ssl.ca.location: /ca",
        "KP020", "unknown key 'ssl.ca.location'",
        "here it is 'ca', in clusters.plant7.tls");
    expect_remedy("version: 1", "version: 1\ngroup.id: x", "KP020",
        "unknown key 'group.id'", "kedge sets it itself: take it out");
    expect_remedy("  cloud:\n    site: eu-west-1\n"
                  "    bootstrap: [b1.cloud.test:9093]\n"
                  "    tls: {ca: /etc/kedge/tls/cloud-ca.pem}\n",
        "  cloud: b1.cloud.test:9093\n", "KP023",
        "cloud: needs the keys of clusters.NAME below it", NULL);
    expect_remedy("    tls: {ca",
        "    sasl: {mechanism: PLAIN, username: u, password: {sealed: x}}\n"
        "    tls: {ca",
        "KP030", "password.sealed is not in this version",
        "password: {file: /etc/kedge/secrets/NAME}");
    expect_remedy("    site: eu-west-1\n    bootstrap: [b1.cloud.test:9093]\n",
        "", "KP022", "clusters.cloud needs 'site', 'bootstrap' as well",
        "site: ...    # Where the cluster is.\n"
        "bootstrap: ...    # Brokers to begin with, host:port.");
    expect_remedy("tls: off", "tls: no", "KP024",
        "tls: 'no' is neither on, off, nor a map of keys", "tls: on\ntls: off");
    expect_remedy("[orders]", "orders", "KP023", "include: needs a list",
        "include: ['orders']");
    expect_remedy("acks: all", "retry: unlimited, acks: all", "KP020",
        "unknown key 'retry'", "did you mean 'retries'?");
    expect_remedy("{include: [orders]}", "[orders]", "KP023",
        "topics: needs a map of keys", "topics: {include: ['orders']}");
    expect_remedy("{include: [orders]}", "[orders, 'plant.*']", "KP023",
        "topics: needs a map of keys",
        "topics: {include: ['orders', 'plant.*']}");
    expect_remedy("{include: [orders]}", "orders", "KP023",
        "topics: needs a map of keys", "topics: {include: ['orders']}");
    expect_remedy("    to: cloud", "    to: cloud\n    rename: identity",
        "KP023", "rename: needs a map of keys", "rename: {policy: identity}");
    expect_remedy("    tls: {ca", "    sasl: PLAIN\n    tls: {ca", "KP023",
        "sasl: needs a map of keys",
        "sasl: {mechanism: PLAIN, username: ..., password: ...}");
    expect_remedy("    tls: {ca", "    sasl: S3cr3t-91\n    tls: {ca", "KP023",
        "sasl: needs a map of keys",
        "keys of clusters.cloud.sasl: mechanism, username, password");
}

/* What somebody else's habit makes of a setting. */
static void
test_proposals(void **state)
{
    (void)state;
    expect_remedy("acks: all", "compression: zstd, acks: all", "KP020",
        "unknown key 'compression'", "did you mean 'compression.type'?");
    expect_remedy("acks: all", "linger: 5, acks: all", "KP020",
        "unknown key 'linger'", "did you mean 'linger.ms'?");
    expect_remedy("errors.tolerance: none", "errors: {tolerance: none}",
        "KP020", "unknown key 'errors'", "did you mean 'errors.tolerance'?");
    expect_remedy("    tls: off",
        "    tls: off\n"
        "    durability: {replicas: 1, because: two brokers in the Cellar!}",
        "KP029",
        "because: 'two brokers in the Cellar!' is not a word of 1 to 40 of "
        "a-z, 0-9 and '-'",
        "because: two-brokers-in-the-cellar");
    expect_remedy("site: plant7}", "site: Plant 7}", "KP029",
        "site: 'Plant 7' is not a name of 1 to 40 of a-z, 0-9 and '-'",
        "site: plant-7");
    expect_remedy("  telemetry:", "  Tele_metry:", "KP029",
        "this name: 'Tele_metry' is not a name of 1 to 40 of a-z, 0-9 and '-'",
        "tele-metry:");
    expect_remedy("firewall", "encrypt", "KP024",
        "because: 'encrypt' is not one of: firewall, encryption",
        "because: encryption");
    expect_remedy("[orders]", "[orders], start: latests", "KP036",
        "start: 'latests' is not earliest, latest, or a time as "
        "2026-11-30T21:56:12Z",
        "start: latest");
    expect_remedy("[orders]", "[orders], start: begin", "KP036",
        "start: 'begin' is not earliest, latest, or a time as "
        "2026-11-30T21:56:12Z",
        "start: earliest");
    expect_remedy("from: plant7", "from: headquarters", "KP040",
        "from: there is no cluster 'headquarters'",
        "from: one of plant7, cloud");
    expect_remedy("site: plant7}", "site: headquarters}", "KP041",
        "no cluster is at 'headquarters', where this agent runs",
        "site: one of plant7, eu-west-1");
    expect_remedy("    errors.tol",
        "    target_topics: {replication.factor: 2}\n    errors.tol", "KP081",
        "replication.factor: 2: fewer than 3 copies, and cluster 'cloud' does "
        "not say why",
        "in clusters.cloud:\n    durability: {replicas: 2, because: "
        "two-brokers}");
    expect_remedy("acks: all",
        "acks: all, max.in.flight.requests.per.connection: 1", "KP030",
        "max.in.flight.requests.per.connection: it is 5 in this version, and "
        "order holds with that as well",
        "max.in.flight.requests.per.connection: 5");
}

static void
test_values(void **state)
{
    (void)state;
    expect_remedy("72h", "72", "KP025", "outage_budget: '72' has no unit",
        "outage_budget: 72h    # units: ms s m h d");
    expect_remedy("72h", "72 H", "KP026",
        "outage_budget: '72 H' is not a duration, as 30s or 72h",
        "outage_budget: 72h    # units: ms s m h d");
    expect_remedy("    errors.tol",
        "    limits: {bytes_per_second: 0}\n    errors.tol", "KP025",
        "bytes_per_second: '0' has no unit",
        "bytes_per_second: unlimited    # units: B KiB MiB GiB kB MB GB");
    expect_remedy("[b1.cloud.test:9093]", "['sasl_ssl://b1.cloud.test:9093/x']",
        "KP035",
        "bootstrap: 'sasl_ssl://b1.cloud.test:9093/x' is not host:port",
        "bootstrap: ['b1.cloud.test:9093']");
    expect_remedy("[b1.cloud.test:9093]", "['b1.cloud.test']", "KP035",
        "bootstrap: 'b1.cloud.test' is not host:port",
        "bootstrap: [HOST:PORT]");
    expect_remedy("[b1.cloud.test:9093]", "['b1:1,b2:1']", "KP035",
        "bootstrap: 'b1:1,b2:1' is not host:port",
        "bootstrap: [HOST:PORT, HOST:PORT]");
    expect_remedy("version: 1", "version: 1\nadmin: {metrics: 9464}", "KP035",
        "metrics: '9464' is not host:port", "metrics: '127.0.0.1:9464'");
    expect_remedy("version: 1", "version: 1\nzzzz: 1", "KP020",
        "unknown key 'zzzz'",
        "keys of the policy: version, agent, placement, clusters, flows, "
        "admin, audit, canary");
}

static const struct field_table *
check_rows(const struct field_table *table, size_t depth)
{
    assert_true(depth < 8);
    assert_true(table->n > 0 && table->n < 32);
    for (size_t i = 0; i < table->n; i++) {
        const struct field *field = &table->fields[i];
        char base[sizeof(struct policy_flow) + sizeof(struct policy)] = { 0 };

        assert_true(strlen(field->help) > 2);
        assert_int_equal(field->help[strlen(field->help) - 1], '.');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(field->key, table->fields[k].key);
        if (field->type == FIELD_SECTION || field->type == FIELD_NAMED)
            check_rows(field->inner, depth + 1);
        else
            assert_null(field->inner);
        assert_true(field->at < sizeof base);
        assert_false(field->required && field->fallback != NULL);
        if (field->type == FIELD_WORD || field->type == FIELD_ENUM)
            assert_non_null(field->choices);
    }
    return table;
}

static void
test_tables(void **state)
{
    (void)state;
    check_rows(fields_root(), 0);
}

/* Every default is a value that the setting itself would take. */
static void
test_defaults_fit(void **state)
{
    struct findings *found = findings_new();
    struct policy_flow flow = { 0 };
    const struct field_table *table = NULL;

    (void)state;
    for (size_t i = 0; i < fields_root()->n; i++)
        if (strcmp(fields_root()->fields[i].key, "flows") == 0)
            table = fields_root()->fields[i].inner;
    assert_non_null(table);
    schema_read(table, NULL, &flow, found);
    assert_int_equal(findings_count(found), 0);
    assert_int_equal(flow.refresh_ms, 30000);
    assert_int_equal(flow.max_in_flight_bytes, 64 << 20);
    assert_int_equal(flow.bytes_per_second, 0);
    assert_int_equal(flow.linger_ms, 25);
    assert_int_equal(flow.replication_factor, 3);
    assert_int_equal(flow.in_flight, 5);
    assert_int_equal(flow.rename, POLICY_PREFIX);
    assert_string_equal(flow.isolation, "read_committed");
    assert_int_equal(flow.failure_scope, POLICY_STOP_FLOW);
    assert_int_equal(flow.placement.because, POLICY_NO_REASON);
    assert_string_equal(flow.separator, ".");
    assert_string_equal(flow.compression, "none");
    assert_string_equal(flow.start_text, "earliest");
    assert_string_equal(flow.acks, "all");
    assert_true(flow.create_topics && flow.idempotence && flow.check_crcs);
    assert_false(flow.auto_commit || flow.shared_target);
    schema_clear(table, &flow);
    findings_free(found);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_proposals),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_defaults_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
