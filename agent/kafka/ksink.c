#include "ksink.h"
#include "affinity.h"
#include "clock.h"
#include "kconf.h"
#include "kparts.h"
#include "kreaper.h"
#include "krecord.h"
#include "kverdict.h"
#include "log.h"
#include "wake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_FROM 4096 /* bytes of a value from which it is not copied */
#define HOLD_MS 1000   /* after an ack; a record holds its whole answer */
#define BATCH_BYTES 1000000
#define BATCH_BYTES_LEAST 1024
#define BATCH_BYTES_MOST 16777216
#define BATCH_ROOM 1024
#define NAME_MAX 128
#define REFRESH_EVERY_MS 5000
#define NOTHING INT64_C(-1)

struct lane {
    struct kreaper_client *client; /* NULL: not open */
    bool fatal, told;              /* the client cannot go on; the flow knows */
    struct err fatal_err;
    int64_t refresh_ms;  /* not before */
    int64_t batch_bytes; /* of the present client */
    int64_t most_bytes;  /* what refusals have shown; 0: nothing yet */
    bool several;        /* client->event reports more than one record */
    struct kverdict verdict;
};

struct part {
    char *topic; /* NULL: never attached */
    int32_t partition;
    int32_t lane;
    bool attached;
    int64_t in_flight;     /* in the lane's present client */
    int64_t moved_ms;      /* nothing was in flight, or an ack came */
    int64_t careful_until; /* up to this offset one at a time; or NOTHING */
};

struct ksink {
    /* fixed */
    struct ksink_options options;
    char agent[NAME_MAX], flow[NAME_MAX], compression[NAME_MAX];
    struct kreaper *reaper;
    /* own */
    struct affinity thread;
    bool claimed; /* by the thread of the first call */
    struct lane *lanes;
    struct part *parts;
    size_t n_lanes, n_parts;
    size_t turn;    /* the lane that poll() begins with */
    int64_t now_ms; /* of the newest poll() */
};

static struct ksink *
enter(void *self)
{
    struct ksink *ks = self;

    if (!ks->claimed)
        affinity_claim(&ks->thread);
    ks->claimed = true;
    affinity_assert(&ks->thread);
    return ks;
}

static struct lane *
open_lane(struct ksink *ks, int32_t lane)
{
    if (lane < 0 || (size_t)lane >= ks->n_lanes ||
        ks->lanes[lane].client == NULL)
        return NULL;
    return &ks->lanes[lane];
}

static bool
room_for_lane(struct ksink *ks, int32_t lane)
{
    size_t n = (size_t)lane + 1;
    struct lane *lanes;

    if (n <= ks->n_lanes)
        return true;
    if ((lanes = realloc(ks->lanes, n * sizeof *lanes)) == NULL)
        return false;
    memset(lanes + ks->n_lanes, 0, (n - ks->n_lanes) * sizeof *lanes);
    ks->lanes = lanes;
    ks->n_lanes = n;
    return true;
}

static bool
room_for_part(struct ksink *ks, int32_t part)
{
    size_t n = (size_t)part + 1;
    struct part *parts;

    if (n <= ks->n_parts)
        return true;
    n = n < 16 ? 16 : n + n / 2;
    if ((parts = realloc(ks->parts, n * sizeof *parts)) == NULL)
        return false;
    memset(parts + ks->n_parts, 0, (n - ks->n_parts) * sizeof *parts);
    for (; ks->n_parts < n; ks->n_parts++)
        parts[ks->n_parts].careful_until = NOTHING;
    ks->parts = parts;
    return true;
}

static struct kreaper_client *
open_client(const struct ksink *ks, int64_t batch_bytes, struct err *err)
{
    const struct kconf_options client = {
        .client = KCONF_DATA,
        .cluster = ks->options.cluster,
        .agent = ks->agent,
        .flow = ks->flow,
        .compression = ks->compression,
        .linger_ms = ks->options.linger_ms,
        .batch_bytes = batch_bytes,
        .events = RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR,
        .log = ks->options.log,
        .configure = ks->options.configure,
    };

    return kreaper_open(&client, err);
}

/* The partitions that were attached to the lane, for its new client. */
static bool
name_parts(struct ksink *ks, int32_t lane, struct kparts *names,
    struct err *err)
{
    for (size_t i = 0; i < ks->n_parts; i++) {
        struct part *part = &ks->parts[i];

        if (!part->attached || part->lane != lane)
            continue;
        part->in_flight = 0;
        if (!kparts_name(names, (int32_t)i, part->topic, part->partition, err))
            return false;
    }
    return true;
}

/* What a batch may have: what the topics take, less what the library adds,
 * and not more than what turned out to be too large. */
static int64_t
batch_size(const struct lane *lane, int64_t wanted)
{
    int64_t bytes = wanted > 0 ? wanted - BATCH_ROOM : BATCH_BYTES;

    if (bytes > BATCH_BYTES_MOST)
        bytes = BATCH_BYTES_MOST;
    if (lane->most_bytes > 0 && bytes > lane->most_bytes)
        bytes = lane->most_bytes;
    return bytes < BATCH_BYTES_LEAST ? BATCH_BYTES_LEAST : bytes;
}

static bool
do_open(void *self, int32_t number, int64_t batch_bytes, struct err *err)
{
    static const uint64_t one = 1; /* what wakes an eventfd */
    struct ksink *ks = enter(self);
    struct kreaper_client *client;
    struct lane *lane;
    int64_t bytes;

    assert(number >= 0 && open_lane(ks, number) == NULL);
    if (!room_for_lane(ks, number))
        return err_set(err, ERR_MEMORY, "lane %d", number);
    lane = &ks->lanes[number];
    bytes = batch_size(lane, batch_bytes);
    if ((client = open_client(ks, bytes, err)) == NULL)
        return false;
    if (!name_parts(ks, number, client->names, err)) {
        kreaper_undo(client);
        return false;
    }
    rd_kafka_queue_io_event_enable(client->queue, ks->options.wake->fd, &one,
        sizeof one);
    *lane = (struct lane){ client, .batch_bytes = bytes,
        .most_bytes = lane->most_bytes };
    return true;
}

static void
do_close(void *self, int32_t number, int64_t cost)
{
    struct ksink *ks = enter(self);
    struct lane *lane = open_lane(ks, number);

    if (lane == NULL)
        return;
    for (size_t i = 0; i < ks->n_parts; i++)
        if (ks->parts[i].lane == number)
            ks->parts[i].in_flight = 0;
    rd_kafka_queue_io_event_enable(lane->client->queue, -1, NULL, 0);
    lane->client->cost = cost;
    kreaper_give(ks->reaper, &lane->client);
}

static void
do_closed(void *self, struct sink_closed *closed)
{
    kreaper_closed(enter(self)->reaper, closed);
}

static bool
do_attach(void *self, int32_t number, int32_t lane_number, const char *topic,
    int32_t partition, struct err *err)
{
    struct ksink *ks = enter(self);
    struct lane *lane = open_lane(ks, lane_number);
    struct part *part;
    char *copy;

    assert(number >= 0);
    if (!room_for_part(ks, number) || (copy = strdup(topic)) == NULL)
        return err_set(err, ERR_MEMORY, "%s [%d]", topic, partition);
    part = &ks->parts[number];
    if (part->lane != lane_number)
        part->in_flight = 0;
    free(part->topic);
    part->topic = copy;
    part->partition = partition;
    part->lane = lane_number;
    part->attached = lane == NULL || kparts_name(lane->client->names, number,
                                         topic, partition, err);
    return part->attached;
}

static void
do_detach(void *self, int32_t number)
{
    struct ksink *ks = enter(self);

    if (number >= 0 && (size_t)number < ks->n_parts)
        ks->parts[number].attached = false;
}

/* The client's picture of a topic is older than the topic. */
static void
refresh(struct ksink *ks, struct lane *lane, const struct record *record)
{
    if (ks->now_ms < lane->refresh_ms)
        return;
    lane->refresh_ms = ks->now_ms + REFRESH_EVERY_MS;
    kparts_refresh(lane->client->names, record->part);
    LOG(ks->options.log, LEVEL_WARN, "sink.waits", kv_str("flow", ks->flow),
        kv_str("topic", ks->parts[record->part].topic),
        kv_int("partition", ks->parts[record->part].partition),
        kv_str("why", "the target does not know the partition yet"));
}

static enum sink_answer
judge(struct ksink *ks, struct lane *lane, const struct record *record,
    rd_kafka_error_t *error, struct err *err)
{
    rd_kafka_resp_err_t code = kverdict_not_taken(err, error, record);

    if (!err->retry)
        return SINK_REFUSED;
    if (code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
        code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
        refresh(ks, lane, record);
    return SINK_FULL;
}

static enum sink_answer
do_send(void *self, struct record *record, struct err *err)
{
    struct ksink *ks = enter(self);
    struct part *part;
    struct lane *lane;
    rd_kafka_message_t *hold = NULL;
    rd_kafka_error_t *error;

    assert(record->part >= 0 && (size_t)record->part < ks->n_parts);
    part = &ks->parts[record->part];
    lane = open_lane(ks, part->lane);
    assert(part->attached && lane != NULL && record->offset >= 0);
    if (lane->fatal ||
        (record->offset <= part->careful_until && part->in_flight > 0))
        return SINK_FULL;
    if (!krecord_can_be_sent(record, err))
        return SINK_REFUSED;
    if (part->in_flight == 0)
        part->moved_ms = ks->now_ms;
    if (record->value_len >= HOLD_FROM && ks->now_ms - part->moved_ms < HOLD_MS)
        hold = krecord_message(record);
    error = krecord_send(record, lane->client->rk,
        kparts_topic(lane->client->names, record->part), part->partition,
        kreaper_opaque(record->offset, hold), hold == NULL);
    if (error != NULL)
        return judge(ks, lane, record, error, err);
    part->in_flight++;
    lane->client->in_flight++;
    if (hold == NULL)
        record_release(record);
    record->hold = NULL;
    return SINK_TAKEN;
}

/* The err of a failed report, and what is to be learned from it. */
static const struct err *
fail(struct lane *lane, struct part *part, rd_kafka_resp_err_t code,
    int64_t offset)
{
    struct kverdict *verdict = &lane->verdict;

    kverdict_judge(verdict, code, lane->several);
    if (verdict->one_of && offset > part->careful_until)
        part->careful_until = offset;
    if (verdict->one_of && verdict->too_large)
        lane->most_bytes = lane->batch_bytes / 2;
    return &verdict->err;
}

static void
tell(struct ksink *ks, int32_t number, const rd_kafka_message_t *message)
{
    struct lane *lane = &ks->lanes[number];
    struct sink_done done = {
        .lane = number,
        .part = kparts_of(message),
        .offset = kreaper_end(message->_private),
        .target_offset = message->offset >= 0 ? message->offset : -1,
    };
    struct part *part;

    lane->client->in_flight--;
    if (done.part == KPARTS_NONE)
        return; /* the number was given to another partition meanwhile */
    part = &ks->parts[done.part];
    part->in_flight--;
    part->moved_ms = ks->now_ms;
    if (message->err != 0)
        done.err = fail(lane, part, message->err, done.offset);
    else if (done.offset >= part->careful_until)
        part->careful_until = NOTHING;
    ks->options.done(ks->options.ctx, &done);
}

static void
end_fatally(struct lane *lane)
{
    char why[256];

    kconf_err(&lane->fatal_err,
        rd_kafka_fatal_error(lane->client->rk, why, sizeof why), why);
    lane->fatal_err.retry = true;
    lane->fatal = true;
}

static void
take_event(struct lane *lane, rd_kafka_event_t *event)
{
    rd_kafka_event_type_t type = rd_kafka_event_type(event);

    if (type == RD_KAFKA_EVENT_DR) {
        lane->several = rd_kafka_event_message_count(event) > 1;
        lane->client->event = event;
        return; /* destroyed when it is read */
    }
    if (type == RD_KAFKA_EVENT_ERROR && rd_kafka_event_error_is_fatal(event))
        end_fatally(lane);
    rd_kafka_event_destroy(event);
}

/* A client that cannot go on: what is in it is called back, so that every
 * record has its report before the flow is told. */
static void
end_lane(struct ksink *ks, int32_t number)
{
    struct lane *lane = &ks->lanes[number];

    if (lane->client->in_flight > 0) {
        kconf_purge(lane->client->rk, RD_KAFKA_PURGE_F_QUEUE |
                                          RD_KAFKA_PURGE_F_INFLIGHT |
                                          RD_KAFKA_PURGE_F_NON_BLOCKING);
        return;
    }
    lane->told = true;
    ks->options.failed(ks->options.ctx, number, &lane->fatal_err);
}

/* At most `max` records of one lane. */
static size_t
poll_lane(struct ksink *ks, int32_t number, size_t max)
{
    struct lane *lane = &ks->lanes[number];
    struct kreaper_client *client = lane->client;
    const rd_kafka_message_t *message;
    rd_kafka_event_t *event;
    size_t n = 0;

    while (n < max) {
        if (client->event == NULL) {
            if ((event = rd_kafka_queue_poll(client->queue, 0)) == NULL)
                break;
            take_event(lane, event);
            continue;
        }
        if ((message = rd_kafka_event_message_next(client->event)) != NULL) {
            tell(ks, number, message);
            n++;
            continue;
        }
        rd_kafka_event_destroy(client->event);
        client->event = NULL;
    }
    if (lane->fatal && !lane->told)
        end_lane(ks, number);
    return n;
}

static size_t
do_poll(void *self, size_t max)
{
    struct ksink *ks = enter(self);
    size_t n = 0;

    ks->now_ms = clock_mono_ms(ks->options.clock);
    kreaper_tick(ks->reaper);
    for (size_t i = 0; i < ks->n_lanes && n < max; i++) {
        size_t number = (ks->turn + i) % ks->n_lanes;

        if (ks->lanes[number].client != NULL)
            n += poll_lane(ks, (int32_t)number, max - n);
    }
    if (ks->n_lanes > 0)
        ks->turn = (ks->turn + 1) % ks->n_lanes;
    return n;
}

static bool
do_free(void *self)
{
    struct ksink *ks = self;
    bool all;

    ks->claimed = false;
    for (size_t i = 0; i < ks->n_lanes; i++)
        do_close(ks, (int32_t)i, 0);
    all = kreaper_free(ks->reaper);
    for (size_t i = 0; i < ks->n_parts; i++)
        free(ks->parts[i].topic);
    free(ks->parts);
    free(ks->lanes);
    free(ks);
    return all;
}

static const struct sink_ops ops = {
    .open = do_open,
    .close = do_close,
    .attach = do_attach,
    .detach = do_detach,
    .send = do_send,
    .poll = do_poll,
    .closed = do_closed,
    .free = do_free,
};

bool
ksink_open(struct sink *sink, const struct ksink_options *options,
    struct err *err)
{
    struct ksink *ks = calloc(1, sizeof *ks);
    struct kreaper_options reaper = {
        .log = options->log,
        .watch = options->watch,
    };

    if (ks == NULL)
        return err_set(err, ERR_MEMORY, "sink of %s", options->flow);
    ks->options = *options;
    if (options->clock == NULL)
        ks->options.clock = clock_system();
    (void)snprintf(ks->agent, sizeof ks->agent, "%s", options->agent);
    (void)snprintf(ks->flow, sizeof ks->flow, "%s", options->flow);
    (void)snprintf(ks->compression, sizeof ks->compression, "%s",
        options->compression != NULL ? options->compression : "none");
    reaper.flow = ks->flow;
    reaper.clock = ks->options.clock;
    if ((ks->reaper = kreaper_new(&reaper, err)) == NULL) {
        free(ks);
        return false;
    }
    *sink = (struct sink){ &ops, ks };
    return true;
}
