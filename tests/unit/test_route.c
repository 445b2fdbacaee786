#include "route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])

static const struct route prefix = { RENAME_PREFIX, ".", "plant", "cloud" };
static const struct route dashes = { RENAME_PREFIX, "--", "plant", "cloud" };
static const struct route identity = { RENAME_IDENTITY, ".", "plant", "cloud" };

static const struct {
    const char *label;
    const struct route *route;
    const char *topic;
    const char *want; /* NULL: refused */
    const char *why;
} topics[] = {
    { "a plain topic gets the prefix", &prefix, "orders", "plant.orders", "" },
    { "another separator", &dashes, "orders", "plant--orders", "" },
    { "the same name", &identity, "orders", "orders", "" },
    { "a prefix twice is a way through another cluster", &prefix,
        "other.orders", "plant.other.orders", "" },
    { "its own source's name is no cycle", &prefix, "plant.orders",
        "plant.plant.orders", "" },

    { "Kafka's own", &prefix, "__consumer_offsets", NULL,
        "internal topic of Kafka" },
    { "Kafka's own under the same name", &identity, "__x", NULL,
        "internal topic of Kafka" },
    { "one underscore is nothing special", &prefix, "_schemas",
        "plant._schemas", "" },
    { "hidden", &prefix, ".hidden", NULL, "internal topic of Kafka" },
    { "MirrorMaker 2's offset syncs", &prefix,
        "mm2-offset-syncs.cloud.internal", NULL, "MirrorMaker 2" },
    { "its worker topics", &identity, "mm2-configs.a.internal", NULL,
        "MirrorMaker 2" },
    { "its checkpoints", &identity, "a.checkpoints.internal", NULL,
        "MirrorMaker 2" },
    { "checkpoints with another separator", &dashes, "a--checkpoints--internal",
        NULL, "MirrorMaker 2" },
    { "checkpoints with a separator that is not ours", &dashes,
        "a.checkpoints.internal", "plant--a.checkpoints.internal", "" },
    { "mm2 in front alone", &prefix, "mm2-notes", "plant.mm2-notes", "" },
    { "internal behind alone", &prefix, "billing.internal",
        "plant.billing.internal", "" },
    { "heartbeats go", &prefix, "heartbeats", "plant.heartbeats", "" },
    { "Kafka Connect's go", &prefix, "connect-offsets", "plant.connect-offsets",
        "" },
    { "kedge's ledger", &prefix, "kedge.a.b.ledger", NULL,
        "internal topic of kedge" },
    { "kedge's audit", &identity, "kedge.a.b.audit", NULL,
        "internal topic of kedge" },
    { "kedge's canary", &identity, "kedge.a.b.canary", NULL,
        "internal topic of kedge" },
    { "kedge's status", &identity, "kedge.a.status", NULL,
        "internal topic of kedge" },
    { "a topic about kedge", &identity, "kedge.notes", "kedge.notes", "" },
    { "somebody else's ledger", &identity, "bank.ledger", "bank.ledger", "" },

    { "came from the target", &prefix, "cloud.orders", NULL, "cycle" },
    { "came from the target long ago", &prefix, "app.cloud.orders", NULL,
        "cycle" },
    { "the target's name at the end is a topic", &prefix, "x.cloud",
        "plant.x.cloud", "" },
    { "the target's name alone is a topic", &prefix, "cloud", "plant.cloud",
        "" },
    { "the target's name in a longer word", &prefix, "cloudy.orders",
        "plant.cloudy.orders", "" },
    { "the start of the target's name", &prefix, "clou.orders",
        "plant.clou.orders", "" },
    { "a separator at the end does not count", &prefix, "cloud.",
        "plant.cloud.", "" },
    { "two of them do not count either", &prefix, "cloud..", "plant.cloud..",
        "" },
    { "two in the middle do", &prefix, "a..cloud.x", NULL, "cycle" },
    { "a cycle by another separator", &dashes, "a--cloud--x", NULL, "cycle" },
    { "the same name knows no cycles", &identity, "cloud.orders",
        "cloud.orders", "" },
    { "nothing", &prefix, "", NULL, "empty" },
};

static void
test_topic(void **state)
{
    (void)state;

    for (size_t i = 0; i < N(topics); i++) {
        char target[LEDGER_NAME_MAX] = "";
        struct err err = { 0 };
        bool ok;

        print_message("%s\n", topics[i].label);
        ok = route_topic(topics[i].route, topics[i].topic, target, &err);
        assert_int_equal(ok, topics[i].want != NULL);
        if (ok) {
            assert_string_equal(target, topics[i].want);
        } else {
            assert_int_equal(err.kind, ERR_POLICY);
            assert_non_null(strstr(err.text, topics[i].why));
        }
    }
}

static const struct {
    const char *label;
    const struct route *route;
    const char *target;
    const char *want; /* NULL: none */
} origins[] = {
    { "without the prefix", &prefix, "plant.orders", "orders" },
    { "another separator", &dashes, "plant--orders", "orders" },
    { "the same name", &identity, "plant.orders", "plant.orders" },
    { "of another cluster", &prefix, "other.orders", NULL },
    { "another word that begins so", &prefix, "plants.orders", NULL },
    { "the prefix alone", &prefix, "plant.", NULL },
};

static void
test_origin(void **state)
{
    (void)state;

    for (size_t i = 0; i < N(origins); i++) {
        const char *got = route_origin(origins[i].route, origins[i].target);

        print_message("%s\n", origins[i].label);
        assert_int_equal(got != NULL, origins[i].want != NULL);
        if (got != NULL)
            assert_string_equal(got, origins[i].want);
    }
}

static void
test_length(void **state)
{
    static const struct {
        const char *label;
        const struct route *route;
        size_t len;
        bool want;
    } cases[] = {
        { "as long as Kafka allows", &identity, 249, true },
        { "longer than Kafka allows", &identity, 250, false },
        { "as long as Kafka allows with the prefix", &prefix, 243, true },
        { "too long with the prefix", &prefix, 244, false },
    };
    (void)state;

    for (size_t i = 0; i < N(cases); i++) {
        char topic[300], target[LEDGER_NAME_MAX];
        struct err err = { 0 };

        print_message("%s\n", cases[i].label);
        memset(topic, 't', sizeof topic);
        topic[cases[i].len] = '\0';
        assert_int_equal(route_topic(cases[i].route, topic, target, &err),
            cases[i].want);
        if (cases[i].want)
            assert_int_equal(strlen(target), 249);
        else
            assert_non_null(strstr(err.text, "longer than 249 characters"));
    }
}

static void
test_name_at_the_target_is_ours(void **state)
{
    const struct route route = { RENAME_PREFIX, ".", "kedge", "cloud" };
    char target[LEDGER_NAME_MAX];
    struct err err = { 0 };
    (void)state;

    assert_false(route_topic(&route, "bank.ledger", target, &err));
    assert_non_null(strstr(err.text, "internal topic of kedge"));
    assert_true(route_topic(&route, "bank.orders", target, &err));
}

static void
test_describe(void **state)
{
    char text[32];
    (void)state;

    route_describe(&prefix, text, sizeof text);
    assert_string_equal(text, "prefix:.");
    route_describe(&dashes, text, sizeof text);
    assert_string_equal(text, "prefix:--");
    route_describe(&identity, text, sizeof text);
    assert_string_equal(text, "identity");
    route_describe(&prefix, text, 4); /* cut, and still a text */
    assert_string_equal(text, "pre");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topic),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_name_at_the_target_is_ours),
        cmocka_unit_test(test_describe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
