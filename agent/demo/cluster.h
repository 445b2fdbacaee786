/* cluster.h - a Kafka cluster inside this process, for the demo and the tests.
 *
 * It is the client library's mock: a few brokers on 127.0.0.1, in memory.  It
 * speaks plaintext, makes no topics by request, keeps no more than
 * CLUSTER_PARTITION_BYTES of a partition and drops the oldest silently, and
 * forgets everything with the process.
 *
 * Thread: any; calls are short.  It runs a thread of its own.
 * Memory: cluster_new() gives, cluster_free() takes.
 * Errors: ERR_KAFKA, ERR_MEMORY. */
#ifndef KEDGE_CLUSTER_H
#define KEDGE_CLUSTER_H

#include "err.h"

#include <stdint.h>

#define CLUSTER_BROKERS_MAX 8
#define CLUSTER_PARTITION_BYTES (5u << 20)

struct cluster;
struct rd_kafka_conf_s;

/* At least 2 brokers: the first is the controller. */
struct cluster *cluster_new(int brokers, struct err *err) MUST_CHECK;
void cluster_free(struct cluster *cluster); /* NULL is fine */

int cluster_brokers(const struct cluster *cluster);

/* Where broker `i` (from 0) listens, in plaintext. */
uint16_t cluster_port(const struct cluster *cluster, int i);

/* All of them as host:port with commas between; borrowed. */
const char *cluster_bootstrap(const struct cluster *cluster);

bool cluster_topic(struct cluster *cluster, const char *name, int partitions,
    struct err *err) MUST_CHECK;

/* Clients are told from now on that broker `i` is at 127.0.0.1:`port`. */
void cluster_advertise(struct cluster *cluster, int i, uint16_t port);

/* A client with these settings goes to the broker itself, whatever was
 * advertised.  The cluster outlives the client. */
void cluster_dial_directly(const struct cluster *cluster,
    struct rd_kafka_conf_s *conf);

#endif
