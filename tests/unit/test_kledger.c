#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledgerfix.h"

#include <semaphore.h>

#define API_PRODUCE 0
#define API_INIT_PRODUCER_ID 22
#define API_ADD_PARTITIONS 24
#define API_END_TXN 26

static void
a_lane_is_taken_over_and_written(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;
    const struct ledger_record *record = NULL;

    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    assert_int_equal(got.lane, LEDGERFIX_LANE);
    assert_int_equal(got.step, STORE_OPEN);
    assert_int_equal(ledgerfix_claim(scene, "first", &got), STORE_DONE);
    assert_int_equal(got.offset, 0);
    assert_int_equal(ledgerfix_commit(scene, 3, &got), STORE_DONE);
    assert_int_equal(got.offset, 1);
    assert_int_equal(ledgerfix_claim(scene, "second", &got), STORE_DONE);
    scene->store.ops->read(scene->store.self, LEDGERFIX_LANE, -1, "second");
    assert_int_equal(ledgerfix_answer(scene, &got), STORE_DONE);
    assert_int_equal(got.step, STORE_READ);
    assert_int_equal(got.records->n, 5);
    assert_int_equal(got.offset, 4);
    record = got.records->records;
    assert_string_equal(record[0].claim.nonce, "first");
    assert_true(record[1].tombstone);
    assert_string_equal(record[1].entry.topic, "topic-0");
    assert_int_equal(record[2].entry.next_offset, 101);
    assert_int_equal(record[3].offset, 3);
    ledger_batch_free(got.records);
}

static void
an_empty_commit_is_nothing_to_do(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    assert_int_equal(ledgerfix_commit(scene, 0, &got), STORE_DONE);
    assert_int_equal(got.offset, -1);
}

static void
without_a_client_nothing_is_taken_for_done(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    assert_int_equal(ledgerfix_commit(scene, 1, &got), STORE_UNKNOWN);
}

/* What the broker says to one request of a commit of two records, and whether
 * the same client can commit then or afterwards. */
static const struct {
    const char *label;
    int16_t api;
    rd_kafka_resp_err_t code;
    enum store_result want;
    bool then;
} faults[] = {
    { "a coordinator that is loading is waited for", API_END_TXN,
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, STORE_DONE, true },
    { "a leader that moved is waited for", API_PRODUCE,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, STORE_DONE, true },
    { "a record that is refused needs a person, the rest is undone",
        API_PRODUCE, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, STORE_REFUSED,
        true },
    { "a record that is invalid is undone", API_PRODUCE,
        RD_KAFKA_RESP_ERR_INVALID_RECORD, STORE_RETRY, true },
    { "who may not write needs a person", API_ADD_PARTITIONS,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, STORE_REFUSED, true },
    { "an expired id is not gone on with, although the client could",
        API_ADD_PARTITIONS, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING,
        STORE_UNKNOWN, true },
    { "nor when it expires at the end", API_END_TXN,
        RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, STORE_UNKNOWN, true },
    { "fenced before the records", API_ADD_PARTITIONS,
        RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, STORE_FENCED, false },
    { "fenced at the end", API_END_TXN, RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
        STORE_FENCED, false },
    { "a transaction in another state has an unknown outcome", API_END_TXN,
        RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, STORE_UNKNOWN, false },
};

static void
what_a_broker_says_has_its_result(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (ledgerfix_open_lane(scene, &got) != STORE_DONE)
            fail_msg("%s: %s", faults[i].label, got.err.text);
        rd_kafka_mock_push_request_errors(scene->fix.to, faults[i].api, 1,
            faults[i].code);
        if (ledgerfix_commit(scene, 2, &got) != faults[i].want)
            fail_msg("%s: result %d, %s", faults[i].label, got.result,
                got.err.text);
        if (got.result != STORE_DONE && got.err.kind == ERR_NONE)
            fail_msg("%s: no reason given", faults[i].label);
        /* The mock may want a new epoch first, which is a retry more. */
        for (int tries = 0; tries < 3 && got.result != STORE_DONE; tries++)
            (void)ledgerfix_commit(scene, 1, &got);
        if ((got.result == STORE_DONE) != faults[i].then)
            fail_msg("%s: then result %d, %s", faults[i].label, got.result,
                got.err.text);
        scene->store.ops->close(scene->store.self, LEDGERFIX_LANE);
    }
}

static void
who_may_not_use_the_id_is_refused(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    rd_kafka_mock_push_request_errors(scene->fix.to, API_INIT_PRODUCER_ID, 1,
        RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_REFUSED);
    assert_int_not_equal(got.err.kind, ERR_NONE);
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
}

static void
closing_drops_the_answer_and_a_new_open_has_its_own(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    for (int i = 0; i < 5; i++) {
        scene->store.ops->open(scene->store.self, LEDGERFIX_LANE);
        scene->store.ops->close(scene->store.self, LEDGERFIX_LANE);
    }
    scene->store.ops->close(scene->store.self, LEDGERFIX_LANE + 1);
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    assert_false(scene->store.ops->answer(scene->store.self, &got));
    assert_int_equal(ledgerfix_claim(scene, "nonce", &got), STORE_DONE);
}

static void
headers_of_an_empty_ledger_are_none(void **state)
{
    struct ledgerfix *scene = *state;
    struct store_answer got;

    scene->store.ops->headers(scene->store.self);
    assert_int_equal(ledgerfix_answer(scene, &got), STORE_DONE);
    assert_int_equal(got.lane, -1);
    assert_int_equal(got.records->n, 0);
    ledger_batch_free(got.records);
}

static void
a_store_can_be_freed_while_it_works(void **state)
{
    struct ledgerfix *scene = *state;

    for (int32_t lane = 0; lane < KAFKAFIX_PARTITIONS; lane++)
        scene->store.ops->open(scene->store.self, lane);
    scene->store.ops->headers(scene->store.self);
    /* ledgerfix_tear_down() does it; it must not wait for any of these in vain. */
    assert_non_null(scene->store.self);
}

/* What is abandoned outlives its store, so it is kept where it can be found. */
static struct kept {
    struct ledgerfix *scene;
    void *store;
    sem_t entered, go;
    atomic_bool hangs;
} keeps[5];

/* The newest: clients that are made now get it. */
static _Atomic(struct kept *) newest = keeps;

static void
hang(struct kept *mine)
{
    if (!atomic_exchange(&mine->hangs, false))
        return;
    (void)sem_post(&mine->entered);
    while (sem_wait(&mine->go) != 0)
        continue;
}

/* Called by the worker while it makes a client. */
static void
hanging_configure(rd_kafka_conf_t *conf)
{
    (void)conf;
    hang(newest);
}

static void
a_call_that_does_not_come_back_is_told_and_left_behind(void **state)
{
    struct kept *kept = newest;
    struct ledgerfix *scene = NULL;
    struct store_answer got;

    (void)state;
    ledgerfix_configure = hanging_configure;
    assert_int_equal(ledgerfix_set_up((void **)&kept->scene), 0);
    ledgerfix_configure = NULL;
    scene = kept->scene;
    kept->store = scene->store.self;
    assert_int_equal(sem_init(&kept->entered, 0, 0), 0);
    assert_int_equal(sem_init(&kept->go, 0, 0), 0);
    atomic_store(&kept->hangs, true);
    scene->store.ops->open(scene->store.self, LEDGERFIX_LANE);
    assert_int_equal(sem_wait(&kept->entered), 0);
    assert_false(scene->store.ops->answer(scene->store.self, &got));
    atomic_store(&scene->ahead_ms, 60000);
    assert_int_equal(ledgerfix_answer(scene, &got), STORE_OVERDUE);
    assert_int_equal(got.lane, LEDGERFIX_LANE);
    assert_int_equal(got.step, STORE_OPEN);
    assert_true(got.err.retry);
    scene->store.ops->close(scene->store.self, LEDGERFIX_LANE);
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    (void)sem_post(&kept->go);
    assert_int_equal(ledgerfix_claim(scene, "nonce", &got), STORE_DONE);
    scene->store.ops->free(scene->store.self);
}

static rd_kafka_resp_err_t
hanging_send(rd_kafka_t *rk, rd_kafka_message_t *message, void *ctx)
{
    (void)rk;
    (void)message;
    hang(ctx);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
hanging_destroy(rd_kafka_t *rk, void *ctx)
{
    return hanging_send(rk, NULL, ctx);
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ctx, char *why,
    size_t size)
{
    (void)conf;
    (void)why;
    (void)size;
    (void)rd_kafka_interceptor_add_on_destroy(rk, "hangs", hanging_destroy,
        ctx);
    return rd_kafka_interceptor_add_on_send(rk, "hangs", hanging_send, ctx);
}

static void
intercept(rd_kafka_conf_t *conf)
{
    assert_int_equal(rd_kafka_conf_interceptor_add_on_new(conf, "hangs", on_new,
                         newest),
        0);
}

/* A store whose clients hang where `hangs` says. */
static struct ledgerfix *
set_up_hanging(struct kept *kept)
{
    newest = kept;
    ledgerfix_configure = intercept;
    assert_int_equal(ledgerfix_set_up((void **)&kept->scene), 0);
    ledgerfix_configure = NULL;
    kept->store = kept->scene->store.self;
    assert_int_equal(sem_init(&kept->entered, 0, 0), 0);
    assert_int_equal(sem_init(&kept->go, 0, 0), 0);
    return kept->scene;
}

static void
order_marks(struct ledgerfix *scene, int n)
{
    struct err err;
    struct ledger_batch *batch = ledger_batch_new((size_t)n, &err);

    assert_non_null(batch);
    for (int i = 0; i < n; i++) {
        struct ledger_record *record = ledger_batch_add(batch);

        record->kind = LEDGER_MARK;
        record->mark.lane = LEDGERFIX_LANE;
    }
    scene->store.ops->commit(scene->store.self, LEDGERFIX_LANE, &batch);
}

/* What it holds is counted for as long as the store lives. */
static void
a_batch_that_is_left_behind_is_counted(void **state)
{
    struct kept *kept = &keeps[1];
    struct ledgerfix *scene = set_up_hanging(kept);
    struct store_answer got;

    (void)state;
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    assert_int_equal(ledgerfix_claim(scene, "nonce", &got), STORE_DONE);
    assert_int_equal(scene->store.ops->leaked(scene->store.self), 0);
    atomic_store(&kept->hangs, true);
    order_marks(scene, 3);
    assert_int_equal(sem_wait(&kept->entered), 0);
    atomic_store(&scene->ahead_ms, 60000);
    assert_int_equal(ledgerfix_answer(scene, &got), STORE_OVERDUE);
    assert_int_equal(got.step, STORE_COMMIT);
    assert_int_equal(scene->store.ops->leaked(scene->store.self),
        6 * sizeof(struct ledger_record));
    scene->store.ops->close(scene->store.self, LEDGERFIX_LANE);
    assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
    assert_int_equal(scene->store.ops->leaked(scene->store.self),
        6 * sizeof(struct ledger_record));
    (void)sem_post(&kept->go);
    scene->store.ops->free(scene->store.self);
}

static const struct given_up_row {
    const char *label;
    bool answered; /* the commit, before its client hung */
    bool opened;   /* the next client is asked for meanwhile */
    int64_t records;
} given_up_rows[] = {
    { "a commit hangs", false, false, 6 },
    { "a commit hangs, and its lane is wanted again", false, true, 6 },
    { "the end of a client hangs whose commit was answered", true, false, 0 },
};

static void
what_a_lane_that_was_given_up_holds_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof given_up_rows / sizeof *given_up_rows; i++) {
        const struct given_up_row *row = &given_up_rows[i];
        struct kept *kept = &keeps[2 + i];
        struct ledgerfix *scene = set_up_hanging(kept);
        int64_t deadline_ms = kafkafix_deadline();
        struct store_answer got;

        print_message("%s\n", row->label);
        assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
        assert_int_equal(ledgerfix_claim(scene, "nonce", &got), STORE_DONE);
        if (row->answered) {
            assert_int_equal(ledgerfix_commit(scene, 3, &got), STORE_DONE);
            atomic_store(&kept->hangs, true);
        } else {
            atomic_store(&kept->hangs, true);
            order_marks(scene, 3);
            assert_int_equal(sem_wait(&kept->entered), 0);
        }
        scene->store.ops->close(scene->store.self, LEDGERFIX_LANE);
        if (row->answered)
            assert_int_equal(sem_wait(&kept->entered), 0);
        if (row->opened)
            scene->store.ops->open(scene->store.self, LEDGERFIX_LANE);
        atomic_store(&scene->ahead_ms, 60000);
        while (!kworker_watch_leaked(scene->watch)) {
            (void)scene->store.ops->answer(scene->store.self, &got);
            kafkafix_wait(&scene->fix, deadline_ms, "what is left behind");
        }
        assert_int_equal(scene->store.ops->leaked(scene->store.self),
            row->records * (int64_t)sizeof(struct ledger_record));
        (void)sem_post(&kept->go);
        scene->store.ops->free(scene->store.self);
    }
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, ledgerfix_set_up, ledgerfix_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lane_is_taken_over_and_written),
        TEST(an_empty_commit_is_nothing_to_do),
        TEST(without_a_client_nothing_is_taken_for_done),
        TEST(what_a_broker_says_has_its_result),
        TEST(who_may_not_use_the_id_is_refused),
        TEST(closing_drops_the_answer_and_a_new_open_has_its_own),
        TEST(headers_of_an_empty_ledger_are_none),
        TEST(a_store_can_be_freed_while_it_works),
        cmocka_unit_test(
            a_call_that_does_not_come_back_is_told_and_left_behind),
        cmocka_unit_test(a_batch_that_is_left_behind_is_counted),
        cmocka_unit_test(what_a_lane_that_was_given_up_holds_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
