#include "ksource.h"
#include "affinity.h"
#include "clock.h"
#include "kalive.h"
#include "kassign.h"
#include "kconf.h"
#include "kends.h"
#include "kparts.h"
#include "kposition.h"
#include "wake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 512
#define EVENTS_AT_ONCE 64
#define ENDS_TRIES 3

enum asking { ASKING_NOTHING, ASKING_START, ASKING_RANGE, ASKING_ENDS };

struct part {
    bool failing; /* in `failed` */
    rd_kafka_resp_err_t failed_with;
    enum asking asking;
};

struct ksource {
    /* fixed */
    rd_kafka_t *rk;
    rd_kafka_queue_t *records, *events;
    const struct clock *clock;
    struct kalive *alive;
    /* own */
    struct affinity thread;
    bool claimed; /* by the thread of the first call */
    struct kends *kends;
    struct kposition *position;
    struct kparts *names;
    struct kassign *reading;
    struct part *parts;
    int32_t *failed; /* as much room as `parts` */
    size_t n_parts, n_failed, n_asking_ends;
    rd_kafka_message_t *batch[BATCH];
};

static struct ksource *
enter(void *self)
{
    struct ksource *ks = self;

    if (!ks->claimed)
        affinity_claim(&ks->thread);
    ks->claimed = true;
    affinity_assert(&ks->thread);
    return ks;
}

/* Room for part number `part`, in everything that has one for each. */
static bool
make_room(struct ksource *ks, int32_t part, struct err *err)
{
    size_t n = (size_t)part + 1;
    void *grown;

    if (!kends_room(ks->kends, part, err) ||
        !kassign_room(ks->reading, part, err))
        return false;
    if (n <= ks->n_parts)
        return true;
    n = n < 16 ? 16 : n + n / 2;
    if ((grown = realloc(ks->failed, n * sizeof *ks->failed)) == NULL)
        return err_set(err, ERR_MEMORY, "partitions of a source");
    ks->failed = grown;
    if ((grown = realloc(ks->parts, n * sizeof *ks->parts)) == NULL)
        return err_set(err, ERR_MEMORY, "partitions of a source");
    ks->parts = grown;
    memset(ks->parts + ks->n_parts, 0, (n - ks->n_parts) * sizeof *ks->parts);
    ks->n_parts = n;
    return true;
}

static void
stop_asking(struct ksource *ks, int32_t number)
{
    struct part *part = &ks->parts[number];

    if (part->asking == ASKING_NOTHING)
        return;
    if (part->asking == ASKING_ENDS)
        ks->n_asking_ends--;
    part->asking = ASKING_NOTHING;
    kends_drop(ks->kends, number);
}

static void
do_stop(void *self, int32_t number)
{
    struct ksource *ks = enter(self);

    if (number < 0 || (size_t)number >= ks->n_parts)
        return;
    stop_asking(ks, number);
    kassign_stop(ks->reading, number);
    for (size_t i = 0; ks->parts[number].failing && i < ks->n_failed; i++)
        if (ks->failed[i] == number)
            ks->failed[i--] = ks->failed[--ks->n_failed];
    ks->parts[number].failing = false;
}

/* Reading ends here; the flow is told by event(). */
static void
fail(void *self, int32_t number, rd_kafka_resp_err_t code)
{
    struct ksource *ks = self;
    struct part *part = &ks->parts[number];

    stop_asking(ks, number);
    kassign_stop(ks->reading, number);
    part->failed_with = code;
    if (!part->failing)
        ks->failed[ks->n_failed++] = number;
    part->failing = true;
}

static void
ask(struct ksource *ks, int32_t number, enum asking asking, unsigned kinds,
    int64_t wall_ms)
{
    const struct kends_question question = {
        .part = number,
        .topic = rd_kafka_topic_name(kparts_topic(ks->names, number)),
        .partition = kparts_partition(ks->names, number),
        .kinds = kinds,
        .wall_ms = wall_ms,
        .tries = asking == ASKING_START ? KENDS_FOR_EVER : ENDS_TRIES,
    };

    stop_asking(ks, number);
    kends_ask(ks->kends, &question);
    ks->parts[number].asking = asking;
    if (asking == ASKING_ENDS)
        ks->n_asking_ends++;
}

/* The number stands for this partition from now on; what it stood for before
 * is out of the library's hands by then. */
static bool
name_part(struct ksource *ks, int32_t number, const char *topic,
    int32_t partition, struct err *err)
{
    if (!make_room(ks, number, err))
        return false;
    do_stop(ks, number);
    if (!kparts_fits(ks->names, number, topic, partition))
        while (kassign_apply(ks->reading))
            continue;
    return kparts_name(ks->names, number, topic, partition, err);
}

static bool
/* NOLINTNEXTLINE(readability-function-size): source.h has it so */
do_read(void *self, int32_t number, const char *name, int32_t partition,
    int64_t offset, int32_t leader_epoch, struct err *err)
{
    struct ksource *ks = enter(self);

    if (offset < 0 || partition < 0 || number < 0)
        return err_set(err, ERR_KAFKA, "%s [%d]: offset %lld cannot be read",
            name, partition, (long long)offset);
    if (!name_part(ks, number, name, partition, err))
        return false;
    kassign_read(ks->reading, number, offset, leader_epoch);
    return true;
}

/* What the library says of a partition instead of a record. */
static void
take_error(struct ksource *ks, int32_t number,
    const rd_kafka_message_t *message)
{
    rd_kafka_resp_err_t code = message->err;
    struct err err;

    if (code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
        code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
        if (!kassign_is_gone(ks->reading, number, message))
            return;
        kassign_stop(ks->reading, number);
        ask(ks, number, ASKING_RANGE,
            KENDS_BIT(KENDS_LOW) | KENDS_BIT(KENDS_HIGH), 0);
        return;
    }
    kconf_err(&err, code, NULL);
    if (!err.retry || code == RD_KAFKA_RESP_ERR__BAD_MSG)
        fail(ks, number, code);
}

/* True if the message became `record`, which holds it now. */
static bool
take_message(struct ksource *ks, rd_kafka_message_t *message,
    struct record *record)
{
    int32_t number = kparts_of(message);

    if (message->err == 0 && number != KPARTS_NONE &&
        kassign_take(ks->reading, number, message, record))
        return true;
    if (message->err != 0 && kassign_reads(ks->reading, number))
        take_error(ks, number, message);
    rd_kafka_message_destroy(message);
    return false;
}

static size_t
do_next(void *self, struct record *records, size_t max)
{
    struct ksource *ks = enter(self);
    size_t n = 0, want;
    ssize_t got;

    (void)kassign_apply(ks->reading); /* the rest in the next turn */
    do {
        want = max - n < BATCH ? max - n : BATCH;
        got = rd_kafka_consume_batch_queue(ks->records, 0, ks->batch, want);
        for (ssize_t i = 0; i < got; i++)
            n += take_message(ks, ks->batch[i], &records[n]);
    } while (got > 0 && (size_t)got == want && n < max);
    return n;
}

static void
take_event(struct ksource *ks, rd_kafka_event_t *event, int64_t now_ms)
{
    switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_LISTOFFSETS_RESULT:
        kends_result(ks->kends, event, now_ms);
        break;
    case RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT:
        kposition_result(ks->position, event, now_ms);
        break;
    case RD_KAFKA_EVENT_ERROR:
        kalive_event(ks->alive, event, now_ms);
        break;
    default:
        break;
    }
}

/* Everything that moves without an order of the flow. */
static void
serve(struct ksource *ks)
{
    int64_t now_ms = clock_mono_ms(ks->clock);
    rd_kafka_event_t *event;

    for (int i = 0; i < EVENTS_AT_ONCE; i++) {
        if ((event = rd_kafka_queue_poll(ks->events, 0)) == NULL)
            break;
        take_event(ks, event, now_ms);
        rd_kafka_event_destroy(event);
    }
    kends_serve(ks->kends, now_ms);
    kposition_serve(ks->position, now_ms);
}

/* The answer as an event; false: there is nothing to tell. */
static bool
take_answer(struct ksource *ks, const struct kends_answer *answer,
    struct source_event *event)
{
    enum asking asking = ks->parts[answer->part].asking;

    ks->parts[answer->part].asking = ASKING_NOTHING;
    event->part = answer->part;
    event->low = answer->offset[KENDS_LOW];
    event->stable = answer->offset[KENDS_STABLE];
    event->high = answer->offset[KENDS_HIGH];
    event->offset = kassign_next(ks->reading, event->part);
    switch (asking) {
    case ASKING_NOTHING:
        return false;
    case ASKING_RANGE:
        event->kind = SOURCE_OUT_OF_RANGE;
        event->cut = kassign_cut(ks->reading, event->part);
        return true;
    case ASKING_ENDS:
        ks->n_asking_ends--;
        event->kind = SOURCE_ENDS;
        event->offset = kassign_position(ks->reading, answer->part);
        return event->low >= 0 && event->stable >= 0 && event->high >= 0;
    case ASKING_START:
        event->kind = SOURCE_RESOLVED;
        event->offset = -1;
        for (int kind = 0; kind < KENDS_N; kind++)
            if (answer->offset[kind] >= 0)
                event->offset = answer->offset[kind];
        if (event->offset < 0) /* nothing is as new as the time: the end */
            ask(ks, answer->part, ASKING_START, KENDS_BIT(KENDS_STABLE), 0);
        return event->offset >= 0;
    }
    return false;
}

/* What is at hand. */
static bool
tell(struct ksource *ks, struct source_event *event)
{
    struct kends_answer answer;
    struct part *part;
    bool down;

    memset(event, 0, sizeof *event);
    event->part = KPARTS_NONE;
    if (kalive_changed(ks->alive, clock_mono_ms(ks->clock), &down,
            &event->err)) {
        event->kind = down ? SOURCE_DOWN : SOURCE_UP;
        return true;
    }
    if (ks->n_failed > 0) {
        event->kind = SOURCE_FAILED;
        event->part = ks->failed[--ks->n_failed];
        part = &ks->parts[event->part];
        part->failing = false;
        event->offset = kassign_next(ks->reading, event->part);
        kconf_err(&event->err, part->failed_with, NULL);
        return true;
    }
    while (kends_next(ks->kends, &answer))
        if (take_answer(ks, &answer, event))
            return true;
    return false;
}

/* The library gets its portion of changes when all else was told: once for all
 * the events of a turn, since the flow waits for it. */
static bool
do_event(void *self, struct source_event *event)
{
    struct ksource *ks = enter(self);

    serve(ks);
    if (tell(ks, event))
        return true;
    (void)kassign_apply(ks->reading);
    return ks->n_failed > 0 && tell(ks, event);
}

static bool
do_resolve(void *self, int32_t number, const char *topic, int32_t partition,
    enum start start, int64_t wall_ms)
{
    struct ksource *ks = enter(self);
    unsigned kinds = KENDS_BIT(KENDS_LOW);
    struct err err;

    assert(number >= 0 && partition >= 0);
    if (!name_part(ks, number, topic, partition, &err))
        return false;
    if (start == START_LATEST)
        kinds = KENDS_BIT(KENDS_STABLE);
    else if (start == START_TIME)
        kinds = KENDS_BIT(KENDS_TIME);
    ask(ks, number, ASKING_START, kinds, wall_ms);
    return true;
}

static void
do_ask_ends(void *self)
{
    struct ksource *ks = enter(self);

    if (ks->n_asking_ends > 0)
        return;
    for (size_t i = 0; i < ks->n_parts; i++)
        if (kassign_reads(ks->reading, (int32_t)i) &&
            ks->parts[i].asking == ASKING_NOTHING)
            ask(ks, (int32_t)i, ASKING_ENDS,
                KENDS_BIT(KENDS_LOW) | KENDS_BIT(KENDS_STABLE) |
                    KENDS_BIT(KENDS_HIGH),
                0);
}

static void
do_stored(void *self, int32_t number, const char *topic, int32_t partition,
    int64_t offset)
{
    kposition_told(enter(self)->position, number, topic, partition, offset);
}

/* Also of one that was opened by half. */
static void
do_free(void *self)
{
    struct ksource *ks = self;

    if (ks->position != NULL)
        kposition_last(ks->position, ks->clock);
    kposition_free(ks->position);
    kends_free(ks->kends);
    kassign_free(ks->reading);
    kparts_free(ks->names);
    if (ks->records != NULL) {
        rd_kafka_queue_io_event_enable(ks->records, -1, NULL, 0);
        rd_kafka_queue_destroy(ks->records);
    }
    if (ks->events != NULL) {
        rd_kafka_queue_io_event_enable(ks->events, -1, NULL, 0);
        rd_kafka_queue_destroy(ks->events);
    }
    kconf_close(ks->rk);
    kalive_free(ks->alive);
    free(ks->parts);
    free(ks->failed);
    free(ks);
}

static const struct source_ops ops = {
    .read = do_read,
    .stop = do_stop,
    .next = do_next,
    .event = do_event,
    .resolve = do_resolve,
    .ask_ends = do_ask_ends,
    .stored = do_stored,
    .free = do_free,
};

static bool
open_position(struct ksource *ks, const struct ksource_options *options,
    struct err *err)
{
    const struct kposition_options position = {
        .rk = ks->rk,
        .queue = ks->events,
        .group_id = options->group_id,
        .cluster = options->cluster,
        .flow = options->flow,
        .log = options->log,
    };

    ks->position = kposition_new(&position, err);
    return ks->position != NULL;
}

static bool
open_client(struct ksource *ks, const struct ksource_options *options,
    struct err *err)
{
    const struct kconf_options client = {
        .client = KCONF_SOURCE,
        .cluster = options->cluster,
        .agent = options->agent,
        .flow = options->flow,
        .group_id = options->group_id,
        .prefetch_bytes = options->prefetch_bytes,
        .far = options->far,
        .events = RD_KAFKA_EVENT_ERROR,
        .alive = ks->alive,
        .log = options->log,
        .configure = options->configure,
    };
    static const uint64_t one = 1; /* what wakes an eventfd */

    if ((ks->rk = kconf_open(&client, err)) == NULL)
        return false;
    ks->records = rd_kafka_queue_get_consumer(ks->rk);
    ks->events = rd_kafka_queue_get_main(ks->rk);
    rd_kafka_queue_io_event_enable(ks->records, options->wake->fd, &one,
        sizeof one);
    rd_kafka_queue_io_event_enable(ks->events, options->wake->fd, &one,
        sizeof one);
    ks->names = kparts_new(ks->rk, err);
    if (ks->names == NULL)
        return false;
    ks->reading = kassign_new(ks->rk, ks->names, fail, ks, err);
    if (ks->reading == NULL)
        return false;
    ks->kends = kends_new(ks->rk, ks->events, err);
    return ks->kends != NULL && open_position(ks, options, err);
}

bool
ksource_open(struct source *source, const struct ksource_options *options,
    struct err *err)
{
    struct ksource *ks = calloc(1, sizeof *ks);

    if (ks == NULL)
        return err_set(err, ERR_MEMORY, "source of %s", options->flow);
    ks->clock = options->clock != NULL ? options->clock : clock_system();
    ks->alive = kalive_new(options->wake, options->metrics, err);
    if (ks->alive == NULL || !open_client(ks, options, err)) {
        do_free(ks);
        return false;
    }
    source->ops = &ops;
    source->self = ks;
    return true;
}
