/* test_kspin.c - the library that we link carries our edit.
 *
 * Without it (docs/librdkafka-patch.md) the producer's broker thread wakes
 * without a pause while a partition with a backlog waits for the response of a
 * request that is in flight.  No clock is read here: the library counts its
 * own wake-ups, and over a link of 100 ms they are compared with the requests
 * that were sent.  Counted on one machine: with the edit 4 for each request,
 * without it 158 000.  The limit lies between, far from both: each wake-up
 * of the spin is a poll(2) that does not wait, so falling below the limit would
 * take 1 ms for each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 100,
    REQUESTS = 8,
    RECORDS = BATCH * REQUESTS,
    RTT_MS = 100,
    WAKEUPS_PER_REQUEST = 100,
};

struct seen {
    int delivered;
    uint64_t wakeups, requests; /* of the last statistics */
    bool counted_all;           /* they are younger than the last delivery */
};

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    struct seen *seen = opaque;

    (void)rk;
    assert_int_equal(message->err, RD_KAFKA_RESP_ERR_NO_ERROR);
    seen->delivered++;
}

/* The sum of all `"name":NUMBER` in the text. */
static uint64_t
sum(const char *json, const char *name)
{
    char key[32];
    uint64_t total = 0;

    (void)snprintf(key, sizeof key, "\"%s\":", name);
    for (json = strstr(json, key); json != NULL; json = strstr(json, key)) {
        json += strlen(key);
        total += strtoull(json, NULL, 10);
    }
    return total;
}

static int
counted(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
    struct seen *seen = opaque;

    (void)rk;
    (void)len;
    seen->wakeups = sum(json, "wakeups");
    seen->requests = sum(json, "Produce");
    seen->counted_all = seen->delivered == RECORDS;
    return 0; /* the library frees the text */
}

static rd_kafka_t *
producer_new(struct seen *seen)
{
    static const struct {
        const char *name, *value;
    } settings[] = {
        { "test.mock.num.brokers", "1" },
        { "enable.idempotence", "true" },
        { "linger.ms", "25" },
        { "batch.num.messages", "100" },
        { "statistics.interval.ms", "50" },
    };
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *rk;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_int_equal(rd_kafka_conf_set(conf, settings[i].name,
                             settings[i].value, why, sizeof why),
            RD_KAFKA_CONF_OK);
    rd_kafka_conf_set_opaque(conf, seen);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_conf_set_stats_cb(conf, counted);
    rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    assert_non_null(rk);
    return rk;
}

static void
test_waiting_for_a_response_costs_no_wakeups(void **state)
{
    struct seen seen = { 0 };
    rd_kafka_t *rk = producer_new(&seen);
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    char value[] = "v";

    (void)state;
    assert_int_equal(rd_kafka_mock_topic_create(mock, "t", 1, 1), 0);
    assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, -1, RTT_MS), 0);
    for (int i = 0; i < RECORDS; i++)
        assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"),
                             RD_KAFKA_V_PARTITION(0),
                             RD_KAFKA_V_VALUE(value, 1), RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
    while (!seen.counted_all)
        rd_kafka_poll(rk, 100);

    assert_in_range(seen.requests, REQUESTS, RECORDS);
    print_message("%llu wake-ups, %llu requests\n",
        (unsigned long long)seen.wakeups, (unsigned long long)seen.requests);
    assert_in_range(seen.wakeups, 1, seen.requests * WAKEUPS_PER_REQUEST);
    rd_kafka_destroy(rk);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_for_a_response_costs_no_wakeups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
