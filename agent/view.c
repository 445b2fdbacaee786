#include "view.h"

#include "json.h"
#include "report.h"

bool
view_is_ours(const struct flow_report *report, const struct report_part *part)
{
    return part->lane >= 0 && (size_t)part->lane < report->n_lanes &&
           report->lanes[part->lane].state != LANE_ELSEWHERE;
}

int64_t
view_age_ms(const struct report_part *part, int64_t now_wall_ms)
{
    if (part->oldest_wall_ms != REPORT_UNKNOWN)
        return now_wall_ms > part->oldest_wall_ms
                   ? now_wall_ms - part->oldest_wall_ms
                   : 0;
    return report_true_lag(part) == 0 ? 0 : -1;
}

void
view_totals(const struct flow_report *report, int64_t now_wall_ms,
    struct view_totals *totals)
{
    bool unread = false; /* something that is not read has an age, too */

    *totals = (struct view_totals){ .age_ms = -1,
        .lanes_owned = report_lanes_owned(report),
        .parts_owned = report_parts_owned(report),
        .held = report_parts_held(report) };
    for (size_t i = 0; i < report->n_parts; i++) {
        const struct report_part *part = &report->parts[i];
        int64_t lag = report_true_lag(part);
        int64_t age_ms = view_age_ms(part, now_wall_ms);

        if (!view_is_ours(report, part))
            continue;
        totals->waiting += part->state == PART_WAITING;
        totals->in_flight_records += part->in_flight_records;
        totals->in_flight_bytes += part->in_flight_bytes;
        totals->true_lag += report_least_lag(part);
        totals->lag_known = totals->lag_known || lag != REPORT_UNKNOWN;
        totals->lag_unknown += lag == REPORT_UNKNOWN;
        unread = unread || (lag != 0 && age_ms < 0);
        if (age_ms > totals->age_ms)
            totals->age_ms = age_ms;
    }
    if (unread && totals->age_ms == 0)
        totals->age_ms = -1;
}

/* The states that Kafka Connect knows. */
static const char *
connect_state(const struct flow_report *report)
{
    if (report == NULL)
        return "UNASSIGNED";
    switch (report->state) {
    case FLOW_IDLE:
    case FLOW_CONNECTING:
        return "UNASSIGNED";
    case FLOW_RUNNING:
        return "RUNNING";
    case FLOW_PAUSED:
        return "PAUSED";
    case FLOW_HELD:
        return "FAILED";
    case FLOW_DRAINING:
    case FLOW_STOPPED:
    case FLOW_N_STATES:
        return "STOPPED";
    }
    return "UNASSIGNED";
}

struct json *
view_info(const struct view_flow *flow)
{
    struct json *json = json_new_object();
    struct json *config = json_new_object();
    struct json *tasks = json_new_array();

    for (size_t i = 0; flow->report != NULL && i < flow->report->n_lanes; i++) {
        struct json *task;

        if (flow->report->lanes[i].state == LANE_ELSEWHERE)
            continue;
        task = json_new_object();
        json_put_text(task, "connector", flow->name);
        json_put_int(task, "task", (int64_t)i);
        json_put(tasks, NULL, &task);
    }
    json_put_text(config, "name", flow->name);
    json_put_text(config, "from", flow->from);
    json_put_text(config, "to", flow->to);
    json_put_text(json, "name", flow->name);
    json_put(json, "config", &config);
    json_put(json, "tasks", &tasks);
    json_put_text(json, "type", "source");
    return json;
}

static void
put_known(struct json *json, const char *key, int64_t number)
{
    if (number != REPORT_UNKNOWN)
        json_put_int(json, key, number);
}

static void
put_reason(struct json *json, const char *reason)
{
    if (reason[0] != '\0')
        json_put_text(json, "reason", reason);
}

/* A task of Connect is a lane here. */
static struct json *
make_task(const struct flow_report *report, size_t i)
{
    const struct report_lane *lane = &report->lanes[i];
    struct json *json = json_new_object();

    json_put_int(json, "id", (int64_t)i);
    json_put_text(json, "worker_id", report->agent);
    if (lane->state == LANE_HELD) {
        json_put_text(json, "state", "FAILED");
        json_put_text(json, "trace", lane->reason);
    } else if (lane->state >= LANE_OWNED && lane->state <= LANE_FINISHING) {
        json_put_text(json, "state",
            report->state == FLOW_PAUSED ? "PAUSED" : "RUNNING");
    } else {
        json_put_text(json, "state", "UNASSIGNED");
    }
    return json;
}

static struct json *
make_lane(const struct report_lane *lane, size_t i)
{
    struct json *json = json_new_object();

    json_put_int(json, "lane", (int64_t)i);
    json_put_text(json, "state", report_lane_state(lane->state));
    put_known(json, "term", lane->term);
    put_reason(json, lane->reason);
    return json;
}

static struct json *
make_part(const struct flow_report *report, const struct report_part *part,
    int64_t now_wall_ms)
{
    struct json *json = json_new_object();

    json_put_text(json, "topic", part->topic);
    json_put_int(json, "partition", part->partition);
    json_put_int(json, "lane", part->lane);
    json_put_text(json, "target", part->target);
    json_put_text(json, "state",
        view_is_ours(report, part) ? report_part_state(part->state)
                                   : "elsewhere");
    put_reason(json, part->reason);
    put_known(json, "source_end", part->source_end);
    put_known(json, "read_next", part->read_next);
    put_known(json, "acked_next", part->acked_next);
    put_known(json, "ledger_next", part->ledger_next);
    put_known(json, "true_lag", report_true_lag(part));
    put_known(json, "read_lag", report_read_lag(part));
    put_known(json, "committed_lag", report_committed_lag(part));
    put_known(json, "open", report_open(part));
    put_known(json, "age_ms", view_age_ms(part, now_wall_ms));
    json_put_int(json, "in_flight_records", part->in_flight_records);
    json_put_int(json, "in_flight_bytes", part->in_flight_bytes);
    json_put_int(json, "records", part->records);
    json_put_int(json, "bytes", part->bytes);
    return json;
}

static struct json *
make_skips(const struct flow_report *report)
{
    struct json *array = json_new_array();

    for (size_t i = 0; i < report->n_skips; i++) {
        struct json *json = json_new_object();

        json_put_text(json, "topic", report->skips[i].topic);
        json_put_text(json, "reason", report->skips[i].reason);
        json_put(array, NULL, &json);
    }
    return array;
}

static void
put_arrays(struct json *json, const struct flow_report *report,
    int64_t now_wall_ms)
{
    struct json *lanes = json_new_array();
    struct json *parts = json_new_array();
    struct json *skips = make_skips(report);

    for (size_t i = 0; i < report->n_lanes; i++) {
        struct json *lane = make_lane(&report->lanes[i], i);

        json_put(lanes, NULL, &lane);
    }
    for (size_t i = 0; i < report->n_parts; i++) {
        struct json *part = make_part(report, &report->parts[i], now_wall_ms);

        json_put(parts, NULL, &part);
    }
    json_put(json, "lanes", &lanes);
    json_put(json, "partitions", &parts);
    json_put(json, "skipped", &skips);
}

static void
put_totals(struct json *json, const struct flow_report *report,
    int64_t now_wall_ms)
{
    struct view_totals totals;

    view_totals(report, now_wall_ms, &totals);
    json_put_int(json, "lanes_owned", (int64_t)totals.lanes_owned);
    json_put_int(json, "partitions_owned", (int64_t)totals.parts_owned);
    json_put_int(json, "partitions_selected", (int64_t)report->n_selected);
    json_put_int(json, "partitions_held", (int64_t)totals.held);
    if (totals.lag_known)
        json_put_int(json, "true_lag", totals.true_lag);
    json_put_int(json, "partitions_lag_unknown", (int64_t)totals.lag_unknown);
    put_known(json, "age_ms", totals.age_ms);
    json_put_int(json, "in_flight_records", totals.in_flight_records);
    json_put_int(json, "in_flight_bytes", report->in_flight_bytes);
    json_put_int(json, "max_in_flight_bytes", report->max_in_flight_bytes);
    json_put_int(json, "leaked_bytes", report->leaked_bytes);
}

/* All that Connect has no place for. */
static struct json *
make_kedge(const struct view_agent *agent, const struct view_flow *flow)
{
    const struct flow_report *report = flow->report;
    struct json *json = json_new_object();

    json_put_text(json, "from", flow->from);
    json_put_text(json, "to", flow->to);
    json_put_text(json, "policy", agent->policy);
    json_put_text(json, "policy_sha256", agent->digest);
    json_put_bool(json, "policy_edited", agent->edited);
    json_put_bool(json, "ready", flow->ready);
    if (!flow->ready)
        json_put_text(json, "not_ready", flow->why);
    if (report == NULL)
        return json;
    json_put_text(json, "state", report_flow_state(report->state));
    put_reason(json, report->reason);
    json_put_text(json, "placement", report->at_source ? "source" : "target");
    json_put_int(json, "state_age_ms",
        agent->now_wall_ms - report->state_since_wall_ms);
    json_put_int(json, "report_age_ms", agent->now_wall_ms - report->wall_ms);
    if (report->last_ack_mono_ms != REPORT_UNKNOWN)
        json_put_int(json, "last_ack_age_ms",
            report->mono_ms - report->last_ack_mono_ms);
    json_put_bool(json, "source_up", report->source_up);
    json_put_bool(json, "target_up", report->target_up);
    if (report->source_reason[0] != '\0')
        json_put_text(json, "source_reason", report->source_reason);
    if (report->target_reason[0] != '\0')
        json_put_text(json, "target_reason", report->target_reason);
    json_put_int(json, "records_per_second", flow->records_per_s);
    json_put_int(json, "bytes_per_second", flow->bytes_per_s);
    put_totals(json, report, agent->now_wall_ms);
    put_arrays(json, report, agent->now_wall_ms);
    return json;
}

struct json *
view_status(const struct view_agent *agent, const struct view_flow *flow)
{
    const struct flow_report *report = flow->report;
    struct json *json = json_new_object();
    struct json *connector = json_new_object();
    struct json *tasks = json_new_array();
    struct json *kedge = make_kedge(agent, flow);

    json_put_text(connector, "state", connect_state(report));
    json_put_text(connector, "worker_id", agent->name);
    if (report != NULL && report->state == FLOW_HELD)
        json_put_text(connector, "trace", report->reason);
    for (size_t i = 0; report != NULL && i < report->n_lanes; i++) {
        struct json *task;

        if (report->lanes[i].state == LANE_ELSEWHERE)
            continue;
        task = make_task(report, i);
        json_put(tasks, NULL, &task);
    }
    json_put_text(json, "name", flow->name);
    json_put(json, "connector", &connector);
    json_put(json, "tasks", &tasks);
    json_put_text(json, "type", "source");
    json_put(json, "kedge", &kedge);
    return json;
}

struct json *
view_all(const struct view_agent *agent)
{
    struct json *json = json_new_object();

    for (size_t i = 0; i < agent->n_flows; i++) {
        struct json *status = view_status(agent, &agent->flows[i]);
        struct json *entry = json_new_object();

        json_put(entry, "status", &status);
        json_put(json, agent->flows[i].name, &entry);
    }
    return json;
}
