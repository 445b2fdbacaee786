/* test_kgone.c - the library that we link carries our edit for the end of a
 * consumer that learns of offsets that are out of range.
 *
 * Without it (docs/librdkafka-patch.md) a broker thread that reads such an
 * answer while the consumer is being destroyed waits for a lock that it holds
 * itself, and rd_kafka_destroy() never returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "kafkafix.h"

#define WIDE 2000 /* partitions: an answer that takes a while to read */
#define ROUNDS 120
#define STEPS 40 /* the ends are spread over the time that the answer takes */
#define STEP_US 500
#define HUNG_S 60

/* A consumer that reads all of a topic from behind its end. */
static rd_kafka_t *
reader(const struct kafkafix *fix)
{
    rd_kafka_t *rk = kafkafix_client(RD_KAFKA_CONSUMER, fix->source.bootstrap,
        "group.id=g auto.offset.reset=error fetch.wait.max.ms=10");
    rd_kafka_topic_partition_list_t *all =
        rd_kafka_topic_partition_list_new(WIDE);

    for (int32_t i = 0; i < WIDE; i++)
        rd_kafka_topic_partition_list_add(all, "wide", i)->offset = 10;
    assert_int_equal(rd_kafka_assign(rk, all), 0);
    rd_kafka_topic_partition_list_destroy(all);
    return rk;
}

static void
first_answer(struct kafkafix *fix, rd_kafka_t *rk)
{
    rd_kafka_message_t *said = NULL;
    int64_t deadline = kafkafix_deadline();

    while (said == NULL) {
        said = rd_kafka_consumer_poll(rk, 0);
        kafkafix_wait(fix, deadline, "an answer");
    }
    assert_int_equal(said->err, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET);
    rd_kafka_message_destroy(said);
}

static void
test_a_consumer_ends_while_it_learns_of_lost_offsets(void **state)
{
    struct kafkafix fix;
    rd_kafka_t *rk;

    (void)state;
    kafkafix_open(&fix);
    assert_int_equal(rd_kafka_mock_topic_create(fix.from, "wide", WIDE, 1), 0);
    rk = reader(&fix);
    first_answer(&fix, rk);
    rd_kafka_destroy(rk);
    for (int round = 0; round < ROUNDS; round++) {
        rk = reader(&fix);
        (void)usleep((useconds_t)(round % STEPS * STEP_US));
        alarm(HUNG_S); /* whose default is to end the test */
        rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        alarm(0);
    }
    kafkafix_close(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_consumer_ends_while_it_learns_of_lost_offsets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
