/* parts.h - the source topics of a flow and their partitions.
 *
 * A topic is known because the source has it or because the ledger has an
 * entry of it; a partition keeps its number for the life of the flow, and with
 * it everything the flow knows: its lane, its entry, its tracker.
 *
 * Thread: the flow's.
 * Memory: about 1.5 kB for each partition; nothing is ever taken out, so that
 *         an entry is never forgotten on one agent's view.
 * Cost:   a partition by number O(1), by name one hash. */
#ifndef KEDGE_PARTS_H
#define KEDGE_PARTS_H

#include "err.h"
#include "ledger.h"
#include "report.h"
#include "tracker.h"

#include <stddef.h>
#include <stdint.h>

#define TOPIC_MISSING 2

struct topic {
    char name[LEDGER_NAME_MAX];
    char id[LEDGER_ID_MAX];       /* at the source; empty: not told */
    char target[LEDGER_NAME_MAX]; /* empty: not routed */
    char target_id[LEDGER_ID_MAX];
    char reason[REPORT_TEXT_MAX]; /* why it is not forwarded, or waits */
    char stands[REPORT_TEXT_MAX]; /* why the target takes none of it just now;
                                   * empty: it does */
    int32_t partitions;           /* at the source */
    int32_t target_partitions;    /* 0: not ready */
    int64_t max_message_bytes;    /* of the target; 0: not told */
    bool limit_doubted;           /* until the target has been asked again */
    bool refused;                 /* a record of it was, in this agent's hands;
                                   * its limit is asked for at each refresh */
    bool meant;                   /* the policy leaves it out on purpose */
    bool absent;                  /* the policy names it, and the source never
                                   * had it (flownames.c) */
    bool selected;                /* the policy wants it and it may go */
    bool exists;                  /* in the source's newest list */
    bool circle;                  /* left out by flowcircle.c alone */
    bool opened;                  /* a partition of it was, once, here */
    bool sure;                    /* what is read is of this id, not of another
                                   * topic of the name (flowsource.h) */
    int64_t sure_by;              /* the list, by its number, that says so; 0:
                                   * no record came yet */
    int64_t unled_ms;             /* a partition of it waits for its leader at
                                   * the source: when that was last seen; 0:
                                   * none does */
    bool missed;                  /* it is not, and the ledger knows it */
    int missing;                  /* so many lists in a row missed it; from
                                   * TOPIC_MISSING on it counts as gone */
    struct topic *next;           /* in the order they became known */
};

enum part_phase {
    PHASE_IDLE,      /* its lane is not ours, or it is not ready */
    PHASE_RESOLVING, /* the source is asked where to begin */
    PHASE_ENTERING,  /* its first entry is being committed */
    PHASE_OPEN,      /* records may be read and sent */
    PHASE_HELD,      /* a person has to act: `reason` */
};

struct part {
    struct topic *topic;
    struct part *next_in_lane;
    int32_t number, partition, lane;
    enum part_phase phase;
    bool known;           /* the ledger has an entry: `entry` */
    bool writing;         /* `written` is on its way into the ledger */
    bool reading;         /* the source was told to read it */
    bool unsure;          /* from a position in a topic that was not `sure` */
    int32_t epoch;        /* of the newest record read, -1 */
    int32_t epoch_before; /* of those before `epoch_since` */
    int64_t epoch_since;
    int64_t read_next; /* what is expected from the source next */
    int64_t sent_next; /* one past the newest offset ever sent */
    int64_t base_records, base_bytes; /* before the tracker was made */
    int64_t target_end;  /* as it was asked for last; REPORT_UNKNOWN */
    int64_t counted_end; /* up to there repeats were counted; 0: none yet */
    bool circles;        /* held since its topic goes in a circle */
    bool gone;           /* the target ends before what it acknowledged */
    bool doubted;        /* it may, and is asked again: not opened, `reason` */
    int64_t asked_ms;    /* RESOLVING: since when */
    int64_t short_ms;    /* since when it said so; 0: it did not */
    int64_t source_end, source_high; /* REPORT_UNKNOWN before asked */
    int64_t lost_to;         /* offsets before it are counted as lost already */
    struct tracker *tracker; /* while open or being finished */
    struct ledger_entry entry;
    struct ledger_entry written;
    char reason[REPORT_TEXT_MAX];
};

struct parts;

struct parts *parts_new(int32_t lanes, struct err *err) MUST_CHECK;
void parts_free(struct parts *parts); /* NULL is fine */

/* The topic of this name, made when it is new; NULL without memory. */
struct topic *parts_topic(struct parts *parts, const char *name);
struct topic *parts_topics(const struct parts *parts); /* the first */
/* The same; NULL when it is new. */
struct topic *parts_find_topic(const struct parts *parts, const char *name);

/* The partition, made when it is new; NULL without memory. */
struct part *parts_get(struct parts *parts, const char *topic,
    int32_t partition);

size_t parts_count(const struct parts *parts);
struct part *parts_at(const struct parts *parts, int32_t number);
struct part *parts_of_lane(const struct parts *parts, int32_t lane);

/* May it be forwarded: selected, there, and the target is ready for it? */
bool parts_ready(const struct part *part);

/* The leader epoch of the record before `offset`, -1 where it is not known: a
 * wrong one would look like a truncated source. */
int32_t parts_epoch(const struct part *part, int64_t offset);

/* The entry as it would be written now. */
void parts_entry(const struct part *part, struct ledger_entry *entry);

/* Says why a partition is held; a later reason does not replace it. */
void parts_hold(struct part *part, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Are source and target topic the ones that the entry was written for?  False
 * (and the partition is held) when one was deleted and made anew. */
bool parts_same_topics(struct part *part);

#endif
