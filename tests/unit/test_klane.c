#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "klane.h"

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_their_class),
        cmocka_unit_test(nothing_to_free_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
