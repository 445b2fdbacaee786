#include "kledger.h"
#include "probe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEP_MS 20000

static void
no_configure(rd_kafka_conf_t *conf)
{
    (void)conf;
}

/* What a client told of a record's fate comes this much later. */
static rd_kafka_resp_err_t
slow_report(rd_kafka_t *rk, rd_kafka_message_t *message, void *ctx)
{
    (void)rk;
    (void)message;
    (void)ctx;
    (void)usleep(6 * 1000 * 1000);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
slow_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ctx, char *errstr,
    size_t size)
{
    (void)conf;
    (void)errstr;
    (void)size;
    return rd_kafka_interceptor_add_on_acknowledgement(rk, "slow", slow_report,
        ctx);
}

/* A client whose transactions are over before it has heard of its records. */
static void
slow_configure(rd_kafka_conf_t *conf)
{
    char errstr[128];

    (void)rd_kafka_conf_set(conf, "transaction.timeout.ms", "1000", errstr,
        sizeof errstr);
    (void)rd_kafka_conf_set(conf, "socket.timeout.ms", "1000", errstr,
        sizeof errstr);
    (void)rd_kafka_conf_interceptor_add_on_new(conf, "slow", slow_new, NULL);
}

static bool
open_store(struct probe *probe, struct ledgerstore *store,
    void (*configure)(rd_kafka_conf_t *conf))
{
    const struct kledger_options options = {
        .target = &probe->cluster,
        .agent = "probe",
        .flow = "telemetry",
        .topic = probe->name,
        .group_id = probe->name,
        .step_ms = STEP_MS,
        .read_ms = STEP_MS,
        .wake = &probe->wake,
        .log = probe->log,
        .watch = probe->watch,
        .configure = configure,
    };
    struct err err;

    return kledger_open(store, &options, &err);
}

static void
close_store(struct ledgerstore *store)
{
    if (store->ops != NULL)
        store->ops->free(store->self);
}

/* The next answer of one of two stores; the batch is put into *records. */
static enum store_result
wait_for(struct probe *probe, struct ledgerstore *store,
    struct store_answer *answer)
{
    int64_t until_ms = probe_now_ms() + PROBE_WAIT_MS;

    while (!store->ops->answer(store->self, answer)) {
        if (probe_now_ms() > until_ms) {
            *answer = (struct store_answer){ .result = STORE_OVERDUE };
            return STORE_OVERDUE;
        }
        wake_wait(&probe->wake, 100);
    }
    if (answer->result != STORE_DONE)
        (void)fprintf(stderr, "lane %d step %d: result %d: %s\n", answer->lane,
            (int)answer->step, (int)answer->result, answer->err.text);
    return answer->result;
}

static enum store_result
do_open(struct probe *probe, struct ledgerstore *store, int32_t lane)
{
    struct store_answer answer;

    store->ops->open(store->self, lane);
    return wait_for(probe, store, &answer);
}

static enum store_result
do_claim(struct probe *probe, struct ledgerstore *store, int32_t lane,
    const char *nonce, int64_t *offset)
{
    struct ledger_claim claim = { .lane = lane, .wall_ms = 1 };
    struct store_answer answer;

    (void)snprintf(claim.nonce, sizeof claim.nonce, "%s", nonce);
    (void)snprintf(claim.agent, sizeof claim.agent, "probe");
    store->ops->claim(store->self, lane, &claim);
    (void)wait_for(probe, store, &answer);
    *offset = answer.offset;
    return answer.result;
}

/* The records come in `answer`. */
static enum store_result
do_read(struct probe *probe, struct ledgerstore *store, int32_t lane,
    int64_t hint, const char *nonce, struct store_answer *answer)
{
    store->ops->read(store->self, lane, hint, nonce);
    return wait_for(probe, store, answer);
}

static void
fill_entry(struct ledger_record *record, int number, int64_t next)
{
    record->kind = LEDGER_ENTRY;
    (void)snprintf(record->entry.topic, sizeof record->entry.topic, "topic-%d",
        number);
    (void)snprintf(record->entry.target_topic,
        sizeof record->entry.target_topic, "plant7.topic-%d", number);
    record->entry.next_offset = next;
    record->entry.target_offset = -1;
    record->entry.leader_epoch = -1;
}

/* `n` entries, behind a header and a mark if `snapshot`. */
static struct ledger_batch *
make_batch(int32_t lane, int n, int64_t next, bool snapshot)
{
    struct err err;
    struct ledger_batch *batch = ledger_batch_new(4, &err);
    struct ledger_record *record = NULL;

    if (batch != NULL && snapshot) {
        record = ledger_batch_add(batch);
        record->kind = LEDGER_MARK;
        record->mark = (struct ledger_mark){ lane, n };
        record = ledger_batch_add(batch);
        record->kind = LEDGER_HEADER;
        record->header = (struct ledger_header){ .format = LEDGER_FORMAT,
            .lane = lane,
            .lanes = 2,
            .source_cluster_id = "source",
            .ledger_topic_id = "id",
            .flow = "telemetry",
            .from = "plant7",
            .to = "cloud",
            .rename = "identity",
            .delivery = "at-least-once" };
    }
    for (int i = 0; batch != NULL && i < n; i++)
        fill_entry(ledger_batch_add(batch), i, next);
    return batch;
}

static enum store_result
do_commit(struct probe *probe, struct ledgerstore *store, int32_t lane,
    struct ledger_batch *batch, int64_t *offset)
{
    struct store_answer answer;

    store->ops->commit(store->self, lane, &batch);
    (void)wait_for(probe, store, &answer);
    *offset = answer.offset;
    return batch == NULL ? answer.result : STORE_BROKEN;
}

static enum store_result
do_headers(struct probe *probe, struct ledgerstore *store,
    struct store_answer *answer)
{
    store->ops->headers(store->self);
    return wait_for(probe, store, answer);
}

/* Open, claim, read to the own claim; the answer's records are freed. */
static bool
take_over(struct probe *probe, struct ledgerstore *store, int32_t lane,
    const char *nonce)
{
    struct store_answer answer = { 0 };
    int64_t claim = -1;
    bool ok = do_open(probe, store, lane) == STORE_DONE &&
              do_claim(probe, store, lane, nonce, &claim) == STORE_DONE &&
              do_read(probe, store, lane, -1, nonce, &answer) == STORE_DONE &&
              answer.offset == claim;

    ledger_batch_free(answer.records);
    return ok;
}

/* A successor's open ends the right of whoever was there; what that one says
 * afterwards is FENCED, and nothing of it is seen by the successor. */
static bool
check_fence(struct probe *probe)
{
    struct ledgerstore a = { 0 };
    struct ledgerstore b = { 0 };
    struct store_answer answer = { 0 };
    int64_t offset = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 2, NULL));
    HOLDS(probe, open_store(probe, &a, NULL));
    HOLDS(probe, open_store(probe, &b, NULL));
    HOLDS(probe, take_over(probe, &a, 1, "nonce-a"));
    HOLDS(probe, do_commit(probe, &a, 1, make_batch(1, 3, 10, false),
                     &offset) == STORE_DONE);
    HOLDS(probe, offset > 0);
    HOLDS(probe, do_open(probe, &b, 1) == STORE_DONE);
    HOLDS(probe, do_commit(probe, &a, 1, make_batch(1, 3, 20, false),
                     &offset) == STORE_FENCED);
    HOLDS(probe, do_claim(probe, &b, 1, "nonce-b", &offset) == STORE_DONE);
    HOLDS(probe, do_commit(probe, &a, 1, make_batch(1, 3, 30, false),
                     &offset) != STORE_DONE);
    HOLDS(probe, do_read(probe, &b, 1, -1, "nonce-b", &answer) == STORE_DONE);
    HOLDS(probe, answer.records->n == 5);
    HOLDS(probe,
        answer.records->records[3].entry.next_offset == 10 &&
            strcmp(answer.records->records[4].claim.nonce, "nonce-b") == 0);
    /* Taken anew after being fenced, as an owner does who still is one. */
    a.ops->close(a.self, 1);
    HOLDS(probe, take_over(probe, &a, 1, "nonce-a2"));
    ok = true;
out:
    ledger_batch_free(answer.records);
    close_store(&a);
    close_store(&b);
    return ok;
}

/* A transaction that the coordinator ended by its time-out says FENCED too,
 * although nobody else has the lane; taken over anew it goes on. */
static bool
check_timed_out(struct probe *probe)
{
    struct ledgerstore slow = { 0 };
    struct ledgerstore next = { 0 };
    int64_t offset = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 1, NULL));
    HOLDS(probe, open_store(probe, &slow, slow_configure));
    HOLDS(probe, open_store(probe, &next, no_configure));
    HOLDS(probe, do_open(probe, &slow, 0) == STORE_DONE);
    HOLDS(probe, do_commit(probe, &slow, 0, make_batch(0, 1, 10, false),
                     &offset) == STORE_FENCED);
    slow.ops->close(slow.self, 0);
    HOLDS(probe, take_over(probe, &next, 0, "nonce"));
    ok = true;
out:
    close_store(&slow);
    close_store(&next);
    return ok;
}

static bool
check_superseded(struct probe *probe)
{
    struct ledgerstore a = { 0 };
    struct ledgerstore b = { 0 };
    struct store_answer answer = { 0 };
    int64_t offset = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 1, NULL));
    HOLDS(probe, open_store(probe, &a, NULL));
    HOLDS(probe, open_store(probe, &b, NULL));
    HOLDS(probe, do_open(probe, &a, 0) == STORE_DONE);
    HOLDS(probe, do_claim(probe, &a, 0, "nonce-a", &offset) == STORE_DONE);
    HOLDS(probe, do_open(probe, &b, 0) == STORE_DONE);
    HOLDS(probe, do_claim(probe, &b, 0, "nonce-b", &offset) == STORE_DONE);
    /* The claim itself is compacted away in the end: another nonce is as if
     * it had been. */
    HOLDS(probe,
        do_read(probe, &a, 0, -1, "compacted", &answer) == STORE_SUPERSEDED);
    ok = true;
out:
    close_store(&a);
    close_store(&b);
    return ok;
}

static const struct {
    const char *label;
    int64_t from_mark; /* the hint, counted from the mark */
    size_t want;       /* records read, the claim included */
} hints[] = {
    { "at the mark it is read from there", 0, 5 },
    { "behind it, from the beginning", 1, 8 },
    { "before it, from the beginning", -2, 8 },
    { "beyond the end, from the beginning", 1000, 8 },
};

static bool
check_hint(struct probe *probe)
{
    struct ledgerstore a = { 0 };
    struct store_answer answer = { 0 };
    int64_t offset = -1;
    int64_t mark = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 1, NULL));
    HOLDS(probe, open_store(probe, &a, NULL));
    HOLDS(probe, do_open(probe, &a, 0) == STORE_DONE);
    HOLDS(probe, do_claim(probe, &a, 0, "first", &offset) == STORE_DONE);
    HOLDS(probe, do_commit(probe, &a, 0, make_batch(0, 2, 10, false),
                     &offset) == STORE_DONE);
    HOLDS(probe, do_commit(probe, &a, 0, make_batch(0, 2, 20, true), &mark) ==
                     STORE_DONE);
    HOLDS(probe, do_claim(probe, &a, 0, "second", &offset) == STORE_DONE);
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        (void)fprintf(stderr, "%s\n", hints[i].label);
        HOLDS(probe, do_read(probe, &a, 0, mark + hints[i].from_mark, "second",
                         &answer) == STORE_DONE);
        HOLDS(probe, answer.records->n == hints[i].want);
        HOLDS(probe, answer.offset == offset);
        ledger_batch_free(answer.records);
        answer.records = NULL;
    }
    ok = true;
out:
    ledger_batch_free(answer.records);
    close_store(&a);
    return ok;
}

static bool
check_broken(struct probe *probe)
{
    struct ledgerstore a = { 0 };
    struct store_answer answer = { 0 };
    int64_t offset = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 2, NULL));
    HOLDS(probe, open_store(probe, &a, NULL));
    HOLDS(probe, do_open(probe, &a, 1) == STORE_DONE);
    HOLDS(probe, do_commit(probe, &a, 1, make_batch(1, 2, 10, false),
                     &offset) == STORE_DONE);
    HOLDS(probe, probe_write(probe, probe->name, 1, "{\"claim\":1", "x"));
    HOLDS(probe, do_claim(probe, &a, 1, "nonce", &offset) == STORE_DONE);
    HOLDS(probe, do_read(probe, &a, 1, -1, "nonce", &answer) == STORE_BROKEN);
    /* Two entries come before it, and the end of their transaction may. */
    HOLDS(probe, answer.offset == 2 || answer.offset == 3);
    HOLDS(probe, strstr(answer.err.text, answer.offset == 2
                                             ? "lane 1, offset 2"
                                             : "lane 1, offset 3") != NULL);
    HOLDS(probe, do_headers(probe, &a, &answer) == STORE_BROKEN);
    ok = true;
out:
    close_store(&a);
    return ok;
}

static bool
check_headers(struct probe *probe)
{
    struct ledgerstore a = { 0 };
    struct store_answer answer = { 0 };
    int64_t offset = -1;
    bool ok = false;

    HOLDS(probe, open_store(probe, &a, NULL));
    HOLDS(probe, do_headers(probe, &a, &answer) == STORE_DONE);
    HOLDS(probe, answer.lane == -1 && answer.records->n == 0);
    ledger_batch_free(answer.records);
    answer.records = NULL;
    HOLDS(probe, probe_topic(probe, probe->name, 3, NULL));
    for (int32_t lane = 0; lane < 2; lane++) {
        HOLDS(probe, do_open(probe, &a, lane) == STORE_DONE);
        HOLDS(probe, do_commit(probe, &a, lane, make_batch(lane, 1, 1, true),
                         &offset) == STORE_DONE);
        HOLDS(probe, do_commit(probe, &a, lane, make_batch(lane, 1, 2, true),
                         &offset) == STORE_DONE);
    }
    HOLDS(probe, do_headers(probe, &a, &answer) == STORE_DONE);
    HOLDS(probe, answer.records->n == 2);
    HOLDS(probe, answer.records->records[0].header.lane +
                         answer.records->records[1].header.lane ==
                     1);
    HOLDS(probe,
        answer.records->records[0].offset == answer.records->records[1].offset);
    ok = true;
out:
    ledger_batch_free(answer.records);
    close_store(&a);
    return ok;
}

/* A lane can be closed at any time, and the next open is a new client. */
static bool
check_close(struct probe *probe)
{
    struct ledgerstore a = { 0 };
    struct store_answer answer = { 0 };
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 1, NULL));
    HOLDS(probe, open_store(probe, &a, NULL));
    a.ops->open(a.self, 0);
    a.ops->close(a.self, 0);
    a.ops->close(a.self, 0);
    a.ops->open(a.self, 0);
    a.ops->close(a.self, 0);
    HOLDS(probe, take_over(probe, &a, 0, "nonce"));
    a.ops->close(a.self, 0);
    HOLDS(probe, !a.ops->answer(a.self, &answer));
    a.ops->open(a.self, 0);
    ok = true;
out:
    close_store(&a); /* while it opens */
    return ok;
}

const struct probe_check probe_ledger[] = {
    { "fence", check_fence },
    { "timed-out", check_timed_out },
    { "superseded", check_superseded },
    { "hint", check_hint },
    { "broken", check_broken },
    { "headers", check_headers },
    { "close", check_close },
    { NULL, NULL },
};
