#include "pace.h"

#include <assert.h>

#define MAX_BYTES_PER_S (INT64_C(1) << 40)

int64_t
pace_charge(struct pace *pace, int64_t bytes, int64_t now_ms)
{
    int64_t rate = pace->bytes_per_s;
    int64_t full = rate * 1000;
    int64_t passed_ms = now_ms - pace->topped_up_ms;

    assert(bytes >= 0 && rate >= 0 && rate <= MAX_BYTES_PER_S);
    if (rate == 0)
        return 0;
    assert(passed_ms >= 0 && bytes <= INT64_MAX / 4000);
    if (passed_ms > (full - pace->credit) / rate)
        pace->credit = full; /* a silence earns a second, no more */
    else
        pace->credit += rate * passed_ms;
    pace->topped_up_ms = now_ms;

    pace->credit -= bytes * 1000;
    if (pace->credit >= 0)
        return 0;
    return (-pace->credit - 1) / rate + 1; /* rounded up */
}

int64_t
backoff_next(struct backoff *backoff, int64_t first_ms, int64_t last_ms)
{
    int64_t wait_ms = backoff->next_ms == 0 ? first_ms : backoff->next_ms;

    assert(first_ms > 0 && first_ms <= last_ms);
    if (wait_ms > last_ms)
        wait_ms = last_ms;
    backoff->next_ms = wait_ms > last_ms / 2 ? last_ms : wait_ms * 2;
    return wait_ms;
}
