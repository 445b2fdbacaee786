#include "kpulse.h"
#include "clock.h"
#include "group.h"
#include "kconf.h"
#include "wake.h"

#include <stdatomic.h>
#include <stdlib.h>

#define AGAIN_MS 1000
#define GAP_MS 2000 /* between two looks: this process stood still */
#define NEVER INT64_C(-1)

/* Of the protocol. */
#define JOIN_GROUP 11
#define HEARTBEAT 12
#define LEAVE_GROUP 13
#define SYNC_GROUP 14

enum news { NONE, HEARD, SILENT };

struct kpulse {
    /* fixed */
    const struct wake *wake;
    int64_t silent_ms;
    /* own */
    bool told_heard, silent;
    int64_t looked_ms;  /* NEVER: not yet */
    int64_t since_ms;   /* nothing before it counts as silence */
    int64_t told_ms;    /* that it is silent */
    struct err trouble; /* since the last answer */
    /* shared */
    atomic_bool beating;           /* the member is in: heartbeats are due */
    atomic_bool awaited;           /* somebody is silent */
    atomic_int_fast64_t answers;   /* so many, ever */
    atomic_int_fast64_t answer_ms; /* of the newest */
    int_fast64_t seen;             /* own: answers at the last look */
};

struct kpulse *
kpulse_new(const struct wake *wake, int64_t silent_ms, struct err *err)
{
    struct kpulse *pulse = calloc(1, sizeof *pulse);

    if (pulse == NULL) {
        err_set(err, ERR_MEMORY, "answers of a group");
        return NULL;
    }
    pulse->wake = wake;
    pulse->silent_ms = silent_ms;
    pulse->looked_ms = NEVER;
    return pulse;
}

void
kpulse_free(struct kpulse *pulse)
{
    free(pulse);
}

/* On the thread of a broker, as is on_answer().  The library says how many
 * parameters. */
static rd_kafka_resp_err_t
/* NOLINTNEXTLINE(readability-function-size) */
on_request(rd_kafka_t *rk, int fd, const char *broker, int32_t id, int16_t key,
    int16_t version, int32_t correlation, size_t size, void *ctx)
{
    struct kpulse *pulse = ctx;

    (void)rk;
    (void)fd;
    (void)broker;
    (void)id;
    (void)version;
    (void)correlation;
    (void)size;
    if (key == JOIN_GROUP || key == LEAVE_GROUP)
        atomic_store(&pulse->beating, false);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
/* NOLINTNEXTLINE(readability-function-size) */
on_answer(rd_kafka_t *rk, int fd, const char *broker, int32_t id, int16_t key,
    int16_t version, int32_t correlation, size_t size, int64_t rtt,
    rd_kafka_resp_err_t code, void *ctx)
{
    struct kpulse *pulse = ctx;

    (void)rk;
    (void)fd;
    (void)broker;
    (void)id;
    (void)version;
    (void)correlation;
    (void)rtt;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || size == 0)
        return RD_KAFKA_RESP_ERR_NO_ERROR; /* the library's, not a broker's */
    atomic_store(&pulse->answer_ms, clock_mono_ms(clock_system()));
    atomic_fetch_add(&pulse->answers, 1);
    if (key == HEARTBEAT || key == SYNC_GROUP)
        atomic_store(&pulse->beating, true);
    if (atomic_exchange(&pulse->awaited, false) && pulse->wake != NULL)
        wake_signal(pulse->wake);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ctx, char *why,
    size_t why_size)
{
    (void)conf;
    (void)why;
    (void)why_size;
    (void)rd_kafka_interceptor_add_on_request_sent(rk, "kpulse", on_request,
        ctx);
    return rd_kafka_interceptor_add_on_response_received(rk, "kpulse",
        on_answer, ctx);
}

void
kpulse_watch(struct kpulse *pulse, rd_kafka_conf_t *conf)
{
    (void)rd_kafka_conf_interceptor_add_on_new(conf, "kpulse", on_new, pulse);
}

void
kpulse_forget(struct kpulse *pulse)
{
    atomic_store(&pulse->beating, false);
    atomic_store(&pulse->awaited, false);
    pulse->told_heard = pulse->silent = false;
    pulse->seen = atomic_load(&pulse->answers);
}

/* True if anything was answered since the last look. */
static bool
take_answers(struct kpulse *pulse)
{
    int_fast64_t answers = atomic_load(&pulse->answers);
    bool some = answers != pulse->seen;

    pulse->seen = answers;
    if (some)
        pulse->since_ms = atomic_load(&pulse->answer_ms);
    return some;
}

void
kpulse_trouble(struct kpulse *pulse, rd_kafka_resp_err_t code,
    const char *detail)
{
    /* what one broker had says more than that all are gone */
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        kconf_err(&pulse->trouble, code, detail);
}

static enum news
look(struct kpulse *pulse, int64_t now_ms)
{
    bool heard = take_answers(pulse);

    if (pulse->looked_ms == NEVER || now_ms - pulse->looked_ms > GAP_MS)
        pulse->since_ms = now_ms;
    pulse->looked_ms = now_ms;
    if (heard && (pulse->silent || !pulse->told_heard)) {
        pulse->silent = false;
        pulse->told_heard = true;
        return HEARD;
    }
    if (!pulse->silent && atomic_load(&pulse->beating) &&
        now_ms - pulse->since_ms >= pulse->silent_ms) {
        pulse->silent = true;
        pulse->told_ms = now_ms - AGAIN_MS;
        atomic_store(&pulse->awaited, true);
    }
    if (!pulse->silent || now_ms - pulse->told_ms < AGAIN_MS)
        return NONE;
    pulse->told_ms = now_ms;
    return SILENT;
}

bool
kpulse_event(struct kpulse *pulse, const rd_kafka_t *rk,
    struct group_event *event)
{
    enum news news = look(pulse, clock_mono_ms(clock_system()));

    if (news == NONE)
        return false;
    *event = (struct group_event){ .lane = -1, .hint = GROUP_NO_HINT };
    event->kind = news == HEARD ? GROUP_UP : GROUP_DOWN;
    if (news == HEARD)
        pulse->trouble = (struct err){ .kind = ERR_NONE };
    else if (!kconf_distrusts(rk, &event->err)) {
        event->err = pulse->trouble;
        if (event->err.kind == ERR_NONE)
            kconf_err(&event->err, RD_KAFKA_RESP_ERR__TIMED_OUT,
                "no broker has answered for some seconds");
    }
    return true;
}
