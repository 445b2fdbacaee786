/* test_klate.c - the library that we link carries our edit for a request to a
 * group's coordinator that is too late.
 *
 * Without it (docs/librdkafka-patch.md) such a request, which timed out while
 * its broker was away, is freed once when the broker is back and then used, and
 * the process ends by an assertion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"

#define TIMEOUT_MS 1000
#define ROUNDS 5

/* Asks that the group's offset be written; gives what came of it. */
static rd_kafka_resp_err_t
alter(rd_kafka_t *rk, rd_kafka_queue_t *queue)
{
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_ANY);
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_AlterConsumerGroupOffsets_t *order;
    rd_kafka_resp_err_t code;
    rd_kafka_event_t *event;
    char why[128];

    rd_kafka_topic_partition_list_add(list, "in", 0)->offset = 7;
    order = rd_kafka_AlterConsumerGroupOffsets_new("g", list);
    assert_int_equal(rd_kafka_AdminOptions_set_request_timeout(options,
                         TIMEOUT_MS, why, sizeof why),
        0);
    rd_kafka_AlterConsumerGroupOffsets(rk, &order, 1, options, queue);
    event = rd_kafka_queue_poll(queue, KAFKAFIX_WAIT_MS);
    assert_non_null(event);
    code = rd_kafka_event_error(event);
    rd_kafka_event_destroy(event);
    rd_kafka_AlterConsumerGroupOffsets_destroy(order);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
    return code;
}

static void
test_a_request_that_is_too_late_is_let_go(void **state)
{
    struct kafkafix fix;
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;

    (void)state;
    kafkafix_open(&fix);
    rk = kafkafix_client(RD_KAFKA_PRODUCER, fix.source.bootstrap,
        "reconnect.backoff.ms=10 reconnect.backoff.max.ms=10");
    queue = rd_kafka_queue_new(rk);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t deadline = kafkafix_deadline();

        while (alter(rk, queue) != RD_KAFKA_RESP_ERR_NO_ERROR)
            kafkafix_wait(&fix, deadline, "a coordinator that answers");
        for (int32_t id = 1; id <= 2; id++)
            assert_int_equal(rd_kafka_mock_broker_set_down(fix.from, id), 0);
        while (alter(rk, queue) != RD_KAFKA_RESP_ERR__TIMED_OUT)
            kafkafix_wait(&fix, deadline, "a request that is too late");
        for (int32_t id = 1; id <= 2; id++)
            assert_int_equal(rd_kafka_mock_broker_set_up(fix.from, id), 0);
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
    kafkafix_close(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_that_is_too_late_is_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
