#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "json.h"
#include "reportfix.h"

#include <stdlib.h>
#include <string.h>

/* Takes the JSON. */
static void
assert_json(struct json *json, const char *want)
{
    size_t len;
    char *text = json_render(json, &len);

    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
    json_free(json);
}

static void
test_info(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);

    (void)state;
    assert_json(view_info(&flow),
        "{\"name\":\"telemetry\",\"config\":{\"name\":\"telemetry\","
        "\"from\":\"plant7\",\"to\":\"cloud\"},\"tasks\":["
        "{\"connector\":\"telemetry\",\"task\":0},"
        "{\"connector\":\"telemetry\",\"task\":1}],\"type\":\"source\"}");
    flow.report = NULL;
    assert_json(view_info(&flow),
        "{\"name\":\"telemetry\",\"config\":{\"name\":\"telemetry\","
        "\"from\":\"plant7\",\"to\":\"cloud\"},\"tasks\":[],"
        "\"type\":\"source\"}");
    report_free(report);
}

/* All of it, once, byte for byte: others read it. */
static void
test_status(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);
    const struct view_agent agent = reportfix_agent(&flow, 1);

    (void)state;
    assert_json(view_status(&agent, &flow),
        "{\"name\":\"telemetry\","
        "\"connector\":{\"state\":\"RUNNING\",\"worker_id\":\"edge1\"},"
        "\"tasks\":["
        "{\"id\":0,\"worker_id\":\"edge1\",\"state\":\"RUNNING\"},"
        "{\"id\":1,\"worker_id\":\"edge1\",\"state\":\"UNASSIGNED\"}],"
        "\"type\":\"source\","
        "\"kedge\":{\"from\":\"plant7\",\"to\":\"cloud\","
        "\"policy\":\"/etc/kedge/policy.yaml\",\"policy_sha256\":"
        "\"0123456789abcdef0123456789abcdef"
        "0123456789abcdef0123456789abcdef\",\"policy_edited\":false,"
        "\"ready\":true,\"state\":\"running\",\"placement\":\"source\","
        "\"state_age_ms\":5000,\"report_age_ms\":0,\"last_ack_age_ms\":600,"
        "\"source_up\":true,\"target_up\":true,"
        "\"records_per_second\":120,\"bytes_per_second\":2048,"
        "\"lanes_owned\":1,\"partitions_owned\":1,\"partitions_selected\":3,"
        "\"partitions_held\":0,"
        "\"true_lag\":2,\"partitions_lag_unknown\":1,\"age_ms\":1500,\"in_"
        "flight_records\":1,"
        "\"in_flight_bytes\":1536,\"max_in_flight_bytes\":67108864,"
        "\"leaked_bytes\":0,"
        "\"lanes\":[{\"lane\":0,\"state\":\"owned\",\"term\":77},"
        "{\"lane\":1,\"state\":\"taking\"},"
        "{\"lane\":2,\"state\":\"elsewhere\"}],"
        "\"partitions\":["
        "{\"topic\":\"orders\",\"partition\":0,\"lane\":0,"
        "\"target\":\"plant7.orders\",\"state\":\"running\","
        "\"source_end\":8,\"read_next\":7,\"acked_next\":6,"
        "\"ledger_next\":3,\"true_lag\":2,\"read_lag\":1,"
        "\"committed_lag\":5,\"open\":3,\"age_ms\":1500,"
        "\"in_flight_records\":1,\"in_flight_bytes\":1536,"
        "\"records\":6,\"bytes\":6000},"
        "{\"topic\":\"orders\",\"partition\":1,\"lane\":1,"
        "\"target\":\"plant7.orders\",\"state\":\"waiting\","
        "\"in_flight_records\":0,\"in_flight_bytes\":0,"
        "\"records\":0,\"bytes\":0},"
        "{\"topic\":\"sales\",\"partition\":0,\"lane\":2,"
        "\"target\":\"plant7.sales\",\"state\":\"elsewhere\","
        "\"source_end\":8,\"read_next\":8,\"acked_next\":8,"
        "\"ledger_next\":8,\"true_lag\":0,\"read_lag\":0,"
        "\"committed_lag\":0,\"open\":0,\"age_ms\":0,"
        "\"in_flight_records\":0,\"in_flight_bytes\":0,"
        "\"records\":0,\"bytes\":0}],"
        "\"skipped\":[{\"topic\":\"__consumer_offsets\","
        "\"reason\":\"internal to Kafka\"}]}}");
    report_free(report);
}

/* As the metric has it: what a lane that is lost had is nobody's for now. */
static void
test_partitions_of_a_lost_lane(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_totals totals;

    (void)state;
    report->lanes[1].state = LANE_LOST;
    view_totals(report, REPORTFIX_WALL_MS, &totals);
    assert_int_equal(totals.parts_owned, 1);
    assert_int_equal(totals.parts_owned, report_parts_owned(report));
    assert_int_equal(totals.lanes_owned, 1);
    assert_int_equal(totals.lag_unknown, 1); /* it is still shown */
    report_free(report);
}

static void
test_why_a_cluster_is_down(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);
    const struct view_agent agent = reportfix_agent(&flow, 1);
    struct json *json;
    size_t len;
    char *text;

    (void)state;
    report->source_up = report->target_up = false;
    (void)snprintf(report->source_reason, REPORT_TEXT_MAX, "refused");
    (void)snprintf(report->target_reason, REPORT_TEXT_MAX, "expired");
    json = view_status(&agent, &flow);
    text = json_render(json, &len);
    assert_non_null(strstr(text,
        "\"source_up\":false,\"target_up\":false,\"source_reason\":"
        "\"refused\",\"target_reason\":\"expired\","));
    free(text);
    json_free(json);
    report_free(report);
}

static void
test_before_the_first_report(void **state)
{
    struct view_flow flow = reportfix_flow(NULL);
    const struct view_agent agent = reportfix_agent(&flow, 1);

    (void)state;
    flow.ready = false;
    (void)snprintf(flow.why, sizeof flow.why, "starting");
    assert_json(view_all(&agent),
        "{\"telemetry\":{\"status\":{\"name\":\"telemetry\","
        "\"connector\":{\"state\":\"UNASSIGNED\",\"worker_id\":\"edge1\"},"
        "\"tasks\":[],\"type\":\"source\","
        "\"kedge\":{\"from\":\"plant7\",\"to\":\"cloud\","
        "\"policy\":\"/etc/kedge/policy.yaml\",\"policy_sha256\":"
        "\"0123456789abcdef0123456789abcdef"
        "0123456789abcdef0123456789abcdef\",\"policy_edited\":false,"
        "\"ready\":false,\"not_ready\":\"starting\"}}}}");
}

/* The words of Kafka Connect for each state of ours. */
static void
test_states(void **state)
{
    static const struct {
        enum flow_state flow;
        enum lane_state lane;
        const char *connector, *task, *trace;
    } rows[] = {
        { FLOW_IDLE, LANE_TAKING, "UNASSIGNED", "UNASSIGNED", NULL },
        { FLOW_CONNECTING, LANE_TAKING, "UNASSIGNED", "UNASSIGNED", NULL },
        { FLOW_CONNECTING, LANE_LOST, "UNASSIGNED", "UNASSIGNED", NULL },
        { FLOW_RUNNING, LANE_OWNED, "RUNNING", "RUNNING", NULL },
        { FLOW_RUNNING, LANE_STANDING, "RUNNING", "RUNNING", NULL },
        { FLOW_RUNNING, LANE_FINISHING, "RUNNING", "RUNNING", NULL },
        { FLOW_RUNNING, LANE_RETAKING, "RUNNING", "UNASSIGNED", NULL },
        { FLOW_RUNNING, LANE_HELD, "RUNNING", "FAILED", "broken" },
        { FLOW_PAUSED, LANE_OWNED, "PAUSED", "PAUSED", NULL },
        { FLOW_HELD, LANE_OWNED, "FAILED", "RUNNING", NULL },
        { FLOW_DRAINING, LANE_FINISHING, "STOPPED", "RUNNING", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flow_report *report = reportfix_new();
        struct view_flow flow = reportfix_flow(report);
        const struct view_agent agent = reportfix_agent(&flow, 1);
        struct json *json;
        const struct json *connector, *task;

        report->state = rows[i].flow;
        report->lanes[0].state = rows[i].lane;
        (void)snprintf(report->lanes[0].reason, sizeof report->lanes[0].reason,
            "broken");
        (void)snprintf(report->reason, sizeof report->reason, "mend it");
        json = view_status(&agent, &flow);
        connector = json_get(json, "connector");
        task = json_item(json_get(json, "tasks"), 0);
        assert_string_equal(json_get_text(connector, "state"),
            rows[i].connector);
        assert_string_equal(json_get_text(task, "state"), rows[i].task);
        if (rows[i].flow == FLOW_HELD)
            assert_string_equal(json_get_text(connector, "trace"), "mend it");
        if (rows[i].trace != NULL)
            assert_string_equal(json_get_text(task, "trace"), rows[i].trace);
        else
            assert_null(json_get_text(task, "trace"));
        json_free(json);
        report_free(report);
    }
}

static void
test_age(void **state)
{
    static const struct {
        const char *label;
        int64_t oldest_wall_ms, acked_next, want;
    } rows[] = {
        { "one is in flight", 1000, 6, 4000 },
        { "one of tomorrow", 99000, 6, 0 },
        { "nothing to send", REPORT_UNKNOWN, 8, 0 },
        { "something to send that was not read", REPORT_UNKNOWN, 6, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct report_part part = { 0 };

        print_message("%s\n", rows[i].label);
        reportfix_part(&part, "t", 0, 0);
        part.oldest_wall_ms = rows[i].oldest_wall_ms;
        part.acked_next = part.read_next = rows[i].acked_next;
        part.in_flight_records = rows[i].oldest_wall_ms != REPORT_UNKNOWN;
        assert_int_equal(view_age_ms(&part, 5000), rows[i].want);
    }
}

static void
test_totals_of_nothing(void **state)
{
    struct flow_report *report = report_new(0, 0, 0);
    struct view_totals totals;

    (void)state;
    view_totals(report, 0, &totals);
    assert_false(totals.lag_known);
    assert_int_equal(totals.age_ms, -1);
    assert_int_equal(totals.parts_owned, 0);
    report_free(report);
}

/* Two partitions: the first has nothing to send, so its age is 0. */
static void
test_totals_of_two(void **state)
{
    static const struct {
        const char *label;
        int64_t end, acked, seen, in_flight, oldest_wall_ms; /* of the second */
        int64_t want_lag, want_age_ms;
    } rows[] = {
        { "nothing to send", 8, 8, 8, 0, REPORT_UNKNOWN, 0, 0 },
        { "what is to be sent was not read", 3008, 8, 8, 0, REPORT_UNKNOWN,
            3000, -1 },
        { "it was", 3008, 8, 3008, 3000, 4000, 3000, 1000 },
        { "the end is not known, and one was refused", REPORT_UNKNOWN, 8, 9, 0,
            REPORT_UNKNOWN, 1, -1 },
        { "the end is not known, and one is on the wire", REPORT_UNKNOWN,
            REPORT_UNKNOWN, 0, 1, 4000, 1, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flow_report *report = report_new(1, 2, 0);
        struct report_part *part = &report->parts[1];
        struct view_totals totals;

        print_message("%s\n", rows[i].label);
        report->lanes[0].state = LANE_OWNED;
        reportfix_part(&report->parts[0], "t", 0, 0);
        reportfix_part(part, "t", 1, 0);
        part->source_end = rows[i].end;
        part->acked_next = part->read_next = rows[i].acked;
        part->seen_next = rows[i].seen;
        part->in_flight_records = rows[i].in_flight;
        part->oldest_wall_ms = rows[i].oldest_wall_ms;
        view_totals(report, 5000, &totals);
        assert_int_equal(totals.true_lag, rows[i].want_lag);
        assert_int_equal(totals.age_ms, rows[i].want_age_ms);
        report_free(report);
    }
}

static void
test_a_lag_that_is_not_known_is_counted(void **state)
{
    struct flow_report *report = report_new(1, 2, 0);
    struct view_totals totals;

    (void)state;
    assert_non_null(report);
    report->lanes[0].state = LANE_OWNED;
    for (int32_t i = 0; i < 2; i++)
        reportfix_part(&report->parts[i], "t", i, 0);
    report->parts[1].state = PART_WAITING;
    report->parts[1].source_end = REPORT_UNKNOWN;
    view_totals(report, 0, &totals);
    assert_true(totals.lag_known);
    assert_int_equal(totals.lag_unknown, 1);
    assert_int_equal(totals.true_lag, report_true_lag(&report->parts[0]));
    report_free(report);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_partitions_of_a_lost_lane),
        cmocka_unit_test(test_why_a_cluster_is_down),
        cmocka_unit_test(test_before_the_first_report),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_totals_of_nothing),
        cmocka_unit_test(test_totals_of_two),
        cmocka_unit_test(test_a_lag_that_is_not_known_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
