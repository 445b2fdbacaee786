/* The group and the ledger store of the world. */
#include "worldset.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool
worldstore_has_header(const struct world *world)
{
    for (int i = 0; i < world->n_log; i++)
        if (world->log[i].kind == LEDGER_HEADER)
            return true;
    return false;
}

/* --- the group --- */

void
worldstore_tell(struct agent *agent, enum group_event_kind kind, int64_t hint)
{
    if (!agent->alive)
        return;
    assert(agent->n_events < EVENTS_MAX);
    agent->events[agent->n_events++] =
        (struct group_event){ .kind = kind, .lane = 0, .hint = hint };
}

void
worldstore_assign(struct world *world, int to)
{
    world->owner = to;
    world->wanted_by = -1;
    if (to >= 0)
        worldstore_tell(&world->agent[to], GROUP_ASSIGNED, 0);
}

static bool
group_join(void *self, struct err *err)
{
    struct agent *agent = self;

    (void)err;
    if (world_is_wrong(agent->world, agent->number) && agent->saw_header)
        world_broke(agent->world, "wrong site joined");
    agent->joined = true;
    if (agent->world->owner == -1)
        worldstore_assign(agent->world, agent->number);
    return true;
}

static void
group_leave(void *self)
{
    struct agent *agent = self;

    agent->joined = false;
    agent->n_events = 0;
    if (agent->world->owner == agent->number)
        agent->world->owner = -2;
}

static void
group_release(void *self, int32_t lane)
{
    struct agent *agent = self;
    struct world *world = agent->world;

    (void)lane;
    if (world->owner == agent->number)
        worldstore_assign(world, world->wanted_by);
}

int64_t
worldstore_newest_mark(const struct world *world)
{
    for (int i = world->n_log - 1; i >= 0; i--)
        if (world->log[i].kind == LEDGER_MARK)
            return i;
    return GROUP_NO_HINT;
}

static void
group_prove(void *self, int32_t lane, int64_t hint)
{
    struct agent *agent = self;

    (void)lane;
    (void)hint;
    worldstore_tell(agent,
        agent->world->owner == agent->number ? GROUP_PROVED : GROUP_REFUSED,
        worldstore_newest_mark(agent->world));
}

static bool
no_event(void *self, struct group_event *event)
{
    (void)self;
    (void)event;
    return false;
}

static void
nothing(void *self)
{
    (void)self;
}

static const struct group_ops group = { group_join, group_leave, no_event,
    group_release, group_prove, nothing };

/* --- the ledger store --- */

static void
put_order(struct agent *agent, enum store_step step)
{
    assert(!agent->order.used);
    agent->order = (struct order){ .used = true,
        .step = step,
        .agent = agent->number,
        .epoch = agent->epoch };
}

static void
store_headers(void *self)
{
    put_order(self, STORE_HEADERS);
}

static void
store_open(void *self, int32_t lane)
{
    (void)lane;
    put_order(self, STORE_OPEN);
}

static void
store_claim(void *self, int32_t lane, const struct ledger_claim *claim)
{
    struct agent *agent = self;

    (void)lane;
    put_order(agent, STORE_CLAIM);
    agent->order.claim = *claim;
}

static void
store_read(void *self, int32_t lane, int64_t hint, const char *nonce)
{
    struct agent *agent = self;

    (void)lane;
    put_order(agent, STORE_READ);
    agent->order.hint = hint;
    (void)snprintf(agent->order.nonce, sizeof agent->order.nonce, "%s", nonce);
}

static void
store_commit(void *self, int32_t lane, struct ledger_batch **batch)
{
    struct agent *agent = self;

    (void)lane;
    put_order(agent, STORE_COMMIT);
    agent->order.batch = *batch;
    *batch = NULL;
}

void
worldstore_order_free(struct order *order)
{
    ledger_batch_free(order->batch);
    *order = (struct order){ 0 };
}

void
worldstore_leave_late(struct agent *agent)
{
    struct order *late = &agent->world->late[agent->number];

    if (agent->order.used && agent->order.step != STORE_READ &&
        agent->order.step != STORE_HEADERS && !late->used) {
        *late = agent->order;
        agent->order = (struct order){ 0 };
    }
    worldstore_order_free(&agent->order);
    if (agent->answered)
        ledger_batch_free(agent->answer.records);
    agent->answered = false;
}

static void
store_close(void *self, int32_t lane)
{
    struct agent *agent = self;

    (void)lane;
    worldstore_leave_late(agent);
    agent->epoch = -1;
}

static bool
no_answer(void *self, struct store_answer *answer)
{
    (void)self;
    (void)answer;
    return false;
}

static int64_t
none_leaked(void *self)
{
    (void)self;
    return 0;
}

static const struct store_ops store = { store_headers, store_open, store_claim,
    store_read, store_commit, store_close, no_answer, none_leaked, nothing };

static void
check_entry(struct world *world, const struct ledger_entry *entry)
{
    int64_t next = entry->next_offset;

    if (next == LEDGER_UNRESOLVED)
        return;
    if (next < world->entered)
        world_broke(world, "ledger went back");
    if (world->entered == LEDGER_UNRESOLVED)
        world->start = next;
    world->entered = next;
    for (int64_t offset = world->start; offset < next; offset++) {
        bool there = false;

        for (int i = 0; i < world->n_target; i++)
            there = there || world->target[i] == offset;
        if (!there)
            world_broke(world, "lost");
    }
}

static void
append(struct world *world, const struct ledger_record *record)
{
    assert(world->n_log < LOG_MAX);
    world->log[world->n_log] = *record;
    world->log[world->n_log].offset = world->n_log;
    world->n_log++;
    if (record->kind == LEDGER_ENTRY)
        check_entry(world, &record->entry);
}

static enum store_result
carry_out_open(struct world *world, struct order *order)
{
    order->epoch = ++world->epoch;
    if (world->agent[order->agent].alive)
        world->agent[order->agent].epoch = order->epoch;
    return STORE_DONE;
}

static enum store_result
carry_out_write(struct world *world, struct order *order, int64_t *offset)
{
    if (order->epoch != world->epoch && !world->rules.no_fencing)
        return STORE_FENCED;
    *offset = world->n_log;
    if (order->step == STORE_CLAIM) {
        struct ledger_record record = { .kind = LEDGER_CLAIM,
            .claim = order->claim };

        append(world, &record);
    } else {
        for (size_t i = 0; i < order->batch->n; i++)
            append(world, &order->batch->records[i]);
    }
    return STORE_DONE;
}

static bool
add_read(struct ledger_batch *batch, const struct ledger_record *record)
{
    struct ledger_record *to = ledger_batch_add(batch);

    if (to != NULL)
        *to = *record;
    return to != NULL;
}

static enum store_result
carry_out_read(const struct world *world, const struct order *order,
    struct store_answer *answer)
{
    int64_t from = order->hint == GROUP_NO_HINT ? 0 : order->hint;
    struct err err;
    int64_t ours = -1;

    answer->records = ledger_batch_new(8, &err);
    for (int64_t i = 0; i < world->n_log && ours == -1; i++)
        if (world->log[i].kind == LEDGER_CLAIM &&
            strcmp(world->log[i].claim.nonce, order->nonce) == 0)
            ours = i;
    assert(answer->records != NULL && ours >= 0);
    answer->offset = ours;
    /* A stale leader's end misses what was committed last. */
    for (int64_t i = from; i < ours - (world->rules.end_offset ? 1 : 0); i++)
        (void)add_read(answer->records, &world->log[i]);
    for (int64_t i = ours + 1; i < world->n_log; i++)
        if (world->log[i].kind == LEDGER_CLAIM)
            return STORE_SUPERSEDED;
    return STORE_DONE;
}

static void
carry_out_headers(const struct world *world, struct store_answer *answer)
{
    struct err err;

    answer->records = ledger_batch_new(1, &err);
    assert(answer->records != NULL);
    for (int i = world->n_log - 1; i >= 0; i--)
        if (world->log[i].kind == LEDGER_HEADER) {
            (void)add_read(answer->records, &world->log[i]);
            return;
        }
}

void
worldstore_carry_out(struct world *world, struct order *order,
    struct store_answer *answer)
{
    *answer = (struct store_answer){ .step = order->step,
        .lane = order->step == STORE_HEADERS ? -1 : 0,
        .offset = -1 };
    (void)snprintf(answer->err.text, sizeof answer->err.text, "of the store");
    switch (order->step) {
    case STORE_OPEN:
        answer->result = carry_out_open(world, order);
        break;
    case STORE_CLAIM:
    case STORE_COMMIT:
        answer->result = carry_out_write(world, order, &answer->offset);
        break;
    case STORE_READ:
        answer->result = carry_out_read(world, order, answer);
        break;
    case STORE_HEADERS:
        carry_out_headers(world, answer);
        world->agent[order->agent].saw_header = answer->records->n > 0;
        break;
    }
}

const struct group_ops *
worldstore_group(void)
{
    return &group;
}

const struct store_ops *
worldstore_store(void)
{
    return &store;
}
