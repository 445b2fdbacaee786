/* ledger.h - the records of the ledger topic: encode, decode, compare.
 *
 * The ledger is the compacted topic at the target in which a flow writes down
 * how far each source partition is delivered; all state of kedge is in it
 * (docs/architecture.md).  One JSON object a record, 64-bit numbers as strings.
 *
 *   header  key {"lane":n}                    what the lane belongs to
 *   claim   key {"claim":n}                   who took the lane over; its own
 *                                             offset is the lane's term
 *   entry   key {"topic":"t","partition":p}   how far a partition is
 *   mark    key {"snapshot":n}                a snapshot follows: header and
 *                                             every entry of the lane again
 *
 * Thread: any; no state.
 * Memory: a record is a plain value of fixed size.
 * Errors: a record that cannot be read is an ERR_KAFKA, never a guess. */
#ifndef KEDGE_LEDGER_H
#define KEDGE_LEDGER_H

#include "err.h"
#include "source.h"

#include <stddef.h>
#include <stdint.h>

#define LEDGER_FORMAT 1
#define LEDGER_KEY_MAX 600     /* an encoded key; escapes included */
#define LEDGER_VALUE_MAX 4096  /* an encoded value */
#define LEDGER_NAME_MAX 250    /* a topic name and its NUL (Kafka: 249) */
#define LEDGER_ID_MAX 64       /* a cluster id, a topic id, a nonce */
#define LEDGER_ALIAS_MAX 41    /* names of clusters and flows */
#define LEDGER_LANES_MAX 10000 /* partitions that a ledger may have */
#define LEDGER_SELECTION_MAX \
    512 /* so that a header is no larger than an entry */
#define LEDGER_AGENT_MAX 65

enum ledger_kind { LEDGER_HEADER, LEDGER_CLAIM, LEDGER_ENTRY, LEDGER_MARK };

struct ledger_header {
    int32_t format, lane, lanes;
    char source_cluster_id[LEDGER_ID_MAX];
    char ledger_topic_id[LEDGER_ID_MAX];
    char flow[LEDGER_ALIAS_MAX];
    char from[LEDGER_ALIAS_MAX], to[LEDGER_ALIAS_MAX];
    char rename[32];                      /* "prefix:." or "identity" */
    char delivery[32];                    /* "at-least-once" */
    uint64_t fingerprint;                 /* of topics and start */
    char selection[LEDGER_SELECTION_MAX]; /* which topics; empty: not told */
    int64_t first_start_wall_ms;   /* this and below: by the brokers' clock */
    int64_t changed_start_wall_ms; /* when the fingerprint last changed */
};

/* That an agent took the lane over.  Entries carry the claim's own offset as
 * their term. */
struct ledger_claim {
    int32_t lane;
    char nonce[LEDGER_ID_MAX]; /* new for each taking over */
    char agent[LEDGER_AGENT_MAX];
    int64_t wall_ms;
};

#define LEDGER_UNRESOLVED INT64_C(-1)

struct ledger_entry {
    char topic[LEDGER_NAME_MAX];
    int32_t partition;
    int64_t next_offset; /* in the source; LEDGER_UNRESOLVED: see `start` */
    enum start start;
    int64_t start_wall_ms;
    char topic_id[LEDGER_ID_MAX]; /* empty: the broker does not tell */
    int32_t leader_epoch;         /* of the record before next_offset, or -1 */
    char target_topic[LEDGER_NAME_MAX];
    char target_topic_id[LEDGER_ID_MAX];
    int32_t target_partition;
    int64_t target_offset;  /* one that is known to be acked, or -1 */
    int64_t records, bytes; /* forwarded since the beginning */
    int64_t term;           /* of the claim under which it was written */
    char agent[LEDGER_AGENT_MAX];
    int64_t wall_ms;
    char idle[8]; /* "yes": nothing of it is forwarded as things are, since
                   * the policy does not select the topic or it is not there;
                   * else empty */
};

/* That a snapshot of the lane follows in the same transaction. */
struct ledger_mark {
    int32_t lane;
    int64_t entries; /* how many follow */
};

struct ledger_record {
    enum ledger_kind kind;
    int64_t offset; /* in the ledger, of a record that was read */
    bool tombstone; /* an entry that is void: only its key is set */
    union {
        struct ledger_header header;
        struct ledger_claim claim;
        struct ledger_entry entry;
        struct ledger_mark mark;
    };
};

/* Both texts end in NUL.  False only when a field does not fit or memory ran
 * out; a tombstone gives value_len 0 and must be produced as null. */
struct ledger_bytes {
    char key[LEDGER_KEY_MAX];
    char value[LEDGER_VALUE_MAX];
    size_t key_len, value_len;
};

bool ledger_encode(struct ledger_bytes *bytes,
    const struct ledger_record *record, struct err *err) MUST_CHECK;

/* `value` NULL is a tombstone.  Unknown members are ignored (a newer kedge
 * wrote them), an unknown kind or a newer format is refused. */
bool ledger_decode(struct ledger_record *record, const void *key,
    size_t key_len, const void *value, size_t value_len,
    struct err *err) MUST_CHECK;

/* The key alone, when the record cannot be read: kind and lane, or topic and
 * partition.  False: it is no key of ours. */
bool ledger_decode_key(struct ledger_record *record, const void *key,
    size_t len) MUST_CHECK;

/* May a record with this key stand in the lane?  Which lane an entry is of
 * depends on their number, and is not looked at. */
bool ledger_names_lane(const struct ledger_record *record, int32_t lane);

/* False with the difference named when a lane's header belongs to somebody
 * else: another source cluster, flow, ledger topic, number of lanes, naming,
 * or delivery.  The fingerprint and the times may differ. */
bool ledger_header_fits(const struct ledger_header *found,
    const struct ledger_header *ours, struct err *err) MUST_CHECK;

/* The lane of a source partition: (xxh64(topic) + 5 x partition) mod lanes. */
int32_t ledger_lane(const char *topic, int32_t partition, int32_t lanes);

#endif
