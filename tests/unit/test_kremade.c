/* test_kremade.c - the library that we link carries our edit for topics that
 * were deleted and made anew.
 *
 * Without it (docs/librdkafka-patch.md) a consumer takes the new topic for the
 * old one and goes on in it from where it was.  Mock clusters cannot delete a
 * topic, so there are two of them with a topic of the same name, and a consumer
 * whose connections are led from one to the other: to it that is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    OLD = 100, /* records of the topic that is deleted */
    NEW = 300,
    FETCHES =
        20, /* of the new one, which are more than learning its id takes */
    STEP_MS = 100,
    API_FETCH = 1,
};

/* Where the consumer's connections are led, whatever it asked for. */
static int
connect_there(int fd, const struct sockaddr *to, int len, const char *id,
    void *opaque)
{
    atomic_int *leads_to = opaque;
    struct sockaddr_in there = { .sin_family = AF_INET };

    (void)to;
    (void)len;
    (void)id;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons((uint16_t)atomic_load(leads_to));
    if (connect(fd, (struct sockaddr *)&there, sizeof there) == 0 ||
        errno == EINPROGRESS)
        return 0;
    return errno;
}

static rd_kafka_t *
client(rd_kafka_type_t type, rd_kafka_mock_cluster_t *mock,
    atomic_int *leads_to)
{
    static const struct {
        const char *name, *value;
    } settings[] = {
        { "group.id", "g" },
        { "enable.auto.commit", "false" },
        { "auto.offset.reset", "error" },
        { "fetch.wait.max.ms", "20" },
        { "fetch.error.backoff.ms", "10" },
        { "reconnect.backoff.ms", "10" },
        { "reconnect.backoff.max.ms", "20" },
    };
    const size_t n =
        type == RD_KAFKA_CONSUMER ? sizeof settings / sizeof *settings : 0;
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *rk;

    if (mock != NULL)
        assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers",
                             rd_kafka_mock_cluster_bootstraps(mock), why,
                             sizeof why),
            RD_KAFKA_CONF_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rd_kafka_conf_set(conf, settings[i].name,
                             settings[i].value, why, sizeof why),
            RD_KAFKA_CONF_OK);
    if (leads_to != NULL) {
        rd_kafka_conf_set_opaque(conf, leads_to);
        rd_kafka_conf_set_connect_cb(conf, connect_there);
    }
    rk = rd_kafka_new(type, conf, why, sizeof why);
    assert_non_null(rk);
    return rk;
}

static int
port_of(const rd_kafka_mock_cluster_t *mock)
{
    const char *colon = strrchr(rd_kafka_mock_cluster_bootstraps(mock), ':');

    assert_non_null(colon);
    return (int)strtol(colon + 1, NULL, 10);
}

/* A cluster of one broker, its topic with so many records in it. */
static rd_kafka_mock_cluster_t *
cluster_with(rd_kafka_t *host, int records)
{
    rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new(host, 1);
    char value[] = "v";
    rd_kafka_t *filler;

    assert_non_null(mock);
    assert_int_equal(rd_kafka_mock_topic_create(mock, "t", 1, 1), 0);
    filler = client(RD_KAFKA_PRODUCER, mock, NULL);
    for (int i = 0; i < records; i++)
        assert_int_equal(rd_kafka_producev(filler, RD_KAFKA_V_TOPIC("t"),
                             RD_KAFKA_V_PARTITION(0),
                             RD_KAFKA_V_VALUE(value, 1), RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
    while (rd_kafka_flush(filler, STEP_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
        continue;
    rd_kafka_destroy(filler);
    return mock;
}

static void
read_from(rd_kafka_t *consumer, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, "t", 0)->offset = offset;
    assert_int_equal(rd_kafka_assign(consumer, list), 0);
    rd_kafka_topic_partition_list_destroy(list);
}

/* 1: a record came. */
static int
look(rd_kafka_t *consumer)
{
    rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, STEP_MS);
    int came =
        message != NULL && message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? 1 : 0;

    if (message != NULL)
        rd_kafka_message_destroy(message);
    return came;
}

static int
fetches(rd_kafka_mock_cluster_t *mock)
{
    size_t n = 0;
    int found = 0;
    rd_kafka_mock_request_t **asked = rd_kafka_mock_get_requests(mock, &n);

    for (size_t i = 0; i < n; i++)
        if (rd_kafka_mock_request_api_key(asked[i]) == API_FETCH)
            found++;
    rd_kafka_mock_request_destroy_array(asked, n);
    return found;
}

static void
end(rd_kafka_t *consumer)
{
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
}

static void
test_a_topic_made_anew_is_not_read_from_the_old_place(void **state)
{
    rd_kafka_t *host = client(RD_KAFKA_PRODUCER, NULL, NULL), *consumer, *other;
    rd_kafka_mock_cluster_t *old = cluster_with(host, OLD), *new;
    atomic_int leads_to = port_of(old);
    int came = 0;

    (void)state;
    consumer = client(RD_KAFKA_CONSUMER, old, &leads_to);
    read_from(consumer, 0);
    while (came < OLD)
        came += look(consumer);

    new = cluster_with(host, NEW);
    rd_kafka_mock_start_request_tracking(new);
    atomic_store(&leads_to, port_of(new));
    rd_kafka_mock_cluster_destroy(old);
    while (fetches(new) < FETCHES && came == OLD)
        came += look(consumer);
    assert_int_equal(came, OLD);
    end(consumer);

    /* a client that never knew the old one reads what stands there */
    other = client(RD_KAFKA_CONSUMER, new, &leads_to);
    read_from(other, OLD);
    for (came = 0; came < NEW - OLD;)
        came += look(other);
    end(other);
    rd_kafka_mock_cluster_destroy(new);
    rd_kafka_destroy(host);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_topic_made_anew_is_not_read_from_the_old_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
