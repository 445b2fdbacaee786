/* reader.h - reads the cloud back: a plain consumer at the embedded cluster
 * itself, beside the agent's way and without its help.
 *
 * It has no group and commits nothing; it reads every partition from its
 * beginning and hands each record to a proof.
 *
 * Thread: one.   Memory: reader_open() gives, reader_close() takes.
 * Errors: ERR_KAFKA, also when the cluster has dropped records before they
 *         were read. */
#ifndef KEDGE_READER_H
#define KEDGE_READER_H

#include "err.h"

#include <stdint.h>

struct cluster;
struct proof;
struct reader;

/* Reads PREFIX followed by each topic's name.  The cluster outlives it. */
struct reader *reader_open(const struct cluster *cluster, const char *prefix,
    struct err *err) MUST_CHECK;
void reader_close(struct reader *reader); /* NULL is fine */

/* Hands over what has come, for at most `wait_ms`. */
bool reader_poll(struct reader *reader, struct proof *proof, int wait_ms,
    struct err *err) MUST_CHECK;

/* Reads on until what every partition holds now has been handed over. */
bool reader_drain(struct reader *reader, struct proof *proof, int timeout_ms,
    struct err *err) MUST_CHECK;

#endif
