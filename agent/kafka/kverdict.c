#include "kverdict.h"
#include "kconf.h"
#include "krecord.h"
#include "record.h"

/* Failed because something else did. */
static bool
is_collateral(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
           code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
           code == RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE ||
           code == RD_KAFKA_RESP_ERR__FATAL ||
           code == RD_KAFKA_RESP_ERR__INVALID_DIFFERENT_RECORD;
}

static bool
is_of_size(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

/* About a record, not about its topic or this client. */
static bool
is_of_record(rd_kafka_resp_err_t code)
{
    return is_of_size(code) || code == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP ||
           code == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
           code == RD_KAFKA_RESP_ERR_INVALID_MSG;
}

rd_kafka_resp_err_t
kverdict_not_taken(struct err *err, rd_kafka_error_t *error,
    const struct record *record)
{
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);

    kconf_err_take(err, error);
    if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        err_set(err, ERR_KAFKA,
            "the record has %lld bytes, the client library takes at most "
            "%d: " KRECORD_WAY_ON,
            (long long)record_bytes(record), KCONF_MESSAGE_MAX_BYTES);
    return code;
}

void
kverdict_judge(struct kverdict *verdict, rd_kafka_resp_err_t code, bool several)
{
    if (verdict->code == code && verdict->several == several)
        return;
    verdict->code = code;
    verdict->several = several;
    verdict->one_of = several && is_of_record(code);
    verdict->too_large = is_of_size(code);
    kconf_err(&verdict->err, code, NULL);
    if (verdict->one_of || is_collateral(code))
        verdict->err.retry = true;
}
