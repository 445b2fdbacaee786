/* kassign.h - what a consumer reads, and up to where it was given.
 *
 * Orders to read and to stop are kept until kassign_apply(), which gives the
 * library what changed in two calls.  What comes is held against the order in
 * force: a message of a partition that is not read, or whose order the library
 * has not got yet, or of an offset that was passed, is not to be given.
 *
 * Thread: one.  kassign_apply() waits for the library's own thread, not for a
 *         broker.
 * Cost:   the library looks through all that it has for each one that changes:
 *         with 10 000 partitions a lane of 1 250 kept its thread for 0.2 s of
 *         CPU, and the caller for as long or, on a busy machine, many times
 *         that.  So one apply gives it no more than KASSIGN_LOOKS such looks,
 *         some 25 ms.
 * Memory: grows with the highest number of a partition. */
#ifndef KEDGE_KASSIGN_H
#define KEDGE_KASSIGN_H

#include "err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct kassign;
struct kparts;
struct record;

#define KASSIGN_LOOKS 1000000 /* partitions that change, times all */
#define KASSIGN_LEAST 16      /* partitions that change */

/* From kassign_apply(): the partition cannot be read, and is not any more. */
typedef void kassign_fail_fn(void *ctx, int32_t part, rd_kafka_resp_err_t code);

/* Borrows the client and the names for life. */
struct kassign *kassign_new(rd_kafka_t *rk, const struct kparts *names,
    kassign_fail_fn *fail, void *ctx, struct err *err) MUST_CHECK;
void kassign_free(struct kassign *kassign); /* NULL is fine */

/* Room for this number: before anything else is done with it. */
bool kassign_room(struct kassign *kassign, int32_t part,
    struct err *err) MUST_CHECK;

void kassign_read(struct kassign *kassign, int32_t part, int64_t offset,
    int32_t leader_epoch); /* of the record before, -1 not known */
void kassign_stop(struct kassign *kassign, int32_t part); /* any number */
bool kassign_reads(const struct kassign *kassign, int32_t part);

/* Of what it gave the library, no message of an earlier place comes from there
 * any more: it raised the version of each partition before it answered, and
 * judges a message's version when it is taken from the queue.  True: there is
 * more to give; call it again after other work. */
bool kassign_apply(struct kassign *kassign);

/* A message of the partition came: if it is to be given, it becomes `record`,
 * which holds it from now on.  False: it is not. */
bool kassign_take(struct kassign *kassign, int32_t part,
    rd_kafka_message_t *message, struct record *record);

/* Of a partition that is read an error says that its position is gone.  True:
 * it is.  False: that may have been an earlier position, and the partition is
 * read once more from where it was told to be. */
bool kassign_is_gone(struct kassign *kassign, int32_t part,
    const rd_kafka_message_t *error);

/* Where the log was truncated, as that error has it; -1: it was not, or that is
 * not known. */
int64_t kassign_cut(const struct kassign *kassign, int32_t part);

/* One past what was given, or the place that was ordered. */
int64_t kassign_next(const struct kassign *kassign, int32_t part);

/* The same with transaction markers behind it included, as far as the library
 * has seen them. */
int64_t kassign_position(struct kassign *kassign, int32_t part);

#endif
