#include "world.h"

#include "worldset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
world_broke(struct world *world, const char *what)
{
    if (world->broken == NULL)
        world->broken = what;
}

bool
world_is_wrong(const struct world *world, int agent)
{
    return world->rules.wrong_site && agent == 2;
}

struct part *
world_part(const struct agent *agent)
{
    return parts_at(agent->parts, 0);
}

/* --- the flow: what lanes ask of it --- */

static void
ops_resolve(void *ctx, struct part *part, enum start start, int64_t wall_ms)
{
    struct agent *agent = ctx;

    (void)wall_ms;
    agent->resolving = part;
    /* The end has moved on since the flow was first started. */
    agent->resolved = start == START_LATEST ? 1 : 0;
}

static struct wire *
wire_of(struct agent *agent)
{
    struct wire *unused = NULL;

    for (int i = 0; i < NET_MAX; i++) {
        struct wire *wire = &agent->world->wire[i];

        if (wire->used && !wire->orphan && wire->agent == agent->number)
            return wire;
        if (!wire->used && unused == NULL)
            unused = wire;
    }
    assert(unused != NULL);
    *unused = (struct wire){ .used = true, .agent = agent->number };
    return unused;
}

static void
ops_open(void *ctx, struct part *part)
{
    struct agent *agent = ctx;

    agent->reading = true;
    agent->next = tracker_read_next(part->tracker);
    (void)wire_of(agent);
}

static void
ops_close(void *ctx, struct part *part)
{
    (void)part;
    ((struct agent *)ctx)->reading = false;
}

static void
cut_wire(struct agent *agent)
{
    for (int i = 0; i < NET_MAX; i++) {
        struct wire *wire = &agent->world->wire[i];

        if (!wire->used || wire->orphan || wire->agent != agent->number)
            continue;
        wire->orphan = true;
        wire->used = wire->n > 0;
    }
}

static void
ops_drop(void *ctx, int32_t lane)
{
    struct agent *agent = ctx;

    (void)lane;
    agent->reading = false;
    agent->resolving = NULL;
    cut_wire(agent);
}

static bool
ops_selected(void *ctx, const char *selection, const char *topic)
{
    (void)ctx;
    (void)selection;
    (void)topic;
    return true; /* its policy never changes */
}

static bool
ops_ask_ends(void *ctx, int32_t lane)
{
    (void)lane;
    ((struct agent *)ctx)->ask_ends = true;
    return true;
}

static const struct lanes_ops lanes_ops = { ops_resolve, ops_open, ops_close,
    ops_selected, ops_drop, ops_ask_ends };

/* --- agents --- */

static void
birth(struct world *world, int number)
{
    struct agent *agent = &world->agent[number];
    struct lanes_options options = { .flow = "f",
        .agent = "agent",
        .from = "a",
        .to = "b",
        .rename = "identity",
        .selection = "",
        .start = world->rules.latest ? START_LATEST : START_EARLIEST,
        .commit_interval_ms = 1,
        .n_lanes = 1,
        .group = { worldstore_group(), agent },
        .store = { worldstore_store(), agent },
        .ops = &lanes_ops,
        .ctx = agent,
        .seed = ++world->births };
    struct err err;
    struct topic *topic;

    *agent = (struct agent){ .world = world,
        .number = number,
        .alive = true,
        .epoch = -1,
        .now_ms = 1000,
        .saw_header = worldstore_has_header(world) };
    agent->parts = options.parts = parts_new(1, &err);
    assert(agent->parts != NULL && parts_get(agent->parts, TOPIC, 0) != NULL);
    topic = parts_topic(agent->parts, TOPIC);
    topic->selected = topic->exists = true;
    topic->partitions = topic->target_partitions = 1;
    (void)snprintf(topic->target, sizeof topic->target, TOPIC);
    agent->lanes = lanes_new(&options, &err);
    assert(agent->lanes != NULL);
    lanes_start(agent->lanes, world_is_wrong(world, number) ? "wrong" : "right",
        "ledger", agent->now_ms);
    lanes_tick(agent->lanes, 1, agent->now_ms);
}

static void
death(struct agent *agent)
{
    if (agent->world->owner == agent->number)
        agent->world->owner = -2;
    worldstore_leave_late(agent);
    cut_wire(agent);
    lanes_free(agent->lanes);
    parts_free(agent->parts);
    agent->lanes = NULL;
    agent->parts = NULL;
    agent->alive = agent->joined = agent->stopped = false;
    if (agent->world->wanted_by == agent->number)
        agent->world->wanted_by = -1;
    agent->n_events = 0;
}

struct world *
world_new(const struct world_rules *rules)
{
    struct world *world = calloc(1, sizeof *world);

    assert(world != NULL);
    world->log = malloc(LOG_MAX * sizeof world->log[0]);
    assert(world->log != NULL);
    world->rules = *rules;
    world->owner = world->wanted_by = -1;
    world->entered = LEDGER_UNRESOLVED;
    for (int i = 0; i < WORLD_AGENTS; i++)
        world->agent[i] = (struct agent){ .world = world, .number = i };
    birth(world, 0);
    birth(world, 1);
    return world;
}

void
world_free(struct world *world)
{
    if (world == NULL)
        return;
    for (int i = 0; i < WORLD_AGENTS; i++) {
        if (world->agent[i].alive)
            death(&world->agent[i]);
        worldstore_order_free(&world->late[i]);
    }
    free(world->log);
    free(world);
}

/* --- moves --- */

static void
arrive(struct world *world, struct wire *wire)
{
    int64_t offset = wire->offset[0], newest = -1;

    for (int i = 0; i < world->n_target; i++)
        if (world->target[i] > newest)
            newest = world->target[i];
    if (world->n_target > 0 && offset > newest + 1)
        world_broke(world, "order"); /* a first occurrence ahead of its turn */
    if (world->n_target > 0 && offset < world->target[0])
        world_broke(world, "order");
    assert(world->n_target < TARGET_MAX);
    world->target[world->n_target++] = offset;
    wire->n--;
    memmove(wire->offset, wire->offset + 1,
        (size_t)wire->n * sizeof wire->offset[0]);
    if (wire->orphan)
        wire->used = wire->n > 0;
    else
        tracker_ack(world_part(&world->agent[wire->agent])->tracker, offset,
            world->n_target - 1);
}

static void
deliver_event(struct agent *agent)
{
    struct group_event event = agent->events[0];

    agent->n_events--;
    memmove(agent->events, agent->events + 1,
        (size_t)agent->n_events * sizeof agent->events[0]);
    lanes_on_group(agent->lanes, &event, agent->now_ms);
}

static void
deliver_answer(struct agent *agent)
{
    struct store_answer answer = agent->answer;

    agent->answered = false;
    lanes_on_answer(agent->lanes, &answer, 1, agent->now_ms);
}

static void
resolved(struct agent *agent)
{
    struct part *part = agent->resolving;

    if (agent->ask_ends) {
        agent->ask_ends = false;
        world_part(agent)->target_end = agent->world->n_target;
        lanes_ends(agent->lanes, 0, 1, agent->now_ms);
    } else {
        agent->resolving = NULL;
        lanes_resolved(agent->lanes, part, agent->resolved);
    }
}

static void
send_next(struct agent *agent)
{
    struct wire *wire = wire_of(agent);
    bool added = tracker_add(world_part(agent)->tracker, agent->next, 1, 1);

    assert(added &&
           (size_t)wire->n < sizeof wire->offset / sizeof wire->offset[0]);
    wire->offset[wire->n++] = agent->next++;
}

/* The order is carried out and its answer waits to be taken. */
static void
do_order(struct agent *agent)
{
    worldstore_carry_out(agent->world, &agent->order, &agent->answer);
    agent->answered = true;
    worldstore_order_free(&agent->order);
}

static void
do_unknown(struct agent *agent, bool done)
{
    agent->world->rules.unknown--;
    if (done)
        do_order(agent);
    worldstore_order_free(&agent->order);
    agent->answer =
        (struct store_answer){ .step = STORE_COMMIT, .result = STORE_UNKNOWN };
    agent->answered = true;
}

/* The group misses a member; -1: the one that died. */
static void
expire(struct world *world, int who)
{
    int to = world->wanted_by;

    for (int i = 0; i < WORLD_AGENTS; i++)
        if (i != who && world->agent[i].alive && !world->agent[i].stopped &&
            world->agent[i].joined && to == -1)
            to = i;
    if (who >= 0)
        worldstore_tell(&world->agent[who], GROUP_LOST, 0);
    worldstore_assign(world, to >= 0 && world->agent[to].joined ? to : -1);
}

static void
rebalance(struct world *world, int to)
{
    struct agent *from = &world->agent[world->owner];

    world->rules.rebalances--;
    world->wanted_by = to;
    if (from->stopped)
        expire(world, from->number);
    else
        worldstore_tell(from, GROUP_REVOKED, 0);
}

static void
agent_move(struct world *world, enum move_kind kind, struct agent *agent)
{
    switch (kind) {
    case MOVE_EVENT:
        deliver_event(agent);
        break;
    case MOVE_ORDER:
        do_order(agent);
        break;
    case MOVE_UNKNOWN:
    case MOVE_UNKNOWN_DONE:
        do_unknown(agent, kind == MOVE_UNKNOWN_DONE);
        break;
    case MOVE_ANSWER:
        deliver_answer(agent);
        break;
    case MOVE_TICK:
    case MOVE_WAIT:
        agent->now_ms += kind == MOVE_WAIT ? 61000 : 100;
        lanes_tick(agent->lanes, 1, agent->now_ms);
        break;
    case MOVE_RESOLVED:
        resolved(agent);
        break;
    case MOVE_SEND:
        send_next(agent);
        break;
    case MOVE_CRASH:
        world->rules.crashes--;
        death(agent);
        break;
    case MOVE_RESTART:
        birth(world, agent->number);
        break;
    case MOVE_STOP:
        world->rules.stops--;
        agent->stopped = true;
        break;
    default:
        agent->stopped = false; /* MOVE_GO_ON */
    }
}

void
world_move(struct world *world, int i)
{
    enum move_kind kind = world->moves[i].kind;
    int who = world->moves[i].who;
    struct store_answer unheard;

    switch (kind) {
    case MOVE_ARRIVE:
        arrive(world, &world->wire[who]);
        break;
    case MOVE_LOSE:
        world->wire[who] = (struct wire){ 0 };
        break;
    case MOVE_LATE:
        worldstore_carry_out(world, &world->late[who], &unheard);
        ledger_batch_free(unheard.records);
        worldstore_order_free(&world->late[who]);
        break;
    case MOVE_LATE_LOST:
        worldstore_order_free(&world->late[who]);
        break;
    case MOVE_REBALANCE:
        rebalance(world, who);
        break;
    case MOVE_EXPIRE:
        expire(world, who);
        break;
    case MOVE_TIME_OUT:
        world->rules.time_outs--;
        world->epoch++;
        break;
    default:
        agent_move(world, kind, &world->agent[who]);
    }
}

void
world_settle(struct world *world)
{
    world->rules.crashes = world->rules.stops = world->rules.rebalances = 0;
    world->rules.unknown = world->rules.time_outs = 0;
    for (int turn = 0; turn < 600 && world->broken == NULL; turn++) {
        int n = world_moves(world);

        if (n == 0)
            break;
        world_move(world, turn % n);
    }
    if (world->entered != WORLD_RECORDS)
        world_broke(world, "stuck");
}

const char *
world_broken(const struct world *world)
{
    return world->broken;
}
