/* kensure.h - target topics as they are wanted, like those at the source.
 *
 * What is missing is made in one request, with the source's partition count,
 * the policy's replication factor and the source's own settings; what has too
 * few partitions is grown.  Nothing is ever deleted or made smaller.
 *
 * Thread: one worker; the calls block.
 * Memory: what is known about a target topic, for a minute.
 * Errors: in the events, with the broker's own words. */
#ifndef KEDGE_KENSURE_H
#define KEDGE_KENSURE_H

#include "catalog.h"

struct kadmin;
struct kadmin_topic;
struct kensure;
struct kjob;
struct ktopics_options;

struct kensure_clusters {
    struct kadmin *source, *target;
    const struct kjob *job; /* cancelled: ends early */
};

/* `options` is borrowed for the life. */
struct kensure *kensure_new(const struct ktopics_options *options,
    struct err *err) MUST_CHECK;
void kensure_free(struct kensure *ensure); /* NULL is fine */

/* True with err when a partition of a topic can take no records now, for want
 * of a leader or of replicas in sync.  `cluster`: its alias; `min_in_sync` 0:
 * not told. */
bool kensure_stands(const struct kadmin_topic *topic, int64_t min_in_sync,
    const char *cluster, struct err *err);

/* CATALOG_TARGET or CATALOG_WAIT, an event for each want. */
void kensure_topics(struct kensure *ensure,
    const struct kensure_clusters *clusters, const struct catalog_want *wants,
    struct catalog_event *events, size_t n);

#endif
