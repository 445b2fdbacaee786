#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agentfix.h"
#include "flowfake.h"
#include "loaded.h"
#include "policy.h"
#include "runner.h"

/* A policy of one flow "a", loaded. */
struct place {
    struct agentfix fix;
    struct loaded *loaded;
    struct runner_options options;
};

static void
make_place(struct place *place, const char *flow)
{
    const struct loaded_options options = { .path = place->fix.path };
    struct err err;

    flowfake = (struct flowfake){ 0 };
    agentfix_new(&place->fix);
    agentfix_write(&place->fix, flow);
    place->loaded = loaded_read(&options, &err);
    if (place->loaded == NULL)
        fail_msg("%s", err.text);
    place->options = (struct runner_options){ .loaded = place->loaded,
        .flow = loaded_flow(place->loaded, "a"),
        .agent = "edge1",
        .drain_ms = 25000,
        .clock = clock_system() };
}

static void
free_place(struct place *place)
{
    loaded_drop(place->loaded);
    agentfix_free(&place->fix);
    assert_int_equal(flowfake_count(), 0);
    assert_int_equal(flowfake.open_kafka, 0);
    assert_int_equal(flowfake.inboxes, 0);
}

/* What stands in the policy reaches the flow. */
static void
test_options(void **state)
{
    struct place place;
    struct runner *runner;
    struct err err;
    const struct flow_options *got;
    const char *why;

    (void)state;
    make_place(&place,
        "  a:\n"
        "    from: one\n"
        "    to: two\n"
        "    topics: {include: ['t\\..*', '(b+)+c'], exclude: ['.*x'], start: "
        "latest,"
        " refresh: 30s}\n"
        "    rename: {policy: identity}\n"
        "    failure_scope: partition\n"
        "    limits: {max_in_flight: 8MiB, bytes_per_second: 3MiB}\n");
    runner = runner_start(&place.options, &err);
    assert_non_null(runner);
    got = &flowfake_find("a")->options;
    assert_true(flowfake_find("a")->started);
    assert_string_equal(got->agent, "edge1");
    assert_int_equal(got->route.rename, RENAME_IDENTITY);
    assert_string_equal(got->route.from, "one");
    assert_string_equal(got->route.to, "two");
    assert_true(flowfake_wants("a", "t.orders", &why));
    assert_null(why);
    assert_false(flowfake_wants("a", "t.x", &why));
    assert_string_equal(why, "a pattern of topics.exclude matches it");
    assert_false(flowfake_wants("a", "other", &why));
    assert_null(why);
    assert_false(flowfake_wants("a",
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbcd", &why));
    assert_non_null(strstr(why, "too much work"));
    assert_int_equal(got->start, START_LATEST);
    assert_int_equal(got->refresh_ms, 30000);
    assert_true(got->hold_partition_only);
    assert_int_equal(got->max_in_flight_bytes, 8 << 20);
    assert_int_equal(got->bytes_per_second, 3 << 20);
    assert_int_equal(got->drain_ms, 25000);
    assert_int_equal(got->lanes, 8);
    assert_string_equal(flowfake.ledger, "kedge.one.a.ledger");
    assert_string_equal(flowfake.group, "kedge.one.a");
    assert_string_equal(runner_name(runner), "a");
    assert_int_equal(runner_signature(runner),
        loaded_signature(place.loaded, place.options.flow));
    runner_drain(runner);
    runner_free(runner);
    runner_free(NULL);
    free_place(&place);
}

/* What was left behind may still look at the clusters: they are kept. */
static void
test_left_behind(void **state)
{
    static const struct {
        const char *label;
        bool leaked;
    } rows[] = {
        { "all calls came back", false },
        { "one did not", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kwatch watch = { 0 };
        struct place place;
        static struct runner *runner; /* found to the end */
        struct err err;

        print_message("%s\n", rows[i].label);
        make_place(&place, AGENTFIX_FLOW("a", "x"));
        place.options.watch = &watch;
        runner = runner_start(&place.options, &err);
        assert_non_null(runner);
        assert_ptr_equal(flowfake_find("a")->watch, &watch);
        flowfake.leaked = rows[i].leaked;
        runner_drain(runner);
        runner_free(runner);
        if (rows[i].leaked) {
            loaded_drop(place.loaded); /* the runner's is still there */
            assert_string_equal(flowfake.kafka.source->bootstrap,
                "127.0.0.1:1");
        }
        free_place(&place);
    }
}

static void
test_failures(void **state)
{
    static const struct {
        const char *label;
        size_t field; /* of struct flowfake */
        const char *want;
    } rows[] = {
        { "Kafka cannot be opened", offsetof(struct flowfake, fail_kafka),
            "flow a: a setting is refused" },
        { "the flow cannot be made", offsetof(struct flowfake, fail_new),
            "flow a: no room" },
        { "its thread cannot be started", offsetof(struct flowfake, fail_start),
            "flow a: no thread" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place place;
        struct err err = { 0 };
        const char *name = "a";

        print_message("%s\n", rows[i].label);
        make_place(&place, AGENTFIX_FLOW("a", "x"));
        memcpy((char *)&flowfake + rows[i].field, &name, sizeof name);
        assert_null(runner_start(&place.options, &err));
        assert_string_equal(err.text, rows[i].want);
        free_place(&place); /* nothing is left open */
    }
}

static void
test_reports(void **state)
{
    struct place place;
    struct runner *runner;
    struct view_flow view;
    struct err err;
    int64_t now_ms = clock_mono_ms(clock_system());

    (void)state;
    make_place(&place, AGENTFIX_FLOW("a", "x"));
    runner = runner_start(&place.options, &err);
    assert_non_null(runner);
    runner_tick(runner, now_ms); /* there is none yet */
    runner_view(runner, now_ms, &view);
    assert_null(view.report);
    assert_false(view.ready);
    assert_true(view.starting);
    (void)flowfake_report("a", now_ms);
    runner_tick(runner, now_ms);
    runner_view(runner, now_ms, &view);
    assert_int_equal(view.report->mono_ms, now_ms);
    assert_true(view.ready);
    assert_string_equal(view.from, "one");
    assert_true(runner_live(runner, now_ms + 9999));
    assert_false(runner_live(runner, now_ms + 10000));
    runner_tick(runner, now_ms); /* the old one stays while there is no newer */
    runner_view(runner, now_ms, &view);
    assert_non_null(view.report);
    flowfake_report("a", now_ms + 5000)->state = FLOW_HELD;
    runner_tick(runner, now_ms + 5000);
    runner_view(runner, now_ms + 5000, &view);
    assert_false(view.ready);
    assert_string_equal(view.why, "it is held");
    runner_drain(runner);
    runner_free(runner);
    free_place(&place);
}

static void
test_orders_and_drain(void **state)
{
    struct place place;
    struct runner *runner;
    struct err err;
    bool drained = false;

    (void)state;
    make_place(&place, AGENTFIX_FLOW("a", "x"));
    runner = runner_start(&place.options, &err);
    assert_non_null(runner);
    assert_true(runner_order(runner, FLOW_PAUSE));
    assert_int_equal(flowfake_find("a")->last_order, FLOW_PAUSE);
    flowfake_find("a")->busy = true;
    assert_false(runner_order(runner, FLOW_RESUME));
    assert_false(runner_draining(runner));
    flowfake.hang = true;
    runner_drain(runner);
    assert_true(runner_draining(runner));
    assert_false(runner_stopped(runner, &drained));
    flowfake_find("a")->stopped = flowfake_find("a")->drained = true;
    assert_true(runner_stopped(runner, &drained));
    assert_true(drained);
    runner_free(runner);
    free_place(&place);
}

/* Which topic a pattern is for, when it is for one. */
static void
test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
    } rows[] = { { "orders", "orders" }, { "plant.orders", "plant.orders" },
        { "plant\\.sales", "plant.sales" }, { "t\\..*", "" } };
    const struct flow_options *got;
    struct place place;
    struct runner *runner;
    char name[LEDGER_NAME_MAX];
    struct err err;

    (void)state;
    make_place(&place,
        "  a:\n"
        "    from: one\n"
        "    to: two\n"
        "    topics: {include: [orders, plant.orders, 'plant\\.sales', "
        "'t\\..*'], start: latest}\n"
        "    rename: {policy: identity}\n");
    runner = runner_start(&place.options, &err);
    assert_non_null(runner);
    got = &flowfake_find("a")->options;
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(got->pattern(got->wants_ctx, i, name, sizeof name),
            rows[i].pattern);
        assert_string_equal(name, rows[i].name);
    }
    assert_null(got->pattern(got->wants_ctx, 4, name, sizeof name));
    runner_drain(runner);
    runner_free(runner);
    free_place(&place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_orders_and_drain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
