#include "tracker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define MANY INT64_C(160)

static struct tracker *
make(int64_t next)
{
    struct err err;
    struct tracker *tracker = tracker_new(next, &err);

    assert_non_null(tracker);
    return tracker;
}

/* Each row: what is acknowledged, in which order, after reading 5, 6, 9, 12
 * from a position of 3.  The target gave 100 more than the offset. */
static void
test_runs(void **state)
{
    static const struct {
        const char *label;
        int64_t acks[4];
        size_t n_acks;
        int64_t want_next, want_target;
        size_t want_in_flight;
    } cases[] = {
        { "none yet", { 0 }, 0, 3, TRACKER_NOTHING, 4 },
        { "in order", { 5, 6 }, 2, 7, 106, 2 },
        { "a hole at the front holds the run", { 6, 9, 12 }, 3, 3,
            TRACKER_NOTHING, 4 },
        { "filling the hole releases the run", { 6, 9, 5 }, 3, 10, 109, 1 },
        { "a hole in the middle", { 5, 9, 12 }, 3, 6, 105, 3 },
        { "all, the last one first", { 12, 9, 6, 5 }, 4, 13, 112, 0 },
        { "all in order", { 5, 6, 9, 12 }, 4, 13, 112, 0 },
    };
    static const int64_t offsets[] = { 5, 6, 9, 12 };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct tracker *tracker = make(3);
        int64_t bytes = 0, first;

        print_message("%s\n", cases[i].label);
        for (size_t k = 0; k < N(offsets); k++)
            assert_true(tracker_add(tracker, offsets[k], offsets[k] * 10,
                offsets[k] * 1000));
        for (size_t k = 0; k < cases[i].n_acks; k++)
            tracker_ack(tracker, cases[i].acks[k], cases[i].acks[k] + 100);
        assert_int_equal(tracker_next(tracker), cases[i].want_next);
        assert_int_equal(tracker_read_next(tracker), 13);
        assert_int_equal(tracker_target_offset(tracker), cases[i].want_target);
        assert_int_equal(tracker_in_flight(tracker), cases[i].want_in_flight);
        first = (int64_t)N(offsets) - (int64_t)cases[i].want_in_flight;
        for (size_t k = (size_t)first; k < N(offsets); k++)
            bytes += offsets[k] * 10;
        assert_int_equal(tracker_in_flight_bytes(tracker), bytes);
        assert_int_equal(tracker_run_records(tracker), first);
        assert_int_equal(tracker_run_bytes(tracker), 320 - bytes);
        assert_int_equal(tracker_oldest_wall_ms(tracker),
            first == 4 ? TRACKER_NOTHING : offsets[first] * 1000);
        tracker_free(tracker);
    }
    tracker_free(NULL);
}

static void
test_target_offset_is_the_newest_known(void **state)
{
    struct tracker *tracker = make(0);
    (void)state;

    for (int64_t offset = 0; offset < 4; offset++)
        assert_true(tracker_add(tracker, offset, 1, 1));
    tracker_ack(tracker, 0, 70);
    tracker_ack(tracker, 1, -1); /* not known: the one before stays */
    assert_int_equal(tracker_target_offset(tracker), 70);
    tracker_ack(tracker, 3, 73); /* not of the run yet */
    assert_int_equal(tracker_target_offset(tracker), 70);
    tracker_ack(tracker, 2, -1);
    assert_int_equal(tracker_target_offset(tracker), 73);
    tracker_free(tracker);
}

static void
test_rewind(void **state)
{
    struct tracker *tracker = make(10);
    (void)state;

    for (int64_t offset = 10; offset < 14; offset++)
        assert_true(tracker_add(tracker, offset, 5, 1));
    tracker_ack(tracker, 10, 1);
    tracker_ack(tracker, 12, 3); /* behind a hole: will come again */
    tracker_rewind(tracker);
    assert_int_equal(tracker_next(tracker), 11);
    assert_int_equal(tracker_read_next(tracker), 11);
    assert_int_equal(tracker_in_flight(tracker), 0);
    assert_int_equal(tracker_in_flight_bytes(tracker), 0);
    assert_int_equal(tracker_oldest_wall_ms(tracker), TRACKER_NOTHING);
    assert_int_equal(tracker_target_offset(tracker), 1);

    for (int64_t offset = 11; offset < 14; offset++)
        assert_true(tracker_add(tracker, offset, 5, 1));
    for (int64_t offset = 11; offset < 14; offset++)
        tracker_ack(tracker, offset, offset);
    assert_int_equal(tracker_next(tracker), 14);
    assert_int_equal(tracker_run_records(tracker), 4); /* each once */
    assert_int_equal(tracker_run_bytes(tracker), 20);
    tracker_rewind(tracker); /* with nothing in flight: nothing changes */
    assert_int_equal(tracker_next(tracker), 14);
    tracker_free(tracker);
}

static void
test_advance(void **state)
{
    struct tracker *tracker = make(0);
    (void)state;

    assert_true(tracker_add(tracker, 0, 5, 1));
    tracker_ack(tracker, 0, 9);
    tracker_advance(tracker, 4);
    assert_int_equal(tracker_next(tracker), 4);
    assert_int_equal(tracker_read_next(tracker), 4);
    assert_int_equal(tracker_run_records(tracker), 1); /* no record skipped */
    assert_int_equal(tracker_target_offset(tracker), 9);
    tracker_advance(tracker, 4); /* to where it is: fine */
    assert_true(tracker_add(tracker, 4, 5, 1));
    tracker_free(tracker);
}

/* The ring turns while it grows: every start of the oldest record. */
static void
test_growing_anywhere_in_the_ring(void **state)
{
    (void)state;

    for (int64_t turned = 0; turned < TRACKER_FIRST; turned++) {
        struct tracker *tracker = make(0);
        int64_t next = 0;

        for (; next < turned; next++) {
            assert_true(tracker_add(tracker, next, 1, next));
            tracker_ack(tracker, next, next);
        }
        for (; next < turned + MANY; next++)
            assert_true(tracker_add(tracker, next, 1, next));
        assert_int_equal(tracker_in_flight(tracker), MANY);
        assert_int_equal(tracker_oldest_wall_ms(tracker), turned);
        for (int64_t offset = next - 1; offset > turned; offset--)
            tracker_ack(tracker, offset, offset);
        assert_int_equal(tracker_next(tracker), turned);
        tracker_ack(tracker, turned, turned);
        assert_int_equal(tracker_next(tracker), next);
        assert_int_equal(tracker_target_offset(tracker), next - 1);
        tracker_free(tracker);
    }
}

/* Each row: so many are read, so many of them acknowledged, the rest given up
 * by a rewind or not. */
static void
test_room_is_given_back(void **state)
{
    static const struct {
        const char *label;
        int64_t read, acked;
        bool rewind;
        size_t want_room;
    } cases[] = {
        { "few: nothing to give back", 200, 200, false, 256 },
        { "many in flight keep their room", 5000, 1000, false, 8192 },
        { "all acknowledged", 5000, 5000, false, TRACKER_KEEP },
        { "a hundred left", 5000, 4900, false, 512 },
        { "all to be read again", 5000, 0, true, TRACKER_KEEP },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct tracker *tracker = make(0);
        int64_t next = 0;

        print_message("%s\n", cases[i].label);
        for (int64_t offset = 0; offset < cases[i].read; offset++)
            assert_true(tracker_add(tracker, offset, 1, offset));
        for (int64_t offset = 0; offset < cases[i].acked; offset++)
            tracker_ack(tracker, offset, offset);
        if (cases[i].rewind)
            tracker_rewind(tracker);
        assert_int_equal(tracker_room(tracker), cases[i].want_room);
        next = tracker_read_next(tracker);
        for (int64_t offset = next; offset < next + MANY; offset++)
            assert_true(tracker_add(tracker, offset, 1, offset));
        for (int64_t offset = cases[i].acked; offset < next + MANY; offset++)
            tracker_ack(tracker, offset, offset);
        assert_int_equal(tracker_next(tracker), next + MANY);
        tracker_free(tracker);
    }
}

struct model {
    int64_t offsets[400];
    bool acked[400];
    size_t n;
};

/* One past the run in front, found the slow way. */
static int64_t
model_next(const struct model *model)
{
    int64_t next = 0;

    for (size_t i = 0; i < model->n && model->acked[i]; i++)
        next = model->offsets[i] + 1;
    return next;
}

static void
ack_one(struct model *model, struct tracker *tracker, size_t from)
{
    for (size_t i = 0; i < model->n; i++) {
        size_t at = (from + i) % model->n;

        if (model->acked[at])
            continue;
        model->acked[at] = true;
        tracker_ack(tracker, model->offsets[at], model->offsets[at]);
        return;
    }
}

static void
test_against_a_slow_one(void **state)
{
    (void)state;

    for (unsigned seed = 1; seed <= 50; seed++) {
        struct tracker *tracker = make(0);
        struct model model = { .n = 0 };
        unsigned dice = seed;
        int64_t offset = 0;

        while (model.n < N(model.offsets)) {
            dice = dice * 1103515245u + 12345u;
            if (dice >> 16 & 1) {
                model.offsets[model.n++] = offset;
                assert_true(tracker_add(tracker, offset, 3, offset));
                offset += 1 + (dice >> 20) % 3;
            } else if (model.n > 0) {
                ack_one(&model, tracker,
                    dice >> 17 & 1 ? 0 : (dice >> 18) % model.n);
            }
            assert_int_equal(tracker_next(tracker), model_next(&model));
        }
        tracker_free(tracker);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_target_offset_is_the_newest_known),
        cmocka_unit_test(test_rewind),
        cmocka_unit_test(test_advance),
        cmocka_unit_test(test_growing_anywhere_in_the_ring),
        cmocka_unit_test(test_room_is_given_back),
        cmocka_unit_test(test_against_a_slow_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
