/* memory.h - the five interfaces of `forward` in memory, for its tests.
 *
 * A source with topics of numbered records, a sink that acknowledges what it
 * is told to, a group that assigns every lane at joining, a ledger store with
 * one log a lane, a catalog that makes what is asked for.  Topics have the same
 * name on both sides.  A test turns what the five do by the members below; an
 * order of the flow that the interface forbids ends the test.
 *
 * Thread: any; each call of an interface takes `lock`, and so must a test that
 *         looks in here while a flow's thread runs.
 * Memory: memory_free() takes everything, and checks that each record that was
 *         given out was released. */
#ifndef KEDGE_MEMORY_H
#define KEDGE_MEMORY_H

#include "catalog.h"
#include "clock.h"
#include "group.h"
#include "ledgerstore.h"
#include "sink.h"
#include "source.h"
#include "wake.h"

#include <pthread.h>
#include <stdatomic.h>

#define MEMORY_TOPICS 4
#define MEMORY_WIDTH 4 /* partitions of a topic, at most */
#define MEMORY_OFFSETS 1024
#define MEMORY_PARTS 32
#define MEMORY_LANES 8
#define MEMORY_EVENTS 256
#define MEMORY_FLIGHT 2048 /* records of a lane in the sink */
#define MEMORY_WALL INT64_C(1700000000000)

struct memory_partition {
    int64_t low, high;             /* of the source */
    bool leaderless;               /* there: nobody answers for it */
    int32_t bytes[MEMORY_OFFSETS]; /* -1: no record (a marker) */
    int64_t got[MEMORY_OFFSETS];   /* offsets, as the target got them */
    size_t n_got;
    /* The target refuses this record: when it is sent (1) or by its report
     * (2); 0: it does not. */
    int refuses;
    int64_t refused;
};

struct memory_topic {
    char name[LEDGER_NAME_MAX]; /* empty: none */
    char id[LEDGER_ID_MAX], target_id[LEDGER_ID_MAX];
    int32_t partitions;
    int64_t max_message_bytes;
    int64_t known_bytes, known_until_ms; /* what the catalog remembers of it */
    bool gone;                           /* not listed any more */
    bool waits;                          /* cannot be made at the target */
    bool unasked;                        /* is there, and no more can be told */
    enum err_kind waits_for;             /* 0: ERR_KAFKA */
    bool stands;                         /* takes no records, says the target */
    struct memory_partition partition[MEMORY_WIDTH];
};

struct memory_reader { /* of one number that the flow chose */
    bool reading, asked;
    struct memory_partition *of;
    int64_t next;
    enum start start;
    int64_t start_wall_ms;
    int reads;      /* how often it was told to read */
    int64_t stored; /* as told; and how often */
    int stored_told;
};

struct memory_sent {
    int32_t part;
    int64_t offset;
};

struct memory_lane {
    /* sink */
    bool open, dead, full;
    int64_t batch_bytes;
    int opens;
    int64_t acks; /* how many more it gives; -1: all */
    bool fail;    /* its client fails at the next poll() */
    struct memory_sent sent[MEMORY_FLIGHT];
    size_t n_sent;
    /* group */
    int released;
    int64_t hint;
    /* store */
    struct ledger_record *log;
    size_t n_log;
    bool client, ordered;
    enum store_step step;
    int64_t from;
    struct ledger_claim claim;
    char nonce[LEDGER_ID_MAX];
    struct ledger_batch *batch;
};

struct memory {
    pthread_mutex_t lock;
    struct clock clock;
    _Atomic int64_t now_ms;
    struct wake wake;
    int32_t lanes;
    struct memory_topic topic[MEMORY_TOPICS];
    struct memory_lane lane[MEMORY_LANES];
    /* source */
    struct memory_reader reader[MEMORY_PARTS];
    struct source_event said[MEMORY_EVENTS];
    size_t n_said;
    int64_t holds;        /* records given out and not released */
    int64_t given;        /* records given out */
    bool source_away;     /* gives no records, resolves nothing */
    bool read_refused;    /* read() says no */
    int source_no_memory; /* so many read() and resolve() find no memory */
    /* sink */
    sink_done_fn *done;
    sink_failed_fn *failed;
    void *ctx;
    struct {
        bool attached;
        int32_t lane;
        struct memory_partition *of;
        int64_t last; /* sent in this opening of the lane */
    } attached[MEMORY_PARTS];
    bool open_refused; /* open() says no */
    bool ends_not;     /* what is closed stays `closed.ending` */
    struct sink_closed closed;
    /* group */
    bool joined;
    int joins, leaves;
    struct group_event told[MEMORY_EVENTS];
    size_t n_told;
    enum group_event_kind proof; /* what prove() answers */
    bool mute_proofs;            /* it does not answer for now */
    int proofs_owed[MEMORY_LANES];
    /* store: the result of the next orders of this step */
    struct {
        enum store_result result;
        int times;
    } script[STORE_COMMIT + 1];
    bool mute[STORE_COMMIT + 1]; /* orders of this step wait */
    bool headers_asked;
    int commits;
    int64_t store_leaked;
    /* catalog */
    bool refresh_asked, ledger_asked;
    int32_t ledger_lanes;  /* partitions of the ledger; 0: `lanes` */
    int32_t ledger_wanted; /* lanes, of the newest question */
    bool ledger_gone;      /* until somebody wants lanes */
    const char *ledger_id;
    bool source_down, target_down, ledger_waits; /* what it answers */
    struct catalog_event listed[MEMORY_EVENTS];
    size_t n_listed;
    int refreshes, ensures;
    bool texts_differ; /* each refusal has a text of its own */
    int texts_made;
    int64_t target_ends; /* of every target partition; 0: as it is */
    const char *source_cluster_id, *target_cluster_id;
    struct catalog_return returns[MEMORY_TOPICS]; /* what it says comes back */
    size_t n_returns;
    bool returns_missed;
    int freed; /* interfaces */
};

/* A source with no topic, a ledger of so many lanes, time 1000 ms. */
struct memory *memory_new(int32_t lanes);
void memory_free(struct memory *memory);

void memory_pass(struct memory *memory, int64_t ms);

/* A topic at the source, with records of `bytes` bytes in each partition. */
struct memory_topic *memory_topic(struct memory *memory, const char *name,
    int32_t partitions, int64_t records, int32_t bytes);
void memory_append(struct memory_partition *partition, int64_t records,
    int32_t bytes);

/* Did the target get exactly from, from + 1, ... to - 1 of the partition, in
 * this order but for repeats (with which it goes back to an earlier one)? */
bool memory_arrived(const struct memory_partition *partition, int64_t from,
    int64_t to);
size_t memory_repeats(const struct memory_partition *partition);

/* What the newest entry of the partition says; -2: there is none. */
int64_t memory_entry(const struct memory *memory, const char *topic,
    int32_t partition);
size_t memory_entries(const struct memory *memory, enum ledger_kind kind);

struct source memory_source(struct memory *memory);
void memory_say(struct memory *memory, enum source_event_kind kind,
    int32_t part, const char *why);
struct sink memory_sink(struct memory *memory);
struct group memory_group(struct memory *memory);
void memory_tell(struct memory *memory, enum group_event_kind kind,
    int32_t lane, const char *why);
struct ledgerstore memory_store(struct memory *memory);
void memory_append_log(struct memory_lane *lane,
    const struct ledger_record *record);
struct catalog memory_catalog(struct memory *memory);

/* For the fillings. */
void memory_enter(struct memory *memory);
void memory_leave(struct memory *memory);
struct memory_topic *memory_find(struct memory *memory, const char *name);

#endif
