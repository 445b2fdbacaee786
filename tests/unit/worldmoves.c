/* What may happen next in the world. */
#include "worldset.h"

#include <assert.h>

static const char *const move_names[] = { "event", "order", "unknown",
    "unknown-done", "answer", "tick", "wait", "resolved", "send", "arrive",
    "lose", "crash", "restart", "stop", "go-on", "rebalance", "expire",
    "time-out", "late", "late-lost" };

static void
add(struct world *world, bool when, enum move_kind kind, int who)
{
    if (!when)
        return;
    assert(world->n_moves < MOVES_MAX);
    world->moves[world->n_moves].kind = kind;
    world->moves[world->n_moves++].who = who;
}

static bool
tick_matters(const struct agent *agent)
{
    const struct lane *lane = &agent->lanes->lane[0];
    const struct part *part = world_part(agent);

    if (!agent->joined)
        return !agent->order.used && !agent->answered &&
               agent->lanes->refused[0] == '\0';
    if (lane->phase == LANE_P_FINISH)
        return true;
    if (lane->phase != LANE_P_RUN || lane->committing)
        return false;
    return part->phase == PHASE_IDLE || part->phase == PHASE_ENTERING ||
           (part->tracker != NULL &&
               tracker_next(part->tracker) != part->entry.next_offset);
}

static bool
wait_matters(const struct agent *agent)
{
    enum lane_phase phase = agent->lanes->lane[0].phase;

    return phase == LANE_P_BACKOFF || phase == LANE_P_HELD ||
           phase == LANE_P_FINISH;
}

static void
agent_moves(struct world *world, const struct agent *agent)
{
    const struct world_rules *rules = &world->rules;
    int who = agent->number;
    bool commit = agent->order.used && agent->order.step == STORE_COMMIT;

    if (!agent->alive) {
        add(world, true, MOVE_RESTART, who);
        return;
    }
    if (agent->stopped) {
        add(world, true, MOVE_GO_ON, who);
        add(world, world->owner == who, MOVE_EXPIRE, who);
        return;
    }
    add(world, agent->n_events > 0, MOVE_EVENT, who);
    add(world, agent->order.used, MOVE_ORDER, who);
    add(world, agent->answered, MOVE_ANSWER, who);
    add(world, commit && rules->unknown > 0, MOVE_UNKNOWN, who);
    add(world, commit && rules->unknown > 0, MOVE_UNKNOWN_DONE, who);
    add(world, agent->resolving != NULL || agent->ask_ends, MOVE_RESOLVED, who);
    add(world, tick_matters(agent), MOVE_TICK, who);
    add(world, wait_matters(agent), MOVE_WAIT, who);
    add(world, agent->reading && agent->next < WORLD_RECORDS, MOVE_SEND, who);
    add(world, rules->crashes > 0 && who < 2, MOVE_CRASH, who);
    add(world, rules->stops > 0 && who < 2, MOVE_STOP, who);
}

int
world_moves(struct world *world)
{
    const struct world_rules *rules = &world->rules;

    world->n_moves = 0;
    for (int i = 0; i < WORLD_AGENTS; i++)
        if (i < 2 || rules->wrong_site)
            agent_moves(world, &world->agent[i]);
    for (int i = 0; i < NET_MAX; i++) {
        add(world, world->wire[i].used && world->wire[i].n > 0, MOVE_ARRIVE, i);
        add(world, world->wire[i].used && world->wire[i].orphan, MOVE_LOSE, i);
    }
    for (int i = 0; i < WORLD_AGENTS; i++) {
        add(world, world->late[i].used, MOVE_LATE, i);
        add(world, world->late[i].used, MOVE_LATE_LOST, i);
    }
    for (int i = 0; i < WORLD_AGENTS; i++)
        add(world,
            rules->rebalances > 0 && world->owner >= 0 && world->owner != i &&
                world->wanted_by == -1 && world->agent[i].joined,
            MOVE_REBALANCE, i);
    add(world, rules->time_outs > 0 && world->epoch > 0, MOVE_TIME_OUT, 0);
    add(world, world->owner == -2, MOVE_EXPIRE, -1);
    return world->n_moves;
}

const char *
world_move_name(const struct world *world, int i)
{
    return move_names[world->moves[i].kind];
}
