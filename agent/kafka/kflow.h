/* kflow.h - the five interfaces of a flow, filled with Kafka.
 *
 * The one header of this folder that the rest of kedge includes: it turns two
 * cluster descriptions and some limits into a source, a sink, a group, a
 * ledger store and a catalog, ready for flow_new().
 *
 * Thread: the main thread; opening does not wait for any broker.
 * Memory: texts are copied; what is said to be borrowed is used as long as one
 *         of the five lives, since clients are made anew again and again, and
 *         for good once kflow_watch_leaked(). */
#ifndef KEDGE_KFLOW_H
#define KEDGE_KFLOW_H

#include "catalog.h"
#include "err.h"
#include "group.h"
#include "ledgerstore.h"
#include "log.h"
#include "metric.h"
#include "sink.h"
#include "source.h"
#include "wake.h"

struct kwatch;
struct secret;

/* A certificate that OpenSSL did not take from a broker. */
struct kcert {
    const char *cluster; /* the alias */
    const char *broker;  /* host:port as it was dialled */
    int error;           /* X509_V_ERR_... */
    int depth;           /* 0: the broker's own, else of an issuer */
    const void *der;     /* `len` bytes */
    size_t len;
};

/* Says in a clause what is wrong with it and who has to act.  From any
 * thread, while a handshake waits. */
typedef void kcert_explain_fn(const struct kcert *cert, char *text,
    size_t size);

/* How to reach one cluster. */
struct kcluster {
    const char *alias;     /* for messages */
    const char *bootstrap; /* host:port, separated by commas */
    bool tls;
    const char *ca_pem;           /* NULL: the system's */
    const char *cert_pem;         /* client certificate and chain; NULL: none */
    const struct secret *key_pem; /* NULL: none */
    kcert_explain_fn *explain;    /* NULL: refused ones have a number only */
    const char *sasl_mechanism;   /* PLAIN, SCRAM-SHA-256, -512; NULL: none */
    const char *sasl_username;
    const struct secret *sasl_password;
    bool plaintext_private_only; /* refuse to dial a public address ... */
    const char *const *plaintext_networks; /* ... but of these: 192.0.2.0/24 */
    size_t n_plaintext_networks;
};

struct kflow_options {
    const char *flow, *from, *agent;
    const struct kcluster *source, *target; /* borrowed for the life of the
                                             * five, with all that is in them */
    struct kwatch *watch;       /* of the process, for all its flows; held */
    const char *ledger_topic;   /* kedge.<source cluster>.<flow>.ledger */
    const char *group_id;       /* kedge.<source cluster>.<flow> */
    int32_t lanes;              /* of a new ledger */
    int32_t replication_factor; /* of topics made at the target; -1: the
                                 * broker's default */
    bool create_topics;
    const char *compression; /* none, gzip, snappy, lz4, zstd */
    int64_t linger_ms;       /* 0: the default, 25 */
    int64_t prefetch_bytes;  /* of the source, over all partitions */
    bool source_far;         /* it is at another site */
    sink_done_fn *done;
    sink_failed_fn *failed;
    void *sink_ctx;          /* borrowed for the life of the sink */
    const struct wake *wake; /* the same */
    struct log *log;         /* the same */
    struct metrics *metrics; /* the same */
};

struct kflow {
    struct source source;
    struct sink sink;
    struct group group;
    struct ledgerstore store;
    struct catalog catalog;
};

/* The process's watchdog over calls of the client library that do not come
 * back.  Each is left behind with its thread, sockets and memory; the third
 * within an hour, in whatever flow, calls `tired` on a flow's thread, which is
 * to say so and to end the process: every crash is safe. */
typedef void kflow_tired_fn(void *ctx);

struct kwatch *kflow_watch_new(kflow_tired_fn *tired, void *ctx,
    struct err *err) MUST_CHECK;
void kflow_watch_drop(struct kwatch *watch); /* NULL is fine */
/* Was any left behind?  It may still look at what its flow had borrowed. */
bool kflow_watch_leaked(struct kwatch *watch);

/* All five or none.  The err does not name the flow. */
bool kflow_open(struct kflow *kflow, const struct kflow_options *options,
    struct err *err) MUST_CHECK;

/* For one whose flow_new() failed. */
void kflow_close(struct kflow *kflow);

/* "2.14.2" and whether the build carries our patch; the floor is 2.10.1. */
const char *kflow_library_version(void);
bool kflow_library_patched(void);
bool kflow_library_check(struct err *err) MUST_CHECK;

#endif
