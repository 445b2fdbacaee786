/* kverdict.h - what the failed report of a record says about that record.
 *
 * A record may have been refused for good; or have shared a batch with one
 * that was, and nobody says which; or have failed only because the client
 * could not go on.
 *
 * Thread: any.   Memory: a plain value, zeroed at the start.
 * Cost:   the text is made once for a run of reports with the same code. */
#ifndef KEDGE_KVERDICT_H
#define KEDGE_KVERDICT_H

#include "err.h"

#include <librdkafka/rdkafka.h>

struct record;

struct kverdict {
    struct err err; /* retry false: refused for good */
    bool one_of;    /* the batch was refused because of some record in it */
    bool too_large; /* the batch was, or the record if it was alone */
    rd_kafka_resp_err_t code; /* of the last report; 0: none yet */
    bool several;
};

/* `several`: the report is of a batch of more than one record. */
void kverdict_judge(struct kverdict *verdict, rd_kafka_resp_err_t code,
    bool several);

/* Why the client did not take a record at all, into err, and as a code.
 * Destroys `error`. */
rd_kafka_resp_err_t kverdict_not_taken(struct err *err, rd_kafka_error_t *error,
    const struct record *record);

#endif
