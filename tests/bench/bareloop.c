/* bareloop.c - the bare loop that kedge is measured against.
 *
 * Consumes a topic from its beginning with plain librdkafka and produces every
 * record to another cluster, the same partition: no ledger, no audit, no
 * limits, nothing but the library.  What kedge costs beyond it is kedge's own.
 *
 * usage: loop --from BROKERS --to BROKERS --topic NAME --count N
 *        [--target NAME] [--codec none] [--idempotence true] [--linger 25]
 *        [--hold 4096] [--set-source K=V] [--set-target K=V] ...
 *
 * Values of --hold bytes and more are not copied.  Prints one line: records,
 * bytes, wall s, CPU s (all threads), CPU us a record.  Exit 0 when N records
 * were acknowledged, else 1. */
#include <librdkafka/rdkafka.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define PARTITIONS_MAX 1024
#define TIMEOUT_MS 10000

struct loop {
    const char *from, *to, *topic, *target;
    const char *codec, *idempotence, *linger;
    long count;
    size_t hold_from;
    rd_kafka_conf_t *source_conf, *target_conf;
    rd_kafka_t *source, *sink;
    rd_kafka_topic_t *out;
    long taken, acked, failed;
    uint64_t bytes;
};

static void
die(const char *what, const char *why)
{
    fprintf(stderr, "loop: %s: %s\n", what, why);
    exit(1); /* NOLINT(concurrency-mt-unsafe): nobody else exits */
}

static void
set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char why[256];

    if (rd_kafka_conf_set(conf, key, value, why, sizeof why) !=
        RD_KAFKA_CONF_OK)
        die(key, why);
}

static void
set_pair(rd_kafka_conf_t *conf, char *pair)
{
    char *equals = strchr(pair, '=');

    if (equals == NULL)
        die(pair, "KEY=VALUE is wanted");
    *equals = '\0';
    set(conf, pair, equals + 1);
}

/* An opaque with its lowest bit set stands for a record that was copied. */
static void
on_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    struct loop *loop = opaque;

    (void)rk;
    if (((uintptr_t)message->_private & 1) == 0)
        rd_kafka_message_destroy(message->_private);
    if (message->err != 0)
        loop->failed++;
    else
        loop->acked++;
}

static void
open_source(struct loop *loop)
{
    rd_kafka_conf_t *conf = loop->source_conf;
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_partition_list_t *list;
    rd_kafka_topic_t *topic;
    char why[256];

    set(conf, "bootstrap.servers", loop->from);
    set(conf, "group.id", "loop");
    set(conf, "enable.auto.commit", "false");
    set(conf, "enable.auto.offset.store", "false");
    set(conf, "check.crcs", "true");
    set(conf, "fetch.queue.backoff.ms", "20");
    loop->source = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (loop->source == NULL)
        die("source", why);
    rd_kafka_poll_set_consumer(loop->source);
    topic = rd_kafka_topic_new(loop->source, loop->topic, NULL);
    if (rd_kafka_metadata(loop->source, 0, topic, &metadata, TIMEOUT_MS) != 0 ||
        metadata->topic_cnt != 1 || metadata->topics[0].partition_cnt < 1)
        die(loop->topic, "no metadata");
    list = rd_kafka_topic_partition_list_new(PARTITIONS_MAX);
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
        rd_kafka_topic_partition_list_add(list, loop->topic, i)->offset = 0;
    if (rd_kafka_assign(loop->source, list) != 0)
        die(loop->topic, "cannot be assigned");
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
}

static void
open_sink(struct loop *loop)
{
    rd_kafka_conf_t *conf = loop->target_conf;
    char why[256];

    set(conf, "bootstrap.servers", loop->to);
    set(conf, "enable.idempotence", loop->idempotence);
    set(conf, "acks", "all");
    set(conf, "compression.type", loop->codec);
    set(conf, "linger.ms", loop->linger);
    set(conf, "batch.size", "1000000");
    set(conf, "batch.num.messages", "100000");
    set(conf, "message.timeout.ms", "0");
    rd_kafka_conf_set_opaque(conf, loop);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    loop->sink = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (loop->sink == NULL)
        die("target", why);
    loop->out = rd_kafka_topic_new(loop->sink, loop->target, NULL);
}

static void
forward(struct loop *loop, rd_kafka_message_t *message)
{
    rd_kafka_timestamp_type_t type;
    rd_kafka_headers_t *headers = NULL;
    rd_kafka_error_t *error;
    bool held = message->len >= loop->hold_from;
    size_t n = 7;
    rd_kafka_vu_t values[8] = {
        { .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = loop->out },
        { .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = message->partition },
        { .vtype = RD_KAFKA_VTYPE_KEY,
            .u.mem = { message->key, message->key_len } },
        { .vtype = RD_KAFKA_VTYPE_VALUE,
            .u.mem = { message->payload, message->len } },
        { .vtype = RD_KAFKA_VTYPE_TIMESTAMP,
            .u.i64 = rd_kafka_message_timestamp(message, &type) },
        { .vtype = RD_KAFKA_VTYPE_OPAQUE,
            .u.ptr = held ? (void *)message : (void *)(uintptr_t)1 },
        { .vtype = RD_KAFKA_VTYPE_MSGFLAGS,
            .u.i = held ? 0 : RD_KAFKA_MSG_F_COPY },
    };

    if (rd_kafka_message_detach_headers(message, &headers) == 0) {
        values[n].vtype = RD_KAFKA_VTYPE_HEADERS;
        values[n++].u.headers = headers;
    }
    while ((error = rd_kafka_produceva(loop->sink, values, n)) != NULL) {
        if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            die("produce", rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        rd_kafka_poll(loop->sink, 10);
    }
    loop->taken++;
    loop->bytes += message->len + message->key_len;
    if (!held)
        rd_kafka_message_destroy(message);
}

static double
seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void
run(struct loop *loop)
{
    rd_kafka_message_t *message;

    while (loop->taken < loop->count) {
        rd_kafka_poll(loop->sink, 0);
        message = rd_kafka_consumer_poll(loop->source, 10);
        if (message == NULL)
            continue;
        if (message->err == 0)
            forward(loop, message);
        else
            rd_kafka_message_destroy(message);
    }
    while (loop->acked + loop->failed < loop->taken)
        rd_kafka_poll(loop->sink, 100);
}

static void
parse(struct loop *loop, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *option = argv[i];

        if (i + 1 == argc)
            die(option, "a value is wanted");
        if (strcmp(option, "--from") == 0)
            loop->from = argv[i + 1];
        else if (strcmp(option, "--to") == 0)
            loop->to = argv[i + 1];
        else if (strcmp(option, "--topic") == 0)
            loop->topic = argv[i + 1];
        else if (strcmp(option, "--target") == 0)
            loop->target = argv[i + 1];
        else if (strcmp(option, "--count") == 0)
            loop->count = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(option, "--codec") == 0)
            loop->codec = argv[i + 1];
        else if (strcmp(option, "--idempotence") == 0)
            loop->idempotence = argv[i + 1];
        else if (strcmp(option, "--linger") == 0)
            loop->linger = argv[i + 1];
        else if (strcmp(option, "--hold") == 0)
            loop->hold_from = (size_t)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(option, "--set-source") == 0)
            set_pair(loop->source_conf, argv[i + 1]);
        else if (strcmp(option, "--set-target") == 0)
            set_pair(loop->target_conf, argv[i + 1]);
        else
            die(option, "no such option");
    }
    if (loop->from == NULL || loop->to == NULL || loop->topic == NULL ||
        loop->count < 1)
        die("usage", "--from, --to, --topic and --count are needed");
    if (loop->target == NULL)
        loop->target = loop->topic;
}

int
main(int argc, char **argv)
{
    struct loop loop = {
        .codec = "none",
        .idempotence = "true",
        .linger = "25",
        .hold_from = 4096,
        .source_conf = rd_kafka_conf_new(),
        .target_conf = rd_kafka_conf_new(),
    };
    struct timespec begin, end;
    struct rusage usage;
    double cpu, wall;

    parse(&loop, argc, argv);
    open_source(&loop);
    open_sink(&loop);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    run(&loop);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    (void)getrusage(RUSAGE_SELF, &usage);
    cpu = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
    wall = (double)(end.tv_sec - begin.tv_sec) +
           (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("records=%ld bytes=%llu wall_s=%.3f cpu_s=%.3f cpu_us=%.3f "
           "maxrss_kb=%ld failed=%ld\n",
        loop.acked, (unsigned long long)loop.bytes, wall, cpu,
        cpu * 1e6 / (double)loop.count, usage.ru_maxrss, loop.failed);
    rd_kafka_topic_destroy(loop.out);
    rd_kafka_destroy(loop.sink);
    rd_kafka_destroy(loop.source);
    return loop.acked == loop.taken ? 0 : 1;
}
