/* wake.h - one thread sleeps, any other ends its sleep.
 *
 * A flow's thread has several places to look at: its source, its sinks, its
 * group, its workers' answers, its orders.  Each of them signals the same wake
 * when it goes from empty to having something, and the flow sleeps on it.  The
 * descriptor is an eventfd(2) and may be given to a library that writes an
 * 8-byte 1 to it.
 *
 * Thread: wake_signal() from any; wake_wait() from the sleeper alone.
 * Memory: one descriptor, closed by wake_close(). */
#ifndef KEDGE_WAKE_H
#define KEDGE_WAKE_H

#include "err.h"

#include <stdint.h>

struct wake {
    int fd;
};

bool wake_open(struct wake *wake, struct err *err) MUST_CHECK;
void wake_close(struct wake *wake);

/* Never blocks; a signal that comes before the wait is not lost. */
void wake_signal(const struct wake *wake);

/* Sleeps until a signal or for `timeout_ms` (0: does not sleep, -1: for ever),
 * and clears the signal.  A caller looks at all its places afterwards. */
void wake_wait(const struct wake *wake, int64_t timeout_ms);

#endif
