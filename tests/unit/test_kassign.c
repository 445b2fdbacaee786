#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "kassign.h"
#include "kconf.h"
#include "kparts.h"
#include "record.h"

#define WIDE 2000 /* partitions: more than one call gives the library */

struct scene {
    struct kafkafix fix;
    rd_kafka_t *rk;
    struct kparts *names;
    struct kassign *reading;
};

static void
nothing_fails(void *ctx, int32_t part, rd_kafka_resp_err_t code)
{
    (void)ctx;
    fail_msg("partition %d: %s", part, rd_kafka_err2name(code));
}

static int
set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    assert_int_equal(rd_kafka_mock_topic_create(scene->fix.from, "wide", WIDE,
                         1),
        0);
    const struct kconf_options options = { .client = KCONF_SOURCE,
        .cluster = &scene->fix.source,
        .agent = "a1",
        .flow = "telemetry",
        .group_id = "g" };
    scene->rk = kconf_open(&options, &err);
    assert_non_null(scene->rk);
    scene->names = kparts_new(scene->rk, &err);
    scene->reading =
        kassign_new(scene->rk, scene->names, nothing_fails, NULL, &err);
    for (int32_t i = 0; i < WIDE; i++) {
        assert_true(kassign_room(scene->reading, i, &err));
        assert_true(kparts_name(scene->names, i, "wide", i, &err));
    }
    *state = scene;
    return 0;
}

static int
tear_down(void **state)
{
    struct scene *scene = *state;

    (void)rd_kafka_assign(scene->rk, NULL);
    kassign_free(scene->reading);
    kparts_free(scene->names);
    kconf_close(scene->rk);
    kafkafix_close(&scene->fix);
    free(scene);
    return 0;
}

static int
assigned(const struct scene *scene)
{
    rd_kafka_topic_partition_list_t *list = NULL;
    int n;

    assert_int_equal(rd_kafka_assignment(scene->rk, &list), 0);
    n = list->cnt;
    rd_kafka_topic_partition_list_destroy(list);
    return n;
}

static void
the_library_gets_changes_in_portions(void **state)
{
    struct scene *scene = *state;
    const int most = KASSIGN_LOOKS / (WIDE / 2);
    int before, after = WIDE, calls = 0;
    bool more = true;

    for (int32_t i = 0; i < WIDE; i++)
        kassign_read(scene->reading, i, 0, -1);
    assert_false(kassign_apply(scene->reading)); /* it had none to look at */
    assert_int_equal(assigned(scene), WIDE);
    for (int32_t i = 0; i < WIDE / 2; i++)
        kassign_stop(scene->reading, i);
    for (; more; calls++) {
        before = after;
        more = kassign_apply(scene->reading);
        after = assigned(scene);
        assert_in_range(before - after, 1, most);
        assert_int_equal(more, after > WIDE / 2);
    }
    assert_in_range(calls, 2, 3);
    assert_int_equal(after, WIDE / 2);
    assert_false(kassign_apply(scene->reading));
}

/* What the library still says of them is of their earlier reading. */
static void
partitions_that_wait_for_their_turn_are_not_read(void **state)
{
    struct scene *scene = *state;
    rd_kafka_message_t late = { .offset = 20 };
    struct record record;
    int waiting = 0, turns = 0;

    for (int32_t i = 0; i < WIDE; i++)
        kassign_read(scene->reading, i, 0, -1);
    assert_false(kassign_apply(scene->reading));
    for (int32_t i = 0; i < WIDE; i++)
        kassign_read(scene->reading, i, 10, -1);
    assert_true(kassign_apply(scene->reading));
    for (int32_t i = 0; i < WIDE; i++) {
        assert_true(kassign_reads(scene->reading, i));
        assert_int_equal(kassign_next(scene->reading, i), 10);
    }
    /* Those of the first portion would take it, which needs a real one. */
    for (int32_t i = 0; i < WIDE - KASSIGN_LOOKS / WIDE; i++) {
        waiting += !kassign_take(scene->reading, i, &late, &record);
        assert_false(kassign_is_gone(scene->reading, i, &late));
        assert_int_equal(kassign_position(scene->reading, i), 10);
    }
    assert_int_equal(waiting, WIDE - KASSIGN_LOOKS / WIDE);
    while (kassign_apply(scene->reading))
        turns++;
    assert_in_range(turns, 2, 4);
    assert_int_equal(assigned(scene), WIDE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_library_gets_changes_in_portions),
        TEST(partitions_that_wait_for_their_turn_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
