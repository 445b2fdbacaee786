/* flowlane.h - what a flow keeps for each lane: its queue, and its client at
 * the sink, which is opened, given up and begun again; and who may have how
 * much of max_in_flight (flowshare.c).
 *
 * A part of flowset.h, for those who include that.
 *
 * Thread: the flow's. */
#ifndef KEDGE_FLOWLANE_H
#define KEDGE_FLOWLANE_H

#include "flow.h"
#include "pace.h"
#include "parts.h"

/* The records of one lane that were read and not given to the sink yet, and
 * what the sink has of it.  A cost is in bytes: record_bytes() of each record
 * and FLOW_RECORD_COST for its books. */
struct flow_lane {
    struct record *ring; /* `room` slots, a power of two; 0: none yet */
    size_t head, n, room;
    int64_t queued_cost; /* of what is in the ring */
    int64_t sink_cost;   /* of what the sink has and has not acknowledged */
    int64_t sink_bytes;  /* the same without the books */
    int64_t acked_bytes; /* since the rate was last looked at */
    /* set once a second by flowshare_look() */
    int64_t rate;        /* bytes a second that the target acknowledges */
    int64_t quota;       /* what sink_bytes may come to */
    int64_t cost_most;   /* what sink_cost may come to */
    int32_t reading;     /* partitions that the source is reading */
    int32_t quiet_s;     /* so long the sink has had some and no ack came */
    int32_t in_way_s;    /* so long nobody was read because of its queue */
    int32_t slow_s;      /* so long yet nothing of it may wait */
    bool stuck;          /* stands or is slow: not read, its queue is empty */
    int64_t quiet_at;    /* flow->read_bytes when it was not quiet, last */
    int64_t batch_bytes; /* as the sink was opened with; 0: its default */
    bool open;           /* the sink has a client for it */
    bool resend;         /* its client failed: nothing of the lane is read or
                          * sent, and it begins again at resend_ms */
    bool awaits;         /* with `resend`: once the sink has nothing of it */
    int64_t resend_ms;
    struct backoff backoff; /* of resend_ms; an ack starts it anew */
    int ends_owed; /* questions for its ends that are not answered yet */
};

static inline int64_t
flow_cost_of(const struct record *record)
{
    return record_bytes(record) + FLOW_RECORD_COST;
}

/* To the end of the queue, the hold included; false without memory. */
bool flowlane_push(struct flow *flow, struct flow_lane *lane,
    struct record *record);
/* Takes off the first, which was sent or released; `cost` is what it was. */
void flowlane_pop(struct flow *flow, struct flow_lane *lane, int64_t cost);
/* Its client cannot go on; flowlane_resend() begins again when that is due. */
void flowlane_failed(struct flow *flow, int32_t lane, const struct err *err);
/* `moving` false: only lanes that are being given up. */
bool flowlane_resend(struct flow *flow, bool moving);
void flowlane_shut(struct flow *flow, int32_t lane); /* client and queue */
/* As lanes_ops wants them. */
void flowlane_open(void *ctx, struct part *part);
void flowlane_close(void *ctx, struct part *part);
void flowlane_drop(void *ctx, int32_t lane);
/* A person said: try again what failed. */
void flowlane_retry(struct flow *flow);
/* Drops the queue and reads no more of the lane; reads it again behind what
 * the sink was given. */
void flowlane_unread(struct flow *flow, int32_t lane);
void flowlane_reread(struct flow *flow, int32_t lane);
void flowlane_free(struct flow *flow);

/* flowshare.c.  Is there room for more of the source's records? */
bool flowshare_may_read(const struct flow *flow);
int64_t flowshare_leaked(const struct flow *flow); /* by clients left behind */
void flowshare_look(struct flow *flow, int64_t now_ms); /* once a second */
/* A lane that is slow has all it may have: it is not read for now. */
void flowshare_give_way(struct flow *flow, int32_t lane);

#endif
