/* Two worlds with the same digest go on in the same way. */
#include "digest.h"
#include "worldset.h"

#include <string.h>

struct mix {
    uint64_t sum;
};

static void
mix(struct mix *mix, int64_t value)
{
    int64_t pair[2] = { (int64_t)mix->sum, value };

    mix->sum = digest_xxh64(pair, sizeof pair);
}

static void
mix_batch(struct mix *sum, const struct ledger_batch *batch)
{
    if (batch == NULL)
        return;
    for (size_t i = 0; i < batch->n; i++) {
        mix(sum, batch->records[i].kind);
        if (batch->records[i].kind == LEDGER_ENTRY)
            mix(sum, batch->records[i].entry.next_offset);
    }
}

static void
mix_agent(struct mix *sum, const struct world *world, const struct agent *agent)
{
    const struct lane *lane;
    const struct part *part;

    mix(sum, agent->alive + 2 * agent->stopped + 4 * agent->joined +
                 8 * agent->reading + 16 * agent->answered +
                 32 * agent->ask_ends + 64 * (agent->resolving != NULL));
    if (!agent->alive)
        return;
    lane = &agent->lanes->lane[0];
    part = world_part(agent);
    mix(sum, agent->next);
    mix(sum, agent->resolving != NULL ? agent->resolved : -1);
    mix(sum, agent->epoch == -1 ? -1 : world->epoch - agent->epoch);
    mix(sum, lane->phase);
    mix(sum, lane->assigned + 2 * lane->release_owed + 4 * lane->committing +
                 8 * lane->snapshotting + 16 * lane->client +
                 32 * (agent->lanes->refused[0] != '\0') +
                 64 * agent->lanes->starting);
    mix(sum, lane->proofs);
    mix(sum, lane->term == REPORT_UNKNOWN ? -1 : world->n_log - lane->term);
    mix(sum, part->phase);
    mix(sum, part->known + 2 * part->writing);
    mix(sum, part->entry.next_offset);
    mix(sum, part->writing ? part->written.next_offset : -2);
    mix(sum, part->tracker == NULL ? -1 : tracker_next(part->tracker));
    mix(sum, part->tracker == NULL ? -1 : tracker_read_next(part->tracker));
    mix(sum, agent->order.used ? (int)agent->order.step : -1);
    mix_batch(sum, agent->order.batch);
    mix(sum, agent->answered
                 ? (int)agent->answer.step * 16 + (int)agent->answer.result
                 : -1);
    mix_batch(sum, agent->answered ? agent->answer.records : NULL);
    for (int i = 0; i < agent->n_events; i++)
        mix(sum, agent->events[i].kind);
}

/* Of the ledger only what a reader could still be told. */
static void
mix_ledger(struct mix *sum, const struct world *world)
{
    int64_t from = worldstore_newest_mark(world);

    mix(sum, world->entered);
    mix(sum, from == GROUP_NO_HINT);
    for (int64_t i = from == GROUP_NO_HINT ? 0 : from; i < world->n_log; i++) {
        const struct ledger_record *record = &world->log[i];
        int owner = -1;

        mix(sum, record->kind);
        if (record->kind == LEDGER_ENTRY)
            mix(sum, record->entry.next_offset);
        for (int a = 0; a < WORLD_AGENTS && record->kind == LEDGER_CLAIM; a++)
            if (world->agent[a].alive &&
                strcmp(world->agent[a].lanes->lane[0].nonce,
                    record->claim.nonce) == 0)
                owner = a;
        mix(sum, owner);
    }
}

uint64_t
world_digest(const struct world *world)
{
    struct mix sum = { 0 };
    const struct world_rules *rules = &world->rules;

    mix(&sum, rules->crashes + 10 * rules->stops + 100 * rules->rebalances +
                  1000 * rules->unknown + 10000 * rules->time_outs);
    mix(&sum, world->owner);
    mix(&sum, world->wanted_by);
    mix_ledger(&sum, world);
    for (int i = 0; i < world->n_target; i++) {
        bool first = true;

        for (int k = 0; k < i; k++)
            first = first && world->target[k] != world->target[i];
        if (first)
            mix(&sum, world->target[i]);
    }
    for (int i = 0; i < WORLD_AGENTS; i++) {
        mix_agent(&sum, world, &world->agent[i]);
        mix(&sum, world->late[i].used ? (int)world->late[i].step : -1);
        mix(&sum, world->epoch - world->late[i].epoch);
        mix_batch(&sum, world->late[i].batch);
    }
    for (int i = 0; i < NET_MAX; i++) {
        const struct wire *wire = &world->wire[i];

        mix(&sum, wire->used ? wire->agent + 10 * wire->orphan : -1);
        for (int k = 0; k < wire->n; k++)
            mix(&sum, wire->offset[k]);
    }
    return sum.sum;
}
