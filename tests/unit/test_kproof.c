#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kproof.h"

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    enum group_event_kind want;
} cases[] = {
    { "what is taken proves membership", RD_KAFKA_RESP_ERR_NO_ERROR,
        GROUP_PROVED },
    { "an earlier generation is no member's",
        RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, GROUP_REFUSED },
    { "a member that was thrown out is none",
        RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, GROUP_REFUSED },
    { "a lost assignment is none", RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST,
        GROUP_REFUSED },
    { "while the group rebalances nobody knows",
        RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, GROUP_UNSURE },
    { "a coordinator that moves does not know",
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR, GROUP_UNSURE },
    { "a cut link does not say", RD_KAFKA_RESP_ERR__TRANSPORT, GROUP_UNSURE },
    { "a time-out does not say", RD_KAFKA_RESP_ERR__TIMED_OUT, GROUP_UNSURE },
    { "who may not commit is not told either",
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, GROUP_UNSURE },
};

static void
errors_have_their_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (kproof_judge(cases[i].code) != cases[i].want)
            fail_msg("%s", cases[i].label);
    }
}

static void
who_is_kept_out_is_told(void **state)
{
    (void)state;
    assert_true(kproof_keeps_out(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED));
    assert_true(kproof_keeps_out(RD_KAFKA_RESP_ERR__FATAL));
    assert_false(kproof_keeps_out(RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS));
    assert_false(kproof_keeps_out(RD_KAFKA_RESP_ERR__TRANSPORT));
}

static void
nothing_to_free_is_fine(void **state)
{
    (void)state;
    assert_true(kproof_desk_free(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_their_answer),
        cmocka_unit_test(who_is_kept_out_is_told),
        cmocka_unit_test(nothing_to_free_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
