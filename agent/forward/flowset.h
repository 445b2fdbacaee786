/* flowset.h - what flow.c, flowmove.c, flowtopics.c and flowreport.c share: a
 * flow and its lanes' queues.  No other file includes this.
 *
 * Three kinds of member, and no fourth:
 *   fixed    set by flow_new(), read by anyone afterwards
 *   own      touched by the flow's thread alone
 *   shared   atomic, or a queue that locks itself */
#ifndef KEDGE_FLOWSET_H
#define KEDGE_FLOWSET_H

#include "affinity.h"
#include "flow.h"
#include "lanes.h"
#include "pace.h"
#include "parts.h"
#include "queue.h"

#include <stdatomic.h>

#define FLOW_NEXT_MAX 256 /* records asked of the source at a time */

/* The records of one lane that were read and not given to the sink yet, and
 * what the sink has of it. */
struct flow_lane {
    struct record *ring; /* room slots, a power of two */
    size_t head, n, room;
    int64_t queued_cost; /* of what is in the ring */
    int64_t sink_cost;   /* of what the sink has and has not acknowledged */
    int64_t acked_cost;  /* since the rate was last looked at */
    int64_t rate;        /* cost a second that the target acknowledges */
    int64_t quota;       /* what the sink may have */
    int64_t batch_bytes; /* as the sink was opened with */
    bool open;           /* the sink has a client for it */
    bool resend;         /* its client failed: begin again at resend_ms */
    int64_t resend_ms;
    struct backoff backoff;
};

struct flow {
    /* fixed */
    struct flow_options o;
    char name[LEDGER_ALIAS_MAX], agent[LEDGER_AGENT_MAX];
    char from[LEDGER_ALIAS_MAX], to[LEDGER_ALIAS_MAX];
    char separator[LEDGER_ALIAS_MAX], rename[48];
    char ledger[LEDGER_NAME_MAX];
    struct flow_inbox *inbox;
    pthread_t thread;
    bool started;
    /* own */
    struct affinity owner;
    enum flow_state state;
    char reason[REPORT_TEXT_MAX];
    int64_t state_since_wall_ms;
    bool paused, failed; /* by an operator; by a record (`reason`) */
    struct parts *parts; /* from the moment the ledger is known */
    struct lanes *lanes;
    struct flow_lane *lane;
    int32_t n_lanes;
    char source_cluster_id[LEDGER_ID_MAX], ledger_id[LEDGER_ID_MAX];
    bool ledger_asked, ledger_known, listing, listed, joined;
    bool source_up, target_up, left;
    int64_t source_down_ms; /* since when, 0: it is up */
    int64_t cost;           /* read and not acknowledged, books included */
    struct pace pace;
    int64_t read_at_ms; /* the pace says: not before */
    int64_t refresh_at_ms, ends_at_ms, report_at_ms, rate_at_ms;
    int64_t last_ack_ms;
    bool draining;
    int64_t drain_by_ms;
    struct record next[FLOW_NEXT_MAX];
    /* shared */
    struct queue *orders;                 /* main thread -> flow */
    atomic_int drain;                     /* 1: drain, 2: do not wait */
    _Atomic(struct flow_report *) report; /* flow -> main thread */
    atomic_bool stopped, drained;
};

/* flow.c: the only place that changes flow->state. */
void flow_enter(struct flow *flow, enum flow_state next, const char *why);

/* flowmove.c: records.  Each gives whether it did anything. */
bool flowmove_read(struct flow *flow, int64_t now_ms);
bool flowmove_send(struct flow *flow);
bool flowmove_acks(struct flow *flow, int64_t now_ms);
void flowmove_rates(struct flow *flow, int64_t now_ms);
/* What the sink says, on this thread. */
void flowmove_done(struct flow *flow, const struct sink_done *done);
void flowmove_failed(struct flow *flow, int32_t lane, const struct err *err);
/* As lanes_ops wants them. */
void flowmove_open(void *ctx, struct part *part);
void flowmove_close(void *ctx, struct part *part);
void flowmove_drop(void *ctx, int32_t lane);
/* A person said: try again what failed. */
void flowmove_retry(struct flow *flow);
void flowmove_free(struct flow *flow);

/* flowtopics.c: topics, ends, and where to begin. */
bool flowtopics_events(struct flow *flow, int64_t now_ms);
void flowtopics_tick(struct flow *flow, int64_t now_ms);
void flowtopics_resolve(void *ctx, struct part *part, enum start start,
    int64_t wall_ms);
void flowtopics_ask_written(void *ctx, int32_t lane);

/* flowreport.c */
void flowreport_publish(struct flow *flow, int64_t now_ms);

#endif
