/* krecord.h - a consumed message as a record of ours, and back.
 *
 * Thread: whoever has the message.
 * Memory: the record holds the message; krecord_release() ends it.
 * Cost:   no allocation, but the library's for headers, once. */
#ifndef KEDGE_KRECORD_H
#define KEDGE_KRECORD_H

#include "record.h"

#include <librdkafka/rdkafka.h>

/* Takes the message, which must not be an error. */
void krecord_fill(struct record *record, rd_kafka_message_t *message,
    int32_t part);

/* The record's `release`. */
void krecord_release(void *hold);

/* Borrows; NULL: the record does not come from a message. */
rd_kafka_message_t *krecord_message(const struct record *record);

#endif
