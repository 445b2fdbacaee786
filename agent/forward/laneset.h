/* laneset.h - what lanes.c, lanetake.c, laneends.c and lanebook.c share: the
 * state of each lane.  No other file includes this.
 *
 * Thread: the flow's.   Memory: owned by struct lanes. */
#ifndef KEDGE_LANESET_H
#define KEDGE_LANESET_H

#include "lanes.h"
#include "pace.h"

enum lane_phase {
    LANE_P_ELSEWHERE, /* not assigned */
    LANE_P_PROVE,     /* the hint is being committed as a member */
    LANE_P_OPEN,      /* init_transactions */
    LANE_P_CLAIM,     /* our claim is being committed */
    LANE_P_READ,      /* the lane is read until our claim */
    LANE_P_ENDS,      /* the target is asked where its partitions end */
    LANE_P_SNAPSHOT,  /* header and entries are being committed behind a mark */
    LANE_P_RUN,       /* owned */
    LANE_P_FINISH,    /* no more reads; acks and the last entries are awaited */
    LANE_P_BACKOFF,   /* to be taken over anew at `due_ms` */
    LANE_P_HELD,      /* a person has to act; tried again at `due_ms` */
    LANE_P_N,
};

/* Times end in _ms and are monotonic; wall time says so. */
struct lane {
    int32_t number;
    enum lane_phase phase;
    bool held;         /* HELD, and while it is tried again until it is owned,
                        * or falls for another reason */
    bool assigned;     /* by the group */
    bool release_owed; /* revoked, and not released yet */
    bool client;       /* the store has a client open; without partitions RUN
                        * has none, there is nothing to write */
    bool committing;   /* a commit is under way */
    bool snapshotting; /* it is a snapshot */
    bool stands;       /* RUN: commits have failed for a while; `reason` */
    bool has_header;   /* `header` was read, or is being written */
    bool others;       /* ELSEWHERE: another agent has it for sure, and with it
                        * what we had on the wire */
    bool lost;         /* ELSEWHERE: taken from us by GROUP_LOST, since when we
                      * are no member */
    int64_t away_ms;   /* ELSEWHERE: a member without it since then; 0: none */
    int proofs;   /* prove() calls not answered yet; only the last counts */
    int64_t hint; /* offset of the newest mark, where a reader begins;
                        * GROUP_NO_HINT */
    int64_t term; /* offset of our claim, from READ on; REPORT_UNKNOWN */
    int64_t claimed_wall_ms; /* of our claim, by the brokers' clock */
    int64_t due_ms;         /* of BACKOFF, HELD, FINISH; RUN: the next commit */
    int64_t ends_ms;        /* when the target is asked for ends again */
    int64_t again_ms;       /* a commit was put off: none before this */
    int64_t began_ms;       /* of the commit under way */
    int64_t pause_ms;       /* behind the newest commit, at the least */
    int64_t failing_ms;     /* of the first that failed since one did not; 0 */
    int64_t wrote_ms;       /* newest commit that succeeded */
    int64_t written;        /* records since the snapshot, its own included */
    uint64_t claims;        /* ever made; makes each nonce new */
    struct backoff backoff; /* of BACKOFF; RUN starts it anew */
    struct ledger_header header;
    char nonce[LEDGER_ID_MAX];    /* of our newest claim */
    char reason[REPORT_TEXT_MAX]; /* why the phase was entered */
};

struct lanes {
    struct lanes_options o;
    char source_cluster_id[LEDGER_ID_MAX]; /* both from lanes_start() */
    char ledger_topic_id[LEDGER_ID_MAX];
    bool starting;    /* the headers are being read */
    bool joined;      /* join() was called; lanes come as events */
    bool draining;    /* for good */
    bool in;          /* the group has let us in, and has not lost us since */
    int64_t retry_ms; /* when to read the headers again; 0: not */
    struct backoff backoff;        /* of retry_ms */
    int64_t first_start_wall_ms;   /* the oldest of the headers; 0: none */
    char refused[REPORT_TEXT_MAX]; /* empty: nothing */
    struct lane lane[];            /* n_lanes */
};

/* lanes.c: the only place that changes lane->phase. */
void lanes_enter(struct lanes *lanes, struct lane *lane, enum lane_phase next,
    const char *why);
/* Gives up client, reads and records on the wire; the lane is taken over anew
 * after a while if the group still says that it is ours. */
void lanes_fall(struct lanes *lanes, struct lane *lane, const char *why,
    int64_t now_ms);
/* The same, and a person has to act. */
void lanes_hold(struct lanes *lanes, struct lane *lane, const char *why,
    int64_t now_ms);

/* Until what a person has to mend is tried again. */
#define LANES_HELD_MS 60000

/* lanetake.c: the steps from assigned to owned. */
void lanetake_begin(struct lanes *lanes, struct lane *lane);
void lanetake_proved(struct lanes *lanes, struct lane *lane, int64_t hint);
void lanetake_answer(struct lanes *lanes, struct lane *lane,
    struct store_answer *answer, int64_t wall_ms, int64_t now_ms);
void lanetake_snapshot(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms);
/* Holds the lane for what is in its ledger, and says what to do about it. */
void lanetake_broken(struct lanes *lanes, struct lane *lane,
    const struct err *err, int64_t now_ms);
/* Does this agent belong to the flow that these headers are of?  Notes when
 * that began. */
bool lanetake_fits(struct lanes *lanes, const struct ledger_batch *found,
    struct err *err);
/* The header this agent would write for the lane. */
void lanetake_header(const struct lanes *lanes, const struct lane *lane,
    int64_t wall_ms, struct ledger_header *header);

/* laneends.c: is the target's end where the ledger says?  Goes on to the
 * snapshot, asks again, or holds.  Partitions of which that is not known yet
 * wait while the lane runs, and are asked for again. */
void laneends_ask(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms);
void laneends_answer(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms);
void laneends_tick(struct lanes *lanes, struct lane *lane, int64_t now_ms);
/* The target is asked again at once: it may have got back what it had lost. */
void laneends_retry(struct lanes *lanes, struct part *part);

/* lanebook.c: what an owned lane writes. */
void lanebook_snapshot(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms);
void lanebook_answer(struct lanes *lanes, struct lane *lane,
    const struct store_answer *answer, int64_t now_ms);
void lanebook_tick(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms);
/* One tick of FINISH: true when nothing is on the wire and the entries say so,
 * or when its time is over: due_ms for what is on the wire, and so much more
 * for the last entries. */
#define LANEBOOK_LAST_MS 2000
bool lanebook_finished(struct lanes *lanes, struct lane *lane, int64_t wall_ms,
    int64_t now_ms);
/* One tick of ELSEWHERE: has somebody else the lane by now? */
void lanebook_elsewhere(const struct lanes *lanes, struct lane *lane,
    int64_t now_ms);
/* Was something sent by us that the ledger does not have, as far as we know,
 * in a lane that no other agent has? */
bool lanebook_owes(const struct lanes *lanes);

#endif
