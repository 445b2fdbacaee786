/* clock.h - monotonic and wall time, as something a test can turn.
 *
 * Names that end in _ms are durations or times of the monotonic clock:
 * deadlines, rates, backoff.  Wall time is spelled _wall_ms and serves record
 * timestamps, certificate dates and log lines only.  Nothing reads the time by
 * itself: it is handed now_ms, or a clock if it has to wait.
 *
 * Thread: any.  Memory: none; a struct clock is a plain value. */
#ifndef KEDGE_CLOCK_H
#define KEDGE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct clock {
    int64_t (*mono_ms)(void *ctx); /* never steps */
    int64_t (*wall_ms)(void *ctx); /* since 1970; can step */
    void *ctx;
};

/* This machine's clocks (CLOCK_MONOTONIC, CLOCK_REALTIME); a constant. */
const struct clock *clock_system(void);

static inline int64_t
clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ms(clock->ctx);
}

static inline int64_t
clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock->ctx);
}

/* RFC 3339 in UTC with milliseconds, "2026-11-30T21:56:12.000Z", into `text`
 * (at least CLOCK_TEXT_SIZE bytes); years outside 0 to 9999 give "-". */
#define CLOCK_TEXT_SIZE 32
void clock_text(char *text, size_t size, int64_t wall_ms);

#endif
