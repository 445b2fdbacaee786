#include "reader.h"

#include "clock.h"
#include "cluster.h"
#include "load.h"
#include "proof.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 128
#define ASK_MS 5000

struct reader {
    rd_kafka_t *consumer;
    char topics[LOAD_TOPICS][NAME_MAX_BYTES];
    int64_t next[LOAD_PARTS]; /* offset */
};

static bool
set_all(rd_kafka_conf_t *conf, const char *bootstrap, struct err *err)
{
    const char *const rows[][2] = {
        { "bootstrap.servers", bootstrap },
        { "group.id", "kedge-demo-reader" },
        { "enable.auto.commit", "false" },
        { "enable.auto.offset.store", "false" },
        { "auto.offset.reset", "error" },
        { "check.crcs", "true" },
        { "fetch.wait.max.ms", "50" },
    };
    char why[160];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rd_kafka_conf_set(conf, rows[i][0], rows[i][1], why, sizeof why) !=
            RD_KAFKA_CONF_OK)
            return err_set(err, ERR_KAFKA, "%s", why);
    return true;
}

static bool
assign(struct reader *reader, struct err *err)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(LOAD_PARTS);
    rd_kafka_resp_err_t failed;

    for (int part = 0; part < LOAD_PARTS; part++)
        rd_kafka_topic_partition_list_add(list,
            reader->topics[load_topic(part)], load_partition(part))
            ->offset = 0;
    failed = rd_kafka_assign(reader->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (failed)
        return err_set(err, ERR_KAFKA, "%s", rd_kafka_err2str(failed));
    return true;
}

struct reader *
reader_open(const struct cluster *cluster, const char *prefix, struct err *err)
{
    struct reader *reader = calloc(1, sizeof *reader);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[160];
    bool ok = false;

    if (reader == NULL) {
        err_set(err, ERR_MEMORY, "reader");
        goto out;
    }
    for (int i = 0; i < LOAD_TOPICS; i++)
        (void)snprintf(reader->topics[i], sizeof reader->topics[i], "%s%s",
            prefix, load_topic_name(i));
    rd_kafka_conf_set_log_cb(conf, NULL);
    cluster_dial_directly(cluster, conf);
    if (!set_all(conf, cluster_bootstrap(cluster), err))
        goto out;
    reader->consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (reader->consumer == NULL) {
        err_set(err, ERR_KAFKA, "%s", why);
        goto out;
    }
    conf = NULL; /* the consumer has it */
    (void)rd_kafka_poll_set_consumer(reader->consumer);
    ok = assign(reader, err);
out:
    if (conf != NULL)
        rd_kafka_conf_destroy(conf);
    if (!ok) {
        err_wrap(err, "reader");
        reader_close(reader);
        reader = NULL;
    }
    return reader;
}

void
reader_close(struct reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->consumer != NULL) {
        (void)rd_kafka_consumer_close(reader->consumer);
        rd_kafka_destroy(reader->consumer);
    }
    free(reader);
}

/* More headers than were ever sent are cut: the proof then sees a change. */
static void
take_headers(const rd_kafka_message_t *message, struct load_record *record)
{
    rd_kafka_headers_t *headers = NULL;

    if (rd_kafka_message_headers(message, &headers) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    while (record->n_headers < LOAD_HEADERS_MAX) {
        struct load_header *header = &record->headers[record->n_headers];

        if (rd_kafka_header_get_all(headers, record->n_headers, &header->name,
                &header->value, &header->len) != RD_KAFKA_RESP_ERR_NO_ERROR)
            return;
        record->n_headers++;
    }
    if (rd_kafka_header_cnt(headers) > LOAD_HEADERS_MAX)
        record->n_headers = 0;
}

static int
part_of(const struct reader *reader, const rd_kafka_message_t *message)
{
    const char *name = rd_kafka_topic_name(message->rkt);

    for (int i = 0; i < LOAD_TOPICS; i++)
        if (strcmp(name, reader->topics[i]) == 0)
            return load_part(i, message->partition);
    return -1;
}

static bool
take(struct reader *reader, struct proof *proof,
    const rd_kafka_message_t *message, struct err *err)
{
    struct load_record record = { .part = -1 };
    rd_kafka_timestamp_type_t type;

    if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
        return err_set(err, ERR_KAFKA,
            "reader: the embedded cluster dropped records unread: %s",
            rd_kafka_message_errstr(message));
    if (message->err || message->rkt == NULL)
        return true; /* of a connection; the library tries again */
    record.part = part_of(reader, message);
    if (record.part == -1)
        return err_set(err, ERR_KAFKA,
            "reader: %s has a partition %d that nobody made",
            rd_kafka_topic_name(message->rkt), (int)message->partition);
    record.timestamp_wall_ms = rd_kafka_message_timestamp(message, &type);
    record.key = message->key;
    record.key_len = message->key_len;
    record.value = message->payload;
    record.value_len = message->len;
    take_headers(message, &record);
    reader->next[record.part] = message->offset + 1;
    proof_add(proof, &record, message->offset);
    return true;
}

bool
reader_poll(struct reader *reader, struct proof *proof, int wait_ms,
    struct err *err)
{
    int64_t until_ms = clock_mono_ms(clock_system()) + wait_ms;
    int64_t left_ms = wait_ms;

    while (left_ms >= 0) {
        rd_kafka_message_t *message =
            rd_kafka_consumer_poll(reader->consumer, (int)left_ms);
        bool ok;

        if (message == NULL)
            return true;
        ok = take(reader, proof, message, err);
        rd_kafka_message_destroy(message);
        if (!ok)
            return false;
        left_ms = until_ms - clock_mono_ms(clock_system());
    }
    return true;
}

static bool
ask_ends(struct reader *reader, int64_t ends[LOAD_PARTS], struct err *err)
{
    for (int part = 0; part < LOAD_PARTS; part++) {
        int64_t low;
        rd_kafka_resp_err_t failed =
            rd_kafka_query_watermark_offsets(reader->consumer,
                reader->topics[load_topic(part)], load_partition(part), &low,
                &ends[part], ASK_MS);

        if (failed)
            return err_set(err, ERR_KAFKA, "reader: end of %s: %s",
                reader->topics[load_topic(part)], rd_kafka_err2str(failed));
    }
    return true;
}

static bool
at_ends(const struct reader *reader, const int64_t ends[LOAD_PARTS])
{
    for (int part = 0; part < LOAD_PARTS; part++)
        if (reader->next[part] < ends[part])
            return false;
    return true;
}

bool
reader_drain(struct reader *reader, struct proof *proof, int timeout_ms,
    struct err *err)
{
    const struct clock *clock = clock_system();
    int64_t until_ms = clock_mono_ms(clock) + timeout_ms;
    int64_t ends[LOAD_PARTS];

    if (!ask_ends(reader, ends, err))
        return false;
    while (!at_ends(reader, ends)) {
        if (clock_mono_ms(clock) >= until_ms)
            return err_set(err, ERR_KAFKA, "reader: not at the end after %d s",
                timeout_ms / 1000);
        if (!reader_poll(reader, proof, 20, err))
            return false;
    }
    return true;
}
