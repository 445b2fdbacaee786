/* record.h - one Kafka record: a borrowed view or an owned copy.
 *
 * A source gives records whose bytes stay where its library put them; `hold`
 * keeps them alive.  A sink that takes a record copies the bytes or keeps the
 * hold, as it pleases.  Null and empty are different: a NULL pointer is null,
 * a pointer with length 0 is empty.  Headers are carried by the hold, so that
 * nothing between source and sink can change their order, repeat them or lose
 * a null value.
 *
 * Thread: whoever owns the record; it may move between threads.
 * Memory: record_release() ends the hold.   Cost: no allocation. */
#ifndef KEDGE_RECORD_H
#define KEDGE_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct record {
    int32_t part;         /* number of the source partition within its flow */
    int32_t leader_epoch; /* of the source's leader; -1 is unknown */
    int64_t offset;       /* in the source */
    int64_t timestamp_wall_ms; /* CreateTime, or the log-append time; -1 none */
    const void *key;
    const void *value;
    size_t key_len, value_len;
    size_t header_bytes; /* about: what the headers add to the size */
    void *hold;          /* of the source; NULL when taken or released */
    void (*release)(void *hold); /* which also says whose hold it is */
};

/* Bytes that a record counts for in every limit and counter. */
static inline int64_t
record_bytes(const struct record *record)
{
    return (
        int64_t)(record->key_len + record->value_len + record->header_bytes);
}

/* Ends the hold, if there still is one.  The bytes are gone afterwards. */
static inline void
record_release(struct record *record)
{
    if (record->hold != NULL)
        record->release(record->hold);
    record->hold = NULL;
}

#endif
