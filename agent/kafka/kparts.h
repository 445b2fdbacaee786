/* kparts.h - the flow's numbers of partitions, and a client's.
 *
 * A flow calls a source partition by a number, its part; the library gives a
 * message with a topic handle and a partition.  This is the way from one to
 * the other and back, for one client: a topic handle is made once for each
 * topic and carries a table of its partitions, so that no name is looked up
 * and nothing is allocated for a record.
 *
 * Thread: one.
 * Memory: grows with topics and partitions, kept until kparts_free(), which
 *         comes before the client's end.
 * Cost:   kparts_of() is two indirections. */
#ifndef KEDGE_KPARTS_H
#define KEDGE_KPARTS_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

#define KPARTS_NONE (-1)

struct kparts;

struct kparts *kparts_new(rd_kafka_t *rk, struct err *err) MUST_CHECK;
void kparts_free(struct kparts *kparts); /* NULL is fine */

/* From now on `part` (not negative) is this partition, and no other. */
bool kparts_name(struct kparts *kparts, int32_t part, const char *topic,
    int32_t partition, struct err *err) MUST_CHECK;

/* Does the number stand for this partition, or for none yet? */
bool kparts_fits(const struct kparts *kparts, int32_t part, const char *topic,
    int32_t partition);

/* NULL: the number stands for nothing. */
rd_kafka_topic_t *kparts_topic(const struct kparts *kparts, int32_t part);
int32_t kparts_partition(const struct kparts *kparts, int32_t part);

/* Begins to make the client's picture of the topic new; its own thread takes
 * the answer in. */
void kparts_refresh(const struct kparts *kparts, int32_t part);

/* The part of a message of this client, or KPARTS_NONE. */
int32_t kparts_of(const rd_kafka_message_t *message);

#endif
