/* report.h - what a flow says of itself, as plain values.
 *
 * A flow makes one every second and whenever its state changes, and leaves it
 * where the main thread takes it; nobody looks into a running flow.
 *
 * Lags, for one partition, in offsets:
 *   true      = source_end - acked_next, 0 when nothing is unread or in flight
 *   read      = source_end - read_next
 *   committed = source_end - ledger_next
 *
 * Thread: made on the flow's thread, then owned by whoever took it.
 * Memory: one block with everything in it; report_free(). */
#ifndef KEDGE_REPORT_H
#define KEDGE_REPORT_H

#include "ledger.h"

#include <stddef.h>
#include <stdint.h>

#define REPORT_UNKNOWN INT64_C(-1)
#define REPORT_TEXT_MAX 384

enum part_state {
    PART_WAITING, /* its lane, its entry or its target topic is not ready */
    PART_RUNNING, /* records move, or would */
    PART_PAUSED,  /* an operator paused the flow */
    PART_HELD,    /* a person has to act, for it or for its lane; `reason`
                   * says what to do */
    PART_N_STATES,
};

enum lane_state {
    LANE_ELSEWHERE, /* not assigned to this agent */
    LANE_LOST,      /* it was, and the group has lost this agent: nobody knows
                     * whose it is, until the group lets us in again */
    LANE_TAKING,    /* being taken over */
    LANE_OWNED,     /* ours: records and entries move */
    LANE_STANDING,  /* ours, but the ledger takes none of its entries: no more
                     * is read until it does */
    LANE_FINISHING, /* to be given up: what is on the wire is waited for */
    LANE_RETAKING,  /* lost by a fault; to be taken over again after a while */
    LANE_HELD,      /* a person has to act; also while it is tried again */
    LANE_N_STATES,
};

enum flow_state {
    FLOW_IDLE,       /* made, nothing opened */
    FLOW_CONNECTING, /* clusters, topics and the ledger are being reached */
    FLOW_RUNNING,    /* a member: what it is given is forwarded */
    FLOW_PAUSED,     /* by an operator; lanes are kept */
    FLOW_HELD,       /* a person has to act; lanes are kept */
    FLOW_DRAINING,   /* no more reads, waiting for the last acks */
    FLOW_STOPPED,    /* final */
    FLOW_N_STATES,
};

struct report_part {
    char topic[LEDGER_NAME_MAX];
    char target[LEDGER_NAME_MAX];
    char reason[REPORT_TEXT_MAX]; /* of PART_HELD and PART_WAITING, and of
                                   * PART_RUNNING while the target takes none */
    int32_t partition, lane;
    enum part_state state;
    int64_t source_end;  /* last stable offset, REPORT_UNKNOWN before asked */
    int64_t source_high; /* high watermark: more than source_end while a
                          * transaction is open at the source */
    int64_t read_next, acked_next, ledger_next; /* REPORT_UNKNOWN: none yet */
    int64_t seen_next; /* one past the newest offset that was ever read or sent
                        * here, 0: none; may be beyond read_next */
    /* Read, and not of the unbroken run of acks yet. */
    int64_t in_flight_records, in_flight_bytes;
    int64_t oldest_wall_ms; /* record time of the oldest one that was read and
                             * is not acked; REPORT_UNKNOWN: none */
    int64_t records, bytes; /* forwarded since the beginning of the ledger */
};

struct report_lane {
    enum lane_state state;
    char reason[REPORT_TEXT_MAX];
    int64_t term; /* REPORT_UNKNOWN unless owned */
};

/* A source topic that the policy speaks of and that is not forwarded; the
 * reason is a clause.  `quiet`: nobody has to look at it, for it is excluded on
 * purpose or only waits, which its partitions say. */
struct report_skip {
    bool quiet;
    char topic[LEDGER_NAME_MAX];
    char reason[REPORT_TEXT_MAX];
};

struct flow_report {
    char flow[LEDGER_ALIAS_MAX];
    char from[LEDGER_ALIAS_MAX], to[LEDGER_ALIAS_MAX];
    char agent[LEDGER_AGENT_MAX];
    enum flow_state state;
    char reason[REPORT_TEXT_MAX]; /* of the state: what, and what to do */
    int64_t wall_ms, mono_ms, state_since_wall_ms;
    int64_t last_ack_mono_ms;  /* REPORT_UNKNOWN: none yet */
    bool source_up, target_up; /* false before the first answer, too */
    char source_reason[REPORT_TEXT_MAX]; /* why it is down; empty while it is */
    char target_reason[REPORT_TEXT_MAX]; /* up, or was not heard of yet */
    bool at_source;          /* where this agent stands: it produces remotely */
    int64_t in_flight_bytes; /* with what closed clients have not given back */
    int64_t max_in_flight_bytes;
    int64_t leaked_bytes; /* of clients that were left behind, for good */
    size_t n_selected;    /* partitions that the policy selects and the source
                        * has, on whatever agent; `parts` are ours */
    size_t n_lanes, n_parts, n_skips;
    struct report_lane *lanes;
    struct report_part *parts;
    struct report_skip *skips;
};

/* Room for everything in one block; zeroed.  NULL without memory. */
struct flow_report *report_new(size_t n_lanes, size_t n_parts, size_t n_skips);
void report_free(struct flow_report *report); /* NULL is fine */

/* In offsets, never below 0; REPORT_UNKNOWN when a figure it needs is. */
int64_t report_true_lag(const struct report_part *part);
int64_t report_least_lag(const struct report_part *part); /* true lag, or what
                                                          * is sure of it */
int64_t report_read_lag(const struct report_part *part);
int64_t report_committed_lag(const struct report_part *part);
/* What lies behind the end while a transaction is open at the source. */
int64_t report_open(const struct report_part *part);

/* How many lanes this agent owns: records move, or the last ones are waited
 * for.  How many partitions those have; and how many, of whatever lane of
 * ours, wait for a person. */
size_t report_lanes_owned(const struct flow_report *report);
size_t report_parts_owned(const struct flow_report *report);
size_t report_parts_held(const struct flow_report *report);

/* "running", "held", ...; constants. */
const char *report_part_state(enum part_state state);
const char *report_lane_state(enum lane_state state);
const char *report_flow_state(enum flow_state state);

#endif
