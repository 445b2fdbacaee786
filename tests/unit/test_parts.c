#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "parts.h"

#include <stdio.h>
#include <string.h>

static struct parts *
new_parts(int32_t lanes)
{
    struct err err;
    struct parts *parts = parts_new(lanes, &err);

    assert_non_null(parts);
    return parts;
}

static void
a_partition_keeps_its_number(void **state)
{
    struct parts *parts = new_parts(8);
    char name[32];

    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 300; i++)
            for (int32_t k = 0; k < 3; k++) {
                struct part *part;

                (void)snprintf(name, sizeof name, "topic-%d", i);
                part = parts_get(parts, name, k);
                assert_non_null(part);
                assert_int_equal(part->number, i * 3 + k);
                assert_ptr_equal(parts_at(parts, part->number), part);
                assert_int_equal(part->lane, ledger_lane(name, k, 8));
                assert_string_equal(part->topic->name, name);
            }
    assert_int_equal(parts_count(parts), 900);
    parts_free(parts);
}

static void
every_partition_is_in_its_lane_once(void **state)
{
    struct parts *parts = new_parts(5);
    size_t n = 0;
    char name[32];

    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "topic-%d", i);
        assert_non_null(parts_get(parts, name, i % 7));
    }
    for (int32_t lane = 0; lane < 5; lane++)
        for (const struct part *part = parts_of_lane(parts, lane); part != NULL;
             part = part->next_in_lane) {
            assert_int_equal(part->lane, lane);
            n++;
        }
    assert_int_equal(n, 100);
    parts_free(parts);
}

static void
topics_stay_in_the_order_they_came(void **state)
{
    struct parts *parts = new_parts(1);
    char name[32], longest[LEDGER_NAME_MAX + 1];
    int i = 0;

    (void)state;
    for (i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "topic-%d", i);
        assert_non_null(parts_topic(parts, name));
        assert_ptr_equal(parts_topic(parts, name), parts_topic(parts, name));
    }
    i = 0;
    for (const struct topic *topic = parts_topics(parts); topic != NULL;
         topic = topic->next) {
        (void)snprintf(name, sizeof name, "topic-%d", i++);
        assert_string_equal(topic->name, name);
    }
    assert_int_equal(i, 200);
    memset(longest, 'x', LEDGER_NAME_MAX);
    longest[LEDGER_NAME_MAX] = '\0';
    assert_null(parts_topic(parts, longest)); /* Kafka has none so long */
    assert_null(parts_get(parts, longest, 0));
    parts_free(parts);
    parts_free(NULL);
}

static const struct ready_row {
    const char *label;
    bool selected, exists;
    int32_t partitions, target_partitions;
    bool ready;
} ready_rows[] = {
    { "wanted and there on both sides", true, true, 3, 3, true },
    { "not wanted", false, true, 3, 3, false },
    { "gone from the source", true, false, 3, 3, false },
    { "the source has fewer partitions now", true, true, 2, 3, false },
    { "the target is not as wide yet", true, true, 3, 2, false },
    { "the target is not there", true, true, 3, 0, false },
};

static void
a_partition_is_ready_when_both_sides_are(void **state)
{
    for (size_t i = 0; i < sizeof ready_rows / sizeof ready_rows[0]; i++) {
        const struct ready_row *row = &ready_rows[i];
        struct parts *parts = new_parts(1);
        struct part *part = parts_get(parts, "t", 2);

        (void)state;
        print_message("  %s\n", row->label);
        part->topic->selected = row->selected;
        part->topic->exists = row->exists;
        part->topic->partitions = row->partitions;
        part->topic->target_partitions = row->target_partitions;
        assert_int_equal(parts_ready(part), row->ready);
        parts_free(parts);
    }
}

/* Epoch 4 as the ledger says at 10; then records of 5 from 10 and 6 from 20. */
static const struct epoch_row {
    const char *label;
    int32_t before, now; /* as the partition has noted them */
    int64_t since, offset;
    int32_t epoch;
} epoch_rows[] = {
    { "nothing read: as the entry says", -1, -1, 10, 10, 4 },
    { "nothing read, and another offset: unknown", -1, -1, 10, 11, -1 },
    { "the first record read is of a new leader: before it the old one", 4, 5,
        10, 10, 4 },
    { "behind it the new one", 4, 5, 10, 11, 5 },
    { "before the newest leader's first record", 5, 6, 20, 20, 5 },
    { "behind it", 5, 6, 20, 25, 6 },
};

static void
the_epoch_is_of_the_record_before(void **state)
{
    for (size_t i = 0; i < sizeof epoch_rows / sizeof epoch_rows[0]; i++) {
        const struct epoch_row *row = &epoch_rows[i];
        struct part part = { .epoch = row->now,
            .epoch_before = row->before,
            .epoch_since = row->since,
            .entry = { .next_offset = 10, .leader_epoch = 4 } };

        (void)state;
        print_message("  %s\n", row->label);
        assert_int_equal(parts_epoch(&part, row->offset), row->epoch);
    }
}

static void
the_entry_is_what_the_tracker_says(void **state)
{
    struct parts *parts = new_parts(1);
    struct part *part = parts_get(parts, "t", 1);
    struct topic *topic = parts_topic(parts, "t");
    struct ledger_entry entry;
    struct err err;

    (void)state;
    (void)snprintf(topic->id, sizeof topic->id, "id-1");
    (void)snprintf(topic->target, sizeof topic->target, "plant.t");
    (void)snprintf(topic->target_id, sizeof topic->target_id, "id-2");
    part->entry.next_offset = 10;
    part->entry.target_offset = 77;
    part->base_records = 5;
    part->base_bytes = 500;
    part->tracker = tracker_new(10, &err);
    assert_non_null(part->tracker);
    parts_entry(part, &entry);
    assert_string_equal(entry.topic, "t");
    assert_string_equal(entry.topic_id, "id-1");
    assert_string_equal(entry.target_topic, "plant.t");
    assert_string_equal(entry.target_topic_id, "id-2");
    assert_int_equal(entry.partition, 1);
    assert_int_equal(entry.target_partition, 1);
    assert_int_equal(entry.next_offset, 10);
    assert_int_equal(entry.target_offset, 77); /* none newer is known */

    assert_true(tracker_add(part->tracker, 10, 100, 0));
    assert_true(tracker_add(part->tracker, 12, 100, 0));
    tracker_ack(part->tracker, 12, 90);
    parts_entry(part, &entry);
    assert_int_equal(entry.next_offset, 10); /* 10 is not acknowledged */
    tracker_ack(part->tracker, 10, 89);
    parts_entry(part, &entry);
    assert_int_equal(entry.next_offset, 13);
    assert_int_equal(entry.target_offset, 90);
    assert_int_equal(entry.records, 7);
    assert_int_equal(entry.bytes, 700);

    assert_string_equal(entry.idle, "yes"); /* it is not selected */
    topic->circle = true; /* ... for that alone: it may come back */
    parts_entry(part, &entry);
    assert_string_equal(entry.idle, "");
    topic->circle = false;
    topic->selected = true;
    parts_entry(part, &entry);
    assert_string_equal(entry.idle, "");
    parts_free(parts);
}

static const struct same_row {
    const char *label;
    const char *id, *entry_id, *target_id, *entry_target_id;
    const char *reason; /* NULL: the same */
} same_rows[] = {
    { "the ids are as they were", "a", "a", "b", "b", NULL },
    { "the broker tells no ids", "", "a", "", "b", NULL },
    { "the entry has none", "a", "", "b", "", NULL },
    { "another source topic", "x", "a", "b", "b",
        "the source topic was deleted and made anew (its id was a and is x)" },
    { "another target topic", "a", "a", "x", "b",
        "the target topic was deleted and made anew (its id was b and is x)" },
};

/* Not cut, however long the numbers: it ends with what is to be done. */
static void
expect_whole(const char *reason)
{
    const char *end = "forward it, in the policy, by a flow of another name";

    if (strstr(reason, "forward it again") != NULL)
        end = "forward it again, in the policy, by a flow of another name";
    else if (strstr(reason, "forward the topic again") != NULL)
        end =
            "forward the topic again, in the policy, by a flow of another name";
    assert_true(strlen(reason) > strlen(end));
    assert_string_equal(reason + strlen(reason) - strlen(end), end);
}

static void
the_longest_reasons_are_whole(void **state)
{
    for (int i = 0; i < 3; i++) {
        struct topic topic = { .selected = true };
        struct part part = { .topic = &topic, .phase = PHASE_OPEN };
        char *ids[] = { topic.id, topic.target_id, part.entry.topic_id,
            part.entry.target_topic_id };

        (void)state;
        for (int k = 0; k < 4; k++)
            memset(ids[k], i == k % 2 && k > 1 ? 'a' : 'b', LEDGER_ID_MAX - 1);
        part.gone = true;
        part.entry.next_offset = part.entry.target_offset = part.target_end =
            INT64_MAX;
        assert_false(parts_same_topics(&part));
        expect_whole(part.reason);
    }
}

static void
a_topic_of_another_id_holds_its_partitions(void **state)
{
    for (size_t i = 0; i < sizeof same_rows / sizeof same_rows[0]; i++) {
        const struct same_row *row = &same_rows[i];
        struct topic topic = { .selected = true };
        struct part part = { .topic = &topic, .phase = PHASE_OPEN };

        (void)state;
        print_message("  %s\n", row->label);
        (void)snprintf(topic.id, sizeof topic.id, "%s", row->id);
        (void)snprintf(topic.target_id, sizeof topic.target_id, "%s",
            row->target_id);
        (void)snprintf(part.entry.topic_id, sizeof part.entry.topic_id, "%s",
            row->entry_id);
        (void)snprintf(part.entry.target_topic_id,
            sizeof part.entry.target_topic_id, "%s", row->entry_target_id);
        assert_int_equal(parts_same_topics(&part), row->reason == NULL);
        assert_int_equal(part.phase,
            row->reason == NULL ? PHASE_OPEN : PHASE_HELD);
        if (row->reason == NULL)
            continue;
        assert_ptr_equal(strstr(part.reason, row->reason), part.reason);
        expect_whole(part.reason);
    }
}

static void
the_first_reason_stays(void **state)
{
    struct part part = { .phase = PHASE_OPEN };

    (void)state;
    parts_hold(&part, "offset %d: %s", 7, "too large");
    parts_hold(&part, "%s", "something later");
    assert_int_equal(part.phase, PHASE_HELD);
    assert_string_equal(part.reason, "offset 7: too large");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_keeps_its_number),
        cmocka_unit_test(every_partition_is_in_its_lane_once),
        cmocka_unit_test(topics_stay_in_the_order_they_came),
        cmocka_unit_test(a_partition_is_ready_when_both_sides_are),
        cmocka_unit_test(the_epoch_is_of_the_record_before),
        cmocka_unit_test(the_entry_is_what_the_tracker_says),
        cmocka_unit_test(a_topic_of_another_id_holds_its_partitions),
        cmocka_unit_test(the_longest_reasons_are_whole),
        cmocka_unit_test(the_first_reason_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
