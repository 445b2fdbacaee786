#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "file.h"
#include "metric.h"
#include "reportfix.h"
#include "scrape.h"

#include <stdlib.h>
#include <string.h>

static char *
render(const struct view_flow *flow)
{
    const struct view_agent agent = reportfix_agent(flow, 1);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    scrape_render(out, &agent);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Lines that are there, and beginnings of lines that are not. */
static const struct {
    const char *label, *line;
    bool want;
} lines[] = {
    { "a counter of the flow",
        "\nkedge_records_acked_total{flow=\"telemetry\"} 6\n", true },
    { "the policy in force",
        "\nkedge_policy_info{sha256=\"0123456789abcdef0123456789abcdef"
        "0123456789abcdef0123456789abcdef\"} 1\n",
        true },
    { "which kedge it is", "\nkedge_build_info{version=\"", true },
    { "memory of the process", "\nprocess_resident_memory_bytes ", true },
    { "its start", "\nprocess_start_time_seconds 1789999909.500\n", true },
    { "the state it is in",
        "\nkedge_flow_state{flow=\"telemetry\",state=\"running\"} 1\n", true },
    { "a state it is not in",
        "\nkedge_flow_state{flow=\"telemetry\",state=\"held\"} 0\n", true },
    { "ready", "\nkedge_flow_ready{flow=\"telemetry\"} 1\n", true },
    { "true lag",
        "\nkedge_partition_true_lag{flow=\"telemetry\",topic=\"orders\","
        "partition=\"0\"} 2\n",
        true },
    { "read lag",
        "\nkedge_partition_read_lag{flow=\"telemetry\",topic=\"orders\","
        "partition=\"0\"} 1\n",
        true },
    { "committed lag",
        "\nkedge_partition_committed_lag{flow=\"telemetry\",topic=\"orders\","
        "partition=\"0\"} 5\n",
        true },
    { "what an open transaction holds back",
        "\nkedge_partition_open{flow=\"telemetry\",topic=\"orders\","
        "partition=\"0\"} 3\n",
        true },
    { "age in seconds",
        "\nkedge_partition_age_seconds{flow=\"telemetry\",topic=\"orders\","
        "partition=\"0\"} 1.500\n",
        true },
    { "not held",
        "\nkedge_partition_held{flow=\"telemetry\",topic=\"orders\","
        "partition=\"0\"} 0\n",
        true },
    { "a lag that is not known is absent",
        "\nkedge_partition_true_lag{flow=\"telemetry\",topic=\"orders\","
        "partition=\"1\"}",
        false },
    { "a partition of another agent's is absent", "topic=\"sales\"", false },
    { "nothing is ever negative", "} -", false },
};

static void
test_lines(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);
    struct metrics *metrics = metrics_new();
    char *text;

    (void)state;
    metric_add(metrics, METRIC_RECORDS_ACKED, 6);
    flow.metrics = metrics;
    text = render(&flow);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        print_message("%s\n", lines[i].label);
        if ((strstr(text, lines[i].line) != NULL) != lines[i].want)
            fail_msg("%s\n%s", lines[i].line, text);
    }
    free(text);
    metrics_free(metrics);
    report_free(report);
}

static void
test_before_the_first_report(void **state)
{
    struct view_flow flow = reportfix_flow(NULL);
    char *text;

    (void)state;
    flow.ready = false;
    text = render(&flow);
    assert_non_null(strstr(text, "kedge_flow_ready{flow=\"telemetry\"} 0\n"));
    assert_null(strstr(text, "} -"));
    assert_null(strstr(text, "kedge_partition_true_lag{"));
    free(text);
}

/* A topic's name may hold what a label must not: Kafka does not let it, a
 * source that is not Kafka's own might. */
static void
test_labels(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);
    char *text;

    (void)state;
    (void)snprintf(report->parts[0].topic, sizeof report->parts[0].topic,
        "a\"b\\c\nd");
    text = render(&flow);
    assert_non_null(strstr(text, "topic=\"a\\\"b\\\\c\\nd\",partition=\"0\"}"));
    free(text);
    report_free(report);
}

/* Every metric has one HELP and one TYPE, in front of its samples, and is
 * documented in docs/metrics.md, which is just what `kedge help metrics`
 * prints. */
static void
test_document(void **state)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);
    char *page = render(&flow);
    char *made = NULL, *kept, *rest = NULL;
    size_t len = 0, kept_len = 0;
    FILE *out = open_memstream(&made, &len);
    struct err err;
    int n = 0;

    (void)state;
    scrape_document(out);
    assert_int_equal(fclose(out), 0);
    kept = file_read(DOCS "/metrics.md", 1 << 20, &kept_len, &err);
    if (kept == NULL)
        fail_msg("%s", err.text);
    assert_string_equal(made, kept);
    for (char *line = strtok_r(page, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char row[128];

        if (strncmp(line, "# HELP ", 7) != 0)
            continue;
        (void)snprintf(row, sizeof row, "\n| `%.*s` | ",
            (int)strcspn(line + 7, " "), line + 7);
        if (strstr(made, row) == NULL)
            fail_msg("not documented: %s", row);
        n++;
    }
    assert_true(n > METRIC_N);
    free(kept);
    free(made);
    free(page);
    report_free(report);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_before_the_first_report),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
