#include "clock.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#define YEAR_0_S INT64_C(-62167219200)
#define YEAR_9999_END_S INT64_C(253402300799)

static int64_t
read_ms(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);

    assert(failed == 0); /* it has nothing to fail by for these clocks */
    (void)failed;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t
system_mono_ms(void *ctx)
{
    (void)ctx;
    return read_ms(CLOCK_MONOTONIC);
}

static int64_t
system_wall_ms(void *ctx)
{
    (void)ctx;
    return read_ms(CLOCK_REALTIME);
}

const struct clock *
clock_system(void)
{
    static const struct clock machine = {
        .mono_ms = system_mono_ms,
        .wall_ms = system_wall_ms,
    };

    return &machine;
}

void
clock_text(char *text, size_t size, int64_t wall_ms)
{
    int64_t seconds = wall_ms / 1000;
    int64_t ms = wall_ms % 1000;
    struct tm tm;
    time_t when;

    assert(size >= CLOCK_TEXT_SIZE);
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    when = (time_t)seconds;
    if (seconds < YEAR_0_S || seconds > YEAR_9999_END_S ||
        gmtime_r(&when, &tm) == NULL) {
        snprintf(text, size, "-");
        return;
    }
    snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
        tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
        tm.tm_sec, (int)ms);
}
