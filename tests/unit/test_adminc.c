#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adminc.h"
#include "adminsocket.h"
#include "clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
    const char *label, *bytes;
    int want_status;  /* 0: refused */
    const char *want; /* the body, or in the error */
} cases[] = {
    { "a body of a known length",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc" },
    { "what comes behind it is left",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", 200, "abc" },
    { "no length: until the end", "HTTP/1.1 200 OK\r\n\r\nabc", 200, "abc" },
    { "no reason", "HTTP/1.1 200\r\n\r\nabc", 200, "abc" },
    { "the header in other letters",
        "HTTP/1.0 404 Not Found\r\ncONTENT-lENGTH:\t2 \r\n\r\nno", 404, "no" },
    { "line ends without a return", "HTTP/1.1 500 x\nContent-Length: 1\n\nz",
        500, "z" },
    { "the same length twice",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nz",
        200, "z" },
    { "no content has no body", "HTTP/1.1 204 No Content\r\n\r\n", 204, "" },
    { "an answer before the answer",
        "HTTP/1.1 100 Continue\r\n\r\n"
        "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        202, "" },
    { "nothing", "", 0, "not HTTP" },
    { "another protocol", "SSH-2.0-x\r\n", 0, "not HTTP" },
    { "an end within the first line", "HTTP/1.1 200 OK", 0, "not HTTP" },
    { "a status of two digits", "HTTP/1.1 20\r\n\r\n", 0, "not HTTP" },
    { "a status of four digits", "HTTP/1.1 2000\r\n\r\n", 0, "not HTTP" },
    { "a status below 100", "HTTP/1.1 099 x\r\n\r\n", 0, "not HTTP" },
    { "only an answer before the answer", "HTTP/1.1 100 Continue\r\n\r\n", 0,
        "not HTTP" },
    { "an end within the headers", "HTTP/1.1 200 OK\r\nContent-Le", 0,
        "cut in its headers" },
    { "an end within the body",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 0,
        "the answer is cut" },
    { "a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0,
        "no sensible length" },
    { "a length that is no number",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 0,
        "no sensible length" },
    { "an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", 0,
        "no sensible length" },
    { "a length with very many digits",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", 0,
        "no sensible length" },
    { "two lengths",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        0, "no sensible length" },
    { "pieces",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0,
        "a form we do not read" },
};

static void
test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct adminc_reply reply;
        struct err err = { 0 };
        bool ok =
            adminc_parse(cases[i].bytes, strlen(cases[i].bytes), &reply, &err);

        print_message("%s\n", cases[i].label);
        assert_int_equal(ok, cases[i].want_status != 0);
        if (ok) {
            assert_int_equal(reply.status, cases[i].want_status);
            assert_string_equal(reply.body, cases[i].want);
            assert_int_equal(reply.len, strlen(cases[i].want));
        } else {
            assert_int_equal(err.kind, ERR_NET);
            assert_non_null(strstr(err.text, cases[i].want));
        }
        adminc_reply_free(&reply);
    }
}

/* The other side: takes one connection, reads a request, does as told. */
struct server {
    int fd;
    const char *answer; /* NULL: says nothing until the client gives up */
    size_t repeat;      /* of the answer's last byte */
    char request[1024];
    pthread_t thread;
};

static void
read_request(struct server *server, int fd)
{
    size_t len = 0;

    while (strstr(server->request, "\r\n\r\n") == NULL) {
        ssize_t n = recv(fd, server->request + len,
            sizeof server->request - 1 - len, 0);

        if (n <= 0)
            return;
        len += (size_t)n;
        server->request[len] = '\0';
    }
}

static void *
serve(void *arg)
{
    struct server *server = arg;
    struct pollfd listening = { .fd = server->fd, .events = POLLIN };
    int fd;
    char byte;

    (void)poll(&listening, 1, -1); /* the socket does not block */
    fd = accept(server->fd, NULL, NULL);
    read_request(server, fd);
    if (server->answer == NULL) {
        (void)recv(fd, &byte, 1, 0);
    } else {
        size_t len = strlen(server->answer);
        bool open = send(fd, server->answer, len, MSG_NOSIGNAL) != -1;

        for (size_t i = 0; i < server->repeat && open; i += 1024) {
            char block[1024];

            memset(block, server->answer[len - 1], sizeof block);
            open = send(fd, block, sizeof block, MSG_NOSIGNAL) != -1;
        }
    }
    close(fd);
    return NULL;
}

/* A clock that goes on by a minute whenever it is looked at. */
static int64_t
hasty_ms(void *ctx)
{
    int64_t *now_ms = ctx;

    return *now_ms += 60000;
}

struct call {
    const char *answer;
    size_t repeat;
    const struct clock *clock;
};

static bool
call(const struct call *how, struct server *server, struct adminc_reply *reply,
    struct err *err)
{
    char path[64] = "/tmp/kedge-test-XXXXXX";
    char socket_path[80];
    const struct adminc_request request = { .socket = socket_path,
        .method = "PUT",
        .path = "/connectors/a/pause" };
    bool ok;

    assert_non_null(mkdtemp(path));
    (void)snprintf(socket_path, sizeof socket_path, "%s/s", path);
    *server = (struct server){ .answer = how->answer, .repeat = how->repeat };
    server->fd = adminsocket_unix(socket_path, err);
    assert_int_not_equal(server->fd, -1);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    ok = adminc_call(&request, how->clock, reply, err);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->fd);
    assert_int_equal(unlink(socket_path), 0);
    assert_int_equal(rmdir(path), 0);
    return ok;
}

static void
test_call(void **state)
{
    const struct call how = {
        .answer = "HTTP/1.1 404 x\r\nContent-Length: 2\r\n\r\nno",
        .clock = clock_system(),
    };
    struct server server;
    struct adminc_reply reply;
    struct err err;

    (void)state;
    assert_true(call(&how, &server, &reply, &err));
    assert_int_equal(reply.status, 404);
    assert_string_equal(reply.body, "no");
    assert_string_equal(server.request,
        "PUT /connectors/a/pause HTTP/1.1\r\nHost: kedge\r\nAccept: */*\r\n"
        "Connection: close\r\nContent-Length: 0\r\n\r\n");
    adminc_reply_free(&reply);
}

static void
test_silent_agent(void **state)
{
    int64_t now_ms = 0;
    const struct clock hasty = { .mono_ms = hasty_ms, .ctx = &now_ms };
    const struct call how = { .clock = &hasty };
    struct server server;
    struct adminc_reply reply;
    struct err err = { 0 };

    (void)state;
    assert_false(call(&how, &server, &reply, &err));
    assert_int_equal(err.kind, ERR_NET);
    assert_true(err.retry);
    assert_non_null(strstr(err.text, "does not answer: it is busy, try again"));
}

/* A socket for which as many wait as may, and a clock that is looked at. */
struct full {
    struct server *server;
    int clients[64], n;
    int looks, room_at; /* at this look they are gone; 0: they stay */
};

static int64_t
full_ms(void *ctx)
{
    struct full *full = ctx;
    int fd;

    if (++full->looks != full->room_at)
        return full->room_at == 0 ? full->looks * INT64_C(6000) : 0;
    while ((fd = accept(full->server->fd, NULL, NULL)) != -1)
        close(fd);
    assert_int_equal(pthread_create(&full->server->thread, NULL, serve,
                         full->server),
        0);
    return 0;
}

static void
test_busy_agent(void **state)
{
    static const struct {
        const char *label;
        int room_at;
        bool want;
    } rows[] = { { "there is room after a while", 3, true },
        { "there is none until the deadline", 0, false } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char folder[64] = "/tmp/kedge-test-XXXXXX", path[80];
        const struct adminc_request request = { .socket = path,
            .method = "GET",
            .path = "/" };
        struct server server = {
            .answer = "HTTP/1.1 200 x\r\nContent-Length: 2\r\n\r\nok"
        };
        struct full full = { .server = &server, .room_at = rows[i].room_at };
        const struct clock clock = { .mono_ms = full_ms, .ctx = &full };
        struct adminc_reply reply;
        struct err err = { 0 };

        print_message("%s\n", rows[i].label);
        assert_non_null(mkdtemp(folder));
        (void)snprintf(path, sizeof path, "%s/s", folder);
        server.fd = adminsocket_unix(path, &err);
        while ((full.clients[full.n] = adminsocket_connect(path, &err)) != -1)
            assert_in_range(++full.n, 1, 63);
        assert_int_equal(adminc_call(&request, &clock, &reply, &err),
            rows[i].want);
        if (rows[i].want) {
            assert_string_equal(reply.body, "ok");
            assert_int_equal(pthread_join(server.thread, NULL), 0);
        } else {
            assert_true(err.retry);
            assert_non_null(strstr(err.text, "is busy, try again"));
        }
        adminc_reply_free(&reply);
        while (full.n > 0)
            close(full.clients[--full.n]);
        close(server.fd);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(folder), 0);
    }
}

static void
test_endless_answer(void **state)
{
    const struct call how = {
        .answer = "HTTP/1.1 200 OK\r\n\r\nx",
        .repeat = 2 * (size_t)ADMINC_BYTES_MAX,
        .clock = clock_system(),
    };
    struct server server;
    struct adminc_reply reply;
    struct err err = { 0 };

    (void)state;
    assert_false(call(&how, &server, &reply, &err));
    assert_int_equal(err.kind, ERR_NET);
    assert_non_null(strstr(err.text, "longer than"));
}

static void
test_nobody_there(void **state)
{
    const struct adminc_request request = {
        .socket = "/tmp/kedge-test-nobody/admin.sock",
        .method = "GET",
        .path = "/",
    };
    struct adminc_reply reply;
    struct err err = { 0 };

    (void)state;
    assert_false(adminc_call(&request, clock_system(), &reply, &err));
    assert_int_equal(err.kind, ERR_NET);
    assert_string_equal(err.text,
        "no agent answers on /tmp/kedge-test-nobody/admin.sock: start 'kedge "
        "run', or give --socket as in admin.socket of its policy");
}

static void
test_long_request(void **state)
{
    char path[2000];
    const struct adminc_request request = { .socket = "/s",
        .method = "GET",
        .path = path };
    struct adminc_reply reply;
    struct err err = { 0 };

    (void)state;
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_false(adminc_call(&request, clock_system(), &reply, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_silent_agent),
        cmocka_unit_test(test_busy_agent),
        cmocka_unit_test(test_endless_answer),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_long_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
