#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agentfix.h"
#include "flowfake.h"
#include "flows.h"
#include "loaded.h"

#define A AGENTFIX_FLOW("a", "x")
#define A_CHANGED AGENTFIX_FLOW("a", "xy")
#define B AGENTFIX_FLOW("b", "y")
#define C AGENTFIX_FLOW("c", "z")

/* Flows under a policy that the test changes. */
struct place {
    struct agentfix fix;
    struct kwatch watch;
    struct flows *flows;
};

/* One reference, the caller's. */
static struct loaded *
load(struct place *place, const char *text)
{
    const struct loaded_options options = { .path = place->fix.path };
    struct loaded *loaded;
    struct err err;

    agentfix_write(&place->fix, text);
    loaded = loaded_read(&options, &err);
    if (loaded == NULL)
        fail_msg("%s", err.text);
    return loaded;
}

static void
begin(struct place *place, const char *text)
{
    const struct flows_options options = { .agent = "edge1",
        .drain_ms = 25000,
        .clock = clock_system(),
        .watch = &place->watch };
    struct loaded *loaded;
    struct err err;

    flowfake = (struct flowfake){ 0 };
    agentfix_new(&place->fix);
    place->flows = flows_new(&options, &err);
    assert_non_null(place->flows);
    loaded = load(place, text);
    assert_true(flows_start(place->flows, loaded, &err));
    loaded_drop(loaded);
}

static void
change(struct place *place, const char *text, int64_t now_ms)
{
    struct loaded *loaded = load(place, text);

    flows_change(place->flows, loaded, now_ms);
    loaded_drop(loaded);
}

static void
end(struct place *place)
{
    flowfake.hang = false;
    for (size_t i = 0; i < FLOWFAKE_MAX; i++) {
        if (flowfake.flows[i] != NULL)
            flowfake.flows[i]->stopped = true;
    }
    flows_stop(place->flows);
    flows_free(place->flows);
    agentfix_free(&place->fix);
    assert_int_equal(flowfake_count(), 0);
    assert_int_equal(flowfake.open_kafka, 0);
    assert_int_equal(flowfake.inboxes, 0);
}

/* The flows after a reload, once what had to drain has drained. */
static const struct {
    const char *label, *before, *after;
    const char *want; /* names, in order */
    int want_made;    /* flows ever made: those that stay are not made anew */
} reloads[] = {
    { "nothing changed", A B, A B, "ab", 2 },
    { "one changed: the other does not notice", A B, A_CHANGED B, "ab", 3 },
    { "one is gone", A B, B, "b", 2 },
    { "one is new", A, A C, "ac", 2 },
    { "all at once", A B, A_CHANGED C, "ac", 4 },
};

static void
assert_flows(const char *want)
{
    assert_int_equal(flowfake_count(), strlen(want));
    for (const char *at = want; *at != '\0'; at++) {
        char name[2] = { *at, '\0' };

        assert_non_null(flowfake_find(name));
        assert_false(flowfake_find(name)->draining);
    }
}

static void
test_reload(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reloads / sizeof reloads[0]; i++) {
        struct place place;

        print_message("%s\n", reloads[i].label);
        begin(&place, reloads[i].before);
        change(&place, reloads[i].after, 0);
        flows_tick(place.flows, 0);
        assert_flows(reloads[i].want);
        assert_int_equal(flowfake.made, reloads[i].want_made);
        end(&place);
    }
}

/* While the old one drains there is no second of the same flow; and a change
 * that comes meanwhile counts. */
static void
test_successor_waits(void **state)
{
    struct place place;
    struct flow *old;
    const char *why;

    (void)state;
    begin(&place, A);
    flowfake.hang = true;
    old = flowfake_find("a");
    change(&place, A_CHANGED, 0);
    flows_tick(place.flows, 0);
    assert_int_equal(flowfake_count(), 1);
    assert_ptr_equal(flowfake_find("a"), old);
    assert_true(old->draining);
    assert_true(flowfake_wants("a", "x", &why));
    assert_false(flowfake_wants("a", "xy", &why));
    change(&place, A_CHANGED B, 1000);
    assert_int_equal(flowfake_count(), 2);
    old->stopped = true;
    flows_tick(place.flows, 2000);
    assert_int_equal(flowfake_count(), 2);
    assert_int_equal(flowfake.made, 3);
    assert_true(flowfake_wants("a", "xy", &why));
    end(&place);
}

/* Every text of a cluster can be read, and says which one it is. */
static void
expect_clusters(const struct flow *flow, const char *source, const char *target)
{
    assert_string_equal(flow->source->alias, source);
    assert_string_equal(flow->target->alias, target);
    assert_non_null(strstr(flow->source->bootstrap, "127.0.0.1:"));
    assert_non_null(strstr(flow->target->bootstrap, "127.0.0.1:"));
    for (size_t i = 0; i < flow->source->n_plaintext_networks; i++)
        assert_non_null(strchr(flow->source->plaintext_networks[i], '/'));
}

/* Its clients are made anew at any time: how to reach its clusters is there as
 * long as the flow is, however often the policy has changed meanwhile. */
static void
test_clusters_live_as_long_as_the_flow(void **state)
{
    static const struct {
        const char *label, *after;
        bool stays; /* the same flow goes on, else its successor begins */
    } rows[] = {
        { "a flow that stays, of a policy that is gone", A B, true },
        { "one that changed and drains for long", A_CHANGED, false },
        { "one that was turned round",
            "  a: {from: two, to: one, topics: {include: [x]}}\n", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place place;
        struct flow *old;

        print_message("%s\n", rows[i].label);
        begin(&place, A);
        flowfake.hang = true;
        old = flowfake_find("a");
        for (int again = 0; again < 3; again++) {
            change(&place, rows[i].after, again);
            flows_tick(place.flows, again);
            assert_ptr_equal(flowfake_find("a"), old);
            expect_clusters(old, "one", "two");
            assert_ptr_equal(old->watch, &place.watch);
        }
        assert_int_equal(old->draining, !rows[i].stays);
        if (!rows[i].stays) {
            old->stopped = true;
            flows_tick(place.flows, 5);
            assert_int_equal(flowfake.made, 2);
            expect_clusters(flowfake_find("a"), i == 2 ? "two" : "one",
                i == 2 ? "one" : "two");
            assert_ptr_equal(flowfake_find("a")->watch, &place.watch);
        }
        end(&place);
    }
}

/* Changed, and changed back while it drains: it starts anew all the same. */
static void
test_changed_back(void **state)
{
    struct place place;

    (void)state;
    begin(&place, A);
    flowfake.hang = true;
    change(&place, A_CHANGED, 0);
    change(&place, A, 0);
    flowfake_find("a")->stopped = true;
    flows_tick(place.flows, 0);
    assert_flows("a");
    assert_int_equal(flowfake.made, 2);
    end(&place);
}

static void
test_one_that_does_not_start(void **state)
{
    struct place place;

    (void)state;
    begin(&place, A);
    flowfake.fail_kafka = "b";
    change(&place, A B, 1000);
    assert_flows("a"); /* which goes on */
    flows_tick(place.flows, 1000 + FLOWS_RETRY_MS - 1);
    flowfake.fail_kafka = NULL;
    flows_tick(place.flows, 1000 + FLOWS_RETRY_MS - 1);
    assert_flows("a"); /* not yet */
    flows_tick(place.flows, 1000 + FLOWS_RETRY_MS);
    assert_flows("ab");
    end(&place);
}

static void
test_all_or_none_at_the_start(void **state)
{
    const struct flows_options options = { .agent = "edge1",
        .clock = clock_system() };
    struct place place;
    struct loaded *loaded;
    struct err err;

    (void)state;
    flowfake = (struct flowfake){ .fail_start = "b" };
    agentfix_new(&place.fix);
    place.flows = flows_new(&options, &err);
    loaded = load(&place, A B C);
    assert_false(flows_start(place.flows, loaded, &err));
    assert_string_equal(err.text, "flow b: no thread");
    loaded_drop(loaded);
    assert_int_equal(flowfake_count(), 0);
    end(&place);
}

static void
test_drain(void **state)
{
    struct place place;
    bool drained = false;

    (void)state;
    begin(&place, A B);
    flowfake.hang = true;
    flows_drain(place.flows);
    flows_drain(place.flows); /* twice is fine */
    assert_false(flows_stopped(place.flows, &drained));
    flowfake_find("a")->stopped = flowfake_find("a")->drained = true;
    assert_false(flows_stopped(place.flows, &drained));
    flows_tick(place.flows, 0); /* a new one is not started now */
    assert_int_equal(flowfake.made, 2);
    flowfake_find("b")->stopped = true;
    assert_true(flows_stopped(place.flows, &drained));
    assert_false(drained); /* b did not write everything down */
    flowfake_find("b")->drained = true;
    assert_true(flows_stopped(place.flows, &drained));
    assert_true(drained);
    end(&place);
}

/* A reload ends a flow before all of it is written down: the process does not
 * say at its own end that everything was. */
static void
test_a_cut_is_remembered(void **state)
{
    for (int cut = 0; cut < 2; cut++) {
        struct place place;
        struct loaded *loaded;
        bool drained = false;

        (void)state;
        begin(&place, A B);
        flowfake.unclean = cut != 0;
        loaded = load(&place, A);
        flows_change(place.flows, loaded, 0);
        loaded_drop(loaded);
        flows_tick(place.flows, 0);
        assert_int_equal(flowfake_count(), 1);
        flowfake.unclean = false;
        flows_drain(place.flows);
        assert_true(flows_stopped(place.flows, &drained));
        assert_int_equal(drained, cut == 0);
        end(&place);
    }
}

static void
test_live(void **state)
{
    struct place place;
    const char *which = NULL;
    int64_t now_ms = clock_mono_ms(clock_system());

    (void)state;
    begin(&place, A B);
    assert_true(flows_live(place.flows, now_ms, &which));
    (void)flowfake_report("a", now_ms + 20000);
    flows_tick(place.flows, now_ms + 20000);
    assert_false(flows_live(place.flows, now_ms + 20000, NULL));
    assert_false(flows_live(place.flows, now_ms + 20000, &which));
    assert_string_equal(which, "b");
    (void)flowfake_report("b", now_ms + 20000);
    flows_tick(place.flows, now_ms + 20000);
    assert_true(flows_live(place.flows, now_ms + 20000, &which));
    end(&place);
}

static void
test_orders(void **state)
{
    struct place place;
    struct view_flow *views;
    size_t n = 0;

    (void)state;
    begin(&place, A B);
    assert_int_equal(flows_order(place.flows, "b", FLOW_RESTART),
        FLOWS_ORDERED);
    assert_int_equal(flowfake_find("b")->last_order, FLOW_RESTART);
    assert_int_equal(flowfake_find("a")->orders, 0);
    assert_int_equal(flows_order(place.flows, "c", FLOW_PAUSE), FLOWS_NONE);
    flowfake_find("a")->busy = true;
    assert_int_equal(flows_order(place.flows, "a", FLOW_PAUSE), FLOWS_BUSY);
    views = flows_view(place.flows, 0, &n);
    assert_int_equal(n, 2);
    assert_string_equal(views[0].name, "a");
    assert_string_equal(views[1].name, "b");
    end(&place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_successor_waits),
        cmocka_unit_test(test_clusters_live_as_long_as_the_flow),
        cmocka_unit_test(test_changed_back),
        cmocka_unit_test(test_one_that_does_not_start),
        cmocka_unit_test(test_all_or_none_at_the_start),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_a_cut_is_remembered),
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
