#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adminfix.h"

#include <stdlib.h>

#define LONG_32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG_256 LONG_32 LONG_32 LONG_32 LONG_32 LONG_32 LONG_32 LONG_32 LONG_32

static const struct {
    const char *label;
    struct endpoint_request request;
    struct adminfix fix;
    unsigned want_status;
    const char *want_type; /* how it begins */
    const char *want_body; /* exactly; NULL: none */
} cases[] = {
    { "a thread that turns is alive", { .method = "GET", .path = "/livez" },
        { 0 }, 200, "text/plain", "ok\n" },
    { "a silent thread is said by name", { .method = "GET", .path = "/livez" },
        { .dead = true }, 503, "text/plain", "orders: silent\n" },
    { "an agent that is not ready is alive all the same",
        { .method = "GET", .path = "/livez" }, { .unready = true }, 200,
        "text/plain", "ok\n" },
    { "every flow forwards", { .method = "GET", .path = "/readyz" }, { 0 }, 200,
        "text/plain", "ok\n" },
    { "each reason has a line", { .method = "GET", .path = "/readyz" },
        { .unready = true }, 503, "text/plain", "orders: held\nsales: held\n" },
    { "healthy", { .method = "GET", .path = "/health" }, { 0 }, 200,
        "application/json",
        "{\"status\":\"healthy\",\"message\":\"every flow forwards or is "
        "paused\"}" },
    { "starting is not a failure yet", { .method = "GET", .path = "/health" },
        { .unready = true, .starting = true }, 503, "application/json",
        "{\"status\":\"starting\",\"message\":"
        "\"orders: held\\nsales: held\"}" },
    { "unhealthy", { .method = "GET", .path = "/health" }, { .unready = true },
        500, "application/json",
        "{\"status\":\"unhealthy\",\"message\":"
        "\"orders: held\\nsales: held\"}" },
    { "dead is unhealthy, also at the start",
        { .method = "GET", .path = "/health" },
        { .dead = true, .starting = true }, 500, "application/json",
        "{\"status\":\"unhealthy\",\"message\":\"orders: silent\"}" },
    { "a person with curl gets text", { .method = "GET", .path = "/" }, { 0 },
        200, "text/plain", "FLOW\norders\n" },
    { "a browser gets a page",
        { .method = "GET",
            .path = "/",
            .accept = "text/html,application/xml;q=0.9" },
        { 0 }, 200, "text/html", "<html></html>\n" },
    { "a tool gets the version",
        { .method = "GET", .path = "/", .accept = "application/json" }, { 0 },
        200, "application/json", "{\"version\":\"9.9\"}" },
    { "metrics", { .method = "GET", .path = "/metrics" }, { 0 }, 200,
        "text/plain; version=0.0.4", "kedge_up 1\n" },
    { "metrics by TCP",
        { .method = "GET", .path = "/metrics", .metrics_only = true }, { 0 },
        200, "text/plain; version=0.0.4", "kedge_up 1\n" },
    { "nothing else by TCP",
        { .method = "GET", .path = "/connectors", .metrics_only = true }, { 0 },
        404, "application/json",
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "no orders by TCP",
        { .method = "PUT",
            .path = "/connectors/orders/pause",
            .metrics_only = true },
        { 0 }, 404, "application/json",
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "the names", { .method = "GET", .path = "/connectors" }, { 0 }, 200,
        "application/json", "[\"orders\"]" },
    { "everything at once",
        { .method = "GET", .path = "/connectors", .expand = "status" }, { 0 },
        200, "application/json",
        "{\"orders\":{\"name\":\"orders\",\"type\":\"source\"}}" },
    { "expanding something else",
        { .method = "GET", .path = "/connectors", .expand = "info" }, { 0 },
        400, "application/json",
        "{\"error_code\":400,\"message\":"
        "\"expand=status is the only one there is\"}" },
    { "one flow", { .method = "GET", .path = "/connectors/orders" }, { 0 }, 200,
        "application/json", "{\"name\":\"orders\"}" },
    { "its status", { .method = "GET", .path = "/connectors/orders/status" },
        { 0 }, 200, "application/json",
        "{\"name\":\"orders\",\"type\":\"source\"}" },
    { "a flow that is not there",
        { .method = "GET", .path = "/connectors/nope/status" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":"
        "\"The policy has no flow 'nope'\"}" },
    { "the same without its status",
        { .method = "GET", .path = "/connectors/nope" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":"
        "\"The policy has no flow 'nope'\"}" },
    { "a name that would close the text",
        { .method = "GET", .path = "/connectors/a\"b\n" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":"
        "\"The policy has no flow 'a\\\"b\\n'\"}" },
    { "pause is accepted and has no body",
        { .method = "PUT", .path = "/connectors/orders/pause" }, { 0 }, 202,
        NULL, NULL },
    { "resume", { .method = "PUT", .path = "/connectors/orders/resume" }, { 0 },
        202, NULL, NULL },
    { "restart", { .method = "POST", .path = "/connectors/orders/restart" },
        { 0 }, 204, NULL, NULL },
    { "an order to nobody",
        { .method = "PUT", .path = "/connectors/nope/pause" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":"
        "\"The policy has no flow 'nope'\"}" },
    { "an order too many",
        { .method = "PUT", .path = "/connectors/orders/pause" },
        { .busy = true }, 409, "application/json",
        "{\"error_code\":409,\"message\":"
        "\"The flow has orders waiting; try again later\"}" },
    { "a method that is not there",
        { .method = "POST", .path = "/connectors/orders/pause" }, { 0 }, 405,
        "application/json",
        "{\"error_code\":405,\"message\":"
        "\"HTTP 405 Method Not Allowed\"}" },
    { "HEAD is GET; the body is left out further on",
        { .method = "HEAD", .path = "/livez" }, { 0 }, 200, "text/plain",
        "ok\n" },
    { "a method nobody knows", { .method = "BREW", .path = "/livez" }, { 0 },
        405, "application/json",
        "{\"error_code\":405,\"message\":"
        "\"HTTP 405 Method Not Allowed\"}" },
    { "flows are not made here", { .method = "POST", .path = "/connectors" },
        { 0 }, 405, "application/json",
        "{\"error_code\":405,\"message\":"
        "\"Flows come from the policy file: change it and send SIGHUP\"}" },
    { "nor deleted", { .method = "DELETE", .path = "/connectors/orders" },
        { 0 }, 405, "application/json",
        "{\"error_code\":405,\"message\":"
        "\"Flows come from the policy file: change it and send SIGHUP\"}" },
    { "a path nobody knows", { .method = "GET", .path = "/admin" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "an empty path", { .method = "GET", .path = "" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "a flow without a name", { .method = "GET", .path = "/connectors/" },
        { 0 }, 404, "application/json",
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "something behind the path",
        { .method = "GET", .path = "/connectors/orders/status/x" }, { 0 }, 404,
        "application/json",
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "a path that is too long",
        { .method = "GET", .path = "/" LONG_256 LONG_256 }, { 0 }, 414,
        "application/json",
        "{\"error_code\":414,\"message\":\"The path is too long\"}" },
    { "a body that is too long",
        { .method = "PUT",
            .path = "/connectors/orders/pause",
            .body_len = ENDPOINT_BODY_MAX + 1 },
        { 0 }, 413, "application/json",
        "{\"error_code\":413,\"message\":\"The body is too long\"}" },
};

static void
test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct adminfix fix = cases[i].fix;
        struct endpoint_reply reply;

        print_message("%s\n", cases[i].label);
        endpoint_answer(&reply, &adminfix_ops, &fix, &cases[i].request);
        assert_int_equal(reply.status, cases[i].want_status);
        if (cases[i].want_body == NULL) {
            assert_null(reply.body);
        } else {
            assert_string_equal(reply.body, cases[i].want_body);
            assert_int_equal(reply.len, strlen(reply.body));
            assert_memory_equal(reply.type, cases[i].want_type,
                strlen(cases[i].want_type));
        }
        endpoint_reply_free(&reply);
    }
}

/* A 405 has to say what is allowed. */
static void
test_allow(void **state)
{
    static const struct {
        const char *label, *method, *path, *want;
    } rows[] = {
        { "reading alone", "PUT", "/metrics", "GET" },
        { "an order by PUT", "GET", "/connectors/orders/resume", "PUT" },
        { "an order by POST", "GET", "/connectors/orders/restart", "POST" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct endpoint_request request = { .method = rows[i].method,
            .path = rows[i].path };
        struct adminfix fix = { 0 };
        struct endpoint_reply reply;

        print_message("%s\n", rows[i].label);
        endpoint_answer(&reply, &adminfix_ops, &fix, &request);
        assert_int_equal(reply.status, 405);
        assert_string_equal(reply.allow, rows[i].want);
        endpoint_reply_free(&reply);
    }
}

static void
test_orders_arrive_once(void **state)
{
    static const struct endpoint_request requests[] = {
        [ENDPOINT_PAUSE] = { .method = "PUT",
            .path = "/connectors/orders/pause" },
        [ENDPOINT_RESUME] = { .method = "PUT",
            .path = "/connectors/orders/resume" },
        [ENDPOINT_RESTART] = { .method = "POST",
            .path = "/connectors/orders/restart" },
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct adminfix fix = { 0 };
        struct endpoint_reply reply;

        endpoint_answer(&reply, &adminfix_ops, &fix, &requests[i]);
        for (size_t order = 0; order < 3; order++)
            assert_int_equal(fix.orders[order], order == i);
        endpoint_reply_free(&reply);
    }
}

static void
test_document(void **state)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_non_null(out);
    endpoint_document(out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "| GET | `/livez` |"));
    assert_non_null(strstr(text, "| POST | `/connectors/{flow}/restart` |"));
    assert_null(strstr(text, "DELETE"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_allow),
        cmocka_unit_test(test_orders_arrive_once),
        cmocka_unit_test(test_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
