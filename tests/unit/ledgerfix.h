/* ledgerfix.h - what the tests of the ledger store share: a store for the topic
 * "out" of a mock cluster, and one lane of it.
 *
 * Thread: the test's.   Memory: ledgerfix_tear_down() ends it all. */
#ifndef KEDGE_LEDGERFIX_H
#define KEDGE_LEDGERFIX_H

#include "kafkafix.h"
#include "kledger.h"
#include "kworker.h"

#include <stdatomic.h>

#define LEDGERFIX_LANE 1

/* Of the next scene. */
static void (*ledgerfix_configure)(rd_kafka_conf_t *conf);

/* The mock keeps transactions in form only: it fences nobody and shows what
 * was aborted.  What needs a real broker is in tests/system/ledger_probe. */
struct ledgerfix {
    struct kafkafix fix;
    struct ledgerstore store;
    struct kwatch *watch;
    struct clock clock;
    atomic_int_fast64_t ahead_ms; /* of this machine's clock */
};

static inline int64_t
ledgerfix_now(void *ctx)
{
    struct ledgerfix *scene = ctx;

    return clock_mono_ms(clock_system()) + atomic_load(&scene->ahead_ms);
}

static inline int
ledgerfix_set_up(void **state)
{
    struct ledgerfix *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    scene->watch = kworker_watch_new(NULL, NULL, &err);
    assert_non_null(scene->watch);
    scene->clock = (struct clock){ ledgerfix_now, ledgerfix_now, scene };
    const struct kledger_options options = {
        .target = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .topic = "out",
        .group_id = "kedge.plant7.telemetry",
        .step_ms = 20000,
        .clock = &scene->clock,
        .configure = ledgerfix_configure,
        .wake = &scene->fix.wake,
        .watch = scene->watch,
    };
    if (!kledger_open(&scene->store, &options, &err))
        fail_msg("%s", err.text);
    *state = scene;
    return 0;
}

static inline int
ledgerfix_tear_down(void **state)
{
    struct ledgerfix *scene = *state;

    scene->store.ops->free(scene->store.self);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
    free(scene);
    return 0;
}

static inline enum store_result
ledgerfix_answer(struct ledgerfix *scene, struct store_answer *answer)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (!scene->store.ops->answer(scene->store.self, answer))
        kafkafix_wait(&scene->fix, deadline_ms, "an answer");
    return answer->result;
}

static inline enum store_result
ledgerfix_open_lane(struct ledgerfix *scene, struct store_answer *got)
{
    scene->store.ops->open(scene->store.self, LEDGERFIX_LANE);
    return ledgerfix_answer(scene, got);
}

static inline enum store_result
ledgerfix_claim(struct ledgerfix *scene, const char *nonce,
    struct store_answer *got)
{
    struct ledger_claim it = { .lane = LEDGERFIX_LANE, .wall_ms = 1 };

    (void)snprintf(it.nonce, sizeof it.nonce, "%s", nonce);
    scene->store.ops->claim(scene->store.self, LEDGERFIX_LANE, &it);
    return ledgerfix_answer(scene, got);
}

static inline enum store_result
ledgerfix_commit(struct ledgerfix *scene, int n, struct store_answer *got)
{
    struct err err;
    struct ledger_batch *batch = ledger_batch_new(1, &err);

    assert_non_null(batch);
    for (int i = 0; i < n; i++) {
        struct ledger_record *record = ledger_batch_add(batch);

        record->kind = LEDGER_ENTRY;
        record->tombstone = i == 0 && n > 1;
        (void)snprintf(record->entry.topic, sizeof record->entry.topic,
            "topic-%d", i);
        (void)snprintf(record->entry.target_topic,
            sizeof record->entry.target_topic, "plant7.topic-%d", i);
        record->entry.next_offset = 100 + i;
        record->entry.target_offset = -1;
        record->entry.leader_epoch = -1;
    }
    scene->store.ops->commit(scene->store.self, LEDGERFIX_LANE, &batch);
    assert_null(batch);
    return ledgerfix_answer(scene, got);
}

#endif
