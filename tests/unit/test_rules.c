#include "policyfix.h"

static void
test_placement(void **state)
{
    static const struct policyfix_row rows[] = {
        { "it passes as it is", "72h", "72h", "" },
        { "no reason", "because: firewall, ", "", "KP043" },
        { "no budget", ", outage_budget: 72h", "", "KP044" },
        { "neither of them",
            "placement: {because: firewall, outage_budget: 72h}\n", "",
            "KP043 KP044" },
        { "a budget that was not understood is not missing as well",
            "outage_budget: 72h", "outage_budget: 72", "KP025" },
        { "a misspelt budget is not missing as well", "outage_budget",
            "outage_budgte", "KP020" },
        { "a misspelt placement is not missing as well",
            "placement:", "placment:", "KP020" },
        { "another site", "agent: {site: plant7}", "agent: {site: plant8}",
            "KP041" },
        { "a site that is the other cluster's", "agent: {site: plant7}",
            "agent: {site: eu-west-1}", "KP057" },
        { "runs_at that fits", "72h}", "72h, runs_at: source}", "" },
        { "runs_at that does not", "72h}", "72h, runs_at: target}", "KP042" },
        { "an unknown source", "from: plant7", "from: plant", "KP040" },
        { "both unknown, two findings", "from: plant7\n    to: cloud",
            "from: a\n    to: b", "KP040 KP040" },
        { "another version", "version: 1", "version: 2", "KP034" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

static void
test_both_sides_here(void **state)
{
    char *here =
        policyfix_change(policyfix_good, "site: eu-west-1", "site: plant7");
    char *bare = policyfix_change(here,
        "placement: {because: firewall, outage_budget: 72h}\n", "");
    char *plain = policyfix_change(bare,
        "tls: {ca: /etc/kedge/tls/cloud-ca.pem}", "tls: off");
    char *asserted = policyfix_change(plain,
        "flows:", "placement: {runs_at: target}\nflows:");

    (void)state;
    policyfix_expect("no reason is needed", bare, "");
    policyfix_expect("plaintext is fine on both sides", plain, "");
    policyfix_expect("it runs at either side", asserted, "");
    free(asserted);
    free(plain);
    free(bare);
    free(here);
}

/* What a flow says goes before what the policy says, value by value. */
static void
test_flow_overrides_placement(void **state)
{
    static const struct policyfix_row rows[] = {
        { "only in the flow", "because: firewall, outage_budget: 72h", "", "" },
        { "half here, half there", "because: firewall, ", "", "" },
        { "the flow's runs_at wins", "outage_budget: 72h",
            "outage_budget: 72h, runs_at: target", "" },
    };
    char *own = policyfix_change(policyfix_good, "    errors.tol",
        "    placement: {because: firewall, outage_budget: 24h,\n"
        "                runs_at: source}\n    errors.tol");

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = policyfix_change(own, rows[i].was, rows[i].is);

        policyfix_expect(rows[i].label, text, rows[i].want);
        free(text);
    }
    free(own);
}

/* The four of P01, one finding each, on their own and together. */
static void
test_promises(void **state)
{
    static const struct policyfix_row rows[] = {
        { "acks 1", "acks: all", "acks: 1", "KP045" },
        { "acks 0", "acks: all", "acks: 0", "KP045" },
        { "acks -1 is Kafka's word for all", "acks: all", "acks: \"-1\"", "" },
        { "acks not said", "acks: all, ", "", "KP045" },
        { "ten retries", "retries: unlimited", "retries: 10", "KP046" },
        { "Kafka's largest number", "retries: unlimited", "retries: 2147483647",
            "" },
        { "one less can be judged by nobody", "retries: unlimited",
            "retries: 2147483646", "KP046" },
        { "retries not said", ", retries: unlimited", "", "KP046" },
        { "a misspelt producer is not missing as well",
            "producer:", "producers:", "KP020" },
        { "no producer at all",
            "    producer: {acks: all, retries: unlimited}\n", "",
            "KP045 KP046" },
        { "tolerance all", "errors.tolerance: none", "errors.tolerance: all",
            "KP047" },
        { "tolerance not said", "    errors.tolerance: none\n", "", "KP047" },
        { "a misspelt tolerance does not pass for the default",
            "errors.tolerance: none", "error_tolerance: none", "KP020" },
        { "all of it weak",
            "producer: {acks: all, retries: unlimited}\n"
            "    errors.tolerance: none\n",
            "producer: {acks: 1, retries: 10}\n    errors.tolerance: all\n",
            "KP045 KP046 KP047" },
        { "a weak one with an unknown key beside it", "acks: all",
            "acks: 1, dead_letter_topic: edge.dlq", "KP045 KP020" },
        { "acks that is a list is said once", "acks: all", "acks: [all]",
            "KP023" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

/* A cloud agent that reads the plant over TLS. */
static char *
remote_consumer(void)
{
    char *site = policyfix_change(policyfix_good, "agent: {site: plant7}",
        "agent: {site: eu-west-1}");
    char *text = policyfix_change(site, "tls: off",
        "tls: {ca: /etc/kedge/tls/plant-ca.pem}");

    free(site);
    return text;
}

static void
test_remote_consuming_only_warns(void **state)
{
    static const struct policyfix_row rows[] = {
        { "nothing needs to be said",
            "    producer: {acks: all, retries: unlimited}\n"
            "    errors.tolerance: none\n",
            "", "" },
        { "no reason is asked for",
            "placement: {because: firewall, outage_budget: 72h}\n", "", "" },
        { "weaker acks are a warning", "acks: all", "acks: 1", "KP048" },
        { "each weaker word is one",
            "producer: {acks: all, retries: unlimited}\n"
            "    errors.tolerance: none\n",
            "producer: {acks: 1, retries: 10}\n    errors.tolerance: all\n",
            "KP048 KP048 KP048" },
        { "what nobody may take back stays refused", "acks: all",
            "acks: 1, enable.idempotence: false", "KP048 KP050" },
    };
    char *base = remote_consumer();

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = policyfix_change(base, rows[i].was, rows[i].is);

        policyfix_expect(rows[i].label, text, rows[i].want);
        free(text);
    }
    free(base);
}

/* Takes the flow's own lines that the block replaces out, and puts it in. */
static char *
paste(const char *text, const char *block)
{
    static const char *const replaced[] = { "    producer:", "    placement:",
        "    errors.tolerance:" };
    char *now = strdup(text);
    char *pasted = NULL;

    if (now == NULL)
        abort();

    for (size_t i = 0; i < N(replaced); i++) {
        char *at = strstr(now, replaced[i]);
        char *end = at == NULL ? NULL : strchr(at, '\n');

        if (at != NULL && strstr(block, replaced[i]) != NULL)
            memmove(at, end + 1, strlen(end + 1) + 1);
    }
    pasted = policyfix_change(now, NULL, block);
    free(now);
    now = policyfix_change(pasted, NULL, "\n");
    free(pasted);
    return now;
}

static void
test_the_block_passes_when_pasted(void **state)
{
    static const struct policyfix_row rows[] = {
        { "everything is missing",
            "    producer: {acks: all, retries: unlimited}\n"
            "    errors.tolerance: none\n",
            "", "" },
        { "one word is weak, the rest is kept", "acks: all",
            "acks: 1, compression.type: 'zstd'", "" },
        { "retries alone", "retries: unlimited", "retries: 3", "" },
        { "tolerance alone", "tolerance: none", "tolerance: all", "" },
        { "no placement",
            "placement: {because: firewall, outage_budget: 72h}\n", "", "" },
        { "a budget alone", ", outage_budget: 72h", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = policyfix_change(policyfix_good, rows[i].was, rows[i].is);
        struct findings *found = findings_new();
        size_t blocks = 0;
        const char *block = NULL;
        char *pasted = NULL;

        assert_null(policy_parse(text, strlen(text), NOW_WALL_MS, found));
        for (size_t k = 0; k < findings_count(found); k++)
            if (findings_at(found, k)->remedy != NULL) {
                block = findings_at(found, k)->remedy;
                blocks++;
            }
        assert_int_equal(blocks, 1);
        if (block == NULL)
            abort();
        pasted = paste(text, block);
        policyfix_expect(rows[i].label, pasted, "");
        free(pasted);
        findings_free(found);
        free(text);
    }
}

static void
test_always(void **state)
{
    static const struct policyfix_row rows[] = {
        { "idempotence off", "acks: all",
            "acks: all, enable.idempotence: "
            "false",
            "KP050" },
        { "six in flight", "acks: all",
            "acks: all, max.in.flight.requests.per.connection: 6", "KP051" },
        { "none in flight", "acks: all",
            "acks: all, max.in.flight.requests.per.connection: 0", "KP051" },
        { "one in flight would have no effect", "acks: all",
            "acks: all, max.in.flight.requests.per.connection: 1", "KP030" },
        { "five in flight", "acks: all",
            "acks: all, max.in.flight.requests.per.connection: 5", "" },
        { "a delivery timeout", "acks: all",
            "acks: all, delivery.timeout.ms: 120000", "KP052" },
        { "Kafka's largest timeout", "acks: all",
            "acks: all, delivery.timeout.ms: 2147483647", "" },
        { "reset to the end", "    errors.tol",
            "    consumer: {auto.offset.reset: latest}\n    errors.tol",
            "KP053" },
        { "reset as Java calls an error", "    errors.tol",
            "    consumer: {auto.offset.reset: none}\n    errors.tol", "" },
        { "no checksums", "    errors.tol",
            "    consumer: {check.crcs: false}\n    errors.tol", "KP054" },
        { "auto commit", "    errors.tol",
            "    consumer: {enable.auto.commit: true}\n    errors.tol",
            "KP055" },
        { "aborted records", "    errors.tol",
            "    consumer: {isolation.level: read_uncommitted}\n    errors.tol",
            "KP059" },
        { "committed ones alone", "    errors.tol",
            "    consumer: {isolation.level: read_committed}\n    errors.tol",
            "" },
        { "a separator with a blank", "    errors.tol",
            "    rename: {separator: ' '}\n    errors.tol", "KP078" },
        { "one replica", "    errors.tol",
            "    target_topics: {replication.factor: 1}\n    errors.tol",
            "KP081" },
        { "one replica that nobody makes", "    errors.tol",
            "    target_topics: {create: false, replication.factor: 1}\n"
            "    errors.tol",
            "" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

static void
test_clusters(void **state)
{
    static const struct policyfix_row rows[] = {
        { "plaintext to the cloud", "tls: {ca: /etc/kedge/tls/cloud-ca.pem}",
            "tls: off", "KP057" },
        { "TLS in a word that is none is not off",
            "tls: {ca: /etc/kedge/tls/cloud-ca.pem}", "tls: yes", "KP024" },
        { "TLS not said at all", "    tls: {ca: /etc/kedge/tls/cloud-ca.pem}\n",
            "", "KP022" },
        { "TLS with the system's authorities",
            "tls: {ca: /etc/kedge/tls/cloud-ca.pem}", "tls: on", "" },
        { "verification off", "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, verify: none}", "KP058" },
        { "host names not verified, by its Kafka name", "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, ssl.endpoint.identification.algorithm: ''}",
            "KP020" },
        { "TLS 1.1", "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, min_version: '1.1'}", "KP056" },
        { "TLS 1.3", "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, min_version: '1.3'}", "" },
        { "a key alone", "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, key: /etc/kedge/k}", "KP064" },
        { "a key that was not understood is not missing as well",
            "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, cert: /etc/kedge/c, key: k.pem}", "KP038" },
        { "a misspelt certificate is one mistake", "tls/cloud-ca.pem}",
            "tls/cloud-ca.pem, key: /etc/kedge/k, certt: /etc/kedge/c}",
            "KP020" },
        { "plaintext to a public address", "kafka1.plant7.test:9092",
            "198.51.100.1:9092", "KP062" },
        { "plaintext to a public IPv6 address", "kafka1.plant7.test:9092",
            "'[2001:db8::1]:9092'", "KP062" },
        { "plaintext to private addresses", "[kafka1.plant7.test:9092]",
            "['10.0.0.1:9092', '172.16.9.9:9092', '192.168.1.1:9092', "
            "'127.0.0.1:9092', '[::1]:9092', '[fd00::1]:9092']",
            "" },
        { "a public address that is listed",
            "bootstrap: [kafka1.plant7.test:9092]",
            "bootstrap: ['198.51.100.1:9092']\n"
            "    plaintext_networks: [198.51.100.0/24]",
            "" },
        { "a public address of another network",
            "bootstrap: [kafka1.plant7.test:9092]",
            "bootstrap: ['198.51.100.1:9092']\n"
            "    plaintext_networks: [198.51.101.0/24, '2001:db8::/32']",
            "KP062" },
        { "a public IPv6 address that is listed",
            "bootstrap: [kafka1.plant7.test:9092]",
            "bootstrap: ['[2001:db8:1::1]:9092']\n"
            "    plaintext_networks: [198.51.100.0/24, '2001:db8::/32']",
            "" },
        { "a list that was not understood",
            "bootstrap: [kafka1.plant7.test:9092]",
            "bootstrap: ['198.51.100.1:9092']\n"
            "    plaintext_networks: [198.51.100.0]",
            "KP037" },
        { "every address", "    tls: off",
            "    tls: off\n    plaintext_networks: [0.0.0.0/0, '::/0']",
            "KP062 KP062" },
        { "a flow to its own source says nothing of the other", "    to: cloud",
            "    to: plant7", "KP070" },
        { "networks that have no effect", "tls: {ca",
            "plaintext_networks: [198.51.100.0/24]\n    tls: {ca", "KP066" },
        { "one broker for both", "b1.cloud.test:9093",
            "KAFKA1.plant7.test:9092", "KP070" },
        { "a start of this moment", "[orders]",
            "[orders], start: 2026-11-30T23:06:40Z", "" },
        { "a start in a millisecond", "[orders]",
            "[orders], start: 2026-11-30T23:06:40.001Z", "KP082" },
        { "a start on a day that is still to come", "[orders]",
            "[orders], start: 2026-12-01", "KP082" },
        { "metrics for everybody", "version: 1",
            "version: 1\nadmin: {metrics: '0.0.0.0:9464'}", "KP083" },
        { "metrics at a host whose name begins alike", "version: 1",
            "version: 1\nadmin: {metrics: '127.0.0.1.evil.test:9464'}",
            "KP083" },
        { "metrics at localhost", "version: 1",
            "version: 1\nadmin: {metrics: 'localhost:9464'}", "" },
        { "metrics at another loopback address", "version: 1",
            "version: 1\nadmin: {metrics: '127.0.0.2:9464'}", "" },
        { "metrics on IPv6 loopback", "version: 1",
            "version: 1\nadmin: {metrics: '[::1]:9464'}", "" },
        { "a folder for the socket", "version: 1",
            "version: 1\nadmin: {socket: /run/kedge/}", "KP038" },
        { "a socket in it", "version: 1",
            "version: 1\nadmin: {socket: /run/kedge/s}", "" },
        { "no metrics", "version: 1", "version: 1\nadmin: {metrics: off}", "" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

/* One copy is asked for, and the target admits it, or not. */
static void
test_copies(void **state)
{
    static const struct policyfix_row rows[] = {
        { "nothing is admitted", "72h", "72h", "KP081" },
        { "one is", "    site: eu-west-1",
            "    durability: {replicas: 1, because: single-broker}\n"
            "    site: eu-west-1",
            "" },
        { "two are", "    site: eu-west-1",
            "    durability: {replicas: 2, because: two-racks}\n"
            "    site: eu-west-1",
            "KP081" },
        { "what is admitted was not understood", "    site: eu-west-1",
            "    durability: {replicas: one, because: x}\n    site: eu-west-1",
            "KP026" },
        { "nor was its name", "    site: eu-west-1",
            "    durabilty: {replicas: 1, because: x}\n    site: eu-west-1",
            "KP020" },
    };
    char *one = policyfix_change(policyfix_good, "    errors.tol",
        "    target_topics: {replication.factor: 1}\n    errors.tol");

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = policyfix_change(one, rows[i].was, rows[i].is);

        policyfix_expect(rows[i].label, text, rows[i].want);
        free(text);
    }
    free(one);
}

static void
test_encryption(void **state)
{
    static const struct policyfix_row rows[] = {
        { "not measured", "firewall", "encryption", "KP061" },
        { "measured", "firewall",
            "encryption, measured: {date: 2026-10-01, ratio: 1.4}", "" },
        { "measured long ago", "firewall",
            "encryption, measured: {date: 2026-01-01, ratio: 1.4}", "KP061" },
        { "measured in some years", "firewall",
            "encryption, measured: {date: 2029-01-01, ratio: 1.4}", "KP061" },
        { "a ratio that is none", "firewall",
            "encryption, measured: {date: 2026-10-01, ratio: fast}", "KP026" },
        { "a measurement without its ratio", "firewall",
            "encryption, measured: {date: 2026-10-01}", "KP022" },
        { "no date", "firewall",
            "encryption, measured: {date: soon, ratio: 1.4}", "KP036" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placement),
        cmocka_unit_test(test_both_sides_here),
        cmocka_unit_test(test_flow_overrides_placement),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_remote_consuming_only_warns),
        cmocka_unit_test(test_the_block_passes_when_pasted),
        cmocka_unit_test(test_always),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_encryption),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
