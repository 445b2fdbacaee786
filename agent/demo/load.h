/* load.h - what the demo produces, record by record.
 *
 * Record number n is the same whenever it is made, so that what arrives is
 * compared with what was sent without keeping either.  Its number is in its
 * timestamp.  There are tombstones and empty values, null and empty keys,
 * headers that repeat, are null or are empty, and a topic for each codec.
 *
 * Thread: load_make() and the names: any.  A producer: one.
 * Memory: load_start() gives, load_stop() takes.
 * Errors: ERR_KAFKA, ERR_MEMORY. */
#ifndef KEDGE_LOAD_H
#define KEDGE_LOAD_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define LOAD_TOPICS 5
#define LOAD_PARTS 12 /* partitions of all topics together */
#define LOAD_HEADERS_MAX 3
#define LOAD_VALUE_MAX 320
#define LOAD_KEY_MAX 32
#define LOAD_RECORDS_MIN 1000
#define LOAD_RECORDS_MAX 250000 /* of this size, the clusters keep them all */

struct load_plan {
    int64_t records;
    int64_t base_wall_ms; /* the timestamp of record 0 */
};

struct load_header {
    const char *name;
    const void *value; /* NULL is null */
    size_t len;
};

/* One record, sent or read; pointers are borrowed, NULL is null. */
struct load_record {
    int part; /* 0 to LOAD_PARTS - 1, of all topics together */
    int64_t timestamp_wall_ms;
    const void *key, *value;
    size_t key_len, value_len;
    struct load_header headers[LOAD_HEADERS_MAX];
    size_t n_headers;
};

/* Room for the bytes of a record that is made. */
struct load_room {
    char key[LOAD_KEY_MAX], value[LOAD_VALUE_MAX];
};

/* Record `number`, from 0; its part is number modulo LOAD_PARTS.  The record
 * points into `room`. */
void load_make(const struct load_plan *plan, int64_t number,
    struct load_room *room, struct load_record *record);

/* Bytes of key, value and headers. */
size_t load_bytes(const struct load_record *record);

/* Topics; a part is partition load_partition(part) of topic load_topic(part).
 * Names are constants. */
const char *load_topic_name(int topic);
int load_topic_partitions(int topic);
const char *load_topic_codec(int topic);
int load_topic(int part);
int load_partition(int part);

/* The part of a partition of a topic; -1: there is none. */
int load_part(int topic, int32_t partition);

struct load;

struct load *load_start(const struct load_plan *plan, const char *bootstrap,
    struct err *err) MUST_CHECK;
void load_stop(struct load *load); /* NULL is fine */

/* Hands over the records before `end`, as many as there is room for, and takes
 * the reports that have come.  False when one was not delivered. */
bool load_send(struct load *load, int64_t end, struct err *err) MUST_CHECK;

int64_t load_sent(const struct load *load);      /* handed over */
int64_t load_delivered(const struct load *load); /* acknowledged */

#endif
