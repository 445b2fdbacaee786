/* source.h - where a flow's records come from.
 *
 * One of the interfaces that `forward` owns; kafka/ksource fills it with a
 * consumer of the `from` cluster, tests with records of their own.  Partitions
 * are read by assignment, nobody joins a group here.  A partition has a number,
 * `part`, which the flow chose; it comes back with every record and event.
 *
 * Thread: everything on the flow's thread, which never waits in here; when
 *         something new can be had, the wake given at opening is signalled.
 * Memory: records are borrowed views with a hold (record.h); what is
 *         prefetched is bounded by the options of the filling.
 * Errors: those that pass are retried inside for ever and said as SOURCE_DOWN;
 *         what a person has to mend comes as an event, and the partition has
 *         stopped by then.  A position that is gone is never jumped over. */
#ifndef KEDGE_SOURCE_H
#define KEDGE_SOURCE_H

#include "err.h"
#include "record.h"

#include <stddef.h>
#include <stdint.h>

/* Where to begin when nothing is known yet. */
enum start { START_EARLIEST, START_LATEST, START_TIME };

enum source_event_kind {
    SOURCE_RESOLVED,     /* answer to resolve(): `offset` */
    SOURCE_ENDS,         /* answer to ask_ends(), one for each partition:
                          * `low`, `stable` (last stable offset), `high`, and
                          * `offset`: one past everything that next() gave,
                          * transaction markers behind it included; -1 where
                          * that is not known */
    SOURCE_OUT_OF_RANGE, /* what was at `offset` does not exist any more:
                          * `low`, `high` say what does (-1 unknown), and when
                          * it lies between them the log was truncated below it
                          * and written anew, from `cut` on (-1 unknown);
                          * reading has stopped */
    SOURCE_FAILED,       /* reading has stopped; err says who has to act */
    SOURCE_DOWN,         /* no broker answers; part is -1; err says why */
    SOURCE_UP,           /* one does again; part is -1 */
};

struct source_event {
    enum source_event_kind kind;
    int32_t part;
    int64_t offset, low, stable, high, cut;
    struct err err;
};

struct source_ops {
    /* Starts to read a partition, or goes to another place of it.  After the
     * return no record of an earlier place is given any more.  leader_epoch is
     * of the record before `offset`, -1 unknown.  False: cannot be, see err;
     * ERR_MEMORY passes. */
    bool (*read)(void *self, int32_t part, const char *topic, int32_t partition,
        int64_t offset, int32_t leader_epoch, struct err *err);
    /* Stops; nothing of the partition is given any more.  Not reading: fine. */
    void (*stop)(void *self, int32_t part);
    /* Gives up to `max` records that are at hand, in order within each
     * partition, holds included.  0: none now. */
    size_t (*next)(void *self, struct record *records, size_t max);
    /* Gives one event; false: none now. */
    bool (*event)(void *self, struct source_event *event);
    /* Asks where `start` is (wall_ms for START_TIME: the first record not
     * older, or the end).  Answered by SOURCE_RESOLVED, asked again inside
     * until a broker answers; stop() ends the asking.  False: no memory now,
     * nothing is asked. */
    bool (*resolve)(void *self, int32_t part, const char *topic,
        int32_t partition, enum start start, int64_t wall_ms) MUST_CHECK;
    /* Asks the brokers for the ends of every partition being read; at most
     * one question is under way, a second is ignored until it is answered. */
    void (*ask_ends)(void *self);
    /* The ledger has it: a successor would begin at `offset`.  Shown to those
     * who look at the source with tools of their own, where that is permitted
     * and some seconds later; nothing depends on it.  To be told again and
     * again while the partition is this agent's, also when it did not move;
     * what is not told any more stays as it was shown. */
    void (*stored)(void *self, int32_t part, const char *topic,
        int32_t partition, int64_t offset);
    void (*free)(void *self); /* stops everything; may take seconds */
};

struct source {
    const struct source_ops *ops;
    void *self;
};

#endif
