/* kreaper.h - ends producers where nobody waits for it.
 *
 * Destroying a client joins its threads and may take seconds.  Records that
 * are still in it may hold messages of the source, which have to be given back
 * before the source can end: so they are purged, and their reports taken, on a
 * thread of its own.
 *
 * The opaque of a message is made and read here: with no allocation it carries
 * the source offset, or the consumed message that the value still lies in.
 *
 * Thread: kreaper_give() from one; the opaques from any.
 * Memory: kreaper_free() waits for all that was given. */
#ifndef KEDGE_KREAPER_H
#define KEDGE_KREAPER_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kparts;
struct kreaper;
struct log;

/* A producer of kconf_open() and what belongs to it. */
struct kreaper_client {
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue; /* of its reports; wakes nobody any more */
    struct kparts *names;
    rd_kafka_event_t *event; /* reports taken and not yet read; NULL: none */
    int64_t in_flight;       /* records without a report */
    struct kreaper_client *next;
};

struct kreaper *kreaper_new(struct log *log, struct err *err) MUST_CHECK;
void kreaper_free(struct kreaper *kreaper); /* NULL is fine */

/* Takes *client, which is malloc()ed, and what it has. */
void kreaper_give(struct kreaper *kreaper, struct kreaper_client **client);

/* `hold` NULL: the bytes were copied. */
void *kreaper_opaque(int64_t offset, rd_kafka_message_t *hold);

/* The source offset; the hold, if any, is released.  Once for each. */
int64_t kreaper_end(void *opaque);

#endif
