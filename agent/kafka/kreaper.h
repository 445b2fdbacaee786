/* kreaper.h - ends producers where nobody waits for it.
 *
 * Destroying a client joins its threads and may take seconds.  Records that
 * are still in it may hold messages of the source, which have to be given back
 * before the source can end: so they are purged, and their reports taken, on a
 * worker, one client after the other, under the watchdog (kworker.h).  A
 * client that does not end is left behind with all that it holds, and the next
 * has its turn.
 *
 * The opaque of a message is made and read here: with no allocation it carries
 * the source offset, or the consumed message that the value still lies in.
 * Reports of a closed client come here and nowhere else, so that those of a
 * client that was left behind find nobody whom they could mislead.
 *
 * Thread: one owner; the opaques from any.
 * Memory: bounded by what is given; kreaper_closed() says how much of it is
 *         not back yet.
 * Errors: none; what is left behind is logged and counted. */
#ifndef KEDGE_KREAPER_H
#define KEDGE_KREAPER_H

#include "kworker.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kconf_options;
struct kparts;
struct kreaper;
struct log;
struct sink_closed;

/* Purging, and then ending, may each take so long before it is overdue. */
#define KREAPER_END_MS 30000

/* A producer and what belongs to it. */
struct kreaper_client {
    struct kjob job; /* first; set by kreaper_give() */
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue; /* of its reports; given, it wakes nobody */
    struct kparts *names;
    rd_kafka_event_t *event; /* reports taken and not yet read; NULL: none */
    int64_t in_flight;       /* records without a report */
    int64_t cost;            /* bytes that they count for */
    struct kreaper_client *next;
};

/* A client with nothing in it; NULL with err. */
struct kreaper_client *kreaper_open(const struct kconf_options *options,
    struct err *err) MUST_CHECK;
/* Ends it on this thread, which takes a moment; nothing was sent. */
void kreaper_undo(struct kreaper_client *client);

struct kreaper_options {
    const char *flow;          /* this and below: borrowed for the life */
    struct log *log;           /* for good, once a client was left behind */
    const struct clock *clock; /* the same */
    struct kwatch *watch;      /* held, not taken */
};

struct kreaper *kreaper_new(const struct kreaper_options *options,
    struct err *err) MUST_CHECK;

/* Waits for all that was given, or for some seconds where no thread can be
 * started any more.  False: a client was left behind, and may still hold
 * messages of the source.  NULL is fine. */
bool kreaper_free(struct kreaper *kreaper);

/* Takes *client, which is calloc()ed, and what it has. */
void kreaper_give(struct kreaper *kreaper, struct kreaper_client **client);

/* Goes on with the next client; to be called every second or so. */
void kreaper_tick(struct kreaper *kreaper);

/* What the clients that were given have not given back. */
void kreaper_closed(const struct kreaper *kreaper, struct sink_closed *closed);

/* `hold` NULL: the bytes were copied. */
void *kreaper_opaque(int64_t offset, rd_kafka_message_t *hold);

/* The source offset; the hold, if any, is released.  Once for each. */
int64_t kreaper_end(void *opaque);

#endif
