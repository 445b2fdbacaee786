/* reach.h - how a cluster of the policy is reached: its files, read.
 *
 * The policy names files; a client needs PEM texts and secrets.  All of them
 * are read and judged here, once, before anything connects, so that a wrong
 * key is one line at the start and not a handshake that fails every minute.
 *
 * Thread: any; a reach does not change once it is loaded.
 * Memory: reach_load() gives, reach_free() takes; keys and passwords lie in
 *         secrets.  Borrows the policy's cluster for its life.
 * Errors: those of identity.h, chain.h and secret.h, with the cluster's name
 *         in front. */
#ifndef KEDGE_REACH_H
#define KEDGE_REACH_H

#include "err.h"

#include <stdint.h>

struct kcluster;
struct policy_cluster;
struct reach;

struct reach *reach_load(const struct policy_cluster *cluster,
    int64_t now_wall_ms, struct err *err) MUST_CHECK;
void reach_free(struct reach *reach); /* NULL is fine */

/* Borrowed until reach_free(). */
const struct kcluster *reach_cluster(const struct reach *reach);

/* Another number when a client would have to be made anew: an address, a
 * setting, or the contents of one of the files. */
uint64_t reach_signature(const struct reach *reach);

#endif
