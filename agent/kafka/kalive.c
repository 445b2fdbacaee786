#include "kalive.h"
#include "kconf.h"

#define DOWN_AFTER_MS 1000
#define PROBE_TIMEOUT_MS 10000
#define PROBE_PAUSE_MS 500

static void
take_error(struct kalive *kalive, rd_kafka_event_t *event, int64_t now_ms)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    bool all = code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;

    /* what one broker had says more than that all are gone */
    if (!all || kalive->why.kind == ERR_NONE)
        kconf_err(&kalive->why, code, rd_kafka_event_error_string(event));
    if (all && !kalive->suspect) {
        kalive->suspect = true;
        kalive->suspect_ms = now_ms;
    }
}

void
kalive_event(struct kalive *kalive, rd_kafka_event_t *event, int64_t now_ms)
{
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
        take_error(kalive, event, now_ms);
        return;
    }
    kalive->probing = false;
    kalive->probe_due_ms = now_ms + PROBE_PAUSE_MS;
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    kalive->suspect = kalive->down = false;
    kalive->why = (struct err){ .kind = ERR_NONE };
}

void
kalive_serve(struct kalive *kalive, rd_kafka_t *rk, rd_kafka_queue_t *queue,
    int64_t now_ms)
{
    rd_kafka_AdminOptions_t *options;
    char why[128];

    if (!kalive->suspect)
        return;
    if (now_ms - kalive->suspect_ms >= DOWN_AFTER_MS)
        kalive->down = true;
    if (kalive->probing || now_ms < kalive->probe_due_ms)
        return;
    options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, PROBE_TIMEOUT_MS,
        why, sizeof why);
    rd_kafka_DescribeCluster(rk, options, queue);
    rd_kafka_AdminOptions_destroy(options);
    kalive->probing = true;
}

bool
kalive_changed(struct kalive *kalive, bool *down, struct err *err)
{
    if (kalive->down == kalive->told_down)
        return false;
    kalive->told_down = kalive->down;
    *down = kalive->down;
    *err = kalive->why;
    return true;
}
