#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sinkfix.h"

static void
nothing_is_told_of_a_closed_lane(void **state)
{
    struct sinkfix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    kafkafix_fill_large(&scene->fix, 0, 10, SINKFIX_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_open_lane(scene, 1);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_attach(scene, 1, 1, 1);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 20);
    scene->sink.ops->close(scene->sink.self, 0);
    scene->sink.ops->close(scene->sink.self, 0);  /* not open: fine */
    scene->sink.ops->close(scene->sink.self, 99); /* nor ever */
    kafkafix_fill(&scene->fix, 1, 0, 5);
    sinkfix_set_target(scene, true);
    sinkfix_read_part(scene, 1, 1, 0);
    scene->source.ops->stop(scene->source.self, 0);
    sinkfix_forward(scene, 5);
    sinkfix_wait_told(scene, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(scene->told[i].lane, 1);
    /* free() gives back what is held: the source could not end otherwise */
}

static void
a_sink_ends_with_everything_in_flight(void **state)
{
    struct sinkfix *scene = *state;

    kafkafix_fill_large(&scene->fix, 3, 10, SINKFIX_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 3);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 3, 0);
    sinkfix_forward(scene, 10);
    assert_int_equal(scene->n_told, 0);
}

int
main(void)
{
#define TEST(name, up) \
    cmocka_unit_test_setup_teardown(name, up, sinkfix_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_told_of_a_closed_lane, sinkfix_set_up),
        TEST(a_sink_ends_with_everything_in_flight, sinkfix_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
