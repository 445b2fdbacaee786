#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "page.h"
#include "reportfix.h"

#include <stdlib.h>
#include <string.h>

typedef void change_fn(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent);

static void
nothing(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)report;
    (void)flow;
    (void)agent;
}

static void
excluded(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)flow;
    (void)agent;
    report->skips[0].quiet = true;
}

static void
no_report(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)report;
    (void)agent;
    flow->report = NULL;
}

static void
held(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)agent;
    report->parts[0].state = PART_HELD;
    (void)snprintf(report->parts[0].reason, sizeof report->parts[0].reason,
        "offset 7 is too large; raise max.message.bytes");
    flow->ready = false;
    (void)snprintf(flow->why, sizeof flow->why, "orders 0 is held");
}

/* "Not ready" names it, and the second one says the same of itself. */
static void
held_twice(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    held(report, flow, agent);
    report->parts[1].state = PART_HELD;
    memcpy(report->parts[1].reason, report->parts[0].reason,
        sizeof report->parts[1].reason);
    (void)snprintf(flow->why, sizeof flow->why, "orders 0 is held: %.300s",
        report->parts[0].reason);
}

static void
held_elsewhere(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)flow;
    (void)agent;
    report->parts[2].state = PART_HELD;
    (void)snprintf(report->parts[2].reason, sizeof report->parts[2].reason,
        "SECRET");
}

static void
waiting(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)flow;
    (void)agent;
    report->parts[0].state = PART_WAITING;
    for (size_t i = 0; i < 2; i++)
        (void)snprintf(report->parts[i].reason, sizeof report->parts[i].reason,
            "plant7.orders may not be made");
}

static void
lane(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)flow;
    (void)agent;
    (void)snprintf(report->lanes[0].reason, sizeof report->lanes[0].reason,
        "taken over");
    (void)snprintf(report->lanes[1].reason, sizeof report->lanes[1].reason,
        "no broker answers");
}

static void
lanes(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    for (size_t i = 0; i < report->n_lanes; i++)
        report->lanes[i].state = LANE_TAKING;
    lane(report, flow, agent);
    (void)snprintf(report->lanes[2].reason, sizeof report->lanes[2].reason,
        "to be taken over");
}

static void
held_lane(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    lane(report, flow, agent);
    report->lanes[1].state = LANE_HELD;
    report->parts[1].state = PART_HELD;
    (void)snprintf(report->parts[1].reason, sizeof report->parts[1].reason,
        "%s", report->lanes[1].reason);
}

static void
refused_reload(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)report;
    (void)flow;
    agent->note = "it has 3 findings";
}

static void
edited(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)report;
    (void)flow;
    agent->edited = true;
}

static void
edited_again(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    edited(report, flow, agent);
    refused_reload(report, flow, agent);
}

static void
edited_and_refused(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    edited_again(report, flow, agent);
    agent->refused = true;
}

static void
bad_text(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    held(report, flow, agent);
    (void)snprintf(report->parts[0].reason, sizeof report->parts[0].reason,
        "\x1b[2J<script>&\"\n");
}

#define HEAD                                                     \
    "FLOW      STATE   PARTS LANES TRUE LAG AGE  REC/S BYTES/S " \
    "IN FLIGHT HELD\n"

static const struct {
    const char *label;
    change_fn *change;
    const char *want;     /* is in the text */
    const char *want_not; /* is not */
} cases[] = {
    { "who, since when, and under which policy", nothing,
        "kedge " KEDGE_VERSION " on edge1, up 90.5s\npolicy "
        "/etc/kedge/policy.yaml sha256:0123456789abcdef\n" HEAD,
        "not ready" },
    { "a flow that runs", nothing,
        "\ntelemetry running 1/3   1/3   2+       1.5s 120   2.0 KiB "
        "1.5 KiB   0\n",
        "held:" },
    { "skipped topics are counted", nothing,
        "  skipped topics: 1; kedge status --json says why, for each\n",
        "internal" },
    { "one that is excluded is not", excluded, "telemetry running",
        "skipped topics" },
    { "before the first report", no_report,
        "\ntelemetry starting -     -     -        -   -     -       "
        "-         -\n",
        "skipped" },
    { "a held partition with its remedy", held,
        "  not ready: orders 0 is held\n"
        "  held: orders 0: offset 7 is too large; raise max.message.bytes\n",
        "waiting" },
    { "what 'not ready' says of one is said once", held_twice,
        "  not ready: orders 0 is held: offset 7 is too large; raise "
        "max.message.bytes\n"
        "  held: orders 1: offset 7 is too large; raise max.message.bytes\n",
        "held: orders 0:" },
    { "what is held elsewhere is said there", held_elsewhere, "running",
        "SECRET" },
    { "one reason for many is said once", waiting,
        "  waiting: orders 0: plant7.orders may not be made\n", "orders 1" },
    { "a lane that is being taken", lane,
        "  lane 1 taking: no broker answers\n", "lane 0" },
    { "lanes that are being taken are one line", lanes,
        "  lane 0 and 2 more taking: taken over\n", "lane 1" },
    { "a lane that is held says it for its partitions", held_lane,
        "1.5 KiB   1\n  lane 1 held: no broker answers\n", "held: orders" },
    { "a reload that was refused", refused_reload,
        "  the last reload was refused: it has 3 findings\n", "not ready" },
    { "a policy file that was edited", edited,
        "  the policy file was edited: SIGHUP brings it into force\n",
        "not ready" },
    { "one that was edited since it was refused", edited_again,
        "  the policy file was edited: SIGHUP brings it into force\n  the last "
        "reload was refused",
        "not ready" },
    { "one that was refused as it is", edited_and_refused,
        "  the last reload was refused: it has 3 findings\n", "SIGHUP" },
    { "a text that would clear the screen", bad_text,
        "  held: orders 0: ?[2J<script>&\"?\n", "\x1b" },
};

static char *
render(void (*page)(FILE *out, const struct view_agent *agent),
    change_fn *change)
{
    struct flow_report *report = reportfix_new();
    struct view_flow flow = reportfix_flow(report);
    struct view_agent agent = reportfix_agent(&flow, 1);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    change(report, &flow, &agent);
    page(out, &agent);
    assert_int_equal(fclose(out), 0);
    report_free(report);
    return text;
}

static void
test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = render(page_text, cases[i].change);

        print_message("%s\n", cases[i].label);
        if (strstr(text, cases[i].want) == NULL)
            fail_msg("not in it:\n%s\nit is:\n%s", cases[i].want, text);
        assert_null(strstr(text, cases[i].want_not));
        free(text);
    }
}

static void
large(struct flow_report *report, struct view_flow *flow,
    struct view_agent *agent)
{
    (void)agent;
    report->in_flight_bytes = INT64_C(1023) << 20;
    flow->bytes_per_s = INT64_C(1023) << 20;
    flow->records_per_s = 99999;
    for (size_t i = 0; i < 2; i++) {
        report->parts[i].source_end = 9999999;
        report->parts[i].source_high = 9999999;
    }
}

/* What a terminal shows without breaking lines, at sizes that are usual. */
static void
test_width(void **state)
{
    static const struct {
        const char *label;
        change_fn *change;
    } rows[] = { { "a small one", nothing }, { "a large one", large },
        { "one that begins", no_report }, { "one that is held", held } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = render(page_text, rows[i].change);

        for (const char *at = text; *at != '\0';) {
            size_t len = strcspn(at, "\n");

            if (len > 80)
                fail_msg("%s: %zu columns: %.*s", rows[i].label, len, (int)len,
                    at);
            at += len + (at[len] == '\n');
        }
        free(text);
    }
}

static void
test_html(void **state)
{
    static const struct {
        const char *label;
        change_fn *change;
        const char *want, *want_not;
    } rows[] = {
        { "a row of the table", nothing,
            "<tr><td>telemetry</td><td>running</td><td>1/3</td>", "<script" },
        { "nothing of it comes from elsewhere", nothing, "<!DOCTYPE html>",
            "://" },
        { "a text that would be a script", bad_text,
            "[2J&lt;script&gt;&amp;&quot;", "<script" },
        { "not ready stands out", held, "<tr class=\"no\">", "<tr>\n" },
        { "a reload that was refused", refused_reload,
            "The last reload was refused: it has 3 findings", "held:" },
        { "a policy file that was edited", edited, "The policy file was edited",
            "held:" },
        { "one that was refused as it is", edited_and_refused,
            "The last reload was refused", "SIGHUP" },
        { "before the first report", no_report, "<td>starting</td>", "held:" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = render(page_html, rows[i].change);

        print_message("%s\n", rows[i].label);
        if (strstr(text, rows[i].want) == NULL)
            fail_msg("not in it:\n%s\nit is:\n%s", rows[i].want, text);
        assert_null(strstr(text, rows[i].want_not));
        assert_non_null(strstr(text, "</html>\n"));
        free(text);
    }
}

/* Very many held partitions are counted, not printed. */
static void
test_many_held(void **state)
{
    struct flow_report *report = report_new(1, 120, 0);
    struct view_flow flow = reportfix_flow(report);
    const struct view_agent agent = reportfix_agent(&flow, 1);
    char *text = NULL;
    size_t len = 0, lines = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    report->state = FLOW_RUNNING;
    report->lanes[0].state = LANE_OWNED;
    for (size_t i = 0; i < 120; i++) {
        reportfix_part(&report->parts[i], "orders", (int32_t)i, 0);
        report->parts[i].state = PART_HELD;
    }
    page_text(out, &agent);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 4 + 50 + 1);
    assert_non_null(strstr(text, "  held: and 70 more: "));
    free(text);
    report_free(report);
}

static void
test_ages(void **state)
{
    static const struct {
        int64_t age_ms;
        const char *want;
    } rows[] = {
        { 0, "up 0.0s\n" },
        { 99900, "up 99.9s\n" },
        { 100000, "up 1m40s\n" },
        { INT64_C(6000) * 1000, "up 1h40m\n" },
        { INT64_C(100) * 3600 * 1000, "up 4d04h\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct view_agent agent = reportfix_agent(NULL, 0);
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        agent.started_wall_ms = agent.now_wall_ms - rows[i].age_ms;
        page_text(out, &agent);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, rows[i].want));
        free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_many_held),
        cmocka_unit_test(test_ages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
