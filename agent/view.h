/* view.h - a running agent as JSON, in Kafka Connect's shape.
 *
 * What the admin socket shows is made from plain values that the agent fills
 * in: a line for the agent, one for each flow.  Here is the JSON; page.h has
 * the text, scrape.h the metrics.  What is not known is absent, never -1.
 *
 * Thread: the main thread.
 * Memory: JSON is the caller's; the values are borrowed for the call. */
#ifndef KEDGE_VIEW_H
#define KEDGE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_report;
struct json;
struct metrics;
struct report_part;

/* A flow at one moment: its newest report, and what is judged from it. */
struct view_flow {
    const char *name, *from, *to;
    const struct flow_report *report; /* NULL: it has not made one yet */
    const struct metrics *metrics;
    bool ready, starting;
    char why[400]; /* of not being ready: a clause, with the remedy if there
                    * is one */
    int64_t records_per_s, bytes_per_s;
};

/* The agent, and all its flows. */
struct view_agent {
    const char *name;
    const char *policy, *digest; /* path, and SHA-256 of what is in force */
    const char *note; /* of the last reload that was refused; NULL: none */
    bool edited;      /* the file is not the one in force any more */
    bool refused;     /* and it is the one that `note` speaks of */
    int64_t started_wall_ms, now_wall_ms;
    const struct view_flow *flows;
    size_t n_flows;
};

/* Sums over the partitions of our lanes. */
struct view_totals {
    size_t lanes_owned, parts_owned, held, waiting;
    bool lag_known;     /* of at least one partition */
    size_t lag_unknown; /* partitions whose lag is not known (yet) */
    int64_t true_lag;   /* of those that are known, and what is sure of the
                         * others */
    int64_t age_ms;     /* of the oldest; -1: not known, as when all there is
                         * to send was not read */
    int64_t in_flight_records, in_flight_bytes;
};

void view_totals(const struct flow_report *report, int64_t now_wall_ms,
    struct view_totals *totals);

/* Is the partition's lane one that this agent has? */
bool view_is_ours(const struct flow_report *report,
    const struct report_part *part);

/* now - the oldest record that is read and not acked, by record time; 0 when
 * there is nothing to send, -1 when it is not known. */
int64_t view_age_ms(const struct report_part *part, int64_t now_wall_ms);

/* GET /connectors/{flow}: the names of the clusters, and a task for each of
 * our lanes. */
struct json *view_info(const struct view_flow *flow);

/* GET /connectors/{flow}/status: Connect's members, and one named "kedge" with
 * everything that Connect has no place for. */
struct json *view_status(const struct view_agent *agent,
    const struct view_flow *flow);

/* GET /connectors?expand=status: the status of each flow, by its name. */
struct json *view_all(const struct view_agent *agent);

#endif
