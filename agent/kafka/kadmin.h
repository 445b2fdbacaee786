/* kadmin.h - questions to one cluster, many topics at a time: the calls that
 * block.
 *
 * With every request that a call makes, its job's time begins anew: a job has
 * to allow for one step, however many requests it is.
 *
 * Thread: one worker.  A call ends early, as unanswered, when its job is
 *         cancelled.
 * Memory: what a call gives is the caller's.
 * Errors: false with err when the cluster did not answer; what it said about
 *         one topic stands with that topic. */
#ifndef KEDGE_KADMIN_H
#define KEDGE_KADMIN_H

#include "catalog.h"
#include "kconf.h"

struct kjob;
struct kadmin;

struct kadmin_options {
    const struct kcluster *cluster; /* borrowed until kadmin_open() returns */
    const char *agent, *flow;       /* the same */
    int64_t step_ms;                /* what one request may take */
    struct log *log;                /* borrowed for the life */
    void (*configure)(rd_kafka_conf_t *conf);
};

struct kadmin *kadmin_open(const struct kadmin_options *options,
    struct err *err) MUST_CHECK;
void kadmin_close(struct kadmin *admin); /* NULL is fine */

/* What is asked from now on is over by `until_ms` of the system's clock, also
 * where that is less than a step for each request; KADMIN_STEPS: it is not. */
void kadmin_until(struct kadmin *admin, int64_t until_ms);
#define KADMIN_STEPS 0

struct kadmin_topic {
    char name[LEDGER_NAME_MAX];
    char id[LEDGER_ID_MAX]; /* empty: not told */
    int32_t partitions;     /* 0: there is no such topic */
    /* Of kadmin_describe(): the partition that is worst off. */
    struct {
        int32_t partition, replicas, in_sync;
        bool led; /* it has a leader */
    } worst;
    rd_kafka_resp_err_t code;
    struct err err; /* when `code` is another error than that */
};

/* All topics of the cluster, in no order; free(3). */
bool kadmin_list(struct kadmin *admin, const struct kjob *job,
    struct kadmin_topic **topics, size_t *n, struct err *err) MUST_CHECK;

/* Fills in what the names say. */
bool kadmin_describe(struct kadmin *admin, const struct kjob *job,
    struct kadmin_topic *topics, size_t n, struct err *err) MUST_CHECK;

/* For requests that are made elsewhere: `queue` is ended, and the answer given
 * that came on it.  NULL with err when there is none within step_ms, or when
 * it is an error as a whole; `code` says which. */
rd_kafka_event_t *kadmin_wait(struct kadmin *admin, const struct kjob *job,
    rd_kafka_queue_t *queue, rd_kafka_resp_err_t *code, struct err *err);
/* Options with the time-out, for a request to the controller, or to any broker
 * where there is none to be seen.  NULL with err when none answers. */
rd_kafka_AdminOptions_t *kadmin_request(struct kadmin *admin,
    const struct kjob *job, rd_kafka_admin_op_t op, struct err *err);
rd_kafka_t *kadmin_client(const struct kadmin *admin);

#define KADMIN_BATCH 500 /* topics in one request */

bool kadmin_cluster_id(struct kadmin *admin, const struct kjob *job,
    char id[LEDGER_ID_MAX], struct err *err) MUST_CHECK;

/* Fills in the high watermarks: 0 for what does not exist, CATALOG_UNKNOWN for
 * what no leader told (then err says of one why). */
void kadmin_highs(struct kadmin *admin, const struct kjob *job,
    struct catalog_partition *partitions, size_t n, struct err *err);

#endif
