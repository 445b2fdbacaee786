/* Every name of Kafka's leads to a setting that there is. */
#include "kafkaname.h"

#include "fields.h"
#include "policyfix.h"

static const struct {
    const char *label, *key, *want; /* "PLACE KEY", "-", or "" */
} cases[] = {
    { "Java's", "bootstrap.servers", "clusters.NAME bootstrap" },
    { "with a line below", "bootstrap_servers", "clusters.NAME bootstrap" },
    { "as Kubernetes has it", "bootstrapServers", "clusters.NAME bootstrap" },
    { "MirrorMaker 2's, of a cluster", "plant7.bootstrap.servers",
        "clusters.NAME bootstrap" },
    { "the same by role", "source.cluster.security.protocol",
        "clusters.NAME tls" },
    { "librdkafka's authority", "ssl.ca.location", "clusters.NAME.tls ca" },
    { "Java's", "ssl.truststore.location", "clusters.NAME.tls ca" },
    { "and its password", "ssl.truststore.password", "clusters.NAME.tls ca" },
    { "a certificate", "ssl.certificate.location", "clusters.NAME.tls cert" },
    { "a key store", "ssl.keystore.location", "clusters.NAME.tls cert" },
    { "a key", "ssl.key.location", "clusters.NAME.tls key" },
    { "host names", "ssl.endpoint.identification.algorithm",
        "clusters.NAME.tls verify" },
    { "any other of TLS", "ssl.cipher.suites", "clusters.NAME tls" },
    { "a mechanism", "sasl.mechanism", "clusters.NAME.sasl mechanism" },
    { "librdkafka's", "sasl.mechanisms", "clusters.NAME.sasl mechanism" },
    { "a login", "sasl.jaas.config", "clusters.NAME sasl" },
    { "any other of SASL", "sasl.kerberos.keytab", "clusters.NAME sasl" },
    { "a list of topics", "topics.whitelist", "flows.NAME.topics include" },
    { "names", "replication.policy.class", "flows.NAME.rename policy" },
    { "what nobody sets", "consumer.group.id", "-" },
    { "ours", "bootstrap", "" },
    { "nobody's", "zzzz", "" },
    { "the front alone", "ssl.", "clusters.NAME tls" },
    { "a dot at the end", "x.", "" },
    { "nothing", "", "" },
};

static void
test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        const struct kafkaname *name = kafkaname_find(cases[i].key);
        char text[128] = "";

        if (name != NULL && name->place == NULL)
            (void)snprintf(text, sizeof text, "-");
        else if (name != NULL)
            (void)snprintf(text, sizeof text, "%s %s", name->place, name->key);
        if (strcmp(text, cases[i].want) != 0)
            fail_msg("%s: %s is '%s'", cases[i].label, cases[i].key, text);
    }
}

/* The tables of the policy, all of them. */
static bool
is_ours(const struct field_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->fields[i].key, key) == 0 ||
            (table->fields[i].inner != NULL &&
                is_ours(table->fields[i].inner, key)))
            return true;
    return false;
}

static void
test_each_leads_somewhere(void **state)
{
    size_t n = 0;

    (void)state;
    for (const struct kafkaname *name = kafkaname_all(); name->theirs != NULL;
         name++, n++) {
        if (is_ours(fields_root(), name->theirs))
            fail_msg("%s is a key of ours", name->theirs);
        if (name->place == NULL)
            assert_non_null(name->form);
        else if (!fields_has(name->place, name->key))
            fail_msg("%s: no %s in %s", name->theirs, name->key, name->place);
    }
    assert_true(n > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_each_leads_somewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
