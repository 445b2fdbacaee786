/* kafkafix.h - what the tests of agent/kafka share: two mock clusters in this
 * process, and plain clients that fill one and read the other back.
 *
 * Every wait is for a condition and bounded by KAFKAFIX_WAIT_MS.
 *
 * Thread: the test's.   Memory: kafkafix_close() ends it all. */
#ifndef KEDGE_KAFKAFIX_H
#define KEDGE_KAFKAFIX_H

#include "clock.h"
#include "kflow.h"
#include "wake.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KAFKAFIX_WAIT_MS 60000 /* an upper bound, never slept through */
#define KAFKAFIX_STEP_MS 100
#define KAFKAFIX_PARTITIONS 4

struct kafkafix {
    rd_kafka_t *host; /* of the mock clusters; talks to nobody */
    rd_kafka_mock_cluster_t *from, *to;
    struct kcluster source, target;
    struct wake wake;
    rd_kafka_t *filler; /* of the source, one record in a batch */
};

static inline rd_kafka_t *
kafkafix_client(rd_kafka_type_t type, const char *bootstrap, const char *pairs)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char copy[512], why[256], *save = NULL;
    rd_kafka_t *rk;

    (void)snprintf(copy, sizeof copy, "%s", pairs);
    if (bootstrap != NULL)
        assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap,
                             why, sizeof why),
            RD_KAFKA_CONF_OK);
    for (char *key = strtok_r(copy, "= ", &save); key != NULL;
         key = strtok_r(NULL, "= ", &save))
        assert_int_equal(rd_kafka_conf_set(conf, key,
                             strtok_r(NULL, "= ", &save), why, sizeof why),
            RD_KAFKA_CONF_OK);
    rk = rd_kafka_new(type, conf, why, sizeof why);
    if (rk == NULL)
        fail_msg("client: %s", why);
    return rk;
}

static inline rd_kafka_mock_cluster_t *
kafkafix_cluster(rd_kafka_t *host, const char *topic)
{
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(host, 2);

    assert_non_null(cluster);
    rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0);
    assert_int_equal(rd_kafka_mock_topic_create(cluster, topic,
                         KAFKAFIX_PARTITIONS, 1),
        0);
    return cluster;
}

/* Topic "in" at the source, "out" at the target. */
static inline void
kafkafix_open(struct kafkafix *fix)
{
    struct err err;

    /* A client that is left behind, as some tests do, must find the library
     * of its random numbers until the very end of the process. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    memset(fix, 0, sizeof *fix);
    fix->host = kafkafix_client(RD_KAFKA_PRODUCER, NULL, "");
    fix->from = kafkafix_cluster(fix->host, "in");
    fix->to = kafkafix_cluster(fix->host, "out");
    fix->source = (struct kcluster){ .alias = "plant7",
        .bootstrap = rd_kafka_mock_cluster_bootstraps(fix->from),
        .plaintext_private_only = true };
    fix->target = (struct kcluster){ .alias = "cloud",
        .bootstrap = rd_kafka_mock_cluster_bootstraps(fix->to),
        .plaintext_private_only = true };
    assert_true(wake_open(&fix->wake, &err));
    fix->filler = kafkafix_client(RD_KAFKA_PRODUCER, fix->source.bootstrap,
        "linger.ms=0 batch.num.messages=1 message.max.bytes=4000000");
}

static inline void
kafkafix_close(struct kafkafix *fix)
{
    rd_kafka_destroy(fix->filler);
    rd_kafka_mock_cluster_destroy(fix->to);
    rd_kafka_mock_cluster_destroy(fix->from);
    rd_kafka_destroy(fix->host);
    wake_close(&fix->wake);
}

static inline int64_t
kafkafix_deadline(void)
{
    return clock_mono_ms(clock_system()) + KAFKAFIX_WAIT_MS;
}

/* Sleeps until something may have happened; fails the test at the deadline. */
static inline void
kafkafix_wait(struct kafkafix *fix, int64_t deadline_ms, const char *what)
{
    if (clock_mono_ms(clock_system()) > deadline_ms)
        fail_msg("waited in vain: %s", what);
    wake_wait(&fix->wake, KAFKAFIX_STEP_MS);
}

/* Begins to read a partition of "in". */
static inline void
kafkafix_read(const struct source *source, int32_t part, int32_t partition,
    int64_t offset)
{
    struct err err;

    if (!source->ops->read(source->self, part, "in", partition, offset, -1,
            &err))
        fail_msg("%s", err.text);
}

struct kafkafix_record {
    const void *key, *value; /* NULL: null */
    size_t key_len, value_len;
    int64_t time;
    rd_kafka_headers_t *headers; /* taken; NULL: none */
};

/* Hands one record for "in" to the filler. */
static inline void
kafkafix_put(struct kafkafix *fix, int32_t partition,
    const struct kafkafix_record *record)
{
    union {
        const void *in;
        void *out;
    } key = { .in = record->key }, value = { .in = record->value };
    rd_kafka_vu_t values[8] = {
        { .vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = "in" },
        { .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition },
        { .vtype = RD_KAFKA_VTYPE_KEY, .u.mem = { key.out, record->key_len } },
        { .vtype = RD_KAFKA_VTYPE_VALUE,
            .u.mem = { value.out, record->value_len } },
        { .vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = record->time },
        { .vtype = RD_KAFKA_VTYPE_MSGFLAGS,
            .u.i = RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK },
        { .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = record->headers },
    };
    rd_kafka_error_t *error = rd_kafka_produceva(fix->filler, values,
        record->headers != NULL ? 7 : 6);

    if (error != NULL)
        fail_msg("%s", rd_kafka_error_string(error));
}

static inline void
kafkafix_flush(struct kafkafix *fix)
{
    assert_int_equal(rd_kafka_flush(fix->filler, KAFKAFIX_WAIT_MS), 0);
}

/* Puts records "0", "1", ... with a time of 1000 + i into the source. */
static inline void
kafkafix_fill(struct kafkafix *fix, int32_t partition, int from, int n)
{
    char value[16];

    for (int i = from; i < from + n; i++) {
        int len = snprintf(value, sizeof value, "%d", i);
        const struct kafkafix_record record = { .value = value,
            .value_len = (size_t)len,
            .time = 1000 + i };

        kafkafix_put(fix, partition, &record);
    }
    kafkafix_flush(fix);
}

/* Puts `n` records of `size` bytes of 'x' into the source. */
static inline void
kafkafix_fill_large(struct kafkafix *fix, int32_t partition, int n, size_t size)
{
    char *value = malloc(size);
    const struct kafkafix_record record = { .value = value,
        .value_len = size,
        .time = 1000 };

    assert_non_null(value);
    memset(value, 'x', size);
    for (int i = 0; i < n; i++)
        kafkafix_put(fix, partition, &record);
    kafkafix_flush(fix);
    free(value);
}

/* Reads the first `n` records of a partition of "out" at the target. */
static inline void
kafkafix_read_back(struct kafkafix *fix, int32_t partition, size_t n,
    rd_kafka_message_t **messages)
{
    rd_kafka_t *rk = kafkafix_client(RD_KAFKA_CONSUMER, fix->target.bootstrap,
        "group.id=reader auto.offset.reset=earliest check.crcs=true");
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    int64_t deadline_ms = kafkafix_deadline();

    rd_kafka_topic_partition_list_add(list, "out", partition)->offset = 0;
    assert_int_equal(rd_kafka_assign(rk, list), 0);
    rd_kafka_topic_partition_list_destroy(list);
    for (size_t i = 0; i < n;) {
        messages[i] = rd_kafka_consumer_poll(rk, KAFKAFIX_STEP_MS);
        if (clock_mono_ms(clock_system()) > deadline_ms)
            fail_msg("record %zu of %zu did not come back", i, n);
        if (messages[i] == NULL)
            continue;
        assert_int_equal(messages[i]->err, 0);
        i++;
    }
    rd_kafka_assign(rk, NULL);
    /* kept until the last message is destroyed */
    messages[n] = NULL;
    messages[n + 1] = (rd_kafka_message_t *)rk;
}

/* Of kafkafix_read_back(): `messages` has room for two more than `n`. */
static inline void
kafkafix_done_reading(rd_kafka_message_t **messages, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rd_kafka_message_destroy(messages[i]);
    rd_kafka_destroy((rd_kafka_t *)messages[n + 1]);
}

#endif
