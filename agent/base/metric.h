/* metric.h - the table of counters, gauges and histograms; renders the page.
 *
 * One row a metric: the enum, the page and docs/metrics.md come from it.  Each
 * flow has a set of its own, and so has the process.  Figures that exist once
 * for each partition (lags, age) are not here: the report of a flow has them.
 *
 * Thread: metric_add() and metric_set() from any, without a lock; rendering on
 *         the main thread.
 * Memory: metrics_new() takes it all.   Cost: one relaxed atomic addition. */
#ifndef KEDGE_METRIC_H
#define KEDGE_METRIC_H

#include <stdint.h>
#include <stdio.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

/* id, name, kind, help.  Names follow prometheus.io/docs/practices/naming. */
#define METRICS(ROW)                                                           \
    ROW(RECORDS_READ, "kedge_records_read_total", METRIC_COUNTER,              \
        "Records read from the source cluster.")                               \
    ROW(BYTES_READ, "kedge_bytes_read_total", METRIC_COUNTER,                  \
        "Bytes of keys, values and headers read from the source cluster.")     \
    ROW(BYTES_FETCHED, "kedge_bytes_fetched_total", METRIC_COUNTER,            \
        "Bytes of the source cluster's answers as they came, compressed or "   \
        "not; what found no room unpacked is fetched, and counted, again.")    \
    ROW(RECORDS_ACKED, "kedge_records_acked_total", METRIC_COUNTER,            \
        "Records that the target cluster has acknowledged with acks=all.")     \
    ROW(BYTES_ACKED, "kedge_bytes_acked_total", METRIC_COUNTER,                \
        "Bytes of keys, values and headers that the target acknowledged.")     \
    ROW(RECORDS_REPEATED, "kedge_records_repeated_total", METRIC_COUNTER,      \
        "Records that a client of the target was given again, since nobody "   \
        "knew whether the first sending arrived: the most that the target "    \
        "may hold twice, often far more than it does.")                        \
    ROW(RECORDS_FAILED, "kedge_records_failed_total", METRIC_COUNTER,          \
        "Records that the target refused for good.")                           \
    ROW(OFFSETS_LOST, "kedge_source_offsets_lost_total", METRIC_COUNTER,       \
        "Source offsets that were gone before kedge could read them, and "     \
        "those of a truncated log that were written anew in front of the "     \
        "position.")                                                           \
    ROW(IN_FLIGHT_RECORDS, "kedge_in_flight_records", METRIC_GAUGE,            \
        "Records read and not acknowledged yet.")                              \
    ROW(IN_FLIGHT_BYTES, "kedge_in_flight_bytes", METRIC_GAUGE,                \
        "Bytes read and not acknowledged yet.")                                \
    ROW(LEAKED_BYTES, "kedge_leaked_bytes", METRIC_GAUGE,                      \
        "Bytes held by clients that had to be abandoned.")                     \
    ROW(COMMITS, "kedge_ledger_commits_total", METRIC_COUNTER,                 \
        "Transactions committed to the ledger.")                               \
    ROW(COMMITS_FAILED, "kedge_ledger_commits_failed_total", METRIC_COUNTER,   \
        "Transactions on the ledger that failed or whose outcome is unknown.") \
    ROW(TAKEOVERS, "kedge_lane_takeovers_total", METRIC_COUNTER,               \
        "Lanes taken over.")                                                   \
    ROW(FENCED, "kedge_lane_fenced_total", METRIC_COUNTER,                     \
        "Lane producers that the target fenced off.")                          \
    ROW(LANES_OWNED, "kedge_lanes_owned", METRIC_GAUGE,                        \
        "Lanes that this agent owns: not those that it is taking over, or "    \
        "that are held.")                                                      \
    ROW(PARTITIONS_OWNED, "kedge_partitions_owned", METRIC_GAUGE,              \
        "Source partitions that this agent forwards: those of the lanes that " \
        "it owns.")                                                            \
    ROW(PARTITIONS_HELD, "kedge_partitions_held", METRIC_GAUGE,                \
        "Source partitions that wait for a person, or whose lane does.")       \
    ROW(LAST_ACK, "kedge_last_ack_timestamp_seconds", METRIC_GAUGE,            \
        "When the target last acknowledged a record, seconds since 1970; 0 "   \
        "before the first.")                                                   \
    ROW(SOURCE_UP, "kedge_source_up", METRIC_GAUGE,                            \
        "1 while the source cluster answers; 0 before its first answer, and "  \
        "once no connection to it has been up for a second.")                  \
    ROW(TARGET_UP, "kedge_target_up", METRIC_GAUGE,                            \
        "1 while the target cluster answers; 0 before its first answer, once " \
        "no connection to it has been up for a second, and once it has not "   \
        "answered a member of the flow's group for 8 seconds.")

#define METRIC_AS_ENUM(id, name, kind, help) METRIC_##id,
enum metric { METRICS(METRIC_AS_ENUM) METRIC_N };
#undef METRIC_AS_ENUM

struct metrics;

struct metrics *metrics_new(void); /* all zero; NULL without memory */
void metrics_free(struct metrics *metrics);

/* NULL as the set is fine: nothing is counted. */
void metric_add(struct metrics *metrics, enum metric id, int64_t n);
void metric_set(struct metrics *metrics, enum metric id, int64_t value);
int64_t metric_get(const struct metrics *metrics, enum metric id);

struct metric_set {
    const char *flow; /* the label; escaped when rendered */
    const struct metrics *metrics;
};

/* Prometheus' text format 0.0.4: each metric once, a sample for each set. */
void metrics_render(FILE *out, const struct metric_set *sets, size_t n_sets);

/* Label values: backslash, quote and line break escaped. */
void metric_label(FILE *out, const char *text);

/* docs/metrics.md, as Markdown rows; the build compares it with the file. */
void metrics_document(FILE *out);

#endif
