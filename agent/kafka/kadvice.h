/* kadvice.h - what the words of the client library say beyond its code.
 *
 * "Broker transport failure" may be a link, a port that does not speak TLS or
 * one that does: only the text tells them apart, and who has to act.
 *
 * Thread: any; no state. */
#ifndef KEDGE_KADVICE_H
#define KEDGE_KADVICE_H

#include "err.h"

#include <librdkafka/rdkafka.h>

struct kadvice {
    enum err_kind kind;
    bool retry;
    bool alone; /* `who` says all of it: the detail would be in its way */
    const char *who;
};

/* NULL: nothing but what the code says.  A constant.  `detail` NULL is fine. */
const struct kadvice *kadvice_find(rd_kafka_resp_err_t code,
    const char *detail);

/* Without the protocol and the broker's number that the library puts in front:
 * "host:port: ...".  Gives `plain`. */
const char *kadvice_plain(const char *detail, char *plain, size_t size);

/* Where the log ended when it was truncated; -1: the words are of something
 * else. */
int64_t kadvice_cut(const char *detail);

#endif
