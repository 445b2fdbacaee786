/* kpulse.h - does the cluster still answer a member of its group?
 *
 * A frozen broker keeps its connections: the library notices half a minute
 * later.  But a member asks every three seconds, and is answered at once.  So
 * once it has joined, the cluster is silent when no answer of any kind came for
 * some seconds, and it is back with the first.  While the member joins, an
 * answer may take long and silence says nothing.
 *
 * Thread: one owner; the library's threads report answers by atomics.
 * Memory: a few bytes; it outlives the clients that it watches. */
#ifndef KEDGE_KPULSE_H
#define KEDGE_KPULSE_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct group_event;
struct kpulse;
struct wake;

/* The wake, borrowed, NULL: none, is signalled when an answer ends a silence.
 * Silence begins after silent_ms without an answer. */
struct kpulse *kpulse_new(const struct wake *wake, int64_t silent_ms,
    struct err *err) MUST_CHECK;
void kpulse_free(struct kpulse *pulse); /* NULL is fine */

/* Before the client is made of `conf`.  It may be one of several. */
void kpulse_watch(struct kpulse *pulse, rd_kafka_conf_t *conf);

/* The member leaves or is a new one: what was heard of it is past. */
void kpulse_forget(struct kpulse *pulse);

/* An error that the client told, the reason of a silence until an answer. */
void kpulse_trouble(struct kpulse *pulse, rd_kafka_resp_err_t code,
    const char *detail);

/* GROUP_UP with the first answer and the first after silence, GROUP_DOWN every
 * second of silence; false: no news.  To be asked more often than every second:
 * time in which nobody looked does not count as silence. */
bool kpulse_event(struct kpulse *pulse, const rd_kafka_t *rk,
    struct group_event *event);

#endif
