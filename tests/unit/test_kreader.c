#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledgerfix.h"

/* Writes `value` under the key of a record of this kind; no key for -1. */
static void
write_raw(struct ledgerfix *scene, int kind, const char *value)
{
    rd_kafka_t *rk =
        kafkafix_client(RD_KAFKA_PRODUCER, scene->fix.target.bootstrap, "");
    struct ledger_record record = { .kind = kind < 0 ? LEDGER_MARK
                                                     : (enum ledger_kind)kind };
    struct ledger_bytes bytes;
    const char *key = NULL;
    size_t key_len = 0;
    struct err err;

    if (record.kind == LEDGER_ENTRY) /* as ledgerfix_commit() writes it */
        (void)snprintf(record.entry.topic, sizeof record.entry.topic,
            "topic-0");
    else
        record.header.lane = record.claim.lane = record.mark.lane =
            LEDGERFIX_LANE;
    assert_true(ledger_encode(&bytes, &record, &err));
    if (kind >= 0) {
        key = bytes.key;
        key_len = bytes.key_len;
    }
    assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("out"),
                         RD_KAFKA_V_PARTITION(LEDGERFIX_LANE),
                         RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                         RD_KAFKA_V_KEY(key, key_len),
                         RD_KAFKA_V_VALUE((void *)(uintptr_t)value,
                             strlen(value)),
                         RD_KAFKA_V_END),
        0);
    assert_int_equal(rd_kafka_flush(rk, KAFKAFIX_WAIT_MS), 0);
    rd_kafka_destroy(rk);
}

/* The broken record is the second of the lane, at offset 1. */
static const struct {
    const char *label;
    int kind;      /* -1: without a key */
    bool followed; /* by a good entry of topic-0 */
    int64_t hint;
    enum store_result want, headers;
} broken_rows[] = {
    { "an entry", LEDGER_ENTRY, false, -1, STORE_BROKEN, STORE_DONE },
    { "an entry that is followed by a good one", LEDGER_ENTRY, true, -1,
        STORE_DONE, STORE_DONE },
    { "one without a key, whatever follows", -1, true, -1, STORE_BROKEN,
        STORE_BROKEN },
    { "a header, which no entry replaces", LEDGER_HEADER, true, -1,
        STORE_BROKEN, STORE_BROKEN },
    { "a claim: our own follows", LEDGER_CLAIM, false, -1, STORE_DONE,
        STORE_DONE },
    { "a mark where a hint points: from the beginning, and it counts",
        LEDGER_MARK, true, 1, STORE_BROKEN, STORE_DONE },
    { "an entry where a hint points: the same, but it was followed",
        LEDGER_ENTRY, true, 1, STORE_DONE, STORE_DONE },
};

static void
what_is_broken_counts_until_its_key_is_written_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken_rows / sizeof broken_rows[0]; i++) {
        struct ledgerfix *scene;
        struct store_answer got;
        int64_t before_ms = clock_wall_ms(clock_system());

        print_message("%s\n", broken_rows[i].label);
        assert_int_equal(ledgerfix_set_up((void **)&scene), 0);
        assert_int_equal(ledgerfix_open_lane(scene, &got), STORE_DONE);
        assert_int_equal(ledgerfix_claim(scene, "first", &got), STORE_DONE);
        write_raw(scene, broken_rows[i].kind, "{");
        if (broken_rows[i].followed)
            assert_int_equal(ledgerfix_commit(scene, 1, &got), STORE_DONE);
        assert_int_equal(ledgerfix_claim(scene, "second", &got), STORE_DONE);
        scene->store.ops->read(scene->store.self, LEDGERFIX_LANE,
            broken_rows[i].hint, "second");
        assert_int_equal(ledgerfix_answer(scene, &got), broken_rows[i].want);
        if (got.result == STORE_BROKEN) {
            assert_int_equal(got.offset, 1);
            assert_non_null(strstr(got.err.text, "lane 1, offset 1"));
        } else {
            assert_int_equal(got.records->n, broken_rows[i].followed ? 3 : 2);
            /* the mock keeps the client's own */
            assert_in_range(got.wall_ms, before_ms,
                clock_wall_ms(clock_system()));
        }
        ledger_batch_free(got.records);
        scene->store.ops->headers(scene->store.self);
        assert_int_equal(ledgerfix_answer(scene, &got), broken_rows[i].headers);
        ledger_batch_free(got.records);
        assert_int_equal(ledgerfix_tear_down((void **)&scene), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_broken_counts_until_its_key_is_written_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
