/* health.h - is a flow forwarding?  Judged by its reports alone.
 *
 * A process that runs says nothing about the records.  A flow is ready while
 * it runs (or an operator has paused it, and both clusters answer), the policy selects partitions, none
 * of those that are ours is held, each that has records to send had one
 * acknowledged in the last 30 s, and no lane takes longer than that to be taken
 * over, or to write down how far it is.  It is live while its thread makes reports, whatever the clusters do: a
 * restart would not mend those.
 *
 * Thread: the main thread.
 * Memory: 24 bytes for each partition of the newest report, 8 for each lane.
 * Cost:   health_note() O(partitions) while their order stays. */
#ifndef KEDGE_HEALTH_H
#define KEDGE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTH_LIVE_MS 10000
#define HEALTH_STUCK_MS 30000
#define HEALTH_START_MS 60000

struct flow_report;
struct health;

struct health *health_new(int64_t now_ms); /* NULL without memory */
void health_free(struct health *health);   /* NULL is fine */

/* A newer report, and the flow's counters at the same moment.  Without memory
 * the partitions count as new. */
void health_note(struct health *health, const struct flow_report *report,
    int64_t records_acked, int64_t bytes_acked, int64_t now_ms);

/* A report in the last 10 s, or made less than 10 s ago. */
bool health_live(const struct health *health, int64_t now_ms);

/* `report` is the one that was noted last, NULL before the first.  False with
 * the reason, the first that was found, as a clause. */
bool health_ready(const struct health *health, const struct flow_report *report,
    int64_t now_ms, char *why, size_t size);

/* Not running yet, or without its topics, and begun less than a minute ago. */
bool health_starting(const struct health *health,
    const struct flow_report *report, int64_t now_ms);

/* Over the last ten reports. */
int64_t health_records_per_s(const struct health *health);
int64_t health_bytes_per_s(const struct health *health);

#endif
