/* sinkfix.h - what the tests of sending share: a source and a sink between two
 * mock clusters, and what the sink told.
 *
 * Thread: the test's.   Memory: sinkfix_tear_down() ends it all. */
#ifndef KEDGE_SINKFIX_H
#define KEDGE_SINKFIX_H

#include "kafkafix.h"
#include "ksink.h"
#include "ksource.h"
#include "kworker.h"

#include <inttypes.h>
#include <stdatomic.h>

#define SINKFIX_DONES 4096
#define SINKFIX_PRODUCE 0  /* the request's number */
#define SINKFIX_LARGE 8000 /* a value that is held and not copied */
struct sinkfix_told {
    int32_t lane, part;
    int64_t offset, target_offset;
    bool failed, retry;
};

struct sinkfix {
    struct kafkafix fix;
    struct source source;
    struct sink sink;
    struct kwatch *watch;
    struct sinkfix_told told[SINKFIX_DONES];
    size_t n_told;
    size_t n_failed; /* calls of sinkfix_on_failed() */
    size_t n_told_at_failure;
    struct err failure;
    struct clock clock; /* of the sink: stands but for passed_ms */
    atomic_int_fast64_t passed_ms;
};

static inline int64_t
sinkfix_now(void *ctx)
{
    const struct sinkfix *scene = ctx;

    return 100000 + atomic_load(&scene->passed_ms);
}

static inline void
sinkfix_on_done(void *ctx, const struct sink_done *done)
{
    struct sinkfix *scene = ctx;

    assert_true(scene->n_told < SINKFIX_DONES);
    scene->told[scene->n_told++] = (struct sinkfix_told){ done->lane,
        done->part, done->offset, done->target_offset, done->err != NULL,
        done->err != NULL && done->err->retry };
}

static inline void
sinkfix_on_failed(void *ctx, int32_t lane, const struct err *err)
{
    struct sinkfix *scene = ctx;

    assert_int_equal(lane, 0);
    scene->n_failed++;
    scene->n_told_at_failure = scene->n_told;
    scene->failure = *err;
}

static inline void
sinkfix_set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char why[128];

    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) !=
        RD_KAFKA_CONF_OK)
        fail_msg("%s", why);
}

static inline void
sinkfix_small_queue(rd_kafka_conf_t *conf)
{
    sinkfix_set(conf, "queue.buffering.max.messages", "10");
}

static inline void
sinkfix_small_messages(rd_kafka_conf_t *conf)
{
    sinkfix_set(conf, "message.max.bytes", "2000");
    sinkfix_set(conf, "batch.size", "2000");
}

static inline struct sinkfix *
sinkfix_open(void (*configure)(rd_kafka_conf_t *conf), int64_t linger_ms)
{
    struct sinkfix *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    kafkafix_open(&scene->fix);
    scene->clock = (struct clock){ sinkfix_now, sinkfix_now, scene };
    scene->watch = kworker_watch_new(NULL, NULL, &err);
    assert_non_null(scene->watch);
    const struct ksource_options source = {
        .cluster = &scene->fix.source,
        .agent = "a1",
        .flow = "telemetry",
        .group_id = "g",
        .wake = &scene->fix.wake,
    };
    const struct ksink_options sink = {
        .cluster = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .linger_ms = linger_ms,
        .done = sinkfix_on_done,
        .failed = sinkfix_on_failed,
        .ctx = scene,
        .wake = &scene->fix.wake,
        .clock = &scene->clock,
        .watch = scene->watch,
        .configure = configure,
    };
    if (!ksource_open(&scene->source, &source, &err) ||
        !ksink_open(&scene->sink, &sink, &err))
        fail_msg("%s", err.text);
    return scene;
}

static inline void
sinkfix_close(struct sinkfix *scene)
{
    assert_true(scene->sink.ops->free(scene->sink.self));
    if (scene->source.ops != NULL)
        scene->source.ops->free(scene->source.self);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
    free(scene);
}

static inline int
sinkfix_set_up(void **state)
{
    *state = sinkfix_open(NULL, 1);
    return 0;
}

static inline int
sinkfix_set_up_slow(
    void **state) /* what is sent within a second is one batch */
{
    *state = sinkfix_open(NULL, 1000);
    return 0;
}

static inline int
sinkfix_set_up_small_queue(void **state)
{
    *state = sinkfix_open(sinkfix_small_queue, 1);
    return 0;
}

static inline int
sinkfix_set_up_small_messages(void **state)
{
    *state = sinkfix_open(sinkfix_small_messages, 1);
    return 0;
}

static inline int
sinkfix_tear_down(void **state)
{
    sinkfix_close(*state);
    return 0;
}

static inline void
sinkfix_open_lane(struct sinkfix *scene, int32_t lane)
{
    struct err err;

    if (!scene->sink.ops->open(scene->sink.self, lane, 0, &err))
        fail_msg("%s", err.text);
}

static inline void
sinkfix_attach(struct sinkfix *scene, int32_t part, int32_t lane,
    int32_t partition)
{
    struct err err;

    if (!scene->sink.ops->attach(scene->sink.self, part, lane, "out", partition,
            &err))
        fail_msg("%s", err.text);
}

static inline void
sinkfix_read_part(struct sinkfix *scene, int32_t part, int32_t partition,
    int64_t offset)
{
    kafkafix_read(&scene->source, part, partition, offset);
}

/* Exactly one record. */
static inline void
sinkfix_take(struct sinkfix *scene, struct record *record)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (scene->source.ops->next(scene->source.self, record, 1) == 0)
        kafkafix_wait(&scene->fix, deadline_ms, "a record");
}

static inline enum sink_answer
sinkfix_try_send(struct sinkfix *scene, struct record *record, struct err *err)
{
    return scene->sink.ops->send(scene->sink.self, record, err);
}

static inline void
sinkfix_send_one(struct sinkfix *scene, struct record *record)
{
    struct err err;

    if (sinkfix_try_send(scene, record, &err) != SINK_TAKEN)
        fail_msg("offset %" PRId64 " was not taken", record->offset);
    assert_null(record->hold);
}

/* Reads and sends `n` records. */
static inline void
sinkfix_forward(struct sinkfix *scene, size_t n)
{
    struct record record;

    while (n-- > 0) {
        sinkfix_take(scene, &record);
        sinkfix_send_one(scene, &record);
    }
}

static inline void
sinkfix_wait_told(struct sinkfix *scene, size_t n)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (scene->n_told < n) {
        if (scene->sink.ops->poll(scene->sink.self, 50) == 0)
            kafkafix_wait(&scene->fix, deadline_ms, "reports");
    }
    assert_int_equal(scene->n_told, n);
}

static inline void
sinkfix_wait_failed(struct sinkfix *scene)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (scene->n_failed == 0)
        if (scene->sink.ops->poll(scene->sink.self, 50) == 0)
            kafkafix_wait(&scene->fix, deadline_ms, "the failure");
}

static inline void
sinkfix_set_target(struct sinkfix *scene, bool up)
{
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(up ? rd_kafka_mock_broker_set_up(scene->fix.to, broker)
                            : rd_kafka_mock_broker_set_down(scene->fix.to,
                                  broker),
            0);
}

#endif
