/* world.h - a small world in which the lane protocol that ships is explored:
 * two clusters, a group, a ledger store with transactions and fencing, a
 * network that delays and loses, and agents that crash, stop and go on.
 *
 * Each agent runs the real lanes, parts and tracker code.  Everything that may
 * happen next is a numbered move; whoever explores picks one.  Broken promises
 * are noted by name.
 *
 * Thread: one.   Memory: world_free() takes everything. */
#ifndef KEDGE_WORLD_H
#define KEDGE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#define WORLD_AGENTS 3
#define WORLD_RECORDS 2 /* at the source, in one partition of one lane */

/* What the world may do to the agents, and which of its own guarantees it
 * breaks (to show that the explorer finds it). */
struct world_rules {
    int crashes, stops, rebalances; /* at most so many of each in one run */
    int unknown;     /* commits whose outcome the agent is not told */
    int time_outs;   /* transactions that the coordinator times out */
    bool wrong_site; /* a third agent belongs to another source cluster */
    bool latest;     /* the policy says start: latest */
    bool no_fencing; /* a fenced producer may still commit */
    bool end_offset; /* a lane is read to an end that a stale leader told */
};

struct world;

struct world *world_new(const struct world_rules *rules);
void world_free(struct world *world);

/* How many moves there are now, and the i-th of them carried out. */
int world_moves(struct world *world);
void world_move(struct world *world, int i);
const char *world_move_name(const struct world *world, int i);

/* No more faults: everybody is alive and awake, every message arrives, until
 * nothing is left to do.  Notes "stuck" when records are missing then. */
void world_settle(struct world *world);

/* What was broken first: "lost", "order", "ledger went back", "stuck"; NULL:
 * nothing. */
const char *world_broken(const struct world *world);

/* Two worlds with the same digest go on in the same way. */
uint64_t world_digest(const struct world *world);

#endif
