#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kgroupq.h"

#define MANY 100 /* more than the first ring takes */

static struct kgroupq *
new_queue(void)
{
    struct err err;
    struct kgroupq *queue = kgroupq_new(&err);

    assert_non_null(queue);
    return queue;
}

static void
put(struct kgroupq *queue, enum group_event_kind kind, int32_t lane)
{
    kgroupq_put(queue, &(struct group_event){ .kind = kind, .lane = lane });
}

static void
events_come_in_order_however_many_there_are(void **state)
{
    struct kgroupq *queue = new_queue();
    struct group_event event;
    int32_t next = 0;

    (void)state;
    assert_false(kgroupq_take(queue, &event));
    for (int32_t lane = 0; lane < MANY; lane++) {
        put(queue, GROUP_ASSIGNED, 2 * lane);
        put(queue, GROUP_REVOKED, 2 * lane + 1);
        assert_true(kgroupq_take(queue, &event));
        assert_int_equal(event.lane, next++);
    }
    while (kgroupq_take(queue, &event))
        assert_int_equal(event.lane, next++);
    assert_int_equal(next, 2 * MANY);
    kgroupq_free(queue);
}

static const struct {
    const char *label;
    enum group_event_kind kind;
    bool kept;
    enum group_event_kind as;
} cases[] = {
    { "an assignment is void", GROUP_ASSIGNED, false, 0 },
    { "a revocation is void", GROUP_REVOKED, false, 0 },
    { "a loss is void", GROUP_LOST, false, 0 },
    { "a failure to join is void", GROUP_FAILED, false, 0 },
    { "a proof holds no more", GROUP_PROVED, true, GROUP_REFUSED },
    { "a refusal is owed", GROUP_REFUSED, true, GROUP_REFUSED },
    { "a doubt is owed", GROUP_UNSURE, true, GROUP_UNSURE },
};

static void
after_the_end_only_answers_are_owed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kgroupq *queue = new_queue();
        struct group_event event;

        put(queue, cases[i].kind, 1);
        put(queue, cases[i].kind, 2);
        kgroupq_void(queue);
        for (int32_t lane = 1; lane <= 2 && cases[i].kept; lane++) {
            if (!kgroupq_take(queue, &event) || event.lane != lane ||
                event.kind != cases[i].as)
                fail_msg("%s", cases[i].label);
        }
        if (kgroupq_take(queue, &event))
            fail_msg("%s", cases[i].label);
        kgroupq_free(queue);
    }
}

static void
nothing_to_free_is_fine(void **state)
{
    (void)state;
    kgroupq_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_however_many_there_are),
        cmocka_unit_test(after_the_end_only_answers_are_owed),
        cmocka_unit_test(nothing_to_free_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
