/* explore - every interleaving of the lane protocol, up to stated bounds.
 *
 *   explore               the promises must hold in every scenario
 *   explore SCENARIO WHAT the code (or the world) has a fault put in: exactly
 *                         this promise must be found broken
 *
 * The search goes depth first and repeats a run from its beginning for each
 * new branch: what is explored is the code that ships, not a copy of it.
 * States that were seen before are not gone into again.  Closing line: states,
 * runs, and what was found. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 200
#define SEEN_SLOTS (UINT64_C(1) << 23)

struct search {
    int path[DEPTH_MAX], choices[DEPTH_MAX];
    int depth;      /* of the path that is to be followed */
    int limit;      /* how deep runs go */
    uint64_t *seen; /* open addressing, 0 is unused */
    uint64_t states, runs, most;
    const char *broken;
};

static const struct scenario {
    const char *name;
    int limit;
    uint64_t most;      /* states: the search of a larger space stops here */
    const char *broken; /* what is found where the world itself is broken */
    struct world_rules rules;
} scenarios[] = {
    { "crash", 60, 400000, NULL, { .crashes = 1 } },
    { "two crashes, latest", 60, 400000, NULL,
        { .crashes = 2, .latest = true } },
    { "zombie", 60, 400000, NULL, { .stops = 1 } },
    { "rebalance", 60, 400000, NULL, { .rebalances = 2 } },
    { "unknown outcome", 60, 400000, NULL, { .unknown = 1, .crashes = 1 } },
    { "time-out", 60, 400000, NULL, { .time_outs = 1 } },
    { "time-out and rebalance", 60, 400000, NULL,
        { .time_outs = 1, .rebalances = 1 } },
    { "zombie and crash", 60, 150000, NULL, { .stops = 1, .crashes = 1 } },
    { "wrong site", 60, 150000, NULL, { .wrong_site = true, .crashes = 1 } },
    { "no fencing", 60, 400000, "ledger went back",
        { .no_fencing = true, .stops = 1, .rebalances = 1 } },
    { "end offset", 60, 400000, "ledger went back",
        { .end_offset = true, .crashes = 1 } },
};

static bool
seen_before(struct search *search, uint64_t digest)
{
    uint64_t slot = digest & (SEEN_SLOTS - 1);

    digest |= 1; /* never the mark of an unused slot */
    for (; search->seen[slot] != 0; slot = (slot + 1) & (SEEN_SLOTS - 1))
        if (search->seen[slot] == digest)
            return true;
    search->seen[slot] = digest;
    search->states++;
    return false;
}

static void
tell(const struct search *search, const struct scenario *scenario)
{
    struct world *world = world_new(&scenario->rules);

    printf("  %s: %s:", scenario->name, search->broken);
    for (int i = 0; i < search->depth; i++) {
        int n = world_moves(world);

        if (search->path[i] == n)
            break;
        printf(" %s", world_move_name(world, search->path[i]));
        world_move(world, search->path[i]);
    }
    printf("\n");
    world_free(world);
}

/* One run: follows the path, then goes on with first choices.  The choice
 * behind the last move is to end all faults and see whether it settles. */
static void
run(struct search *search, const struct scenario *scenario)
{
    struct world *world = world_new(&scenario->rules);
    int depth = 0;

    search->runs++;
    while (depth < search->limit) {
        int n = world_moves(world);

        if (depth == search->depth) {
            if (seen_before(search, world_digest(world)))
                break;
            search->path[depth] = 0;
            search->choices[depth] = n + 1;
            search->depth++;
        }
        if (search->path[depth] == n) {
            world_settle(world);
            depth++;
            break;
        }
        world_move(world, search->path[depth++]);
        if (world_broken(world) != NULL)
            break;
    }
    search->broken = world_broken(world);
    world_free(world);
}

static bool
next_path(struct search *search)
{
    while (search->depth > 0 && search->path[search->depth - 1] + 1 ==
                                    search->choices[search->depth - 1])
        search->depth--;
    if (search->depth == 0)
        return false;
    search->path[search->depth - 1]++;
    return true;
}

/* Gives what was broken first, NULL: nothing. */
static const char *
explore(const struct scenario *scenario)
{
    struct search search = { .limit = scenario->limit };
    bool more = true;

    search.seen = calloc(SEEN_SLOTS, sizeof search.seen[0]);
    if (search.seen == NULL)
        abort();
    while (more && search.broken == NULL && search.states < scenario->most) {
        run(&search, scenario);
        if (search.broken == NULL)
            more = next_path(&search);
    }
    printf("%s: %llu states, %llu runs, %s%s\n", scenario->name,
        (unsigned long long)search.states, (unsigned long long)search.runs,
        search.broken == NULL ? "all promises held" : search.broken,
        search.broken != NULL ? ""
        : more                ? " (bounded)"
                              : " (exhaustive)");
    if (search.broken != NULL)
        tell(&search, scenario);
    free(search.seen);
    return search.broken;
}

int
main(int argc, char **argv)
{
    int failed = 0, passed = 0;

    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        const struct scenario *scenario = &scenarios[i];
        const char *want = scenario->broken, *found;

        if (argc == 3 && strcmp(argv[1], scenario->name) != 0)
            continue;
        if (argc == 3)
            want = argv[2];
        found = explore(scenario);
        if ((want == NULL) == (found == NULL) &&
            (want == NULL || strcmp(want, found) == 0))
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
