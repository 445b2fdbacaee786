/* kassign.h - a consumer's assignment, changed part by part.
 *
 * Thread: one.  kassign_apply() waits for the library's own thread, not for a
 *         broker.
 * Memory: none beyond a call. */
#ifndef KEDGE_KASSIGN_H
#define KEDGE_KASSIGN_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kparts;

/* leader_epoch -1: not known. */
void kassign_add(rd_kafka_topic_partition_list_t *list,
    const struct kparts *names, int32_t part, int64_t offset,
    int32_t leader_epoch);

/* First all of `out` are taken back, then all of `in` are given.  When it
 * returns, no message of an earlier place is given by the library any more:
 * it raised the version of each partition before it answered, and judges a
 * message's version when it is taken from the queue. */
rd_kafka_resp_err_t kassign_apply(rd_kafka_t *rk,
    rd_kafka_topic_partition_list_t *out, rd_kafka_topic_partition_list_t *in);

/* One past the last message taken, markers behind it included; negative: none
 * since the partition was assigned.  Until the library has stopped an earlier
 * reading it still answers for that one. */
int64_t kassign_position(rd_kafka_t *rk, const struct kparts *names,
    int32_t part);

#endif
