/* sink.h - where a flow's records go, and the acks that come back.
 *
 * kafka/ksink fills it with one idempotent, gapless producer for each lane;
 * tests with a memory that acknowledges what it is told to.  Within one lane's
 * opening a partition's records are written in the order they were sent, and
 * nothing is written behind a record that failed.
 *
 * Thread: everything on the flow's thread, which never waits in here; the wake
 *         given at opening is signalled when poll() has something to say.
 * Memory: a record that was taken is the sink's until it is done; the flow
 *         bounds how much that is.  What a closed lane had is the sink's for
 *         longer, as closed() says. */
#ifndef KEDGE_SINK_H
#define KEDGE_SINK_H

#include "err.h"
#include "record.h"

#include <stddef.h>
#include <stdint.h>

enum sink_answer {
    SINK_TAKEN,
    SINK_FULL,    /* later: the record stays with the caller */
    SINK_REFUSED, /* never: err says why; the record stays with the caller */
};

/* What became of one record that was taken.  Each is told once, unless its
 * lane is closed before. */
struct sink_done {
    int32_t lane, part;
    int64_t offset;        /* in the source */
    int64_t target_offset; /* -1: not known */
    const struct err *err; /* NULL: the target has it, acks=all.  Else it, and
                            * all that followed in this lane, must be sent
                            * again by a new opening; err->retry false: this
                            * record is the one that was refused for good */
};

/* From poll(), on the flow's thread.  May not call the sink, except send(). */
typedef void sink_done_fn(void *ctx, const struct sink_done *done);

/* The lane's client cannot go on (a fatal error): close() it and open it anew.
 * From poll(), after the done of every record that was hit. */
typedef void sink_failed_fn(void *ctx, int32_t lane, const struct err *err);

/* What lanes that were closed had in flight and is not given back yet, in the
 * cost that close() was told. */
struct sink_closed {
    int64_t ending; /* will be, within seconds */
    int64_t leaked; /* never: its client did not end and was left behind */
};

struct sink_ops {
    /* No batch may be larger than batch_bytes (0: the filling's default): the
     * target's topics refuse larger ones as a whole. */
    bool (
        *open)(void *self, int32_t lane, int64_t batch_bytes, struct err *err);
    /* What is in flight, `cost` bytes of it, is given up: it may still arrive,
     * and no more is told of it.  Returns at once; the client is ended
     * elsewhere. */
    void (*close)(void *self, int32_t lane, int64_t cost);
    /* Where a partition's records go.  Names are copied. */
    bool (*attach)(void *self, int32_t part, int32_t lane, const char *topic,
        int32_t partition, struct err *err);
    void (*detach)(void *self, int32_t part);
    /* Takes the record (its hold becomes NULL) or not, as the answer says. */
    enum sink_answer (
        *send)(void *self, struct record *record, struct err *err);
    /* Tells of at most `max` records; gives how many it told of. */
    size_t (*poll)(void *self, size_t max);
    void (*closed)(void *self, struct sink_closed *closed);
    /* Gives up what is in flight; may take seconds.  False: a client that was
     * left behind may hold records of the source, which must not end then. */
    bool (*free)(void *self);
};

struct sink {
    const struct sink_ops *ops;
    void *self;
};

#endif
