#include "load.h"

#include <librdkafka/rdkafka.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct topic {
    const char *name;
    int partitions;
    const char *codec;
} topics[LOAD_TOPICS] = {
    { "telemetry.temperature", 4, "lz4" },
    { "telemetry.pressure", 4, "zstd" },
    { "orders", 2, "gzip" },
    { "alarms", 1, "snappy" },
    { "events", 1, "none" },
};

struct load {
    struct load_plan plan;
    rd_kafka_t *producer;
    rd_kafka_topic_t *topics[LOAD_TOPICS];
    int64_t sent, delivered;
    rd_kafka_resp_err_t failed; /* the first report that was not good */
};

const char *
load_topic_name(int topic)
{
    return topics[topic].name;
}

int
load_topic_partitions(int topic)
{
    return topics[topic].partitions;
}

const char *
load_topic_codec(int topic)
{
    return topics[topic].codec;
}

int
load_topic(int part)
{
    int topic = 0;

    assert(part >= 0 && part < LOAD_PARTS);
    while (part >= topics[topic].partitions)
        part -= topics[topic++].partitions;
    return topic;
}

int
load_partition(int part)
{
    int topic = 0;

    assert(part >= 0 && part < LOAD_PARTS);
    while (part >= topics[topic].partitions)
        part -= topics[topic++].partitions;
    return part;
}

int
load_part(int topic, int32_t partition)
{
    int part = 0;

    if (partition < 0 || partition >= topics[topic].partitions)
        return -1;
    for (int i = 0; i < topic; i++)
        part += topics[i].partitions;
    return part + (int)partition;
}

/* The same for the same number, and without a pattern (splitmix64). */
static uint64_t
scramble(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Long values only where a cluster keeps them all. */
static size_t
value_len(const struct load_plan *plan, uint64_t dice)
{
    uint64_t longest = plan->records > 120000 ? 120 : LOAD_VALUE_MAX;

    return (size_t)(40 + dice % (longest - 40));
}

static void
make_key(int64_t number, uint64_t dice, struct load_room *room,
    struct load_record *record)
{
    if (number % 7 == 3)
        return; /* null */
    record->key = room->key;
    if (number % 11 == 5)
        return; /* empty */
    record->key_len = (size_t)snprintf(room->key, sizeof room->key,
        "device-%04u", (unsigned)(dice % 2000));
}

/* A tombstone needs a key, as compacted topics do. */
static void
make_value(const struct load_plan *plan, int64_t number, uint64_t dice,
    struct load_room *room, struct load_record *record)
{
    size_t len = value_len(plan, dice >> 16);
    size_t used;

    if (number % 50 == 20 && record->key_len > 0)
        return; /* null */
    record->value = room->value;
    if (number % 53 == 7)
        return; /* empty */
    used = (size_t)snprintf(room->value, sizeof room->value,
        "{\"n\":%lld,\"device\":\"%.*s\",\"bytes\":\"", (long long)number,
        (int)record->key_len,
        record->key_len > 0 ? (const char *)record->key : "");
    while (used < len) {
        dice = scramble(dice);
        for (int i = 0; i < 8 && used < len; i++)
            room->value[used++] = (char)(dice >> (8 * i));
    }
    record->value_len = used;
}

static void
make_headers(int64_t number, struct load_record *record)
{
    static const struct load_header sets[4][LOAD_HEADERS_MAX] = {
        { { NULL, NULL, 0 } },
        { { "site", "plant", 5 }, { NULL, NULL, 0 } },
        { { "trace", "a", 1 }, { "trace", "b", 1 }, { "trace", "a", 1 } },
        { { "null", NULL, 0 }, { "empty", "", 0 }, { "bytes", "\0\xff\n", 3 } },
    };
    const struct load_header *set = sets[number / LOAD_PARTS % 4];

    while (record->n_headers < LOAD_HEADERS_MAX &&
           set[record->n_headers].name != NULL) {
        record->headers[record->n_headers] = set[record->n_headers];
        record->n_headers++;
    }
}

void
load_make(const struct load_plan *plan, int64_t number, struct load_room *room,
    struct load_record *record)
{
    uint64_t dice = scramble((uint64_t)number);

    assert(number >= 0);
    *record = (struct load_record){
        .part = (int)(number % LOAD_PARTS),
        .timestamp_wall_ms = plan->base_wall_ms + number,
    };
    make_key(number, dice, room, record);
    make_value(plan, number, dice, room, record);
    make_headers(number, record);
}

size_t
load_bytes(const struct load_record *record)
{
    size_t bytes = record->key_len + record->value_len;

    for (size_t i = 0; i < record->n_headers; i++)
        bytes += strlen(record->headers[i].name) + record->headers[i].len;
    return bytes;
}

/* From load_send() only, on its thread. */
static void
on_report(rd_kafka_t *producer, const rd_kafka_message_t *message, void *ctx)
{
    struct load *load = ctx;

    (void)producer;
    if (message->err && !load->failed)
        load->failed = message->err;
    if (!message->err)
        load->delivered++;
}

static bool
set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err *err)
{
    char why[160];

    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) ==
        RD_KAFKA_CONF_OK)
        return true;
    return err_set(err, ERR_KAFKA, "%s", why);
}

static rd_kafka_topic_t *
open_topic(rd_kafka_t *producer, const struct topic *topic)
{
    rd_kafka_topic_conf_t *conf = rd_kafka_topic_conf_new();
    char why[80];

    if (rd_kafka_topic_conf_set(conf, "compression.codec", topic->codec, why,
            sizeof why) != RD_KAFKA_CONF_OK) {
        rd_kafka_topic_conf_destroy(conf);
        return NULL;
    }
    return rd_kafka_topic_new(producer, topic->name, conf);
}

static bool
open_producer(struct load *load, const char *bootstrap, struct err *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[160];

    rd_kafka_conf_set_log_cb(conf, NULL);
    rd_kafka_conf_set_opaque(conf, load);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    if (!set(conf, "bootstrap.servers", bootstrap, err) ||
        !set(conf, "enable.idempotence", "true", err) ||
        !set(conf, "linger.ms", "10", err)) {
        rd_kafka_conf_destroy(conf);
        return false;
    }
    load->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (load->producer == NULL) {
        rd_kafka_conf_destroy(conf);
        return err_set(err, ERR_KAFKA, "%s", why);
    }
    for (int i = 0; i < LOAD_TOPICS; i++) {
        load->topics[i] = open_topic(load->producer, &topics[i]);
        if (load->topics[i] == NULL)
            return err_set(err, ERR_KAFKA, "topic %s, codec %s", topics[i].name,
                topics[i].codec);
    }
    return true;
}

struct load *
load_start(const struct load_plan *plan, const char *bootstrap, struct err *err)
{
    struct load *load = calloc(1, sizeof *load);

    if (load == NULL) {
        err_set(err, ERR_MEMORY, "producer");
        return NULL;
    }
    load->plan = *plan;
    if (!open_producer(load, bootstrap, err)) {
        err_wrap(err, "producer");
        load_stop(load);
        return NULL;
    }
    return load;
}

void
load_stop(struct load *load)
{
    if (load == NULL)
        return;
    if (load->producer != NULL) {
        (void)rd_kafka_purge(load->producer,
            RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        (void)rd_kafka_flush(load->producer, 1000);
        for (int i = 0; i < LOAD_TOPICS; i++)
            if (load->topics[i] != NULL)
                rd_kafka_topic_destroy(load->topics[i]);
        rd_kafka_destroy(load->producer);
    }
    free(load);
}

static rd_kafka_headers_t *
headers_of(const struct load_record *record)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(record->n_headers);

    for (size_t i = 0; i < record->n_headers; i++)
        (void)rd_kafka_header_add(headers, record->headers[i].name, -1,
            record->headers[i].value, (ssize_t)record->headers[i].len);
    return headers;
}

/* The library copies key and value.  The error it gives, if any. */
static rd_kafka_resp_err_t
produce(struct load *load, const struct load_record *record)
{
    union {
        const void *in;
        void *out;
    } key = { record->key }, value = { record->value };
    rd_kafka_headers_t *headers =
        record->n_headers == 0 ? NULL : headers_of(record);
    rd_kafka_vu_t fields[7] = {
        { .vtype = RD_KAFKA_VTYPE_RKT,
            .u.rkt = load->topics[load_topic(record->part)] },
        { .vtype = RD_KAFKA_VTYPE_PARTITION,
            .u.i32 = load_partition(record->part) },
        { .vtype = RD_KAFKA_VTYPE_TIMESTAMP,
            .u.i64 = record->timestamp_wall_ms },
        { .vtype = RD_KAFKA_VTYPE_KEY, .u.mem = { key.out, record->key_len } },
        { .vtype = RD_KAFKA_VTYPE_VALUE,
            .u.mem = { value.out, record->value_len } },
        { .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
        { .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers },
    };
    rd_kafka_error_t *error =
        rd_kafka_produceva(load->producer, fields, headers == NULL ? 6 : 7);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    if (error != NULL) {
        code = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
        if (headers != NULL)
            rd_kafka_headers_destroy(headers);
    }
    return code;
}

bool
load_send(struct load *load, int64_t end, struct err *err)
{
    struct load_room room;
    struct load_record record;

    (void)rd_kafka_poll(load->producer, 0);
    while (
        load->sent < end && load->sent < load->plan.records && !load->failed) {
        rd_kafka_resp_err_t code;

        load_make(&load->plan, load->sent, &room, &record);
        code = produce(load, &record);
        if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            return true; /* the reports make room */
        if (code)
            load->failed = code;
        else
            load->sent++;
    }
    if (load->failed)
        return err_set(err, ERR_KAFKA,
            "producer: a record was not delivered: %s",
            rd_kafka_err2str(load->failed));
    return true;
}

int64_t
load_sent(const struct load *load)
{
    return load->sent;
}

int64_t
load_delivered(const struct load *load)
{
    return load->delivered;
}
