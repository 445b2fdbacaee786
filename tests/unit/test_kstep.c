/* test_kstep.c - the library that we link carries our edit for a wall clock
 * that is set back.
 *
 * Without it (docs/librdkafka-patch.md) its threads, which wait until a moment
 * of the wall clock, sleep on for as long as the step, and the group that a
 * consumer is a member of hears no more of it.  wallclock.c, which is linked,
 * turns the clock by what the file named by WALLCLOCK says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    HOUR_S = 3600,
    STEPS = 3,
    HEARTBEATS = 2, /* after each step */
    LOOK_NS = 10000000,
    LOOKS = 2000, /* an upper bound, not reached: 20 s */
    API_HEARTBEAT = 12,
};

static rd_kafka_t *
member_new(void)
{
    static const struct {
        const char *name, *value;
    } settings[] = {
        { "test.mock.num.brokers", "1" },
        { "group.id", "g" },
        { "heartbeat.interval.ms", "100" },
    };
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_topic_partition_list_t *topics =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_t *rk;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_int_equal(rd_kafka_conf_set(conf, settings[i].name,
                             settings[i].value, why, sizeof why),
            RD_KAFKA_CONF_OK);
    rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    assert_non_null(rk);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_add(topics, "t", RD_KAFKA_PARTITION_UA);
    assert_int_equal(rd_kafka_subscribe(rk, topics), 0);
    rd_kafka_topic_partition_list_destroy(topics);
    return rk;
}

static int
heartbeats(rd_kafka_mock_cluster_t *mock)
{
    size_t n = 0;
    int found = 0;
    rd_kafka_mock_request_t **asked = rd_kafka_mock_get_requests(mock, &n);

    for (size_t i = 0; i < n; i++)
        if (rd_kafka_mock_request_api_key(asked[i]) == API_HEARTBEAT)
            found++;
    rd_kafka_mock_request_destroy_array(asked, n);
    return found;
}

/* Until so many were sent, without a wait of the library's own; how many were. */
static int
until_heartbeats(rd_kafka_t *rk, rd_kafka_mock_cluster_t *mock, int wanted)
{
    static const struct timespec pause = { .tv_nsec = LOOK_NS };
    int found = heartbeats(mock);

    for (int i = 0; i < LOOKS && found < wanted; i++) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 0);

        if (message != NULL)
            rd_kafka_message_destroy(message);
        (void)nanosleep(&pause, NULL);
        found = heartbeats(mock);
    }
    return found;
}

static void
set_clock(int64_t ahead_s)
{
    int fd = open(getenv("WALLCLOCK"), O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, &ahead_s, sizeof ahead_s, 0), sizeof ahead_s);
    close(fd);
}

static void
test_a_member_stays_one_when_the_clock_is_set_back(void **state)
{
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *mock;
    int seen = 0;

    (void)state;
    set_clock(0);
    rk = member_new();
    mock = rd_kafka_handle_mock_cluster(rk);
    assert_int_equal(rd_kafka_mock_topic_create(mock, "t", 1, 1), 0);
    rd_kafka_mock_group_initial_rebalance_delay_ms(mock, 0);
    rd_kafka_mock_start_request_tracking(mock);
    for (int i = 0; i < STEPS; i++) {
        assert_in_range(until_heartbeats(rk, mock, seen + HEARTBEATS),
            seen + HEARTBEATS, INT32_MAX);
        seen = heartbeats(mock);
        set_clock(-(int64_t)HOUR_S * (i + 1));
    }
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_stays_one_when_the_clock_is_set_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
