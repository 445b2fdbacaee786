/* test_kepoch.c - the library that we link carries our edit for positions in a
 * log that was cut off and written anew while nobody read it.
 *
 * Without it (docs/librdkafka-patch.md) such a position is read on from where
 * the topic's leader is known already: it is asked only when the leader is
 * news whether the position is one in this log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "sourcefix.h"

static void
test_a_position_is_validated_where_the_leader_is_known(void **state)
{
    struct sourcefix *scene = *state;
    struct record record;
    struct source_event event;
    struct err err;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    kafkafix_fill(&scene->fix, 1, 0, 1);
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene->fix.from, "in",
                         0, 2),
        0);
    kafkafix_fill(&scene->fix, 0, 10, 10); /* of the second leader */
    sourcefix_read(scene, 1, 1, 0);
    assert_int_equal(sourcefix_take(scene, &record, 1), 1);
    sourcefix_release(&record, 1);
    assert_true(
        scene->source.ops->read(scene->source.self, 0, "in", 0, 15, 0, &err));
    event = sourcefix_expect(scene, SOURCE_OUT_OF_RANGE);
    assert_int_equal(event.offset, 15);
    assert_int_equal(event.cut, 10);
    assert_int_equal(event.high, 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_position_is_validated_where_the_leader_is_known,
            sourcefix_set_up, sourcefix_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
