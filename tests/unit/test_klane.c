#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "klane.h"
#include "ledgerfix.h"

#include <librdkafka/rdkafka_mock.h>
#include <unistd.h>

#define AHEAD_MS 15000 /* of the store's clock, bit by bit: less is waited */
#define STEP_MS 30
#define LOOK_US 10000
#define API_PRODUCE 0

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    enum store_result want;
} cases[] = {
    { "fenced, in the library's words", RD_KAFKA_RESP_ERR__FENCED,
        STORE_FENCED },
    { "fenced, in a new broker's words", RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
        STORE_FENCED },
    { "fenced, in an old broker's words",
        RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, STORE_FENCED },
    { "an id that expired is not gone on with",
        RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, STORE_UNKNOWN },
    { "nor one that the log forgot", RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
        STORE_UNKNOWN },
    { "who may not use the id needs a person",
        RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        STORE_REFUSED },
    { "who may not write needs a person",
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, STORE_REFUSED },
    { "a wrong password needs a person", RD_KAFKA_RESP_ERR__AUTHENTICATION,
        STORE_REFUSED },
    { "a cluster that allows no such time-out needs a person",
        RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, STORE_REFUSED },
    { "a leader that moves passes", RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        STORE_RETRY },
    { "a cut link passes", RD_KAFKA_RESP_ERR__TRANSPORT, STORE_RETRY },
    { "a time-out passes", RD_KAFKA_RESP_ERR__TIMED_OUT, STORE_RETRY },
};

static void
errors_have_their_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (klane_judge(cases[i].code) != cases[i].want)
            fail_msg("%s", cases[i].label);
    }
}

static void
nothing_to_free_is_fine(void **state)
{
    (void)state;
    klane_free(NULL);
}

/* --- a login that is refused --- */

static rd_kafka_t *client; /* of the newest lane */

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ctx, char *why,
    size_t size)
{
    (void)conf;
    (void)ctx;
    (void)why;
    (void)size;
    if (rd_kafka_type(rk) == RD_KAFKA_PRODUCER)
        client = rk;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
note_client(rd_kafka_conf_t *conf)
{
    assert_int_equal(rd_kafka_conf_interceptor_add_on_new(conf, "note", on_new,
                         NULL),
        0);
}

/* The mock asks nobody to log in.  So the library says what it says of one
 * connection on which that was refused by a call of its own, which no header
 * of it shows. */
void rd_kafka_q_op_err(void *queue, rd_kafka_resp_err_t code, const char *fmt,
    ...);

static void
refuse_login(void)
{
    rd_kafka_queue_t *events = rd_kafka_queue_get_main(client);
    void *queue = NULL;

    memcpy(&queue, (const void *)events, sizeof queue); /* its first member */
    rd_kafka_q_op_err(queue, RD_KAFKA_RESP_ERR__AUTHENTICATION,
        "b2:9093/2: SASL authentication error: try again");
    rd_kafka_queue_destroy(events);
}

static void
one_refused_login_costs_nothing(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    refuse_login();
    assert_int_equal(ledgerfix_commit(scene, 1, &got), STORE_DONE);
    assert_int_equal(ledgerfix_commit(scene, 1, &got), STORE_DONE);
}

static void
a_commit_that_waits_for_a_login_says_so(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;
    struct err err;
    struct ledger_batch *batch = ledger_batch_new(1, &err);
    rd_kafka_resp_err_t errors[1000]; /* more than there are tries */

    assert_non_null(batch);
    ledger_batch_add(batch)->kind = LEDGER_MARK;
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        errors[i] = RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS;
    rd_kafka_mock_push_request_errors_array(scene->fix.to, API_PRODUCE,
        sizeof errors / sizeof errors[0], errors);
    refuse_login();
    scene->store.ops->commit(scene->store.self, LEDGERFIX_LANE, &batch);
    while (!scene->store.ops->answer(scene->store.self, &got)) {
        if (atomic_load(&scene->ahead_ms) < AHEAD_MS)
            atomic_fetch_add(&scene->ahead_ms, STEP_MS);
        (void)usleep(LOOK_US);
    }
    assert_int_equal(got.result, STORE_RETRY);
    assert_int_equal(got.err.kind, ERR_LOGIN);
    assert_non_null(strstr(got.err.text, "SASL authentication error"));
    assert_null(strstr(got.err.text, "no answer"));
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, ledgerfix_set_up, ledgerfix_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_refused_login_costs_nothing),
        TEST(a_commit_that_waits_for_a_login_says_so),
        cmocka_unit_test(errors_have_their_class),
        cmocka_unit_test(nothing_to_free_is_fine),
    };

    ledgerfix_configure = note_client;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
