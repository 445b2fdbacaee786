/* kends.h - asks the brokers where partitions begin and end.
 *
 * Questions are collected and go out together, one request for each kind; the
 * answers arrive as events on the client's queue.  A partition that cannot be
 * answered for, since its leader is away or has just moved, is asked for again
 * with a growing pause and apart from the others.  These are told at once, or
 * after three seconds where a leader is dead and the cluster does not know it.
 * Stale knowledge of leaders is refreshed, which the library does not do by
 * itself after FENCED_LEADER_EPOCH.
 *
 * Thread: one, which never waits in here.
 * Memory: grows with the highest number of a partition ever asked for.
 * Cost:   kends_serve() is nothing while no question is open. */
#ifndef KEDGE_KENDS_H
#define KEDGE_KENDS_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

enum kends_kind {
    KENDS_LOW,    /* first offset that there is */
    KENDS_STABLE, /* last stable offset */
    KENDS_HIGH,   /* high watermark */
    KENDS_TIME,   /* first offset not older than a time; -1: there is none */
    KENDS_N,
};

#define KENDS_BIT(kind) (1U << (kind))
#define KENDS_FOR_EVER (-1)

struct kends_question {
    int32_t part;      /* whose number; comes back with the answer */
    const char *topic; /* borrowed until it is answered or dropped */
    int32_t partition;
    unsigned kinds;  /* KENDS_BIT() of each that is wanted */
    int64_t wall_ms; /* KENDS_TIME */
    int tries;       /* then -1 is the answer; or KENDS_FOR_EVER */
};

struct kends_answer {
    int32_t part;
    int64_t offset[KENDS_N]; /* -1: not asked for, or not known */
};

struct kends;

/* The queue gets RD_KAFKA_EVENT_LISTOFFSETS_RESULT; both are borrowed until
 * kends_free(), which comes first. */
struct kends *kends_new(rd_kafka_t *rk, rd_kafka_queue_t *queue,
    struct err *err) MUST_CHECK;
void kends_free(struct kends *kends); /* NULL is fine */

/* Room for this number: before anything else is done with it. */
bool kends_room(struct kends *kends, int32_t part, struct err *err) MUST_CHECK;

/* In place of what was asked for the part before, if anything. */
void kends_ask(struct kends *kends, const struct kends_question *question);
void kends_drop(struct kends *kends, int32_t part);

/* Sends what is due. */
void kends_serve(struct kends *kends, int64_t now_ms);

/* Takes in a result from the queue; the event stays the caller's. */
void kends_result(struct kends *kends, rd_kafka_event_t *event, int64_t now_ms);

/* Gives one complete answer; false: none now. */
bool kends_next(struct kends *kends, struct kends_answer *answer);

#endif
