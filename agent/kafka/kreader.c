#include "kreader.h"

#include "clock.h"
#include "kbroken.h"
#include "klane.h"
#include "kledger.h"
#include "ksqueeze.h"
#include "kworker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MS 200
#define ASK_MS 1000     /* one question; asked again until the time is up */
#define SQUEEZE_AT 4096 /* records, before the newest of each key are kept */
#define PARTITIONS_MAX 10000

struct reader {
    const struct kledger_options *o;
    const struct kjob *job;
    struct err *err;
    rd_kafka_t *rk;
    struct ledger_batch *batch;
    struct kbroken broken;
    size_t squeeze_at;
    int64_t still_ms; /* when standing still has lasted too long */
    char heard[256];  /* the newest error the client told */
};

/* One partition while headers are read. */
struct share {
    int64_t from; /* RD_KAFKA_OFFSET_BEGINNING, or a hint */
    bool begun, ended;
};

static bool
reader_begin(struct reader *reader)
{
    const struct kconf_options options = {
        .client = KCONF_LEDGER,
        .cluster = reader->o->target,
        .agent = reader->o->agent,
        .flow = reader->o->flow,
        .group_id = reader->o->group_id,
        .log = reader->o->log,
        .configure = reader->o->configure,
    };

    reader->squeeze_at = SQUEEZE_AT;
    if ((reader->batch = ledger_batch_new(64, reader->err)) == NULL ||
        (reader->rk = kconf_open(&options, reader->err)) == NULL)
        return false;
    (void)rd_kafka_poll_set_consumer(reader->rk);
    return true;
}

static void
reader_end(struct reader *reader)
{
    if (reader->rk != NULL) {
        (void)rd_kafka_assign(reader->rk, NULL);
        (void)rd_kafka_consumer_close(reader->rk);
    }
    kconf_close(reader->rk);
    ledger_batch_free(reader->batch);
}

static void
moved(struct reader *reader)
{
    reader->still_ms = clock_mono_ms(reader->o->clock) + reader->o->read_ms;
    kworker_progress(reader->job);
}

static bool
over(const struct reader *reader)
{
    return clock_mono_ms(reader->o->clock) >= reader->still_ms ||
           kworker_cancelled(reader->job);
}

static enum store_result
stood_still(const struct reader *reader, const char *what)
{
    if (!kconf_distrusts(reader->rk, reader->err))
        err_set_retry(reader->err, ERR_NET, "%s: nothing for %lld ms%s%s", what,
            (long long)reader->o->read_ms, reader->heard[0] != '\0' ? "; " : "",
            reader->heard);
    return STORE_RETRY;
}

/* False: broken, err has lane and offset. */
static bool
understand(struct reader *reader, const rd_kafka_message_t *message,
    struct ledger_record *record)
{
    bool ok = false;

    memset(record, 0, sizeof *record);
    ok = ledger_decode(record, message->key, message->key_len, message->payload,
        message->len, reader->err);
    if (ok && !ledger_names_lane(record, message->partition))
        ok = err_set(reader->err, ERR_KAFKA, "it belongs to another lane");
    record->offset = message->offset;
    return ok || err_wrap(reader->err, "ledger %s, lane %d, offset %lld",
                     reader->o->topic, message->partition,
                     (long long)message->offset);
}

/* One that understand() refused, with its reason in err.  STORE_DONE: its key
 * is one of the lane, and what counts may follow. */
static enum store_result
take_broken(struct reader *reader, const rd_kafka_message_t *message,
    bool only_headers)
{
    struct ledger_record key;

    if (!ledger_decode_key(&key, message->key, message->key_len) ||
        !ledger_names_lane(&key, message->partition))
        return STORE_BROKEN;
    key.offset = message->offset;
    if ((!only_headers || key.kind == LEDGER_HEADER) &&
        !kbroken_note(&reader->broken, &key, reader->err))
        return STORE_BROKEN;
    *reader->err = (struct err){ .kind = ERR_NONE };
    return STORE_DONE;
}

/* At the end of reading: is there one that counts? */
static enum store_result
any_broken(struct reader *reader, int64_t *offset)
{
    const struct err *why = kbroken_left(&reader->broken, offset);

    if (why == NULL)
        return STORE_DONE;
    *reader->err = *why;
    return STORE_BROKEN;
}

static bool
keep(struct reader *reader, const struct ledger_record *record)
{
    struct ledger_record *room = NULL;

    if (reader->batch->n >= reader->squeeze_at) {
        ksqueeze_batch(reader->batch);
        reader->squeeze_at = reader->batch->n * 2 > SQUEEZE_AT
                                 ? reader->batch->n * 2
                                 : SQUEEZE_AT;
    }
    if ((room = ledger_batch_add(reader->batch)) == NULL)
        return err_set_retry(reader->err, ERR_MEMORY, "%zu ledger records",
            reader->batch->n);
    *room = *record;
    return true;
}

/* Reads from here on; what was read before is forgotten by the caller. */
static bool
go_to(struct reader *reader, int32_t lane, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    rd_kafka_topic_partition_list_add(list, reader->o->topic, lane)->offset =
        offset;
    code = rd_kafka_assign(reader->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ||
           kconf_err(reader->err, code, NULL);
}

/* An error in place of a record.  STORE_DONE: nothing to end for. */
static enum store_result
hear(struct reader *reader, const rd_kafka_message_t *message)
{
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        return STORE_DONE;
    /* what one broker had says more than that all are gone */
    if (message->err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
        reader->heard[0] == '\0')
        (void)snprintf(reader->heard, sizeof reader->heard, "%s",
            rd_kafka_message_errstr(message));
    if (klane_judge(message->err) != STORE_REFUSED)
        return STORE_DONE;
    kconf_err(reader->err, message->err, reader->heard);
    return STORE_REFUSED;
}

/* State of one lane's reading. */
struct lane_read {
    const struct kreader_wanted *wanted;
    bool at_hint; /* the next record must be the mark at the hint */
    bool finished;
    struct store_answer *answer; /* offset and wall_ms of it */
};

static enum store_result
from_beginning(struct reader *reader, struct lane_read *read)
{
    read->at_hint = false;
    reader->batch->n = 0;
    reader->broken = (struct kbroken){ .n = 0 };
    return go_to(reader, read->wanted->lane, RD_KAFKA_OFFSET_BEGINNING)
               ? STORE_DONE
               : STORE_RETRY;
}

/* The broker's, where the topic says so; else the writer's.  0 unknown. */
static int64_t
time_of(const rd_kafka_message_t *message)
{
    rd_kafka_timestamp_type_t type;
    int64_t wall_ms = rd_kafka_message_timestamp(message, &type);

    return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? 0 : wall_ms;
}

static enum store_result
take_record(struct reader *reader, struct lane_read *read,
    const rd_kafka_message_t *message)
{
    const struct kreader_wanted *wanted = read->wanted;
    struct ledger_record record;

    moved(reader);
    if (read->at_hint && message->offset != wanted->hint)
        return from_beginning(reader, read);
    if (!understand(reader, message, &record)) {
        read->answer->offset = message->offset;
        return read->at_hint ? from_beginning(reader, read)
                             : take_broken(reader, message, false);
    }
    if (read->at_hint && record.kind != LEDGER_MARK)
        return from_beginning(reader, read);
    read->at_hint = false;
    kbroken_pass(&reader->broken, &record);
    if (!keep(reader, &record))
        return STORE_RETRY;
    if (record.kind == LEDGER_CLAIM &&
        strcmp(record.claim.nonce, wanted->nonce) == 0) {
        read->answer->offset = record.offset;
        read->answer->wall_ms = time_of(message);
        read->finished = true;
    } else if (wanted->claim_offset >= 0 &&
               record.offset > wanted->claim_offset) {
        err_set(reader->err, ERR_KAFKA,
            "a later claim than ours, at offset %lld",
            (long long)record.offset);
        return STORE_SUPERSEDED;
    }
    return STORE_DONE;
}

static enum store_result
read_on(struct reader *reader, struct lane_read *read)
{
    rd_kafka_message_t *message = rd_kafka_consumer_poll(reader->rk, SLICE_MS);
    enum store_result result = STORE_DONE;

    if (message == NULL)
        return STORE_DONE;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        result = take_record(reader, read, message);
    else if (read->at_hint &&
             (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
                 message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF))
        result = from_beginning(reader, read);
    else
        result = hear(reader, message);
    rd_kafka_message_destroy(message);
    return result;
}

enum store_result
kreader_lane(const struct kledger_options *options, const struct kjob *job,
    const struct kreader_wanted *wanted, struct store_answer *answer)
{
    struct reader reader = { .o = options, .job = job, .err = &answer->err };
    struct lane_read read = { .wanted = wanted, .answer = answer };
    enum store_result result = STORE_RETRY;
    bool hinted = wanted->hint >= 0 && (wanted->claim_offset < 0 ||
                                           wanted->hint < wanted->claim_offset);

    answer->offset = -1;
    read.at_hint = hinted;
    if (!reader_begin(&reader))
        goto out;
    if (!go_to(&reader, wanted->lane,
            hinted ? wanted->hint : RD_KAFKA_OFFSET_BEGINNING))
        goto out;
    result = STORE_DONE;
    moved(&reader);
    while (result == STORE_DONE && !read.finished) {
        result = over(&reader) ? stood_still(&reader, "own claim")
                               : read_on(&reader, &read);
    }
    if (result == STORE_DONE)
        result = any_broken(&reader, &answer->offset);
    if (result == STORE_DONE) {
        answer->records = reader.batch;
        reader.batch = NULL;
    }
out:
    reader_end(&reader);
    return result;
}

/* How many partitions; 0: there is no such topic; -1: cannot be asked. */
static int32_t
ask_partitions(struct reader *reader)
{
    rd_kafka_topic_t *topic =
        rd_kafka_topic_new(reader->rk, reader->o->topic, NULL);
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    int32_t n = -1;

    while (topic != NULL && code != RD_KAFKA_RESP_ERR_NO_ERROR && !over(reader))
        code = rd_kafka_metadata(reader->rk, 0, topic, &metadata, ASK_MS);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && metadata->topic_cnt == 1) {
        code = metadata->topics[0].err;
        n = metadata->topics[0].partition_cnt;
    }
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        n = 0;
    else if (code != RD_KAFKA_RESP_ERR_NO_ERROR || n > PARTITIONS_MAX)
        n = -1;
    if (n < 0)
        kconf_err(reader->err, code, NULL);
    if (metadata != NULL)
        rd_kafka_metadata_destroy(metadata);
    if (topic != NULL)
        rd_kafka_topic_destroy(topic);
    return n;
}

/* Where snapshots are said to be; without the right to ask, nowhere. */
static void
ask_hints(struct reader *reader, struct share *shares, int32_t n)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(n);
    bool told = false;

    for (int32_t i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(list, reader->o->topic, i);
    told = rd_kafka_committed(reader->rk, list, ASK_MS) ==
           RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int32_t i = 0; i < n; i++) {
        shares[i].from = RD_KAFKA_OFFSET_BEGINNING;
        if (told && list->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR &&
            list->elems[i].offset >= 0)
            shares[i].from = list->elems[i].offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
}

static bool
go_to_all(struct reader *reader, struct share *shares, int32_t n)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(n);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    for (int32_t i = 0; i < n; i++) {
        rd_kafka_topic_partition_list_add(list, reader->o->topic, i)->offset =
            shares[i].from;
        shares[i].begun = false;
        shares[i].ended = false;
    }
    code = rd_kafka_assign(reader->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ||
           kconf_err(reader->err, code, NULL);
}

/* The newest header of its lane takes the place of the one before. */
static bool
keep_header(struct reader *reader, const struct ledger_record *record)
{
    struct ledger_batch *batch = reader->batch;

    for (size_t i = 0; i < batch->n; i++) {
        if (batch->records[i].header.lane == record->header.lane) {
            batch->records[i] = *record;
            return true;
        }
    }
    return keep(reader, record);
}

/* What one message says about a partition: a header, an end, or that its hint
 * is none (`again`). */
static enum store_result
take_header(struct reader *reader, struct share *share,
    const rd_kafka_message_t *message, bool *again)
{
    struct ledger_record record;
    bool at_hint = !share->begun && share->from >= 0;

    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF ||
        message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
        *again = at_hint;
        share->ended = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        return STORE_DONE;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return hear(reader, message);
    moved(reader);
    share->begun = true;
    if (!understand(reader, message, &record)) {
        *again = at_hint;
        return take_broken(reader, message, true);
    }
    *again = at_hint &&
             (message->offset != share->from || record.kind != LEDGER_MARK);
    kbroken_pass(&reader->broken, &record);
    if (record.kind != LEDGER_HEADER || keep_header(reader, &record))
        return STORE_DONE;
    return STORE_RETRY;
}

static enum store_result
read_headers(struct reader *reader, struct share *shares, int32_t n)
{
    enum store_result result = STORE_DONE;
    int32_t left = n;

    while (result == STORE_DONE && left > 0 && !over(reader)) {
        rd_kafka_message_t *message =
            rd_kafka_consumer_poll(reader->rk, SLICE_MS);
        bool again = false;

        if (message == NULL)
            continue;
        if (message->rkt != NULL && message->partition >= 0 &&
            message->partition < n)
            result = take_header(reader, &shares[message->partition], message,
                &again);
        else
            result = hear(reader, message);
        if (again) {
            shares[message->partition].from = RD_KAFKA_OFFSET_BEGINNING;
            if (!go_to_all(reader, shares, n))
                result = STORE_RETRY;
        }
        rd_kafka_message_destroy(message);
        left = 0;
        for (int32_t i = 0; i < n; i++)
            left += shares[i].ended ? 0 : 1;
    }
    if (result == STORE_DONE && left > 0)
        return stood_still(reader, "headers");
    return result;
}

enum store_result
kreader_headers(const struct kledger_options *options, const struct kjob *job,
    struct ledger_batch **batch, struct err *err)
{
    struct reader reader = { .o = options, .job = job, .err = err };
    struct share *shares = NULL;
    enum store_result result = STORE_RETRY;
    int64_t offset;
    int32_t n = 0;

    if (!reader_begin(&reader))
        goto out;
    reader.still_ms = clock_mono_ms(options->clock) + options->step_ms;
    if ((n = ask_partitions(&reader)) < 0)
        goto out;
    result = STORE_DONE;
    if (n > 0) {
        result = STORE_RETRY;
        if ((shares = calloc((size_t)n, sizeof *shares)) == NULL) {
            err_set_retry(err, ERR_MEMORY, "%d partitions", n);
            goto out;
        }
        ask_hints(&reader, shares, n);
        if (!go_to_all(&reader, shares, n))
            goto out;
        moved(&reader);
        result = read_headers(&reader, shares, n);
    }
    if (result == STORE_DONE)
        result = any_broken(&reader, &offset);
    if (result == STORE_DONE) {
        *batch = reader.batch;
        reader.batch = NULL;
    }
out:
    free(shares);
    reader_end(&reader);
    return result;
}
