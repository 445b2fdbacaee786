/* pace.h - rate limit and retry backoff, in exact integers.
 *
 * Thread: one owner.   Memory: plain values. */
#ifndef KEDGE_PACE_H
#define KEDGE_PACE_H

#include <stdint.h>

/* No more than bytes_per_s, averaged over a second. */
struct pace {
    int64_t bytes_per_s; /* 0: no limit; else 1 to 2^40 */
    int64_t credit;      /* thousandths of a byte: exact in int64 */
    int64_t topped_up_ms;
};

/* Charges `bytes` (0: asks only) and gives the time to wait before the next
 * ones, in ms. */
int64_t pace_charge(struct pace *pace, int64_t bytes, int64_t now_ms);

/* Doubling from first_ms to last_ms.  The zero value starts anew. */
struct backoff {
    int64_t next_ms; /* what the next failure will wait, 0: first_ms */
};

/* Gives how long to wait after one more failure. */
int64_t backoff_next(struct backoff *backoff, int64_t first_ms,
    int64_t last_ms);

#endif
