/* kconf.h - every property of the Kafka library that we set, and what its
 * errors mean.
 *
 * A client of Kafka is made here and nowhere else, so that one table shows
 * what each kind of client is told, and why.  A property that the library does
 * not take as written ends the opening: nothing is left to its defaults
 * silently.  Log lines of the library become events of ours, without secrets
 * and without a line for every retry; a plaintext client with
 * plaintext_private_only refuses to dial public addresses, except those of the
 * networks that are named (kdial.h).
 *
 * The client's opaque belongs to this module.  What a client has to say
 * arrives as events (`events` below), not as callbacks.
 *
 * Thread: kconf_open() and kconf_close() from any; a client is used as the
 *         library allows.
 * Memory: kconf_close() frees what kconf_open() gave.  Texts are copied; the
 *         library keeps copies of the key and the password.
 * Errors: never a secret in a text. */
#ifndef KEDGE_KCONF_H
#define KEDGE_KCONF_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kalive;
struct kcluster;
struct kpulse;
struct log;

enum kconf_client {
    KCONF_SOURCE, /* consumer of the `from` cluster, by assignment */
    KCONF_DATA,   /* idempotent, gapless producer of a lane's records */
    KCONF_LANE,   /* transactional producer of a lane's ledger */
    KCONF_MEMBER, /* member of the flow's group at the target */
    KCONF_LEDGER, /* reader of the ledger, by assignment */
    KCONF_ADMIN,  /* topics and settings, either side */
    KCONF_N,
};

/* Longest time a lane's transaction may take before the target ends it. */
#define KCONF_TRANSACTION_TIMEOUT_MS 60000

/* A record above this is refused by the client, whatever the topic takes. */
#define KCONF_MESSAGE_MAX_BYTES 100000000

struct kconf_options {
    enum kconf_client client;
    const struct kcluster *cluster; /* borrowed until kconf_open() returns */
    const char *agent, *flow;       /* client.id: kedge-<agent>-<flow> */
    const char *group_id;           /* SOURCE, MEMBER, LEDGER */
    const char *transactional_id;   /* LANE */
    const char *compression;        /* DATA; NULL: none */
    int64_t linger_ms;              /* DATA; 0: the default, 25 */
    int64_t batch_bytes;            /* DATA; 0: the default, 1 MB */
    int64_t prefetch_bytes;         /* SOURCE; 0: the default, 64 MiB */
    bool far;                       /* SOURCE: at another site */
    struct kalive *alive;           /* is told of connections; borrowed for
                                     * the life of the client; NULL: nobody */
    struct kpulse *pulse;           /* is told of answers; the same */
    int events;                     /* RD_KAFKA_EVENT_... that are wanted */
    struct log *log;                /* borrowed for the life of the client */
    void (*configure)(rd_kafka_conf_t *conf); /* tests: the last word on it;
                                               * NULL: nothing */
};

/* NULL with err: ERR_CONFIG, ERR_CERT or ERR_MEMORY.  Does not wait for any
 * broker. */
rd_kafka_t *kconf_open(const struct kconf_options *options,
    struct err *err) MUST_CHECK;

/* Destroys the client, NULL is fine.  May take seconds: not on a flow's
 * thread.  Messages, queues and topics of it must have been freed. */
void kconf_close(rd_kafka_t *rk);

/* rd_kafka_purge() of a client that is to end: what it then logs about the
 * records that it was told to throw away is for nobody, and goes to DEBUG. */
void kconf_purge(rd_kafka_t *rk, int flags);

/* Fill err from an error of the library and return false.  `detail` (NULL:
 * none) is what the library or broker said; the text also names who has to
 * act.  kconf_err_take() destroys `error`. */
bool kconf_err(struct err *err, rd_kafka_resp_err_t code, const char *detail);
bool kconf_err_take(struct err *err, rd_kafka_error_t *error);

/* True with err (ERR_CERT, retry) when this client refused the certificate of a
 * broker of late and has taken none of that broker's since: whatever fails then
 * fails for that.  From any thread. */
bool kconf_distrusts(const rd_kafka_t *rk, struct err *err);

/* "source", "data", ...: a constant. */
const char *kconf_client_name(enum kconf_client client);

#endif
