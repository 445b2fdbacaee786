#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agentfix.h"
#include "endpoint.h"
#include "flowfake.h"
#include "flows.h"
#include "json.h"
#include "loaded.h"
#include "serve.h"

/* Two flows, "a" and "b", and everything that answers for them. */
struct place {
    struct agentfix fix;
    struct flows *flows;
    struct serve *serve;
    int64_t now_ms;
};

static int64_t
now(void *ctx)
{
    return *(const int64_t *)ctx;
}

static void
begin(struct place *place, struct clock *clock)
{
    struct flows_options options = { .agent = "edge1", .clock = clock };
    struct loaded_options from = { 0 };
    struct loaded *loaded;
    struct err err;

    flowfake = (struct flowfake){ 0 };
    place->now_ms = 1000;
    *clock =
        (struct clock){ .mono_ms = now, .wall_ms = now, .ctx = &place->now_ms };
    agentfix_new(&place->fix);
    agentfix_write(&place->fix,
        AGENTFIX_FLOW("a", "x") AGENTFIX_FLOW("b", "y"));
    from.path = place->fix.path;
    loaded = loaded_read(&from, &err);
    assert_non_null(loaded);
    place->flows = flows_new(&options, &err);
    assert_true(flows_start(place->flows, loaded, &err));
    place->serve = serve_new(place->flows, "edge1", clock, &err);
    assert_non_null(place->serve);
    serve_policy(place->serve, place->fix.path, loaded_digest(loaded));
    loaded_drop(loaded);
}

static void
end(struct place *place)
{
    serve_free(place->serve);
    flows_stop(place->flows);
    flows_free(place->flows);
    agentfix_free(&place->fix);
}

/* Both flows make a report, "b" in this state. */
static void
report(struct place *place, enum flow_state state)
{
    (void)flowfake_report("a", place->now_ms);
    flowfake_report("b", place->now_ms)->state = state;
    flows_tick(place->flows, place->now_ms);
}

static unsigned
ask(struct place *place, const char *method, const char *path, char **body)
{
    const struct endpoint_request request = { .method = method, .path = path };
    struct endpoint_reply reply;

    endpoint_answer(&reply, serve_ops(), place->serve, &request);
    if (body != NULL)
        *body = reply.body;
    else
        endpoint_reply_free(&reply);
    return reply.status;
}

/* One state after the other, and what each page says of it. */
static void
test_health(void **state)
{
    struct place place;
    struct clock clock;
    char *body;
    char line[200];

    (void)state;
    begin(&place, &clock);
    assert_int_equal(ask(&place, "GET", "/health", NULL), 503); /* starting */
    assert_int_equal(ask(&place, "GET", "/livez", NULL), 200);
    report(&place, FLOW_RUNNING);
    assert_int_equal(ask(&place, "GET", "/health", NULL), 200);
    assert_int_equal(ask(&place, "GET", "/readyz", NULL), 200);
    serve_line(place.serve, line, sizeof line);
    assert_string_equal(line, "forwarding 2 flows, 0 records/s");
    report(&place, FLOW_HELD);
    assert_int_equal(ask(&place, "GET", "/health", NULL), 500);
    assert_int_equal(ask(&place, "GET", "/livez", NULL), 200);
    assert_int_equal(ask(&place, "GET", "/readyz", &body), 503);
    assert_string_equal(body, "b: it is held\n");
    free(body);
    serve_line(place.serve, line, sizeof line);
    assert_string_equal(line,
        "1 of 2 flows not ready, 0 records/s; b: it is held");
    place.now_ms += 20000;
    assert_int_equal(ask(&place, "GET", "/livez", &body), 503);
    assert_string_equal(body, "a: its thread has not said anything for 10 s\n");
    free(body);
    end(&place);
}

static const struct {
    const char *label, *method, *path;
    unsigned want_status;
    const char *want; /* in the body; NULL: none */
} pages[] = {
    { "the names", "GET", "/connectors", 200, "[\"a\",\"b\"]" },
    { "one", "GET", "/connectors/b", 200, "\"name\":\"b\"" },
    { "its status", "GET", "/connectors/b/status", 200,
        "\"worker_id\":\"edge1\"" },
    { "one that is not there", "GET", "/connectors/c/status", 404,
        "no flow 'c'" },
    { "metrics", "GET", "/metrics", 200, "kedge_flow_ready{flow=\"b\"} 1" },
    { "text", "GET", "/", 200, "FLOW" },
    { "an order", "PUT", "/connectors/b/pause", 202, NULL },
    { "an order to nobody", "PUT", "/connectors/c/pause", 404, "no flow" },
};

static void
test_pages(void **state)
{
    struct place place;
    struct clock clock;

    (void)state;
    begin(&place, &clock);
    report(&place, FLOW_RUNNING);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char *body = NULL;

        print_message("%s\n", pages[i].label);
        assert_int_equal(ask(&place, pages[i].method, pages[i].path, &body),
            pages[i].want_status);
        if (pages[i].want != NULL)
            assert_non_null(strstr(body, pages[i].want));
        else
            assert_null(body);
        free(body);
    }
    end(&place);
}

static void
test_orders(void **state)
{
    static const struct {
        const char *method, *path;
        enum flow_order want;
    } rows[] = {
        { "PUT", "/connectors/b/pause", FLOW_PAUSE },
        { "PUT", "/connectors/b/resume", FLOW_RESUME },
        { "POST", "/connectors/b/restart", FLOW_RESTART },
    };
    struct place place;
    struct clock clock;

    (void)state;
    begin(&place, &clock);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_in_range(ask(&place, rows[i].method, rows[i].path, NULL), 202,
            204);
        assert_int_equal(flowfake_find("b")->orders, (int)i + 1);
        assert_int_equal(flowfake_find("b")->last_order, rows[i].want);
    }
    flowfake_find("b")->busy = true;
    assert_int_equal(ask(&place, rows[0].method, rows[0].path, NULL), 409);
    end(&place);
}

static void
test_refused_reload_is_shown(void **state)
{
    struct place place;
    struct clock clock;
    char *body;

    (void)state;
    begin(&place, &clock);
    serve_note(place.serve, "it has 3 findings");
    (void)ask(&place, "GET", "/", &body);
    assert_non_null(strstr(body, "refused: it has 3 findings"));
    free(body);
    serve_note(place.serve, NULL);
    (void)ask(&place, "GET", "/", &body);
    assert_null(strstr(body, "refused"));
    free(body);
    end(&place);
}

/* What is in the file and what is in force. */
static void
test_edited_policy_is_shown(void **state)
{
    static const struct {
        const char *label, *text; /* NULL: the file is removed */
        bool refused, want;
    } rows[] = {
        { "as it was", AGENTFIX_FLOW("a", "x") AGENTFIX_FLOW("b", "y"), false,
            false },
        { "edited", AGENTFIX_FLOW("a", "x"), false, true },
        { "refused as it is", AGENTFIX_FLOW("a", "x"), true, false },
        { "edited once more", AGENTFIX_FLOW("b", "x"), false, true },
        { "gone", NULL, false, true },
    };
    struct place place;
    struct clock clock;

    (void)state;
    begin(&place, &clock);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *body;

        print_message("%s\n", rows[i].label);
        if (rows[i].text != NULL)
            agentfix_write(&place.fix, rows[i].text);
        else
            assert_int_equal(unlink(place.fix.path), 0);
        if (rows[i].refused)
            serve_note(place.serve, "it has 3 findings");
        (void)ask(&place, "GET", "/", &body);
        assert_int_equal(strstr(body, "was edited") != NULL, rows[i].want);
        free(body);
    }
    end(&place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_refused_reload_is_shown),
        cmocka_unit_test(test_edited_policy_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
