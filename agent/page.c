#include "page.h"

#include "report.h"
#include "view.h"

#include <inttypes.h>
#include <string.h>

#define HELD_SHOWN 50 /* of each flow; the rest is counted */

/* Text of somebody else's: nothing that moves a terminal's cursor. */
static void
put_plain(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        (void)fputc(c < ' ' || c == 0x7f ? '?' : c, out);
    }
}

static void
put_html(FILE *out, const char *text)
{
    static const char *const escapes[] = {
        ['&'] = "&amp;",
        ['<'] = "&lt;",
        ['>'] = "&gt;",
        ['"'] = "&quot;",
    };

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < sizeof escapes / sizeof escapes[0] && escapes[c] != NULL)
            (void)fputs(escapes[c], out);
        else
            (void)fputc(c, out);
    }
}

/* 1536 -> "1.5 KiB"; from a hundred on without the tenths: eight letters */
static void
format_bytes(char *text, size_t size, int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    int64_t tenths = bytes * 10;

    while (tenths >= 10240 && unit + 1 < sizeof units / sizeof units[0]) {
        tenths /= 1024;
        unit++;
    }
    if (unit == 0)
        (void)snprintf(text, size, "%" PRId64 " B", bytes);
    else if (tenths >= 1000)
        (void)snprintf(text, size, "%" PRId64 " %s", tenths / 10, units[unit]);
    else
        (void)snprintf(text, size, "%" PRId64 ".%" PRId64 " %s", tenths / 10,
            tenths % 10, units[unit]);
}

/* 90500 -> "90.5s", 7200000 -> "2h00m"; -1 -> "-" */
static void
format_age(char *text, size_t size, int64_t age_ms)
{
    int64_t s = age_ms / 1000;

    if (age_ms < 0)
        (void)snprintf(text, size, "-");
    else if (s < 100)
        (void)snprintf(text, size, "%" PRId64 ".%" PRId64 "s", s,
            age_ms % 1000 / 100);
    else if (s < 6000)
        (void)snprintf(text, size, "%" PRId64 "m%02" PRId64 "s", s / 60,
            s % 60);
    else if (s < INT64_C(100) * 3600)
        (void)snprintf(text, size, "%" PRId64 "h%02" PRId64 "m", s / 3600,
            s / 60 % 60);
    else
        (void)snprintf(text, size, "%" PRId64 "d%02" PRId64 "h", s / 86400,
            s / 3600 % 24);
}

/* The cells of a flow's line; the head of the table has the same order. */
enum cell {
    CELL_FLOW,
    CELL_STATE,
    CELL_PARTS,
    CELL_LANES,
    CELL_LAG,
    CELL_AGE,
    CELL_RATE,
    CELL_BYTES,
    CELL_IN_FLIGHT,
    CELL_HELD,
    CELL_N
};

static const char *const heads[CELL_N] = { "FLOW", "STATE", "PARTS", "LANES",
    "TRUE LAG", "AGE", "REC/S", "BYTES/S", "IN FLIGHT", "HELD" };

typedef char cells[CELL_N][48];

static void
fill_cells(cells row, const struct view_agent *agent,
    const struct view_flow *flow)
{
    const struct flow_report *report = flow->report;
    struct view_totals totals;

    for (size_t i = 0; i < CELL_N; i++)
        (void)snprintf(row[i], sizeof row[i], "-");
    (void)snprintf(row[CELL_FLOW], sizeof row[0], "%s", flow->name);
    (void)snprintf(row[CELL_STATE], sizeof row[0], "%s",
        report == NULL ? "starting" : report_flow_state(report->state));
    if (report == NULL)
        return;
    view_totals(report, agent->now_wall_ms, &totals);
    (void)snprintf(row[CELL_PARTS], sizeof row[0], "%zu/%zu",
        totals.parts_owned, report->n_parts);
    (void)snprintf(row[CELL_LANES], sizeof row[0], "%zu/%zu",
        totals.lanes_owned, report->n_lanes);
    if (totals.lag_known)
        (void)snprintf(row[CELL_LAG], sizeof row[0], "%" PRId64 "%s",
            totals.true_lag, totals.lag_unknown > 0 ? "+" : "");
    format_age(row[CELL_AGE], sizeof row[0], totals.age_ms);
    (void)snprintf(row[CELL_RATE], sizeof row[0], "%" PRId64,
        flow->records_per_s);
    format_bytes(row[CELL_BYTES], sizeof row[0], flow->bytes_per_s);
    format_bytes(row[CELL_IN_FLIGHT], sizeof row[0], report->in_flight_bytes);
    (void)snprintf(row[CELL_HELD], sizeof row[0], "%zu", totals.held);
}

/* What a person has to look at, one call for each. */
typedef void note_fn(FILE *out, const char *what, const char *reason);

static void
note_parts(FILE *out, const struct view_flow *flow, note_fn *note)
{
    const struct flow_report *report = flow->report;
    bool told = flow->ready; /* what "not ready" says is not said again */
    char what[LEDGER_NAME_MAX + 40];
    size_t shown = 0;

    for (size_t i = 0; i < report->n_parts; i++) {
        const struct report_part *part = &report->parts[i];

        if (part->state != PART_HELD || !view_is_ours(report, part) ||
            report->lanes[part->lane].state == LANE_HELD)
            continue; /* the lane says it for all */
        if (!told && part->reason[0] != '\0' &&
            strstr(flow->why, part->reason) != NULL) {
            told = true;
            continue;
        }
        if (shown++ >= HELD_SHOWN)
            continue;
        (void)snprintf(what, sizeof what, "held: %s %" PRId32, part->topic,
            part->partition);
        note(out, what, part->reason);
    }
    if (shown > HELD_SHOWN) {
        (void)snprintf(what, sizeof what, "held: and %zu more",
            shown - HELD_SHOWN);
        note(out, what, "kedge status --json has them all");
    }
}

/* Topics and partitions that wait say the same for many: each reason once. */
static void
note_waiting(FILE *out, const struct flow_report *report, note_fn *note)
{
    const char *last = "";
    char what[LEDGER_NAME_MAX + 40];

    for (size_t i = 0; i < report->n_parts; i++) {
        const struct report_part *part = &report->parts[i];

        if (part->state != PART_WAITING || part->reason[0] == '\0' ||
            !view_is_ours(report, part) || strcmp(part->reason, last) == 0)
            continue;
        last = part->reason;
        (void)snprintf(what, sizeof what, "waiting: %s %" PRId32, part->topic,
            part->partition);
        note(out, what, part->reason);
    }
}

/* Each that stands for another reason than the ordinary taking over, of which
 * the first is enough. */
static void
note_lanes(FILE *out, const struct flow_report *report, note_fn *note)
{
    char what[64];
    size_t taking = 0, first = 0;

    for (size_t i = report->n_lanes; i-- > 0;)
        if (report->lanes[i].state == LANE_TAKING &&
            report->lanes[i].reason[0] != '\0') {
            taking++;
            first = i;
        }
    for (size_t i = 0; i < report->n_lanes; i++) {
        enum lane_state state = report->lanes[i].state;

        if (report->lanes[i].reason[0] == '\0' || state <= LANE_LOST ||
            state == LANE_OWNED || (state == LANE_TAKING && i != first))
            continue; /* nothing to look at */
        if (state == LANE_TAKING && taking > 1)
            (void)snprintf(what, sizeof what, "lane %zu and %zu more taking", i,
                taking - 1);
        else
            (void)snprintf(what, sizeof what, "lane %zu %s", i,
                report_lane_state(state));
        note(out, what, report->lanes[i].reason);
    }
}

static void
notes(FILE *out, const struct view_flow *flow, note_fn *note)
{
    const struct flow_report *report = flow->report;
    char reason[80];
    size_t skips = 0;

    if (!flow->ready)
        note(out, "not ready", flow->why);
    if (report == NULL)
        return;
    note_lanes(out, report, note);
    note_parts(out, flow, note);
    note_waiting(out, report, note);
    for (size_t i = 0; i < report->n_skips; i++)
        skips += !report->skips[i].quiet;
    if (skips > 0) {
        (void)snprintf(reason, sizeof reason,
            "%zu; kedge status --json says why, for each", skips);
        note(out, "skipped topics", reason);
    }
}

static void
note_text(FILE *out, const char *what, const char *reason)
{
    (void)fputs("  ", out);
    put_plain(out, what);
    (void)fputs(": ", out);
    put_plain(out, reason);
    (void)fputc('\n', out);
}

static void
row_text(FILE *out, cells row, const int *widths)
{
    for (size_t i = 0; i < CELL_N; i++) {
        if (i == CELL_N - 1)
            (void)fprintf(out, "%s\n", row[i]);
        else
            (void)fprintf(out, "%-*s ", widths[i], row[i]);
    }
}

/* As wide as the widest cell: 80 columns are enough for most. */
static void
widen(int *widths, cells row)
{
    for (size_t i = 0; i < CELL_N; i++)
        if (widths[i] < (int)strlen(row[i]))
            widths[i] = (int)strlen(row[i]);
}

static void
table_text(FILE *out, const struct view_agent *agent)
{
    int widths[CELL_N] = { 0 };
    cells row, head;

    for (size_t i = 0; i < CELL_N; i++)
        (void)snprintf(head[i], sizeof head[i], "%s", heads[i]);
    widen(widths, head);
    for (size_t i = 0; i < agent->n_flows; i++) {
        fill_cells(row, agent, &agent->flows[i]);
        widen(widths, row);
    }
    row_text(out, head, widths);
    for (size_t i = 0; i < agent->n_flows; i++) {
        fill_cells(row, agent, &agent->flows[i]);
        row_text(out, row, widths);
        notes(out, &agent->flows[i], note_text);
    }
}

void
page_text(FILE *out, const struct view_agent *agent)
{
    char up[48];

    format_age(up, sizeof up, agent->now_wall_ms - agent->started_wall_ms);
    (void)fprintf(out, "kedge %s on ", KEDGE_VERSION);
    put_plain(out, agent->name);
    (void)fprintf(out, ", up %s\npolicy ", up);
    put_plain(out, agent->policy);
    (void)fprintf(out, " sha256:%.16s\n", agent->digest);
    if (agent->edited && !agent->refused)
        note_text(out, "the policy file was edited",
            "SIGHUP brings it into force");
    if (agent->note != NULL)
        note_text(out, "the last reload was refused", agent->note);
    table_text(out, agent);
}

static void
note_html(FILE *out, const char *what, const char *reason)
{
    (void)fputs("<li><b>", out);
    put_html(out, what);
    (void)fputs("</b>: ", out);
    put_html(out, reason);
    (void)fputs("</li>\n", out);
}

static void
head_html(FILE *out, const struct view_agent *agent)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
                "charset=\"utf-8\"><title>kedge</title>\n<style>"
                "body{font:15px/1.5 sans-serif;margin:2em;max-width:70em}"
                "table{border-collapse:collapse}"
                "td,th{padding:.2em .8em;text-align:left;"
                "border-bottom:1px solid #ccc}"
                ".no{color:#a00}</style></head><body>\n<h1>kedge ",
        out);
    put_html(out, KEDGE_VERSION);
    (void)fputs("</h1>\n<p>Agent ", out);
    put_html(out, agent->name);
    (void)fputs(", policy <code>", out);
    put_html(out, agent->policy);
    (void)fputs("</code>, SHA-256 <code>", out);
    put_html(out, agent->digest);
    (void)fputs("</code></p>\n", out);
    if (agent->edited && !agent->refused)
        (void)fputs("<p class=\"no\">The policy file was edited: SIGHUP "
                    "brings it into force.</p>\n",
            out);
    if (agent->note != NULL) {
        (void)fputs("<p class=\"no\">The last reload was refused: ", out);
        put_html(out, agent->note);
        (void)fputs("</p>\n", out);
    }
}

void
page_html(FILE *out, const struct view_agent *agent)
{
    cells row;

    head_html(out, agent);
    (void)fputs("<table><tr>", out);
    for (size_t i = 0; i < CELL_N; i++)
        (void)fprintf(out, "<th>%s</th>", heads[i]);
    (void)fputs("</tr>\n", out);
    for (size_t i = 0; i < agent->n_flows; i++) {
        fill_cells(row, agent, &agent->flows[i]);
        (void)fprintf(out, "<tr%s>",
            agent->flows[i].ready ? "" : " class=\"no\"");
        for (size_t c = 0; c < CELL_N; c++) {
            (void)fputs("<td>", out);
            put_html(out, row[c]);
            (void)fputs("</td>", out);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table>\n", out);
    for (size_t i = 0; i < agent->n_flows; i++) {
        (void)fputs("<h2>", out);
        put_html(out, agent->flows[i].name);
        (void)fputs("</h2>\n<ul>\n", out);
        notes(out, &agent->flows[i], note_html);
        (void)fputs("</ul>\n", out);
    }
    (void)fputs("</body></html>\n", out);
}
