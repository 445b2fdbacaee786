#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kadvice.h"
#include "kconf.h"

#include <string.h>

#define FAIL(code) RD_KAFKA_RESP_ERR__##code

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    const char *detail;
    enum err_kind kind;
    bool retry;
    const char *want, *lacks;
} rows[] = {
    { "a link that is cut", FAIL(TRANSPORT),
        "ssl://localhost:9093/1: Disconnected (after 7ms in state UP)", ERR_NET,
        true, "localhost:9093: Disconnected", "ssl://" },
    { "a bootstrap broker", FAIL(TRANSPORT),
        "sasl_ssl://localhost:9093/bootstrap: Connect to ipv4#127.0.0.1:9093 "
        "failed: Connection refused (after 0ms in state CONNECT)",
        ERR_NET, true, "localhost:9093: Connect to", "bootstrap" },
    { "a text with a place in it", FAIL(TRANSPORT),
        "see https://example.net/a: it is down", ERR_NET, true,
        "see https://example.net/a: it", "\n" },
    { "TLS to a plaintext port", FAIL(TRANSPORT),
        "ssl://localhost:9092/bootstrap: SSL handshake failed: Disconnected: "
        "connecting to a PLAINTEXT broker listener? (after 3ms in state "
        "SSL_HANDSHAKE)",
        ERR_NET, true, "whether that port speaks TLS", "certificates" },
    { "TLS to a port of another protocol", FAIL(SSL),
        "ssl://localhost:9092/bootstrap: SSL handshake failed: "
        "error:0A00010B:SSL routines::wrong version number: ",
        ERR_NET, true, "does not speak TLS", "certificates" },
    { "plaintext to a TLS port", FAIL(TRANSPORT),
        "localhost:9093/bootstrap: Disconnected while requesting ApiVersion: "
        "might be caused by incorrect security.protocol configuration "
        "(connecting to a SSL listener?) or broker version is < 0.10",
        ERR_NET, true, "whether that port wants TLS or SASL", "\n" },
    { "the same, of which the library says nothing", FAIL(ALL_BROKERS_DOWN),
        "0/1 brokers are down", ERR_NET, true,
        "no broker answers; it is tried again; if it stays, look at the "
        "network, and whether that port wants TLS or SASL",
        "0/1" },
    { "a certificate that the client has not", FAIL(SSL),
        "ssl://localhost:9094/bootstrap: SSL handshake failed: "
        "error:0A000412:SSL routines::sslv3 alert bad certificate",
        ERR_CERT, true, "tls.cert and tls.key in the policy", "network" },
    { "the same, as TLS 1.3 says it after the handshake", FAIL(TRANSPORT),
        "ssl://localhost:9094/bootstrap: Receive failed: error:0A00045C:SSL "
        "routines::tlsv13 alert certificate required",
        ERR_CERT, true, "tls.cert and tls.key in the policy", "network" },
    { "a listener without SASL", FAIL(AUTHENTICATION),
        "sasl_plaintext://localhost:9092/bootstrap: SASL PLAIN mechanism "
        "handshake failed: Local: Broker transport failure: broker's "
        "supported mechanisms:  (after 1ms in state AUTH_HANDSHAKE)",
        ERR_NET, true, "whether that port speaks SASL", "password" },
    { "another mechanism", FAIL(AUTHENTICATION),
        "sasl_ssl://localhost:9093/bootstrap: SASL PLAIN mechanism handshake "
        "failed: Broker: Unsupported SASL mechanism: broker's supported "
        "mechanisms: SCRAM-SHA-512",
        ERR_LOGIN, false, "sasl.mechanism in the policy", "password" },
    { "a wrong password", FAIL(AUTHENTICATION),
        "sasl_ssl://localhost:9093/bootstrap: SASL authentication error: "
        "Authentication failed",
        ERR_LOGIN, false, "user and password", "network" },
    { "a cluster of one broker", RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 3 time(s): The target replication "
        "factor of 3 cannot be reached because only 1 broker(s) are "
        "registered.",
        ERR_CONFIG, false,
        "'durability: {replicas: 1, because: single-broker}' in that cluster "
        "in the policy",
        "Unable" },
};

static void
the_words_say_who_has_to_act(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err;

        print_message("%s\n", rows[i].label);
        assert_false(kconf_err(&err, rows[i].code, rows[i].detail));
        if (err.kind == ERR_CONFIG) /* said of one topic */
            err_wrap(&err, "ledger kedge.plant7.telemetry.ledger");
        assert_int_equal(err.kind, rows[i].kind);
        assert_int_equal(err.retry, rows[i].retry);
        if (strstr(err.text, rows[i].want) == NULL ||
            strstr(err.text, rows[i].lacks) != NULL)
            fail_msg("\"%s\"", err.text);
    }
}

static void
the_words_say_where_a_log_was_cut(void **state)
{
    static const struct {
        const char *detail;
        int64_t want;
    } cuts[] = {
        { "Partition log truncation detected at offset 15 (leader epoch 0): "
          "broker end offset is 10 (offset leader epoch 0). Reset to INVALID.: "
          "Local: Partition log truncation detected (broker 2)",
            10 },
        { "No epoch found less or equal to offset 15 (leader epoch 0): broker "
          "end offset is -1 (offset leader epoch -1).",
            -1 },
        { "fetch failed due to requested offset not available on the broker: "
          "Broker: Offset out of range (broker 1)",
            -1 },
        { "", -1 },
        { NULL, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        assert_int_equal(kadvice_cut(cuts[i].detail), cuts[i].want);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_say_who_has_to_act),
        cmocka_unit_test(the_words_say_where_a_log_was_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
