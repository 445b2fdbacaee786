#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "admin.h"
#include "adminc.h"
#include "adminfix.h"
#include "adminsocket.h"
#include "clock.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The admin plane in a loop of its own, as the agent's loop would run it. */
struct place {
    char folder[64], path[80];
    struct adminfix fix;
    struct admin *admin;
    pthread_t thread;
    int stop[2];
};

static void *
turn(void *arg)
{
    struct place *place = arg;
    struct pollfd fds[3] = { { .fd = place->stop[0], .events = POLLIN } };
    nfds_t n = 1;

    for (size_t i = 0; admin_fd(place->admin, i) != -1; i++)
        fds[n++] = (struct pollfd){ .fd = admin_fd(place->admin, i),
            .events = POLLIN };
    while (fds[0].revents == 0) {
        (void)poll(fds, n, 1000);
        admin_run(place->admin);
    }
    return NULL;
}

static void
make_place(struct place *place)
{
    *place = (struct place){ 0 };
    (void)snprintf(place->folder, sizeof place->folder,
        "/tmp/kedge-test-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->path, sizeof place->path, "%s/s", place->folder);
}

static void
open_place(struct place *place, const char *metrics)
{
    struct admin_options options = { .socket = place->path,
        .metrics = metrics,
        .ops = &adminfix_ops,
        .self = &place->fix };
    struct err err;

    place->admin = admin_open(&options, &err);
    assert_non_null(place->admin);
    assert_int_equal(pipe(place->stop), 0);
    assert_int_equal(pthread_create(&place->thread, NULL, turn, place), 0);
}

static void
close_place(struct place *place)
{
    assert_int_equal(write(place->stop[1], "x", 1), 1);
    assert_int_equal(pthread_join(place->thread, NULL), 0);
    close(place->stop[0]);
    close(place->stop[1]);
    admin_close(place->admin);
    assert_int_equal(access(place->path, F_OK), -1); /* it is removed */
    assert_int_equal(rmdir(place->folder), 0);
}

static const struct {
    const char *label, *method, *path, *accept;
    int want_status;
    const char *want;
} calls[] = {
    { "text", "GET", "/", NULL, 200, "FLOW\norders\n" },
    { "a header reaches the table", "GET", "/", "text/html", 200,
        "<html></html>\n" },
    { "the query reaches the table", "GET", "/connectors?expand=status", NULL,
        200, "{\"orders\":{\"name\":\"orders\",\"type\":\"source\"}}" },
    { "an order", "PUT", "/connectors/orders/pause", NULL, 202, "" },
    { "an order with an empty answer", "POST", "/connectors/orders/restart",
        NULL, 204, "" },
    { "what is not there", "GET", "/nope", NULL, 404,
        "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}" },
    { "what may not be done", "DELETE", "/connectors/orders", NULL, 405,
        "{\"error_code\":405,\"message\":"
        "\"Flows come from the policy file: change it and send SIGHUP\"}" },
};

static void
test_calls(void **state)
{
    struct place place;

    (void)state;
    make_place(&place);
    open_place(&place, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const struct adminc_request request = { .socket = place.path,
            .method = calls[i].method,
            .path = calls[i].path,
            .accept = calls[i].accept };
        struct adminc_reply reply;
        struct err err;

        print_message("%s\n", calls[i].label);
        assert_true(adminc_call(&request, clock_system(), &reply, &err));
        assert_int_equal(reply.status, calls[i].want_status);
        assert_string_equal(reply.body, calls[i].want);
        adminc_reply_free(&reply);
    }
    close_place(&place);
    assert_int_equal(place.fix.orders[ENDPOINT_PAUSE], 1);
}

/* Sends bytes as they are and gives everything that comes back. */
static void
talk(int fd, const char *bytes, size_t len, char *answer, size_t size)
{
    struct pollfd pollfd = { .fd = fd };
    size_t got = 0;

    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else {
            pollfd.events = POLLOUT;
            if (poll(&pollfd, 1, 10000) != 1 || (pollfd.revents & POLLERR))
                break; /* it does not want the rest */
        }
    }
    pollfd.events = POLLIN;
    while (got < size - 1 && poll(&pollfd, 1, 10000) == 1) {
        ssize_t n = recv(fd, answer + got, size - 1 - got, 0);

        if (n <= 0)
            break;
        got += (size_t)n;
    }
    answer[got] = '\0';
}

#define GET(path) \
    "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static const struct {
    const char *label, *head;
    size_t body;
    const char *want; /* how the answer begins; "" is fine, too */
} strange[] = {
    { "a body that is announced and too long",
        "PUT /connectors/orders/pause HTTP/1.1\r\nHost: x\r\n"
        "Connection: close\r\nContent-Length: 99999999\r\n\r\n",
        0, "HTTP/1.1 413 " },
    { "a body that nobody reads",
        "PUT /connectors/orders/pause HTTP/1.1\r\nHost: x\r\n"
        "Connection: close\r\nContent-Length: 1000\r\n\r\n",
        1000, "HTTP/1.1 202 " },
    { "headers only",
        "HEAD /livez HTTP/1.1\r\nHost: x\r\n"
        "Connection: close\r\n\r\n",
        0, "HTTP/1.1 200 OK\r\n" },
    { "an encoded letter in the path", GET("/connectors/order%73/status"), 0,
        "HTTP/1.1 200 " },
    { "an encoded NUL behind a name", GET("/connectors/orders%00/status"), 0,
        "HTTP/1.1 404 " },
    { "an encoded NUL and more", GET("/connectors/orders%00x/status"), 0,
        "HTTP/1.1 404 " },
    { "an encoded NUL and an encoded letter",
        GET("/connectors/order%73%00/status"), 0, "HTTP/1.1 404 " },
    { "an encoded NUL in the query", GET("/connectors?expand=status%00x"), 0,
        "HTTP/1.1 400 " },
    { "no protocol at all", "\x16\x03\x01\x02\r\n\r\n", 0, "" },
    { "a header without end",
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ", 100000,
        "HTTP/1.1 431 " },
};

static void
test_strange_clients(void **state)
{
    struct place place;

    (void)state;
    make_place(&place);
    open_place(&place, NULL);
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        size_t head = strlen(strange[i].head);
        char *bytes = malloc(head + strange[i].body + 1);
        char answer[4096];
        struct err err;
        int fd = adminsocket_connect(place.path, &err);

        print_message("%s\n", strange[i].label);
        assert_non_null(bytes);
        assert_int_not_equal(fd, -1);
        memcpy(bytes, strange[i].head, head);
        memset(bytes + head, 'b', strange[i].body);
        talk(fd, bytes, head + strange[i].body, answer, sizeof answer);
        assert_memory_equal(answer, strange[i].want, strlen(strange[i].want));
        close(fd);
        free(bytes);
    }
    close_place(&place);
}

static void
test_metrics_on_loopback(void **state)
{
    static const struct {
        const char *label, *head, *want;
    } rows[] = {
        { "metrics",
            "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\r\n" },
        { "nothing else",
            "GET /connectors HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 404 " },
    };
    struct place place;

    (void)state;
    make_place(&place);
    open_place(&place, "127.0.0.1:0");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sockaddr_in address = { .sin_family = AF_INET,
            .sin_port = htons((uint16_t)admin_metrics_port(place.admin)),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char answer[4096];

        print_message("%s\n", rows[i].label);
        assert_int_equal(connect(fd, (struct sockaddr *)&address,
                             sizeof address),
            0);
        talk(fd, rows[i].head, strlen(rows[i].head), answer, sizeof answer);
        assert_memory_equal(answer, rows[i].want, strlen(rows[i].want));
        close(fd);
    }
    close_place(&place);
}

static void
test_handed_in_socket_stays(void **state)
{
    struct place place;
    struct admin_options options = { .ops = &adminfix_ops };
    struct err err;
    struct admin *admin;

    (void)state;
    make_place(&place);
    options.socket_fd = adminsocket_unix(place.path, &err);
    assert_int_not_equal(options.socket_fd, -1);
    admin = admin_open(&options, &err);
    assert_non_null(admin);
    admin_close(admin);
    assert_int_equal(access(place.path, F_OK), 0); /* not ours to remove */
    assert_int_equal(unlink(place.path), 0);
    assert_int_equal(rmdir(place.folder), 0);
}

/* Somebody else's socket in the same place is left alone. */
static void
test_replaced_file_stays(void **state)
{
    struct place place;
    struct admin_options options = { .ops = &adminfix_ops };
    struct admin *admin;
    struct err err;
    char other[96];
    int fd;

    (void)state;
    make_place(&place);
    options.socket = place.path;
    admin = admin_open(&options, &err);
    assert_non_null(admin);
    (void)snprintf(other, sizeof other, "%s/o", place.folder);
    fd = adminsocket_unix(other, &err);
    assert_int_equal(rename(other, place.path), 0);
    admin_close(admin);
    assert_int_equal(access(place.path, F_OK), 0);
    close(fd);
    assert_int_equal(unlink(place.path), 0);
    assert_int_equal(rmdir(place.folder), 0);
}

static void
test_open_fails(void **state)
{
    static const struct {
        const char *label, *metrics;
        bool taken; /* somebody answers on the socket */
        const char *want;
    } rows[] = {
        { "a second agent", NULL, true, "another agent answers on" },
        { "metrics for everybody", "0.0.0.0:9464", false,
            "not a loopback address" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place place;
        struct admin_options options = { .ops = &adminfix_ops,
            .metrics = rows[i].metrics };
        struct err err = { 0 };
        int fd = -1;

        print_message("%s\n", rows[i].label);
        make_place(&place);
        options.socket = place.path;
        if (rows[i].taken)
            fd = adminsocket_unix(place.path, &err);
        assert_null(admin_open(&options, &err));
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_non_null(strstr(err.text, rows[i].want));
        if (fd != -1) {
            close(fd);
            assert_int_equal(unlink(place.path), 0);
        }
        assert_int_equal(rmdir(place.folder), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_strange_clients),
        cmocka_unit_test(test_metrics_on_loopback),
        cmocka_unit_test(test_handed_in_socket_stays),
        cmocka_unit_test(test_replaced_file_stays),
        cmocka_unit_test(test_open_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
