/* worldset.h - what the files of the world share; no other file includes this.
 *
 * Thread: one.   Memory: all of it belongs to struct world. */
#ifndef KEDGE_WORLDSET_H
#define KEDGE_WORLDSET_H

#include "laneset.h"
#include "ledgerstore.h"
#include "world.h"

#define LOG_MAX 256   /* records of the ledger */
#define TARGET_MAX 64 /* records at the target */
#define NET_MAX 12    /* connections with something under way */
#define EVENTS_MAX 16
#define MOVES_MAX 64
#define TOPIC "t"

/* An order to the ledger store that was not carried out yet. */
struct order {
    bool used;
    enum store_step step;
    int agent, epoch;
    int64_t hint;
    char nonce[LEDGER_ID_MAX];
    struct ledger_claim claim;
    struct ledger_batch *batch;
};

/* What one client has sent and the target has not got, in its order. */
struct wire {
    bool used, orphan; /* orphan: the client is gone, nobody hears the acks */
    int agent;
    int64_t offset[WORLD_RECORDS * 2];
    int n;
};

struct agent {
    struct world *world;
    int number;
    bool alive, stopped, joined, reading;
    int64_t now_ms, next; /* next: what is read next */
    int epoch;            /* of its producer; -1: none */
    struct lanes *lanes;
    struct parts *parts;
    struct order order;
    struct store_answer answer;
    bool answered;
    struct group_event events[EVENTS_MAX];
    int n_events;
    struct part *resolving;
    int64_t resolved;
    bool ask_ends;
    bool saw_header; /* there was one when it looked, or was started */
};

enum move_kind {
    MOVE_EVENT,
    MOVE_ORDER,
    MOVE_UNKNOWN,
    MOVE_UNKNOWN_DONE,
    MOVE_ANSWER,
    MOVE_TICK,
    MOVE_WAIT,
    MOVE_RESOLVED,
    MOVE_SEND,
    MOVE_ARRIVE,
    MOVE_LOSE,
    MOVE_CRASH,
    MOVE_RESTART,
    MOVE_STOP,
    MOVE_GO_ON,
    MOVE_REBALANCE,
    MOVE_EXPIRE,
    MOVE_TIME_OUT,
    MOVE_LATE,
    MOVE_LATE_LOST
};

struct world {
    struct world_rules rules;
    struct ledger_record *log; /* LOG_MAX */
    int n_log;
    int64_t target[TARGET_MAX]; /* source offsets, as they were appended */
    int n_target;
    int epoch;       /* of the lane's producer, as the coordinator has it */
    int owner;       /* whom the group gave the lane, -1; -2: to a member that
                     * is dead and not missed yet */
    int wanted_by;   /* to whom it goes once it is released, -1 */
    int64_t start;   /* offset of the first record that has to arrive */
    int64_t entered; /* what the newest entry says */
    struct agent agent[WORLD_AGENTS];
    struct wire wire[NET_MAX];
    struct order late[WORLD_AGENTS]; /* orders of agents that crashed */
    const char *broken;
    struct {
        enum move_kind kind;
        int who;
    } moves[MOVES_MAX];
    int n_moves;
    uint64_t births;
};

void world_broke(struct world *world, const char *what);
bool world_is_wrong(const struct world *world, int agent);
struct part *world_part(const struct agent *agent);

/* worldstore.c: group and ledger store; the target's own books. */
const struct group_ops *worldstore_group(void);
const struct store_ops *worldstore_store(void);
bool worldstore_has_header(const struct world *world);
int64_t worldstore_newest_mark(const struct world *world);
void worldstore_tell(struct agent *agent, enum group_event_kind kind,
    int64_t hint);
void worldstore_assign(struct world *world, int to);
void worldstore_order_free(struct order *order);
/* A client that goes away may have its last order on the wire. */
void worldstore_leave_late(struct agent *agent);
void worldstore_carry_out(struct world *world, struct order *order,
    struct store_answer *answer);

#endif
