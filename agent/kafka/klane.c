#include "klane.h"

#include "clock.h"
#include "kledger.h"
#include "kworker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MS 500       /* the longest single wait, so that a job can end */
#define ABORT_SLICE_MS 100 /* reports are served between two of them */
#define ID_MAX 300

struct klane {
    /* fixed */
    const struct kledger_options *o;
    int32_t number;
    char transactional_id[ID_MAX];
    /* own to the worker */
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    rd_kafka_queue_t *events;
    /* Until something works again. */
    char heard[256]; /* the newest error the client told, for time-outs */
    rd_kafka_resp_err_t refused; /* it is one that only a person can mend */
};

/* One transaction under way. */
struct txn {
    struct klane *lane;
    const struct kjob *job;
    struct err *err;
    int64_t deadline_ms;
    size_t sent, reported;
    rd_kafka_resp_err_t failed; /* of the first report that was bad */
    int64_t first;              /* offset of the first record, or -1 */
};

struct klane *
klane_new(const struct kledger_options *options, int32_t number,
    struct err *err)
{
    struct klane *lane = calloc(1, sizeof *lane);

    if (lane == NULL) {
        err_set(err, ERR_MEMORY, "lane %d", number);
        return NULL;
    }
    lane->o = options;
    lane->number = number;
    (void)snprintf(lane->transactional_id, sizeof lane->transactional_id,
        "%s.%d", options->group_id, number);
    return lane;
}

/* What was refused before was of one connection, or is mended. */
static void
works(struct klane *lane)
{
    lane->heard[0] = '\0';
    lane->refused = RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
klane_close(struct klane *lane)
{
    if (lane->topic != NULL)
        rd_kafka_topic_destroy(lane->topic);
    if (lane->events != NULL)
        rd_kafka_queue_destroy(lane->events);
    /* What a fenced or stuck client still holds goes nowhere. */
    if (lane->rk != NULL)
        kconf_purge(lane->rk,
            RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    kconf_close(lane->rk);
    lane->topic = NULL;
    lane->events = NULL;
    lane->rk = NULL;
    works(lane);
}

void
klane_free(void *held)
{
    struct klane *lane = held;

    if (lane != NULL)
        klane_close(lane);
    free(lane);
}

static const struct {
    rd_kafka_resp_err_t code;
    enum store_result result;
} classes[] = {
    { RD_KAFKA_RESP_ERR__FENCED, STORE_FENCED },
    { RD_KAFKA_RESP_ERR_PRODUCER_FENCED, STORE_FENCED },
    { RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, STORE_FENCED },
    /* The client goes on with a new id after these, which it took without
     * having read the lane. */
    { RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, STORE_UNKNOWN },
    { RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, STORE_UNKNOWN },
    { RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR__AUTHENTICATION, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, STORE_REFUSED },
    { RD_KAFKA_RESP_ERR_POLICY_VIOLATION, STORE_REFUSED },
};

enum store_result
klane_judge(rd_kafka_resp_err_t code)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (classes[i].code == code)
            return classes[i].result;
    }
    return STORE_RETRY;
}

/* What is told of a request that was not answered in time. */
static void
say_unanswered(const struct klane *lane, struct err *err, const char *what)
{
    if (kconf_distrusts(lane->rk, err))
        return;
    if (lane->refused != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kconf_err(err, lane->refused, lane->heard);
        return;
    }
    err_set_retry(err, ERR_NET, "%s: no answer within %lld ms%s%s", what,
        (long long)lane->o->step_ms, lane->heard[0] != '\0' ? "; " : "",
        lane->heard);
}

static bool
over(const struct txn *txn)
{
    return clock_mono_ms(txn->lane->o->clock) >= txn->deadline_ms ||
           kworker_cancelled(txn->job);
}

static void
take_reports(struct txn *txn, rd_kafka_event_t *event)
{
    const rd_kafka_message_t *message = NULL;

    while ((message = rd_kafka_event_message_next(event)) != NULL) {
        txn->reported++;
        if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
            txn->failed == RD_KAFKA_RESP_ERR_NO_ERROR)
            txn->failed = message->err;
        if (message->_private == NULL &&
            message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            txn->first = message->offset;
    }
}

/* Errors that come by themselves; most of them pass, and do not hide one that
 * does not. */
static void
hear(struct klane *lane, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);

    if (lane->refused != RD_KAFKA_RESP_ERR_NO_ERROR &&
        klane_judge(code) != STORE_REFUSED)
        return;
    (void)snprintf(lane->heard, sizeof lane->heard, "%s",
        rd_kafka_event_error_string(event));
    if (klane_judge(code) == STORE_REFUSED)
        lane->refused = code;
}

/* Serves what the client has to tell, waiting up to `wait_ms` for the first. */
static void
serve(struct txn *txn, int wait_ms)
{
    struct klane *lane = txn->lane;
    rd_kafka_event_t *event = NULL;

    while ((event = rd_kafka_queue_poll(lane->events, wait_ms)) != NULL) {
        if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR)
            take_reports(txn, event);
        else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
            hear(lane, event);
        rd_kafka_event_destroy(event);
        wait_ms = 0;
    }
}

static bool
make_client(struct klane *lane, struct err *err)
{
    const struct kconf_options options = {
        .client = KCONF_LANE,
        .cluster = lane->o->target,
        .agent = lane->o->agent,
        .flow = lane->o->flow,
        .transactional_id = lane->transactional_id,
        .events = RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR,
        .log = lane->o->log,
        .configure = lane->o->configure,
    };

    klane_close(lane);
    if ((lane->rk = kconf_open(&options, err)) == NULL)
        return false;
    lane->events = rd_kafka_queue_get_main(lane->rk);
    lane->topic = rd_kafka_topic_new(lane->rk, lane->o->topic, NULL);
    if (lane->topic == NULL) {
        kconf_err(err, rd_kafka_last_error(), NULL);
        klane_close(lane);
        return false;
    }
    return true;
}

enum store_result
klane_open(struct klane *lane, const struct kjob *job, struct err *err)
{
    struct txn txn = { .lane = lane, .job = job, .err = err };
    rd_kafka_error_t *error = NULL;
    enum store_result result = STORE_DONE;
    bool again = true;

    if (!make_client(lane, err))
        return STORE_REFUSED;
    txn.deadline_ms = clock_mono_ms(lane->o->clock) + lane->o->step_ms;
    while (again) {
        rd_kafka_error_destroy(error);
        error = rd_kafka_init_transactions(lane->rk, SLICE_MS);
        serve(&txn, 0);
        again = error != NULL && rd_kafka_error_is_retriable(error) &&
                lane->refused == RD_KAFKA_RESP_ERR_NO_ERROR && !over(&txn);
    }
    if (error == NULL) {
        works(lane);
        return STORE_DONE;
    }
    result = klane_judge(rd_kafka_error_code(error));
    if (lane->refused != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kconf_err(err, lane->refused, lane->heard);
        result = STORE_REFUSED;
    } else if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__TIMED_OUT)
        say_unanswered(lane, err, "init_transactions");
    else
        kconf_err(err, rd_kafka_error_code(error),
            rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return result;
}

static bool
produce(struct txn *txn, const struct ledger_bytes *bytes, size_t i)
{
    struct klane *lane = txn->lane;
    const void *value = bytes->value_len > 0 ? bytes->value : NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    do {
        code = rd_kafka_producev(lane->rk, RD_KAFKA_V_RKT(lane->topic),
            RD_KAFKA_V_PARTITION(lane->number),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_KEY(bytes->key, bytes->key_len),
            RD_KAFKA_V_VALUE((void *)(uintptr_t)value, bytes->value_len),
            RD_KAFKA_V_OPAQUE((void *)(uintptr_t)i), RD_KAFKA_V_END);
        if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            serve(txn, SLICE_MS);
    } while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL && !over(txn));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        txn->sent++;
        return true;
    }
    if (txn->failed == RD_KAFKA_RESP_ERR_NO_ERROR)
        txn->failed = code;
    return false;
}

/* All of the batch, and a good report for every record of it. */
static bool
send_all(struct txn *txn, const struct ledger_batch *batch)
{
    struct ledger_bytes bytes;

    for (size_t i = 0; i < batch->n; i++) {
        if (!ledger_encode(&bytes, &batch->records[i], txn->err)) {
            txn->failed = RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
            return false; /* err says it */
        }
        if (!produce(txn, &bytes, i))
            return false;
        serve(txn, 0);
    }
    while (txn->reported < txn->sent && !over(txn))
        serve(txn, SLICE_MS);
    return txn->reported == txn->sent &&
           txn->failed == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Ends a transaction that will not be committed; err says why already.  True when it is known to be aborted. */
static bool
abort_cleanly(struct txn *txn)
{
    rd_kafka_t *rk = txn->lane->rk;
    rd_kafka_error_t *error = NULL;
    bool again = true;

    txn->deadline_ms =
        clock_mono_ms(txn->lane->o->clock) + KLANE_ABORT_MS - SLICE_MS;
    while (again) {
        rd_kafka_error_destroy(error);
        error = rd_kafka_abort_transaction(rk, ABORT_SLICE_MS);
        serve(txn, 0);
        again =
            error != NULL && rd_kafka_error_is_retriable(error) && !over(txn);
    }
    if (error == NULL)
        return true;
    if (klane_judge(rd_kafka_error_code(error)) == STORE_FENCED)
        txn->failed = RD_KAFKA_RESP_ERR__FENCED;
    rd_kafka_error_destroy(error);
    return false;
}

/* Why did the client throw records away?  In its failed state, where alone it
 * does so, asking for a commit answers the reason and does nothing. */
static void
find_reason(struct txn *txn)
{
    rd_kafka_t *rk = txn->lane->rk;
    rd_kafka_error_t *error = NULL;
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(rk, NULL, 0);

    if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR) {
        txn->failed = fatal;
        return;
    }
    if (txn->failed != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
        txn->failed != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT &&
        txn->failed != RD_KAFKA_RESP_ERR__STATE)
        return;
    error = rd_kafka_commit_transaction(rk, SLICE_MS);
    if (error != NULL)
        txn->failed = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
}

/* The records did not all arrive, so nothing is to be committed. */
static enum store_result
give_up(struct txn *txn)
{
    struct klane *lane = txn->lane;
    enum store_result result = STORE_RETRY;

    if (txn->failed == RD_KAFKA_RESP_ERR_NO_ERROR) {
        say_unanswered(lane, txn->err, "ledger records");
    } else {
        find_reason(txn);
        if (txn->err->kind == ERR_NONE)
            kconf_err(txn->err, txn->failed, NULL);
        result = klane_judge(txn->failed);
    }
    if (result == STORE_FENCED)
        return result; /* the coordinator has ended it */
    if (abort_cleanly(txn))
        return result;
    if (txn->failed == RD_KAFKA_RESP_ERR__FENCED)
        return STORE_FENCED;
    return STORE_UNKNOWN;
}

/* Everything is written and reported good: only the end of it is missing. */
static enum store_result
finish(struct txn *txn)
{
    struct klane *lane = txn->lane;
    rd_kafka_error_t *error = NULL;
    enum store_result result = STORE_UNKNOWN;
    bool again = true;

    while (again) {
        rd_kafka_error_destroy(error);
        error = rd_kafka_commit_transaction(lane->rk, SLICE_MS);
        serve(txn, 0);
        again =
            error != NULL && rd_kafka_error_is_retriable(error) && !over(txn);
    }
    if (error == NULL)
        return STORE_DONE;
    txn->failed = rd_kafka_error_code(error);
    if (txn->failed == RD_KAFKA_RESP_ERR__TIMED_OUT)
        say_unanswered(lane, txn->err, "commit_transaction");
    else
        kconf_err(txn->err, txn->failed, rd_kafka_error_string(error));
    if (klane_judge(txn->failed) == STORE_FENCED)
        result = STORE_FENCED;
    else if (rd_kafka_error_txn_requires_abort(error) && abort_cleanly(txn))
        result = klane_judge(txn->failed);
    rd_kafka_error_destroy(error);
    return result;
}

enum store_result
klane_commit(struct klane *lane, const struct kjob *job,
    const struct ledger_batch *batch, int64_t *offset, struct err *err)
{
    struct txn txn = { .lane = lane, .job = job, .err = err, .first = -1 };
    rd_kafka_error_t *error = NULL;
    enum store_result result = STORE_UNKNOWN;

    *offset = -1;
    *err = (struct err){ .kind = ERR_NONE };
    if (lane->rk == NULL) {
        err_set(err, ERR_KAFKA, "the lane has no client");
        return STORE_UNKNOWN;
    }
    if (batch->n == 0)
        return STORE_DONE;
    txn.deadline_ms = clock_mono_ms(lane->o->clock) + lane->o->step_ms;
    if ((error = rd_kafka_begin_transaction(lane->rk)) != NULL) {
        result = klane_judge(rd_kafka_error_code(error));
        if (result == STORE_RETRY && !rd_kafka_error_is_retriable(error))
            result = STORE_UNKNOWN;
        kconf_err_take(err, error);
        return result;
    }
    result = send_all(&txn, batch) ? finish(&txn) : give_up(&txn);
    if (result == STORE_DONE) {
        works(lane);
        *offset = txn.first;
    }
    return result;
}
