#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "health.h"
#include "reportfix.h"

#include <string.h>

/* What a row changes in a report in which everything is well. */
typedef void change_fn(struct flow_report *report);

static void
nothing(struct flow_report *report)
{
    (void)report;
}

static void
paused(struct flow_report *report)
{
    report->state = FLOW_PAUSED;
}

static void
paused_without_target(struct flow_report *report)
{
    report->state = FLOW_PAUSED;
    report->target_up = false;
    (void)snprintf(report->target_reason, sizeof report->target_reason,
        "no route to host");
}

static void
paused_without_source(struct flow_report *report)
{
    report->state = FLOW_PAUSED;
    report->source_up = false;
}

static void
connecting(struct flow_report *report)
{
    report->state = FLOW_CONNECTING;
    (void)snprintf(report->reason, sizeof report->reason,
        "no broker of cloud answers");
}

static void
held(struct flow_report *report)
{
    report->state = FLOW_HELD;
}

static void
draining(struct flow_report *report)
{
    report->state = FLOW_DRAINING;
}

static void
no_parts(struct flow_report *report)
{
    report->n_parts = report->n_selected = 0;
}

static void
no_topics(struct flow_report *report)
{
    no_parts(report);
    (void)snprintf(report->reason, sizeof report->reason, "no topic matches");
}

static void
all_elsewhere(struct flow_report *report)
{
    report->n_parts = 0;
}

static void
held_lane(struct flow_report *report)
{
    report->lanes[1].state = LANE_HELD;
    (void)snprintf(report->lanes[1].reason, sizeof report->lanes[1].reason,
        "the record at 7 cannot be read");
}

static void
standing_lane(struct flow_report *report)
{
    report->lanes[0].state = LANE_STANDING;
}

static void
held_part(struct flow_report *report)
{
    report->parts[1].state = PART_HELD;
    (void)snprintf(report->parts[1].reason, sizeof report->parts[1].reason,
        "too large");
}

static void
held_part_elsewhere(struct flow_report *report)
{
    report->parts[2].state = PART_HELD;
}

static const struct {
    const char *label;
    change_fn *change;
    const char *want; /* the reason; NULL: ready */
} cases[] = {
    { "running", nothing, NULL },
    { "paused by an operator", paused, NULL },
    { "paused, and the target is away", paused_without_target,
        "it is paused, and cloud does not answer: no route to host" },
    { "paused, and the source is away", paused_without_source,
        "it is paused, and plant7 does not answer" },
    { "not connected", connecting,
        "it is connecting: no broker of cloud answers" },
    { "held", held, "it is held" },
    { "draining", draining, "it is draining" },
    { "no partition", no_parts,
        "nothing is forwarded: no partition of any topic is selected" },
    { "no topic", no_topics, "nothing is forwarded: no topic matches" },
    { "other agents have all of them", all_elsewhere, NULL },
    { "a lane is held", held_lane,
        "lane 1 is held: the record at 7 cannot be read" },
    { "the ledger has just stopped to take entries", standing_lane, NULL },
    { "a partition is held", held_part, "orders 1 is held: too large" },
    { "one is held that another agent has", held_part_elsewhere, NULL },
};

static void
test_ready(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct health *health = health_new(0);
        struct flow_report *report = reportfix_new();
        char why[200];
        bool ready;

        print_message("%s\n", cases[i].label);
        cases[i].change(report);
        health_note(health, report, 0, 0, 1000);
        ready = health_ready(health, report, 1000, why, sizeof why);
        assert_int_equal(ready, cases[i].want == NULL);
        assert_string_equal(why, cases[i].want == NULL ? "" : cases[i].want);
        report_free(report);
        health_free(health);
    }
}

/* Partition 1, which waits, is ours and done. */
static void
settle(struct flow_report *report)
{
    report->lanes[1].state = LANE_OWNED;
    report->parts[1].state = PART_RUNNING;
    report->parts[1].source_end = report->parts[1].acked_next = 8;
}

/* Time goes on by `step_ms` for each report; in every one partition 0 has
 * records to send. */
static const struct {
    const char *label;
    int64_t step_ms;
    int64_t acked[5]; /* of partition 0, whose source ends at 8 */
    bool elsewhere;   /* its lane is another agent's */
    bool want;        /* ready after the last one */
} stuck[] = {
    { "nothing is acknowledged for 28 s", 7000, { 6, 6, 6, 6, 6 }, false,
        true },
    { "nothing is acknowledged for 32 s", 8000, { 6, 6, 6, 6, 6 }, false,
        false },
    { "slowly, but it moves", 25000, { 3, 4, 5, 6, 7 }, false, true },
    { "it moved once in between", 8000, { 5, 5, 6, 6, 6 }, false, true },
    { "nothing is left to send", 60000, { 8, 8, 8, 8, 8 }, false, true },
    { "another agent is to send it", 60000, { 6, 6, 6, 6, 6 }, true, true },
};

static void
test_stuck(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stuck / sizeof stuck[0]; i++) {
        struct health *health = health_new(0);
        int64_t now_ms = 0;
        bool ready = false;
        char why[200] = "";

        print_message("%s\n", stuck[i].label);
        for (size_t n = 0; n < 5; n++) {
            struct flow_report *report = reportfix_new();

            now_ms = (int64_t)n * stuck[i].step_ms;
            report->parts[0].acked_next = stuck[i].acked[n];
            report->parts[0].in_flight_records = stuck[i].acked[n] < 8;
            settle(report);
            if (stuck[i].elsewhere)
                report->lanes[0].state = LANE_ELSEWHERE;
            health_note(health, report, 0, 0, now_ms);
            ready = health_ready(health, report, now_ms, why, sizeof why);
            report_free(report);
        }
        assert_int_equal(ready, stuck[i].want);
        if (!ready)
            assert_string_equal(why,
                "orders 0 has 2 to send and none was acknowledged for 32 s");
        health_free(health);
    }
}

/* Lane 1 in reports that are 8 s apart. */
static const struct {
    const char *label;
    enum lane_state lane[5];
    const char *want; /* NULL: ready after the last one */
} taking[] = {
    { "it is being taken over for 32 s",
        { LANE_TAKING, LANE_TAKING, LANE_RETAKING, LANE_TAKING, LANE_RETAKING },
        "lane 1 could not be taken over for 32 s: no such topic" },
    { "its ledger takes no entries for 32 s",
        { LANE_STANDING, LANE_STANDING, LANE_STANDING, LANE_STANDING,
            LANE_STANDING },
        "lane 1 could not write down how far it is for 32 s: no such topic" },
    { "it was taken over in between",
        { LANE_TAKING, LANE_RETAKING, LANE_OWNED, LANE_RETAKING, LANE_TAKING },
        NULL },
    { "another agent had it in between",
        { LANE_TAKING, LANE_ELSEWHERE, LANE_TAKING, LANE_TAKING, LANE_TAKING },
        NULL },
    { "it is ours",
        { LANE_OWNED, LANE_OWNED, LANE_OWNED, LANE_OWNED, LANE_OWNED }, NULL },
    { "it is another agent's",
        { LANE_ELSEWHERE, LANE_ELSEWHERE, LANE_ELSEWHERE, LANE_ELSEWHERE,
            LANE_ELSEWHERE },
        NULL },
};

static void
test_taking_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taking / sizeof taking[0]; i++) {
        struct health *health = health_new(0);
        char why[200] = "";

        print_message("%s\n", taking[i].label);
        for (size_t n = 0; n < 5; n++) {
            struct flow_report *report = reportfix_new();
            int64_t now_ms = (int64_t)n * 8000;

            settle(report);
            report->parts[0].acked_next = 8;
            report->lanes[1].state = taking[i].lane[n];
            (void)snprintf(report->lanes[1].reason,
                sizeof report->lanes[1].reason, "no such topic");
            health_note(health, report, 0, 0, now_ms);
            assert_int_equal(health_ready(health, report, now_ms, why,
                                 sizeof why),
                n < 4 || taking[i].want == NULL);
            report_free(report);
        }
        assert_string_equal(why, taking[i].want == NULL ? "" : taking[i].want);
        health_free(health);
    }
}

/* How much there is to send is not known of a topic that has no target. */
static void
test_waiting(void **state)
{
    struct health *health = health_new(0);
    struct flow_report *report = reportfix_new();
    char why[200];

    (void)state;
    report->parts[0].acked_next = 8;
    report->lanes[1].state = LANE_OWNED;
    (void)snprintf(report->parts[1].reason, sizeof report->parts[1].reason,
        "no such topic");
    health_note(health, report, 0, 0, 0);
    health_note(health, report, 0, 0, 29000);
    assert_true(health_ready(health, report, 29000, why, sizeof why));
    assert_false(health_ready(health, report, 30000, why, sizeof why));
    assert_string_equal(why, "orders 1 has records to send and none was "
                             "acknowledged for 30 s: no such topic");
    report->lanes[1].state = LANE_RETAKING;
    report->parts[1].reason[0] = '\0';
    (void)snprintf(report->lanes[1].reason, sizeof report->lanes[1].reason,
        "its ledger is gone");
    assert_false(health_ready(health, report, 30000, why, sizeof why));
    assert_string_equal(why, "orders 1 has records to send and none was "
                             "acknowledged for 30 s: its ledger is gone");
    settle(report);
    health_note(health, report, 0, 0, 31000);
    assert_true(health_ready(health, report, 31000, why, sizeof why));
    report_free(report);
    health_free(health);
}

/* Partition 0 of lane 0 has had no acks for 30 s. */
static const struct {
    const char *label;
    const char *part, *lane; /* their reasons; the lane is ours but for ... */
    bool retaking;           /* ... this */
    const char *source, *target; /* why they are down */
    const char *want;
} reasons[] = {
    { "nobody knows why", "", "", false, "", "", "" },
    { "that the lane is ours is no reason", "", "taken over", false, "", "",
        "" },
    { "what its topic waits for", "no leader", "taken over", false, "", "",
        ": no leader" },
    { "what its lane waits for", "", "it is fenced", true, "", "",
        ": it is fenced" },
    { "the target is down, and the lane for that", "no answer", "no answer",
        true, "", "the certificate expired",
        ": cloud is down: the certificate expired" },
    { "the source is down", "", "taken over", false, "connection refused", "",
        ": plant7 is down: connection refused" },
};

static void
test_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct health *health = health_new(0);
        struct flow_report *report = reportfix_new();
        char why[400], want[400];

        print_message("%s\n", reasons[i].label);
        settle(report);
        (void)snprintf(report->parts[0].reason, REPORT_TEXT_MAX, "%s",
            reasons[i].part);
        (void)snprintf(report->lanes[0].reason, REPORT_TEXT_MAX, "%s",
            reasons[i].lane);
        if (reasons[i].retaking)
            report->lanes[0].state = LANE_RETAKING;
        (void)snprintf(report->source_reason, REPORT_TEXT_MAX, "%s",
            reasons[i].source);
        (void)snprintf(report->target_reason, REPORT_TEXT_MAX, "%s",
            reasons[i].target);
        health_note(health, report, 0, 0, 0);
        health_note(health, report, 0, 0, 29000);
        assert_false(health_ready(health, report, 30000, why, sizeof why));
        (void)snprintf(want, sizeof want,
            "orders 0 has 2 to send and none was acknowledged for 30 s%s",
            reasons[i].want);
        assert_string_equal(why, want);
        report_free(report);
        health_free(health);
    }
}

/* New partitions come in between, and the order changes: what was known of
 * each one stays with it. */
static void
test_order_of_partitions(void **state)
{
    struct health *health = health_new(0);
    struct flow_report *report = reportfix_new();
    struct report_part first;
    char why[200];

    (void)state;
    settle(report);
    health_note(health, report, 0, 0, 0);
    first = report->parts[0];
    report->parts[0] = report->parts[2];
    report->parts[2] = first;
    health_note(health, report, 0, 0, 20000);
    assert_true(health_ready(health, report, 29999, why, sizeof why));
    assert_false(health_ready(health, report, 30000, why, sizeof why));
    report->parts[2].acked_next++;
    health_note(health, report, 0, 0, 30000);
    assert_true(health_ready(health, report, 30000, why, sizeof why));
    report_free(report);
    health_free(health);
}

static void
test_live(void **state)
{
    struct health *health = health_new(500);
    struct flow_report *report = reportfix_new();

    (void)state;
    assert_true(health_live(health, 10499)); /* it has only begun */
    assert_false(health_live(health, 10500));
    report->mono_ms = 20000;
    health_note(health, report, 0, 0, 21000);
    assert_true(health_live(health, 29999));
    assert_false(health_live(health, 30000));
    report_free(report);
    health_free(health);
    health_free(NULL);
}

static void
test_starting(void **state)
{
    struct health *health = health_new(0);
    struct flow_report *report = reportfix_new();
    char why[200];

    (void)state;
    assert_true(health_starting(health, NULL, 59999));
    assert_false(health_starting(health, NULL, 60000)); /* long enough */
    assert_false(health_ready(health, NULL, 0, why, sizeof why));
    assert_string_equal(why, "it has not said anything yet");
    assert_false(health_starting(health, report, 0)); /* it runs */
    report->state = FLOW_CONNECTING;
    assert_true(health_starting(health, report, 0));
    report->state = FLOW_HELD;
    assert_false(health_starting(health, report, 0));
    report->state = FLOW_RUNNING;
    report->n_selected = 0;
    assert_true(health_starting(health, report, 0)); /* topics are to come */
    report_free(report);
    health_free(health);
}

static void
test_rate(void **state)
{
    struct health *health = health_new(0);
    struct flow_report *report = reportfix_new();

    (void)state;
    assert_int_equal(health_records_per_s(health), 0);
    health_note(health, report, 1000, 50000, 1000);
    assert_int_equal(health_bytes_per_s(health), 0); /* one says nothing */
    health_note(health, report, 1100, 60000, 2000);
    assert_int_equal(health_records_per_s(health), 100);
    assert_int_equal(health_bytes_per_s(health), 10000);
    for (int64_t i = 3; i <= 40; i++) /* ten samples are nine seconds */
        health_note(health, report, 1100, 60000 + i, i * 1000);
    assert_int_equal(health_records_per_s(health), 0);
    assert_int_equal(health_bytes_per_s(health), 1);
    report_free(report);
    health_free(health);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_taking_over),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_order_of_partitions),
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_starting),
        cmocka_unit_test(test_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
