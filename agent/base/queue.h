/* queue.h - a bounded queue between exactly two threads.
 *
 * One thread pushes, one pops; a full queue is a "no" that the pusher has to
 * live with (back-pressure), never growth.  What is in it is a pointer, which
 * the queue carries and does not look into.
 *
 * Thread: one pusher, one popper; it locks itself.
 * Memory: room for `capacity` pointers at queue_new(), nothing later.
 * Cost:   one uncontended mutex each; not for use once per record. */
#ifndef KEDGE_QUEUE_H
#define KEDGE_QUEUE_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

struct queue;
struct wake;

/* `wake` (NULL for none, else it must outlive the queue) is signalled at each
 * push and by queue_close().  NULL if there is no memory. */
struct queue *queue_new(size_t capacity, const struct wake *wake,
    struct err *err) MUST_CHECK;

/* What is still in it is handed to `drop` (NULL: must be empty). */
void queue_free(struct queue *queue, void (*drop)(void *item));

/* Takes *item and sets it to NULL.  False when the queue is full or closed:
 * then nothing is taken. */
bool queue_push(struct queue *queue, void **item) MUST_CHECK;

/* Gives the oldest item; NULL when none came within `timeout_ms` (0: looks
 * only, -1: for ever), or at once when the queue is closed and empty. */
void *queue_pop(struct queue *queue, int64_t timeout_ms);

/* No more pushes; the popper drains what is there.  Either thread. */
void queue_close(struct queue *queue);
bool queue_is_closed(struct queue *queue);

#endif
