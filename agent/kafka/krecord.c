#include "krecord.h"

#include <string.h>

#define N_VALUES 8

void
krecord_release(void *hold)
{
    rd_kafka_message_destroy(hold);
}

static size_t
header_bytes(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size, sum = 0;

    if (rd_kafka_message_headers(message, &headers) != 0)
        return 0;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == 0; i++)
        sum += strlen(name) + size;
    return sum;
}

void
krecord_fill(struct record *record, rd_kafka_message_t *message, int32_t part)
{
    rd_kafka_timestamp_type_t type;

    record->part = part;
    record->leader_epoch = rd_kafka_message_leader_epoch(message);
    record->offset = message->offset;
    record->timestamp_wall_ms = rd_kafka_message_timestamp(message, &type);
    if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
        record->timestamp_wall_ms = -1;
    record->key = message->key;
    record->value = message->payload;
    record->key_len = message->key_len;
    record->value_len = message->len;
    record->header_bytes = header_bytes(message);
    record->hold = message;
    record->release = krecord_release;
}

rd_kafka_message_t *
krecord_message(const struct record *record)
{
    return record->release == krecord_release ? record->hold : NULL;
}

/* The library gives headers that it cannot read as none. */
static bool
headers_can_be_read(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    rd_kafka_resp_err_t code = rd_kafka_message_headers(message, &headers);

    return code == RD_KAFKA_RESP_ERR_NO_ERROR ||
           code == RD_KAFKA_RESP_ERR__NOENT;
}

bool
krecord_can_be_sent(const struct record *record, struct err *err)
{
    const rd_kafka_message_t *message = krecord_message(record);
    int64_t time = record->timestamp_wall_ms;

    if (time == 0)
        return err_set(err, ERR_KAFKA,
            "the record's time is 0 (1970), which the client library cannot "
            "send: " KRECORD_WAY_ON);
    if (time < -1)
        return err_set(err, ERR_KAFKA,
            "the record's time is %lld, before 1970: " KRECORD_WAY_ON,
            (long long)time);
    if (message == NULL && record->header_bytes > 0)
        return err_set(err, ERR_KAFKA, "a record with headers of another kind");
    if (message != NULL && !headers_can_be_read(message))
        return err_set(err, ERR_KAFKA,
            "the record's headers cannot be read (or are more than "
            "100000): " KRECORD_WAY_ON);
    return true;
}

rd_kafka_error_t *
krecord_send(const struct record *record, rd_kafka_t *rk,
    rd_kafka_topic_t *topic, int32_t partition, void *opaque, bool copy)
{
    union {
        const void *in;
        void *out; /* the library takes what it does not change as void * */
    } key = { .in = record->key }, value = { .in = record->value };
    rd_kafka_message_t *message = krecord_message(record);
    rd_kafka_headers_t *headers = NULL;
    rd_kafka_error_t *error;
    size_t n = N_VALUES - 1;
    rd_kafka_vu_t values[N_VALUES] = {
        { .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic },
        { .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition },
        { .vtype = RD_KAFKA_VTYPE_KEY, .u.mem = { key.out, record->key_len } },
        { .vtype = RD_KAFKA_VTYPE_VALUE,
            .u.mem = { value.out, record->value_len } },
        { .vtype = RD_KAFKA_VTYPE_TIMESTAMP,
            .u.i64 = record->timestamp_wall_ms },
        { .vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = opaque },
        { .vtype = RD_KAFKA_VTYPE_MSGFLAGS,
            .u.i = copy ? RD_KAFKA_MSG_F_COPY : 0 },
    };

    if (message != NULL &&
        rd_kafka_message_detach_headers(message, &headers) == 0) {
        values[n].vtype = RD_KAFKA_VTYPE_HEADERS;
        values[n++].u.headers = headers;
    }
    error = rd_kafka_produceva(rk, values, n);
    if (error != NULL && headers != NULL)
        rd_kafka_message_set_headers(message, headers); /* still ours */
    return error;
}
