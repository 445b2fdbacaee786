/* catalog.h - which topics there are on both sides, and making those that are
 * missing.
 *
 * kafka/ktopics fills it with admin requests to both clusters on a thread of
 * its own; tests with a list.
 *
 * Thread: the flow's thread, which never waits in here; the wake given at
 *         opening is signalled when event() has something.
 * Memory: a list belongs to whoever got the event; catalog_list_free(). */
#ifndef KEDGE_CATALOG_H
#define KEDGE_CATALOG_H

#include "err.h"
#include "ledger.h"

#include <stddef.h>
#include <stdint.h>

struct catalog_topic {
    char name[LEDGER_NAME_MAX];
    char id[LEDGER_ID_MAX]; /* empty: not told */
    int32_t partitions;
};

/* That another flow brings records from our target to our source, as its
 * ledger there says. */
struct catalog_return {
    char ledger[LEDGER_NAME_MAX], flow[LEDGER_ALIAS_MAX];
    char origin[LEDGER_NAME_MAX]; /* the topic at our target it reads */
    char topic[LEDGER_NAME_MAX];  /* the one at our source it writes */
};

/* All that the source's brokers list, internal topics too. */
struct catalog_list {
    char source_cluster_id[LEDGER_ID_MAX];
    char target_cluster_id[LEDGER_ID_MAX];
    struct catalog_return *returns; /* as far as they can be known */
    size_t n_returns;
    bool returns_missed; /* some could not be read now: there may be more */
    size_t n;
    struct catalog_topic topics[]; /* of the source, by name */
};

void catalog_list_free(struct catalog_list *list); /* NULL is fine */

/* A topic that must exist at the target before its first record is sent. */
struct catalog_want {
    char source[LEDGER_NAME_MAX];
    char target[LEDGER_NAME_MAX];
    int32_t partitions; /* the source's count: made with as many, grown to it */
    bool anew; /* what was known of it does not count: the target is asked */
};

/* One partition at the target. */
struct catalog_partition {
    char topic[LEDGER_NAME_MAX];
    int32_t partition;
    int32_t number; /* the asker's own; comes back */
    int64_t high; /* of an answer: the high watermark, 0 where there is no such
                   * partition, CATALOG_UNKNOWN where nobody could say */
};

#define CATALOG_UNKNOWN INT64_C(-1)

enum catalog_event_kind {
    CATALOG_TOPICS, /* answer to refresh(): `list`, the receiver's to free */
    CATALOG_DOWN,   /* answer to refresh(): err; `source_side` says which */
    CATALOG_TARGET, /* answer to ensure(), one for each want; an err (kind
                     * not ERR_NONE) says why it takes no records just now */
    CATALOG_WAIT,   /* the same: the topic cannot be used yet, err says why;
                     * ensure() it again later.  `partitions` above 0: so many
                     * are there already and may be used */
    CATALOG_LEDGER, /* answer to ensure_ledger(): exists; `id`, `partitions` */
    CATALOG_LEDGER_WAIT, /* the same: cannot be made or used, err says why */
    CATALOG_LEDGER_GONE, /* the same, when asked for no lanes: there is none */
    CATALOG_ENDS, /* answer to ask_ends(): `ends`, the receiver's to free(3) */
};

struct catalog_event {
    enum catalog_event_kind kind;
    bool source_side; /* of DOWN: the source is meant, else the target */
    struct catalog_list *list;
    char source[LEDGER_NAME_MAX], target[LEDGER_NAME_MAX];
    char id[LEDGER_ID_MAX]; /* of the target topic, or the ledger */
    int32_t partitions;
    int64_t max_message_bytes;      /* of the target topic; 0: not told */
    struct catalog_partition *ends; /* in the order of the question */
    size_t n_ends;
    int32_t lane; /* as given to ask_ends() */
    struct err err;
};

struct catalog_ops {
    void (*refresh)(void *self);
    /* Sees to it that each exists and is as wide: creates and grows as the
     * policy allows.  Copies the wants. */
    void (*ensure)(void *self, const struct catalog_want *wants, size_t n);
    /* Makes it with so many lanes when it is not there; 0: only looks. */
    void (*ensure_ledger)(void *self, const char *name, int32_t lanes);
    /* Where do these target partitions end?  Asked anew of the leaders each
     * time; answered even if some, or all, cannot be asked.  Copies. */
    void (*ask_ends)(void *self, int32_t lane,
        const struct catalog_partition *partitions, size_t n);
    bool (*event)(void *self, struct catalog_event *event);
    void (*free)(void *self); /* may take seconds */
};

struct catalog {
    const struct catalog_ops *ops;
    void *self;
};

#endif
