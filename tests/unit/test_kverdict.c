#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kverdict.h"
#include "record.h"

#include <string.h>

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    bool several;
    bool retry, one_of, too_large;
} cases[] = {
    { "a record alone that is too large is the culprit",
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, false, false, false, true },
    { "a batch that is too large has one, or none", /* the batch itself */
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, true, true, true, true },
    { "a time that is refused", RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, false,
        false, false, false },
    { "a time in a batch that is refused", RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
        true, true, true, false },
    { "the neighbour of a refused record",
        RD_KAFKA_RESP_ERR__INVALID_DIFFERENT_RECORD, true, true, false, false },
    { "a topic that may not be written: any record is it",
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, true, false, false,
        false },
    { "called back from the queue", RD_KAFKA_RESP_ERR__PURGE_QUEUE, true, true,
        false, false },
    { "called back from the wire", RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, false,
        true, false, false },
    { "behind a gap", RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, false, true, false,
        false },
    { "after a fatal error", RD_KAFKA_RESP_ERR__FATAL, false, true, false,
        false },
    { "a topic that was deleted", RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, false, true,
        false, false },
};

static void
verdicts(void **state)
{
    struct kverdict verdict = { 0 }; /* one for all: runs end by themselves */

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("%s\n", cases[i].label);
        for (int again = 0; again < 2; again++) {
            kverdict_judge(&verdict, cases[i].code, cases[i].several);
            assert_int_not_equal(verdict.err.kind, ERR_NONE);
            assert_int_equal(verdict.err.retry, cases[i].retry);
            assert_int_equal(verdict.one_of, cases[i].one_of);
            assert_int_equal(verdict.too_large, cases[i].too_large);
        }
    }
}

/* The remedy is one that a person can go today. */
static void
a_record_that_no_client_takes_has_a_way_on(void **state)
{
    const struct record record = { .value_len = 2000000000 };
    struct err err;

    (void)state;
    assert_int_equal(kverdict_not_taken(&err,
                         rd_kafka_error_new(
                             RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, "too large"),
                         &record),
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    assert_non_null(strstr(err.text, "2000000000 bytes"));
    assert_non_null(
        strstr(err.text, "a flow of another name that starts behind it"));
    assert_null(strstr(err.text, "skip"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(a_record_that_no_client_takes_has_a_way_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
