#include "krecord.h"

#include <string.h>

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
