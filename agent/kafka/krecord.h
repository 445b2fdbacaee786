/* krecord.h - a consumed message as a record of ours, and a record as a message
 * that is produced.
 *
 * Nothing is changed on the way: where the library would do so without a word,
 * krecord_can_be_sent() says no.
 *
 * Thread: whoever has the message.
 * Memory: the record holds the message; krecord_release() ends it.
 * Cost:   no allocation, but the library's for headers, once. */
#ifndef KEDGE_KRECORD_H
#define KEDGE_KRECORD_H

#include "err.h"
#include "record.h"

#include <librdkafka/rdkafka.h>

/* Takes the message, which must not be an error. */
void krecord_fill(struct record *record, rd_kafka_message_t *message,
    int32_t part);

/* The record's `release`. */
void krecord_release(void *hold);

/* Borrows; NULL: the record does not come from a message. */
rd_kafka_message_t *krecord_message(const struct record *record);

/* For a record that no setting mends: nothing passes over one today. */
#define KRECORD_WAY_ON                                                       \
    "this version leaves out no record, so the way on is a flow of another " \
    "name that starts behind it (topics.start)"

bool krecord_can_be_sent(const struct record *record,
    struct err *err) MUST_CHECK;

/* Gives the library the bytes, or a copy of them, and the message's headers.
 * NULL: it has them.  Else the record is as it was. */
rd_kafka_error_t *krecord_send(const struct record *record, rd_kafka_t *rk,
    rd_kafka_topic_t *topic, int32_t partition, void *opaque, bool copy);

#endif
