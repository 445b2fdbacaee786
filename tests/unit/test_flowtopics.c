/* Topics that come, grow, go and come back, and where a flow begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

static void
new_topics_and_partitions_are_picked_up(void **state)
{
    struct flowfix fix;
    struct memory_topic *old, *young;

    (void)state;
    flowfix_init(&fix, 4);
    old = memory_topic(fix.memory, "old", 1, 10, 100);
    flowfix_start(&fix);
    young = memory_topic(fix.memory, "young", 2, 10, 100);
    old->partitions = 3;
    memory_append(&old->partition[2], 5, 100);
    flowfix_go(&fix, 8000);
    assert_true(memory_arrived(&young->partition[0], 0, 10));
    assert_true(memory_arrived(&young->partition[1], 0, 10));
    assert_true(memory_arrived(&old->partition[2], 0, 5));
    assert_int_equal(old->partition[0].n_got, 10);
    flowfix_free(&fix);
}

static const struct skip_row {
    const char *label, *topic, *reason;
} skip_rows[] = {
    { "a topic of Kafka's own", "__consumer_offsets", "internal" },
    { "a ledger", "kedge.a.b.ledger", "internal" },
};

static void
a_skipped_topic_is_listed_with_its_reason(void **state)
{
    for (size_t i = 0; i < sizeof skip_rows / sizeof skip_rows[0]; i++) {
        struct flowfix fix;
        struct memory_topic *topic;

        (void)state;
        print_message("  %s\n", skip_rows[i].label);
        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, skip_rows[i].topic, 1, 10, 100);
        memory_topic(fix.memory, "unwanted", 1, 10, 100);
        fix.unwanted = "unwanted";
        flowfix_start(&fix);
        assert_int_equal(fix.report->n_skips, 1);
        assert_string_equal(fix.report->skips[0].topic, skip_rows[i].topic);
        assert_non_null(
            strstr(fix.report->skips[0].reason, skip_rows[i].reason));
        assert_int_equal(topic->partition[0].n_got, 0);
        assert_int_equal(fix.memory->topic[1].partition[0].n_got, 0);
        flowfix_free(&fix);
    }
}

/* Neither yes nor no: it is not left out in silence. */
static void
a_topic_that_no_pattern_decides_on_is_listed(void **state)
{
    struct flowfix fix;
    struct memory_topic *undecided, *other;

    (void)state;
    flowfix_init(&fix, 1);
    undecided = memory_topic(fix.memory, "undecided", 2, 10, 100);
    other = memory_topic(fix.memory, "other", 1, 10, 100);
    fix.undecided = "undecided";
    flowfix_start(&fix);
    flowfix_go(&fix, 8000); /* another refresh: still one line of it */
    assert_int_equal(fix.report->n_skips, 1);
    assert_string_equal(fix.report->skips[0].topic, "undecided");
    assert_string_equal(fix.report->skips[0].reason,
        "a pattern gives up on it");
    assert_int_equal(undecided->partition[0].n_got, 0);
    assert_int_equal(fix.report->n_selected, 1);
    assert_true(memory_arrived(&other->partition[0], 0, 10));
    undecided->gone = true;
    flowfix_go(&fix, 8000);
    assert_int_equal(fix.report->n_skips, 0);
    flowfix_free(&fix);
}

static void
a_topic_that_may_not_be_made_stops_no_other(void **state)
{
    struct flowfix fix;
    struct memory_topic *waiting, *other;

    (void)state;
    flowfix_init(&fix, 2);
    waiting = memory_topic(fix.memory, "waiting", 1, 10, 100);
    waiting->waits = true;
    other = memory_topic(fix.memory, "other", 1, 10, 100);
    flowfix_start(&fix);
    assert_true(memory_arrived(&other->partition[0], 0, 10));
    assert_int_equal(flowfix_part(&fix, "waiting", 0)->state, PART_WAITING);
    assert_string_equal(flowfix_part(&fix, "waiting", 0)->reason,
        "it may not be made");
    waiting->waits = false;
    flowfix_go(&fix, 8000);
    assert_true(memory_arrived(&waiting->partition[0], 0, 10));
    assert_int_equal(fix.report->n_skips, 0);
    flowfix_free(&fix);
}

/* --- made anew, gone --- */

static const struct anew_row {
    const char *label;
    bool target;
    const char *reason;
} anew_rows[] = {
    { "the source topic is made anew", false, "source topic was deleted" },
    { "the target topic is made anew", true, "target topic was deleted" },
};

static void
a_topic_made_anew_is_held(void **state)
{
    for (size_t i = 0; i < sizeof anew_rows / sizeof anew_rows[0]; i++) {
        const struct anew_row *row = &anew_rows[i];
        struct memory_topic *topic;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        topic = memory_topic(fix.memory, "t", 1, 10, 100);
        flowfix_start(&fix);
        (void)snprintf(row->target ? topic->target_id : topic->id,
            sizeof topic->id, "another");
        flowfix_go(&fix, 6000);
        for (int k = 0; k < 2; k++) {
            memory_append(&topic->partition[0], 10, 100);
            assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
            assert_non_null(
                strstr(flowfix_part(&fix, "t", 0)->reason, row->reason));
            flowfix_order(&fix, FLOW_RESTART); /* does not help */
            flowfix_go(&fix, 3000);
        }
        assert_int_equal(topic->partition[0].n_got, 10);
        assert_int_equal(memory_entry(fix.memory, "t", 0), 10);
        flowfix_stop(&fix);
        flowfix_start(&fix); /* nor does a new agent */
        flowfix_go(&fix, 3000);
        assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
        assert_int_equal(topic->partition[0].n_got, 10);
        flowfix_free(&fix);
    }
}

static void
a_held_partition_of_a_topic_that_is_gone_is_still_said(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    flowfix_start(&fix);
    memory_say(fix.memory, SOURCE_FAILED, 0, "unknown topic");
    topic->gone = true;
    flowfix_go(&fix, 8000);
    assert_non_null(flowfix_part(&fix, "t", 0));
    assert_int_equal(flowfix_part(&fix, "t", 0)->state, PART_HELD);
    assert_int_equal(metric_get(fix.metrics, METRIC_PARTITIONS_HELD), 1);
    assert_int_equal(memory_entry(fix.memory, "t", 0), 10); /* no tombstone */
    flowfix_free(&fix);
}

/* --- where to begin --- */

static const struct start_row {
    const char *label;
    enum start start;
    int64_t first; /* that arrives, of forty */
} start_rows[] = {
    { "from the beginning", START_EARLIEST, 0 },
    { "from the end at the first start", START_LATEST, 40 },
    { "from a time", START_TIME, 20 },
};

static void
a_flow_begins_where_the_policy_says(void **state)
{
    for (size_t i = 0; i < sizeof start_rows / sizeof start_rows[0]; i++) {
        const struct start_row *row = &start_rows[i];
        struct memory_topic *topic, *young;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        fix.options.start = row->start;
        fix.options.start_wall_ms = MEMORY_WALL;
        topic = memory_topic(fix.memory, "t", 1, 40, 100);
        flowfix_start(&fix);
        young = memory_topic(fix.memory, "young", 1, 40, 100);
        memory_append(&topic->partition[0], 10, 100);
        flowfix_go(&fix, 8000);
        assert_true(memory_arrived(&topic->partition[0], row->first, 50));
        assert_true(memory_arrived(&young->partition[0], 0, 40));
        flowfix_free(&fix);
    }
}

static const struct changed_row {
    const char *label;
    uint64_t fingerprint;  /* of the second start; 7: nothing changed */
    const char *selection; /* of the first start */
    int64_t first;         /* that arrives of the topic */
} changed_rows[] = {
    { "start is for what a changed policy newly matches", 8, "t", 40 },
    { "without a change what is new is read from its beginning", 7, "t", 0 },
    { "so is what the earlier policy matched already", 8, "t young", 0 },
    { "and what cannot be told, since its patterns did not fit", 8, "", 0 },
};

static void
a_changed_policy_applies_start_anew(void **state)
{
    for (size_t i = 0; i < sizeof changed_rows / sizeof changed_rows[0]; i++) {
        const struct changed_row *row = &changed_rows[i];
        struct memory_topic *topic, *young;
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        fix.options.start = START_LATEST;
        topic = memory_topic(fix.memory, "t", 1, 40, 100);
        young = memory_topic(fix.memory, "young", 1, 40, 100);
        fix.unwanted = "young";
        fix.options.selection = row->selection;
        flowfix_start(&fix);
        flowfix_stop(&fix);
        memory_append(&topic->partition[0], 10, 100);
        fix.unwanted = NULL;
        fix.options.selection = "t young";
        fix.options.fingerprint = row->fingerprint;
        flowfix_start(&fix);
        memory_append(&young->partition[0], 5, 100);
        flowfix_go(&fix, 2000);
        assert_true(memory_arrived(&topic->partition[0], 40, 50));
        assert_true(memory_arrived(&young->partition[0], row->first, 45));
        flowfix_free(&fix);
    }
}

/* `latest` that could not be resolved means the time when it was named. */
static void
latest_counts_from_when_it_was_named(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.start = START_LATEST;
    memory_topic(fix.memory, "t", 1, 40, 100);
    fix.memory->source_away = true;
    flowfix_start(&fix);
    assert_int_equal(fix.memory->reader[0].start, START_LATEST);
    assert_int_equal(memory_entry(fix.memory, "t", 0), LEDGER_UNRESOLVED);
    memory_tell(fix.memory, GROUP_LOST, 0, "");
    memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
    flowfix_go(&fix, 1000);
    assert_true(fix.memory->reader[0].asked);
    assert_int_equal(fix.memory->reader[0].start, START_TIME);
    assert_in_range(fix.memory->reader[0].start_wall_ms, MEMORY_WALL + 1000,
        MEMORY_WALL + 2500);
    flowfix_free(&fix);
}

/* --- ends --- */

static void
markers_behind_the_last_record_are_no_lag(void **state)
{
    struct flowfix fix;
    struct memory_topic *topic;

    (void)state;
    flowfix_init(&fix, 1);
    topic = memory_topic(fix.memory, "t", 1, 10, 100);
    memory_append(&topic->partition[0], 1, -1);
    flowfix_start(&fix);
    flowfix_go(&fix, 12000);
    assert_int_equal(topic->partition[0].n_got, 10);
    assert_int_equal(flowfix_part(&fix, "t", 0)->acked_next, 11);
    assert_int_equal(report_true_lag(flowfix_part(&fix, "t", 0)), 0);
    assert_int_equal(report_committed_lag(flowfix_part(&fix, "t", 0)), 0);
    flowfix_free(&fix);
}

/* The markers are of a new leader.  memory_source looks at the epoch that comes
 * with each position. */
static const struct behind_row {
    const char *label;
    int64_t more; /* records behind the markers, without an ack */
    bool early;   /* they come before the entry is committed */
    bool fails;   /* the lane's client fails, else the lane is lost */
} behind_rows[] = {
    { "nothing behind the markers, a new owner", 0, false, false },
    { "records behind the markers, a new owner", 5, false, false },
    { "records behind the markers, a new client", 5, false, true },
    { "records before the entry, a new client", 5, true, true },
};

static void
begin_behind_markers(struct flowfix *fix, const struct behind_row *row)
{
    struct memory_partition *partition =
        &memory_topic(fix->memory, "t", 1, 10, 100)->partition[0];

    memory_append(partition, 2, -1);
    flowfix_start(fix);
    fix->memory->mute[STORE_COMMIT] = row->early;
    flowfix_go(fix, 12000);
    fix->memory->lane[0].acks = 0;
    memory_append(partition, row->more, 100);
    flowfix_go(fix, 1000);
    fix->memory->mute[STORE_COMMIT] = false;
    flowfix_go(fix, 1000);
    assert_int_equal(memory_entry(fix->memory, "t", 0), 12);
}

static void
a_position_behind_markers_is_not_taken_for_truncated(void **state)
{
    for (size_t i = 0; i < sizeof behind_rows / sizeof behind_rows[0]; i++) {
        const struct behind_row *row = &behind_rows[i];
        struct flowfix fix;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        begin_behind_markers(&fix, row);
        fix.memory->lane[0].acks = -1;
        fix.memory->lane[0].fail = row->fails;
        if (!row->fails)
            memory_tell(fix.memory, GROUP_LOST, 0, "");
        if (!row->fails)
            memory_tell(fix.memory, GROUP_ASSIGNED, 0, "");
        flowfix_go(&fix, 3000);
        assert_int_equal(flowfix_part(&fix, "t", 0)->acked_next,
            12 + row->more);
        flowfix_free(&fix);
    }
}

static void
the_report_says_how_far_a_partition_is(void **state)
{
    struct flowfix fix;
    const struct report_part *part;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.memory->lane[0].acks = 4;
    flowfix_start(&fix);
    flowfix_go(&fix, 12000);
    part = flowfix_part(&fix, "t", 0);
    assert_int_equal(part->source_end, 10);
    assert_int_equal(part->read_next, 10);
    assert_int_equal(part->acked_next, 4);
    assert_int_equal(part->ledger_next, 4);
    assert_int_equal(part->in_flight_records, 6);
    assert_int_equal(part->oldest_wall_ms, MEMORY_WALL + 4);
    assert_int_equal(part->records, 4);
    assert_int_equal(report_true_lag(part), 6);
    flowfix_free(&fix);
}

/* --- what matches nothing --- */

#define SPELLING                                                            \
    "look at the spelling, and that this client has Describe on it at the " \
    "source: what it may not describe is not listed to it"

static void
a_name_without_a_topic_is_listed_until_it_comes(void **state)
{
    struct memory_topic *late;
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    memory_topic(fix.memory, "t", 1, 10, 100);
    fix.options.pattern = flowfix_pattern;
    fix.named = "late";
    flowfix_start(&fix);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fix.report->n_skips, 1);
        assert_string_equal(fix.report->skips[0].topic, "late");
        assert_string_equal(fix.report->skips[0].reason,
            "the source has no topic of this name: " SPELLING);
        assert_false(fix.report->skips[0].quiet);
        assert_string_equal(fix.report->reason, "a member of the group");
        flowfix_go(&fix, 5000);
    }
    late = memory_topic(fix.memory, "late", 1, 10, 100);
    flowfix_go(&fix, 8000);
    assert_int_equal(fix.report->n_skips, 0);
    assert_true(memory_arrived(&late->partition[0], 0, 10));
    flowfix_free(&fix);
}

static void
nothing_that_matches_is_said_with_the_patterns(void **state)
{
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    fix.options.pattern = flowfix_pattern;
    fix.named = "orders";
    flowfix_start(&fix);
    assert_int_equal(fix.report->state, FLOW_RUNNING);
    assert_string_equal(fix.report->reason,
        "no topic at plant matches topics.include (orders, u.*): " SPELLING);
    memory_topic(fix.memory, "undecided", 1, 10, 100);
    fix.undecided = "undecided";
    flowfix_go(&fix, 6000);
    assert_string_equal(fix.report->reason,
        "every topic at plant that topics.include matches (orders, u.*) is "
        "skipped: 'kedge status --json' says why, for each");
    memory_topic(fix.memory, "u1", 1, 10, 100);
    flowfix_go(&fix, 6000);
    assert_string_equal(fix.report->reason, "a member of the group");
    flowfix_free(&fix);
}

/* Nobody has to look at what was meant, nor twice at what waits. */
static void
what_is_meant_or_waits_is_quiet(void **state)
{
    static const struct {
        const char *topic;
        bool quiet;
    } rows[] = { { "excluded", true }, { "undecided", false },
        { "waits", true } };
    struct flowfix fix;

    (void)state;
    flowfix_init(&fix, 1);
    for (size_t i = 0; i < 3; i++)
        memory_topic(fix.memory, rows[i].topic, 1, 10, 100)->waits = i == 2;
    fix.excluded = "excluded";
    fix.undecided = "undecided";
    flowfix_start(&fix);
    assert_int_equal(fix.report->n_skips, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(fix.report->skips[i].topic, rows[i].topic);
        assert_int_equal(fix.report->skips[i].quiet, rows[i].quiet);
    }
    flowfix_free(&fix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_without_a_topic_is_listed_until_it_comes),
        cmocka_unit_test(nothing_that_matches_is_said_with_the_patterns),
        cmocka_unit_test(what_is_meant_or_waits_is_quiet),
        cmocka_unit_test(new_topics_and_partitions_are_picked_up),
        cmocka_unit_test(a_skipped_topic_is_listed_with_its_reason),
        cmocka_unit_test(a_topic_that_no_pattern_decides_on_is_listed),
        cmocka_unit_test(a_topic_that_may_not_be_made_stops_no_other),
        cmocka_unit_test(a_topic_made_anew_is_held),
        cmocka_unit_test(
            a_held_partition_of_a_topic_that_is_gone_is_still_said),
        cmocka_unit_test(a_flow_begins_where_the_policy_says),
        cmocka_unit_test(a_changed_policy_applies_start_anew),
        cmocka_unit_test(latest_counts_from_when_it_was_named),
        cmocka_unit_test(markers_behind_the_last_record_are_no_lag),
        cmocka_unit_test(a_position_behind_markers_is_not_taken_for_truncated),
        cmocka_unit_test(the_report_says_how_far_a_partition_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
