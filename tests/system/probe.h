/* probe.h - what the checks of ledger_probe share.
 *
 * ledger_probe tries the parts of kafka/ that need brokers which fence, keep
 * groups and create topics: the ledger store, the member and the catalog.  One
 * check is one function; it says what held, or where it stopped holding.
 *
 * Thread: one.   Memory: freed at the end of each check. */
#ifndef KEDGE_PROBE_H
#define KEDGE_PROBE_H

#include "catalog.h"
#include "group.h"
#include "kflow.h"
#include "ledgerstore.h"
#include "wake.h"

#include <librdkafka/rdkafka.h>

#define PROBE_WAIT_MS 60000 /* an upper bound of every wait */

struct kwatch;
struct log;

struct probe {
    struct kcluster cluster;
    struct wake wake;
    struct kwatch *watch;
    struct log *log;
    rd_kafka_t *rk;   /* a plain producer, for what kedge would not do */
    char name[64];    /* of topics and groups; new for each check */
    const char *what; /* that did not hold */
    int line;
};

/* In a check: gives up when it does not hold. */
#define HOLDS(probe, it)              \
    do {                              \
        if (!(it)) {                  \
            (probe)->what = #it;      \
            (probe)->line = __LINE__; \
            goto out;                 \
        }                             \
    } while (0)

typedef bool probe_check_fn(struct probe *probe);

struct probe_check {
    const char *name;
    probe_check_fn *run;
};

extern const struct probe_check probe_ledger[]; /* until a NULL name */
extern const struct probe_check probe_group[];  /* the same */
extern const struct probe_check probe_topics[]; /* the same */

/* Makes a topic of this name; settings as name, value, ..., NULL. */
bool probe_topic(struct probe *probe, const char *topic, int partitions,
    const char *const *settings);
/* One plain record with this key; value NULL is null. */
bool probe_write(struct probe *probe, const char *topic, int partition,
    const char *key, const char *value);

int64_t probe_now_ms(void);

#endif
