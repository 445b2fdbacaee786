/* limits.h - what the system allows this process, and is it enough?
 *
 * An agent that runs out of descriptors, threads or address space finds it out
 * in the middle of its work, and the Kafka library ends the process when it
 * gets no thread.  So it is asked for before anything is started.
 *
 * Thread: the main thread, before the flows' own.
 * Memory: none stays.
 * Cost:   LIMITS_THREADS threads are started and end: a few milliseconds.
 * Errors: ERR_CONFIG with what is needed and where it is set; ERR_IO. */
#ifndef KEDGE_LIMITS_H
#define KEDGE_LIMITS_H

#include "err.h"

#include <stdint.h>

/* The least of each: one flow between two brokers has up to 90 descriptors and
 * 60 threads, and these, with the allocator's arenas, take up to 1.8 GiB of
 * addresses (not of memory). */
#define LIMITS_FILES 256
#define LIMITS_THREADS 64
#define LIMITS_ADDRESSES_MIB 2048

struct limits {
    uint64_t files; /* descriptors that may be open now */
};

/* Raises what may be raised, and fills `limits`.  False when something is
 * below the least. */
bool limits_raise(struct limits *limits, struct err *err) MUST_CHECK;

#endif
