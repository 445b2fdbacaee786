#include "scrape.h"

#include "kflow.h"
#include "metric.h"
#include "report.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* A series for each partition of our lanes; -1: not known. */
static int64_t
part_age(const struct report_part *part, int64_t now_wall_ms)
{
    return view_age_ms(part, now_wall_ms);
}

static int64_t
part_true_lag(const struct report_part *part, int64_t now_wall_ms)
{
    (void)now_wall_ms;
    return report_true_lag(part);
}

static int64_t
part_read_lag(const struct report_part *part, int64_t now_wall_ms)
{
    (void)now_wall_ms;
    return report_read_lag(part);
}

static int64_t
part_committed_lag(const struct report_part *part, int64_t now_wall_ms)
{
    (void)now_wall_ms;
    return report_committed_lag(part);
}

static int64_t
part_open(const struct report_part *part, int64_t now_wall_ms)
{
    (void)now_wall_ms;
    return report_open(part);
}

static int64_t
part_held(const struct report_part *part, int64_t now_wall_ms)
{
    (void)now_wall_ms;
    return part->state == PART_HELD;
}

static const struct {
    const char *name;
    int64_t (*value)(const struct report_part *part, int64_t now_wall_ms);
    bool is_ms; /* shown in seconds */
    const char *help;
} part_rows[] = {
    { "kedge_partition_true_lag", part_true_lag, false,
        "Offsets of the source that the target has not acknowledged." },
    { "kedge_partition_read_lag", part_read_lag, false,
        "Offsets of the source that were not read yet." },
    { "kedge_partition_committed_lag", part_committed_lag, false,
        "Offsets of the source that a successor would read." },
    { "kedge_partition_open", part_open, false,
        "Offsets behind the last stable one: a transaction is open at the "
        "source." },
    { "kedge_partition_age_seconds", part_age, true,
        "Age, by record time, of the oldest record that was read and is not "
        "acknowledged; 0 when there is nothing to send." },
    { "kedge_partition_held", part_held, false,
        "1 while the partition waits for a person." },
};

static void
head(FILE *out, const char *name, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void
put_value(FILE *out, int64_t value, bool is_ms)
{
    if (is_ms)
        (void)fprintf(out, " %" PRId64 ".%03" PRId64 "\n", value / 1000,
            value % 1000);
    else
        (void)fprintf(out, " %" PRId64 "\n", value);
}

static void
part_sample(FILE *out, size_t row, const struct view_agent *agent,
    const struct view_flow *flow, const struct report_part *part)
{
    int64_t value = part_rows[row].value(part, agent->now_wall_ms);

    if (value < 0 || !view_is_ours(flow->report, part))
        return;
    (void)fprintf(out, "%s{flow=\"", part_rows[row].name);
    metric_label(out, flow->name);
    (void)fputs("\",topic=\"", out);
    metric_label(out, part->topic);
    (void)fprintf(out, "\",partition=\"%" PRId32 "\"}", part->partition);
    put_value(out, value, part_rows[row].is_ms);
}

static void
render_parts(FILE *out, const struct view_agent *agent)
{
    for (size_t row = 0; row < N(part_rows); row++) {
        head(out, part_rows[row].name, part_rows[row].help);
        for (size_t f = 0; f < agent->n_flows; f++) {
            const struct view_flow *flow = &agent->flows[f];

            for (size_t i = 0;
                 flow->report != NULL && i < flow->report->n_parts; i++)
                part_sample(out, row, agent, flow, &flow->report->parts[i]);
        }
    }
}

/* Which state a flow is in: 1 for that one, 0 for the others. */
static void
flow_states(FILE *out, const struct view_flow *flow)
{
    for (int state = 0; state < FLOW_N_STATES; state++) {
        bool is = flow->report != NULL && (int)flow->report->state == state;

        (void)fputs("kedge_flow_state{flow=\"", out);
        metric_label(out, flow->name);
        (void)fprintf(out, "\",state=\"%s\"} %d\n",
            report_flow_state((enum flow_state)state), is ? 1 : 0);
    }
}

static void
flow_ready(FILE *out, const struct view_flow *flow)
{
    (void)fputs("kedge_flow_ready{flow=\"", out);
    metric_label(out, flow->name);
    (void)fprintf(out, "\"} %d\n", flow->ready ? 1 : 0);
}

static const struct {
    const char *name;
    void (*samples)(FILE *out, const struct view_flow *flow);
    const char *help;
} flow_rows[] = {
    { "kedge_flow_state", flow_states,
        "1 for the state that the flow is in, 0 for every other." },
    { "kedge_flow_ready", flow_ready,
        "1 while the flow forwards what there is, as /readyz judges it." },
};

static void
render_flows(FILE *out, const struct view_agent *agent)
{
    for (size_t row = 0; row < N(flow_rows); row++) {
        head(out, flow_rows[row].name, flow_rows[row].help);
        for (size_t i = 0; i < agent->n_flows; i++)
            flow_rows[row].samples(out, &agent->flows[i]);
    }
}

static void
agent_build(FILE *out, const struct view_agent *agent)
{
    (void)agent;
    (void)fprintf(out,
        "kedge_build_info{version=\"%s\",librdkafka=\"%s\",patched=\"%s\"} "
        "1\n",
        KEDGE_VERSION, kflow_library_version(),
        kflow_library_patched() ? "yes" : "no");
}

static void
agent_policy(FILE *out, const struct view_agent *agent)
{
    (void)fprintf(out, "kedge_policy_info{sha256=\"%s\"} 1\n", agent->digest);
}

static void
agent_cpu(FILE *out, const struct view_agent *agent)
{
    struct rusage usage;
    int64_t ms;

    (void)agent;
    if (getrusage(RUSAGE_SELF, &usage) == -1)
        return;
    ms = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    (void)fputs("process_cpu_seconds_total", out);
    put_value(out, ms, true);
}

static void
agent_memory(FILE *out, const struct view_agent *agent)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128];
    char *end = line;

    (void)agent;
    if (file == NULL)
        return;
    if (fgets(line, sizeof line, file) != NULL) {
        (void)strtoll(line, &end, 10);
        (void)fprintf(out, "process_resident_memory_bytes %lld\n",
            strtoll(end, NULL, 10) * sysconf(_SC_PAGESIZE));
    }
    (void)fclose(file);
}

static void
agent_start(FILE *out, const struct view_agent *agent)
{
    (void)fputs("process_start_time_seconds", out);
    put_value(out, agent->started_wall_ms, true);
}

static const struct {
    const char *name, *kind;
    void (*sample)(FILE *out, const struct view_agent *agent);
    const char *help;
} agent_rows[] = {
    { "kedge_build_info", "gauge", agent_build,
        "Always 1; which kedge this is, and its Kafka library." },
    { "kedge_policy_info", "gauge", agent_policy,
        "Always 1; the digest of the policy file that is in force." },
    { "process_cpu_seconds_total", "counter", agent_cpu,
        "CPU time that the process has used." },
    { "process_resident_memory_bytes", "gauge", agent_memory,
        "Memory of the process that is in RAM." },
    { "process_start_time_seconds", "gauge", agent_start,
        "When the process began, seconds since 1970." },
};

void
scrape_render(FILE *out, const struct view_agent *agent)
{
    struct metric_set *sets = calloc(agent->n_flows + 1, sizeof *sets);

    for (size_t i = 0; i < N(agent_rows); i++) {
        (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", agent_rows[i].name,
            agent_rows[i].help, agent_rows[i].name, agent_rows[i].kind);
        agent_rows[i].sample(out, agent);
    }
    if (sets != NULL) {
        for (size_t i = 0; i < agent->n_flows; i++)
            sets[i] = (struct metric_set){ .flow = agent->flows[i].name,
                .metrics = agent->flows[i].metrics };
        metrics_render(out, sets, agent->n_flows);
        free(sets);
    }
    render_flows(out, agent);
    render_parts(out, agent);
}

void
scrape_document(FILE *out)
{
    (void)fputs(
        "# Metrics\n\nWhat `/metrics` shows, in Prometheus' text format.  "
        "`kedge help metrics` prints this page.\n\n## For each flow\n\nLabel "
        "`flow`; `kedge_flow_state` also has `state`.\n\n",
        out);
    metrics_document(out);
    for (size_t i = 0; i < N(flow_rows); i++)
        (void)fprintf(out, "| `%s` | gauge | %s |\n", flow_rows[i].name,
            flow_rows[i].help);
    (void)fputs("\n## For each partition\n\nLabels `flow`, `topic`, "
                "`partition`; of "
                "the lanes that this agent has.  A value that is not known is "
                "absent.\n\n| metric | kind | meaning |\n| --- | --- | --- |\n",
        out);
    for (size_t i = 0; i < N(part_rows); i++)
        (void)fprintf(out, "| `%s` | gauge | %s |\n", part_rows[i].name,
            part_rows[i].help);
    (void)fputs("\n## For the agent\n\n| metric | kind | meaning |\n"
                "| --- | --- | --- |\n",
        out);
    for (size_t i = 0; i < N(agent_rows); i++)
        (void)fprintf(out, "| `%s` | %s | %s |\n", agent_rows[i].name,
            agent_rows[i].kind, agent_rows[i].help);
}
