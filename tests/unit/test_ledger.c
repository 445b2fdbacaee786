#include "ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define WAY_ON ": undo that in the policy, or forward by a flow of another name"

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define ENTRY_KEY "{\"topic\":\"orders\",\"partition\":3}"

#define HEADER                                                         \
    {                                                                  \
        .format = LEDGER_FORMAT, .lane = 3, .lanes = 8,                \
        .source_cluster_id = "4L6g3nShT-eMCtK--X86sw",                 \
        .ledger_topic_id = "tKqmIbMPRl-RMaNBFvRVzQ", .flow = "orders", \
        .from = "plant1", .to = "cloud", .rename = "prefix:.",         \
        .delivery = "at-least-once",                                   \
        .fingerprint = UINT64_C(0xfedcba9876543210),                   \
        .first_start_wall_ms = INT64_C(1796075772000),                 \
        .changed_start_wall_ms = INT64_C(1796075772001),               \
    }

#define ENTRY                                                               \
    {                                                                       \
        .topic = "orders", .partition = 3,                                  \
        .next_offset = INT64_C(9007199254740993),                           \
        .topic_id = "6P3RyM4qQ2aYV7pI0TtYxw", .leader_epoch = 12,           \
        .target_topic = "plant1.orders",                                    \
        .target_topic_id = "kQfC7nX5TxW8s0ZpVbLq1g", .target_partition = 3, \
        .target_offset = 812345, .records = INT64_C(81234567),              \
        .bytes = INT64_C(81234567890), .term = 1234, .agent = "edge-1",     \
        .wall_ms = INT64_C(1796075772042),                                  \
    }

static const struct ledger_header header = HEADER;
static const struct ledger_entry entry = ENTRY;

static struct ledger_record
of_entry(const struct ledger_entry *one)
{
    struct ledger_record record;

    memset(&record, 0, sizeof record);
    record.kind = LEDGER_ENTRY;
    record.entry = *one;
    return record;
}

static void
expect_same(const struct ledger_record *a, const struct ledger_record *b)
{
    struct ledger_bytes one, two;
    struct err err;

    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->tombstone, b->tombstone);
    assert_true(ledger_encode(&one, a, &err));
    assert_true(ledger_encode(&two, b, &err));
    assert_string_equal(one.key, two.key);
    assert_string_equal(one.value, two.value);
}

static const struct {
    const char *label;
    struct ledger_record record;
    const char *key, *value;
} bytes_cases[] = {
    { "a header", { .kind = LEDGER_HEADER, .header = HEADER }, "{\"lane\":3}",
        "{\"format\":1,\"lanes\":8,\"source\":\"4L6g3nShT-eMCtK--X86sw\","
        "\"ledger\":\"tKqmIbMPRl-RMaNBFvRVzQ\",\"flow\":\"orders\","
        "\"from\":\"plant1\",\"to\":\"cloud\",\"rename\":\"prefix:.\","
        "\"delivery\":\"at-least-once\","
        "\"fingerprint\":\"fedcba9876543210\","
        "\"first_start\":\"1796075772000\","
        "\"changed_start\":\"1796075772001\"}" },
    { "a claim",
        { .kind = LEDGER_CLAIM,
            .claim = { 7, "a1b2", "edge-1", INT64_C(1796075772042) } },
        "{\"claim\":7}",
        "{\"nonce\":\"a1b2\",\"agent\":\"edge-1\","
        "\"time\":\"1796075772042\"}" },
    { "an entry", { .kind = LEDGER_ENTRY, .entry = ENTRY }, ENTRY_KEY,
        "{\"next\":\"9007199254740993\",\"id\":\"6P3RyM4qQ2aYV7pI0TtYxw\","
        "\"epoch\":12,\"target\":\"plant1.orders\","
        "\"target_id\":\"kQfC7nX5TxW8s0ZpVbLq1g\",\"target_partition\":3,"
        "\"target_offset\":\"812345\",\"records\":\"81234567\","
        "\"bytes\":\"81234567890\",\"term\":\"1234\",\"agent\":\"edge-1\","
        "\"time\":\"1796075772042\"}" },
    { "an entry that is not resolved",
        { .kind = LEDGER_ENTRY,
            .entry = { .topic = "t",
                .next_offset = LEDGER_UNRESOLVED,
                .start = START_LATEST,
                .start_wall_ms = 5,
                .leader_epoch = -1,
                .target_topic = "a.t",
                .target_offset = -1 } },
        "{\"topic\":\"t\",\"partition\":0}",
        "{\"start\":\"latest\",\"since\":\"5\",\"epoch\":-1,"
        "\"target\":\"a.t\",\"target_partition\":0,"
        "\"target_offset\":\"-1\",\"records\":\"0\",\"bytes\":\"0\","
        "\"term\":\"0\",\"time\":\"0\"}" },
    { "an entry of a topic that is not forwarded any more",
        { .kind = LEDGER_ENTRY,
            .entry = { .topic = "t", .target_topic = "t", .idle = "yes" } },
        "{\"topic\":\"t\",\"partition\":0}",
        "{\"next\":\"0\",\"epoch\":0,\"target\":\"t\","
        "\"target_partition\":0,\"target_offset\":\"0\","
        "\"records\":\"0\",\"bytes\":\"0\",\"term\":\"0\","
        "\"time\":\"0\",\"idle\":\"yes\"}" },
    { "a tombstone",
        { .kind = LEDGER_ENTRY,
            .tombstone = true,
            .entry = { .topic = "orders", .partition = 3 } },
        ENTRY_KEY, "" },
    { "a mark", { .kind = LEDGER_MARK, .mark = { 0, 250 } }, "{\"snapshot\":0}",
        "{\"entries\":\"250\"}" },
};

static void
test_bytes(void **state)
{
    (void)state;

    for (size_t i = 0; i < N(bytes_cases); i++) {
        bool tombstone = bytes_cases[i].record.tombstone;
        struct ledger_record again;
        struct ledger_bytes bytes;
        struct err err;

        print_message("%s\n", bytes_cases[i].label);
        assert_true(ledger_encode(&bytes, &bytes_cases[i].record, &err));
        assert_string_equal(bytes.key, bytes_cases[i].key);
        assert_string_equal(bytes.value, bytes_cases[i].value);
        assert_int_equal(bytes.key_len, strlen(bytes.key));
        assert_int_equal(bytes.value_len, strlen(bytes.value));
        assert_true(ledger_decode(&again, bytes.key, bytes.key_len,
            tombstone ? NULL : bytes.value, bytes.value_len, &err));
        expect_same(&again, &bytes_cases[i].record);
    }
}

static void
test_all_of_an_entry_comes_back(void **state)
{
    const struct ledger_record record = of_entry(&entry);
    struct ledger_record again;
    struct ledger_bytes bytes;
    struct err err;
    (void)state;

    assert_true(ledger_encode(&bytes, &record, &err));
    assert_in_range(bytes.key_len + bytes.value_len, 200, 360);
    memset(&again, 0xAA, sizeof again);
    assert_true(ledger_decode(&again, bytes.key, bytes.key_len, bytes.value,
        bytes.value_len, &err));
    assert_string_equal(again.entry.topic, entry.topic);
    assert_int_equal(again.entry.partition, 3);
    assert_int_equal(again.entry.next_offset, entry.next_offset);
    assert_string_equal(again.entry.topic_id, entry.topic_id);
    assert_int_equal(again.entry.leader_epoch, 12);
    assert_string_equal(again.entry.target_topic, entry.target_topic);
    assert_string_equal(again.entry.target_topic_id, entry.target_topic_id);
    assert_int_equal(again.entry.target_partition, 3);
    assert_int_equal(again.entry.target_offset, 812345);
    assert_int_equal(again.entry.records, entry.records);
    assert_int_equal(again.entry.bytes, entry.bytes);
    assert_int_equal(again.entry.term, 1234);
    assert_string_equal(again.entry.agent, "edge-1");
    assert_int_equal(again.entry.wall_ms, entry.wall_ms);
    assert_int_equal(again.offset, 0);
    assert_false(again.tombstone);
}

#define REST                                                               \
    "\"epoch\":-1,\"target\":\"a\",\"target_partition\":0,"                \
    "\"target_offset\":\"-1\",\"records\":\"0\",\"bytes\":\"0\",\"term\":" \
    "\"0\",\"time\":\"0\"}"

static void
test_what_may_differ(void **state)
{
    static const struct {
        const char *label, *value;
        int64_t next;
    } cases[] = {
        { "a member that a newer kedge wrote",
            "{\"next\":\"5\",\"new\":{\"x\":[1]}," REST, 5 },
        { "another order and blanks", "{ \"new\": 1, \"next\": \"6\", " REST,
            6 },
        { "a number that is not in a text", "{\"next\":7," REST, 7 },
        { "a start by time", "{\"start\":\"time\",\"since\":\"9\"," REST, -1 },
        { "a start from the beginning",
            "{\"start\":\"earliest\",\"since\":\"0\"," REST, -1 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct ledger_record record;
        struct err err;

        print_message("%s\n", cases[i].label);
        assert_true(ledger_decode(&record, ENTRY_KEY, strlen(ENTRY_KEY),
            cases[i].value, strlen(cases[i].value), &err));
        assert_int_equal(record.entry.next_offset, cases[i].next);
    }
}

static const struct {
    const char *label, *key, *value, *why;
} refused[] = {
    { "no key", NULL, "{}", "no key" },
    { "a key that is no JSON", "x", "{}", "JSON" },
    { "an empty key", "", "{}", "JSON" },
    { "an unknown kind", "{\"other\":1}", "{}", "no key of a kind" },
    { "a list as the key", "[1]", "{}", "no key of a kind" },
    { "one member too many", "{\"lane\":1,\"x\":1}", "{}", "no key of a kind" },
    { "two kinds at once", "{\"lane\":1,\"claim\":1}", "{}",
        "no key of a kind" },
    { "blanks in the key", "{\"lane\": 1}", "{}", "no key of a kind" },
    { "a lane in a text", "{\"lane\":\"1\"}", "{}", "no key of a kind" },
    { "a lane below zero", "{\"lane\":-1}", "{}", "no key of a kind" },
    { "a lane too high", "{\"lane\":2147483648}", "{}", "no key of a kind" },
    { "members in another order", "{\"partition\":1,\"topic\":\"t\"}", "{}",
        "no key of a kind" },
    { "no partition", "{\"topic\":\"t\"}", "{}", "no key of a kind" },
    { "an empty topic", "{\"topic\":\"\",\"partition\":1}", "{}",
        "no key of a kind" },
    { "a value that is no JSON", ENTRY_KEY, "{", "JSON" },
    { "an empty value", ENTRY_KEY, "", "JSON" },
    { "a list as the value", ENTRY_KEY, "[]", "next" },
    { "neither next nor start", ENTRY_KEY, "{" REST, "next" },
    { "both next and start", ENTRY_KEY,
        "{\"next\":\"1\",\"start\":\"latest\",\"since\":\"1\"," REST,
        "one of" },
    { "next below zero", ENTRY_KEY, "{\"next\":\"-1\"," REST, "not an offset" },
    { "next is a word", ENTRY_KEY, "{\"next\":\"1x\"," REST, "not an offset" },
    { "next is a fraction", ENTRY_KEY, "{\"next\":1.5," REST, "not an offset" },
    { "next is more than 64 bits", ENTRY_KEY,
        "{\"next\":\"9223372036854775808\"," REST, "not an offset" },
    { "an unknown start", ENTRY_KEY,
        "{\"start\":\"never\",\"since\":\"1\"," REST, "not a known word" },
    { "a start that is no word", ENTRY_KEY,
        "{\"start\":1,\"since\":\"1\"," REST, "not a known word" },
    { "a start without its time", ENTRY_KEY, "{\"start\":\"time\"," REST,
        "'since'" },
    { "an id that is no text", ENTRY_KEY, "{\"next\":\"1\",\"id\":5," REST,
        "'id'" },
    { "an id too long", ENTRY_KEY,
        "{\"next\":\"1\",\"id\":\"0123456789012345678901234567890123456789"
        "012345678901234567890123\"," REST,
        "'id'" },
    { "a member twice", ENTRY_KEY, "{\"next\":\"1\",\"next\":\"2\"," REST,
        "duplicate" },
    { "an epoch below minus one", ENTRY_KEY, "{\"next\":\"1\",\"epoch\":-2}",
        "'epoch'" },
    { "no term", ENTRY_KEY,
        "{\"next\":\"1\",\"epoch\":-1,\"target\":\"a\","
        "\"target_partition\":0,\"target_offset\":\"-1\",\"records\":"
        "\"0\",\"bytes\":\"0\",\"time\":\"0\"}",
        "'term'" },
    { "a newer format", "{\"lane\":1}", "{\"format\":2}", "newer kedge" },
    { "no format", "{\"lane\":1}", "{}", "'format'" },
    { "a deleted header", "{\"lane\":1}", NULL, "header was deleted" },
    { "a deleted claim", "{\"claim\":1}", NULL, "claim was deleted" },
    { "a claim without a nonce", "{\"claim\":1}",
        "{\"nonce\":\"\",\"time\":\"1\"}", "'nonce'" },
    { "a mark with less than no entries", "{\"snapshot\":1}",
        "{\"entries\":\"-1\"}", "'entries'" },
};

static void
test_refused(void **state)
{
    (void)state;

    for (size_t i = 0; i < N(refused); i++) {
        const char *key = refused[i].key, *value = refused[i].value;
        struct ledger_record record;
        struct err err = { 0 };

        print_message("%s\n", refused[i].label);
        assert_false(ledger_decode(&record, key, key == NULL ? 0 : strlen(key),
            value, value == NULL ? 0 : strlen(value), &err));
        assert_int_equal(err.kind, ERR_KAFKA);
        assert_non_null(strstr(err.text, refused[i].why));
        assert_memory_equal(err.text, "ledger record with key '", 24);
    }
}

static void
test_fingerprint(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        { "0000000000000000", true },
        { "ffffffffffffffff", true },
        { "FFFFFFFFFFFFFFFF", false },
        { "fffffffffffffff", false },
        { "fffffffffffffffff", false },
        { "-fffffffffffffff", false },
        { "0x00000000000000", false },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct ledger_record record;
        struct err err;
        char value[400];

        snprintf(value, sizeof value,
            "{\"format\":1,\"lanes\":8,\"source\":\"s\",\"flow\":\"f\","
            "\"from\":\"a\",\"to\":\"b\",\"rename\":\"identity\","
            "\"delivery\":\"d\",\"fingerprint\":\"%s\",\"first_start\":\"1\","
            "\"changed_start\":\"1\"}",
            cases[i].text);
        print_message("%s\n", cases[i].text);
        assert_int_equal(ledger_decode(&record, "{\"lane\":0}", 10, value,
                             strlen(value), &err),
            cases[i].want);
    }
}

static void
test_the_longest_names_fit(void **state)
{
    struct ledger_record record = of_entry(&entry), again;
    struct ledger_bytes bytes;
    struct err err;
    (void)state;

    memset(record.entry.topic, 't', LEDGER_NAME_MAX - 1);
    memset(record.entry.target_topic, 't', LEDGER_NAME_MAX - 1);
    memset(record.entry.topic_id, 'i', LEDGER_ID_MAX - 1);
    memset(record.entry.agent, '"', LEDGER_AGENT_MAX - 1);
    record.entry.partition = INT32_MAX;
    record.entry.next_offset = INT64_MAX;
    assert_true(ledger_encode(&bytes, &record, &err));
    assert_true(ledger_decode(&again, bytes.key, bytes.key_len, bytes.value,
        bytes.value_len, &err));
    expect_same(&again, &record);

    /* Kafka allows no such name, but what if. */
    memset(record.entry.topic, '\x01', LEDGER_NAME_MAX - 1);
    assert_false(ledger_encode(&bytes, &record, &err));
    assert_int_equal(err.kind, ERR_KAFKA);
    assert_non_null(strstr(err.text, "do not fit"));
}

static void
test_header_fits(void **state)
{
    struct ledger_header ours = header;
    struct err err = { 0 };
    (void)state;

    ours.fingerprint++;
    ours.first_start_wall_ms++;
    ours.changed_start_wall_ms++;
    assert_true(ledger_header_fits(&header, &ours, &err));
    ours.ledger_topic_id[0] = '\0'; /* the broker did not tell */
    assert_true(ledger_header_fits(&header, &ours, &err));
    ours.lanes = 12;
    assert_false(ledger_header_fits(&header, &ours, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text, "the ledger belongs to another number of "
                                  "lanes: 8, and ours is 12" WAY_ON);
}

/* The same, with all that an err has room for. */
static void
test_long_header_says_what_to_do(void **state)
{
    struct ledger_header found = header, ours = header;
    struct err err = { 0 };

    (void)state;
    memset(found.source_cluster_id, 'a', sizeof found.source_cluster_id - 1);
    memset(ours.source_cluster_id, 'b', sizeof ours.source_cluster_id - 1);
    assert_false(ledger_header_fits(&found, &ours, &err));
    assert_string_equal(err.text + strlen(err.text) - strlen(WAY_ON), WAY_ON);
}

static void
test_header_of_somebody_else(void **state)
{
#define AT(member) offsetof(struct ledger_header, member)
    static const struct {
        const char *label;
        size_t at;
    } cases[] = {
        { "source cluster", AT(source_cluster_id) },
        { "ledger topic", AT(ledger_topic_id) },
        { "flow", AT(flow) },
        { "name of the source cluster", AT(from) },
        { "name of the target cluster", AT(to) },
        { "naming", AT(rename) },
        { "delivery", AT(delivery) },
    };
#undef AT
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        struct ledger_header ours = header;
        struct err err = { 0 };
        char want[80];

        print_message("%s\n", cases[i].label);
        *((char *)&ours + cases[i].at) ^= 1;
        assert_false(ledger_header_fits(&header, &ours, &err));
        snprintf(want, sizeof want, "the ledger belongs to another %s: '",
            cases[i].label);
        assert_memory_equal(err.text, want, strlen(want));
        assert_non_null(strstr(err.text, WAY_ON));
    }
}

static void
test_lane(void **state)
{
    static const struct {
        const char *topic;
        int32_t partition, lanes, want;
    } cases[] = {
        /* xxh64("a") = d24ec4f1a98c6e5b, ends in 3 modulo 8 */
        { "a", 0, 8, 3 },
        { "a", 1, 8, 0 },
        { "a", 2, 8, 5 },
        { "a", 3, 8, 2 },
        { "a", 0, 1, 0 },
        { "a", INT32_MAX, 8, 6 },
        /* xxh64("abc") = 44bc2cf5ad770999 */
        { "abc", 0, 8, 1 },
        { "abc", 0, 16, 9 },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++)
        assert_int_equal(ledger_lane(cases[i].topic, cases[i].partition,
                             cases[i].lanes),
            cases[i].want);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_all_of_an_entry_comes_back),
        cmocka_unit_test(test_what_may_differ),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_the_longest_names_fit),
        cmocka_unit_test(test_header_fits),
        cmocka_unit_test(test_long_header_says_what_to_do),
        cmocka_unit_test(test_header_of_somebody_else),
        cmocka_unit_test(test_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
