/* sourcefix.h - a source on a mock cluster, read by hand.
 *
 * Thread: the test's.   Memory: sourcefix_tear_down() ends it all. */
#ifndef KEDGE_SOURCEFIX_H
#define KEDGE_SOURCEFIX_H

#include "kafkafix.h"
#include "ksource.h"
#include "metric.h"

#define SOURCEFIX_BATCH 256

struct sourcefix {
    struct kafkafix fix;
    struct source source;
    struct metrics *metrics;
    bool clock_stands; /* for the source */
    int64_t stands_at_ms;
    struct clock clock;
};

static inline int64_t
sourcefix_mono_ms(void *ctx)
{
    const struct sourcefix *scene = ctx;

    return scene->clock_stands ? scene->stands_at_ms
                               : clock_mono_ms(clock_system());
}

static inline int64_t
sourcefix_wall_ms(void *ctx)
{
    (void)ctx;
    return clock_wall_ms(clock_system());
}

static inline void
sourcefix_stop_clock(struct sourcefix *scene)
{
    scene->stands_at_ms = clock_mono_ms(clock_system());
    scene->clock_stands = true;
}

static inline int
sourcefix_set_up(void **state)
{
    struct sourcefix *scene = calloc(1, sizeof *scene);
    struct err err;

    assert_non_null(scene);
    assert_non_null(scene->metrics = metrics_new());
    kafkafix_open(&scene->fix);
    scene->clock =
        (struct clock){ sourcefix_mono_ms, sourcefix_wall_ms, scene };
    const struct ksource_options options = {
        .cluster = &scene->fix.source,
        .agent = "a1",
        .flow = "telemetry",
        .group_id = "kedge.plant7.telemetry",
        .wake = &scene->fix.wake,
        .clock = &scene->clock,
        .metrics = scene->metrics,
    };
    if (!ksource_open(&scene->source, &options, &err))
        fail_msg("%s", err.text);
    *state = scene;
    return 0;
}

static inline int
sourcefix_tear_down(void **state)
{
    struct sourcefix *scene = *state;

    scene->source.ops->free(scene->source.self);
    kafkafix_close(&scene->fix);
    metrics_free(scene->metrics);
    free(scene);
    return 0;
}

static inline void
sourcefix_read(struct sourcefix *scene, int32_t part, int32_t partition,
    int64_t offset)
{
    kafkafix_read(&scene->source, part, partition, offset);
}

static inline void
sourcefix_resolve(struct sourcefix *scene, int32_t part, const char *topic,
    int32_t partition, enum start start, int64_t wall_ms)
{
    assert_true(scene->source.ops->resolve(scene->source.self, part, topic,
        partition, start, wall_ms));
}

/* Some records, at least one. */
static inline size_t
sourcefix_take(struct sourcefix *scene, struct record *records, size_t max)
{
    int64_t deadline_ms = kafkafix_deadline();
    struct source_event event;
    size_t n;

    while (
        (n = scene->source.ops->next(scene->source.self, records, max)) == 0) {
        while (scene->source.ops->event(scene->source.self, &event))
            if (event.kind == SOURCE_FAILED ||
                event.kind == SOURCE_OUT_OF_RANGE)
                fail_msg("event %d: %s", event.kind, event.err.text);
        kafkafix_wait(&scene->fix, deadline_ms, "records");
    }
    return n;
}

static inline void
sourcefix_release(struct record *records, size_t n)
{
    for (size_t i = 0; i < n; i++)
        record_release(&records[i]);
}

/* The next event of this kind; others are passed over. */
static inline struct source_event
sourcefix_expect(struct sourcefix *scene, enum source_event_kind kind)
{
    int64_t deadline_ms = kafkafix_deadline();
    struct source_event event;
    struct record records[SOURCEFIX_BATCH];
    char what[32];

    (void)snprintf(what, sizeof what, "event %d", kind);
    for (;;) {
        while (scene->source.ops->event(scene->source.self, &event))
            if (event.kind == kind)
                return event;
        sourcefix_release(records, scene->source.ops->next(scene->source.self,
                                       records, SOURCEFIX_BATCH));
        kafkafix_wait(&scene->fix, deadline_ms, what);
    }
}

#endif
