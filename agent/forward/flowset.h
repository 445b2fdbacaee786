/* flowset.h - what flow.c and flow*.c share: a flow.  Beside them only the
 * test of flows includes this.
 *
 * Three kinds of member, and no fourth:
 *   fixed    set by flow_new(), read by anyone afterwards
 *   own      touched by the flow's thread alone
 *   shared   atomic, or a queue that locks itself */
#ifndef KEDGE_FLOWSET_H
#define KEDGE_FLOWSET_H

#include "affinity.h"
#include "flow.h"
#include "flowlane.h"
#include "lanes.h"
#include "pace.h"
#include "queue.h"

#include <stdatomic.h>

#define FLOW_NEXT_MAX 256  /* records asked of the source at a time */
#define FLOW_NEXT_PACED 16 /* with a rate limit: no large bursts */
#define FLOW_AGAIN_MS 2000 /* until what a cluster did not say is asked again */

/* What was heard of a cluster last. */
enum flow_link { FLOW_LINK_UNKNOWN, FLOW_LINK_UP, FLOW_LINK_DOWN };

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
    int64_t said_ms, said; /* the log was told so many reasons since then */
    bool paused, failed;   /* by an operator; by a record (`reason`) */
    char none[REPORT_TEXT_MAX];         /* why no topic is forwarded; empty */
    char group_reason[REPORT_TEXT_MAX]; /* why it cannot be joined; empty */
    bool group_refuses;                 /* of that: a person has to act */
    struct parts *parts; /* with `lanes` from the moment the ledger is known */
    struct lanes *lanes;
    struct flow_lane *lane;        /* n_lanes */
    int32_t n_lanes;               /* as the ledger has partitions */
    char ledger_id[LEDGER_ID_MAX]; /* of the topic; empty: not told */
    bool ledger_asked;             /* ensure_ledger() is under way */
    bool ledger_known;             /* it was found */
    bool ledger_gone;     /* and was deleted since: an operator says restart */
    int ledger_missed;    /* answers in a row that there is none */
    int64_t out_ms;       /* of the group, though the target answers; 0: in */
    bool listing, listed; /* refresh() is under way; a list was one that the
                           * lanes could start with */
    bool brief;           /* it asks nothing of the target's topics */
    int64_t lists;        /* so many times refresh() was called */
    int64_t list_ms;      /* when, the last time */
    int64_t brief_at_ms;  /* a brief one is due; 0: none */
    bool joined, member;  /* as lanes_joined() says; and the group let us in */
    bool left; /* the group, for want of source or ledger, until it is back */
    enum flow_link source_link, target_link;
    bool heard;  /* the group is answered by the target */
    bool silent; /* it is not: the target is down until an answer or an ack */
    struct flow_away {
        enum err_kind said;        /* what the log was told */
        char why[REPORT_TEXT_MAX]; /* the newest reason */
    } source_away, target_away;    /* of FLOW_LINK_DOWN */
    int64_t source_down_ms;        /* since when, 0: it is up */
    int64_t cost;                  /* of all lanes: queued_cost and sink_cost */
    int64_t queued_cost;           /* of all lanes */
    int64_t read_bytes;            /* ever */
    struct pace pace;
    int64_t read_at_ms; /* the pace says: not before */
    /* When each is due next; 0: at once. */
    int64_t control_at_ms, refresh_at_ms, ends_at_ms, report_at_ms, share_at_ms;
    int64_t last_ack_ms; /* REPORT_UNKNOWN: none yet */
    /* By the sink's present poll(); in this turn. */
    int64_t acked_records, acked_bytes;
    bool acked, opened;
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
/* One turn of the flow's thread; a test turns it by hand.  False: it has ended
 * and freed the five interfaces.  `busy`: do not sleep before the next. */
bool flow_turn(struct flow *flow, bool *busy);

/* flowmove.c: records.  Each gives whether it did anything. */
bool flowmove_read(struct flow *flow, int64_t now_ms);
bool flowmove_send(struct flow *flow);
bool flowmove_acks(struct flow *flow, int64_t now_ms);
/* The target takes larger records of this topic now: what was refused of it is
 * tried again. */
void flowmove_raised(struct flow *flow, struct topic *topic);
/* What the sink says, on this thread. */
void flowmove_done(struct flow *flow, const struct sink_done *done);

/* flowtopics.c, flowledger.c: topics, ends, and where to begin. */
bool flowtopics_events(struct flow *flow, int64_t now_ms);
void flowtopics_tick(struct flow *flow, int64_t now_ms);
void flowtopics_up(struct flow *flow, bool source_side);
void flowtopics_down(struct flow *flow, bool source_side, const struct err *err,
    int64_t now_ms);
bool flowtopics_ask_ends(void *ctx, int32_t lane);
/* Nobody can talk to it, for want of a way there, of trust or of a password. */
bool flowtopics_away(const struct err *err);
/* A GROUP_DOWN, a GROUP_UP; and an ack, which is an answer as well. */
void flowtopics_group(struct flow *flow, const struct group_event *event,
    int64_t now_ms);
void flowtopics_acked(struct flow *flow);
/* Asks for the ledger: finds or makes it, later looks whether it still is
 * the same.  Then the answer, and an operator's restart. */
void flowledger_ask(struct flow *flow);
void flowledger_answer(struct flow *flow, const struct catalog_event *event,
    int64_t now_ms);
void flowledger_restart(struct flow *flow);

/* A topic is left out for that reason; said once in the log. */
void flowtopics_skip(const struct flow *flow, struct topic *topic,
    const char *why);

/* flownames.c: after a list was taken.  Lists what the policy names and the
 * source has not, and says in `none` what to do when nothing is forwarded. */
void flownames_look(struct flow *flow);

/* flowcircle.c: topics whose records another flow brings from the target are
 * not forwarded to where they come from. */
void flowcircle_look(struct flow *flow, const struct catalog_list *list);
/* A topic begins: it is looked at again soon after, since whoever closed a
 * circle last finds the other's entries by then. */
void flowcircle_opened(struct flow *flow, struct topic *topic);

/* flowreport.c */
void flowreport_publish(struct flow *flow, int64_t now_ms);

#endif
