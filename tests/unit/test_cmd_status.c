#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "admin.h"
#include "adminfix.h"
#include "adminsocket.h"
#include "cmdfix.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* An agent's admin plane on a thread. */
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
    struct pollfd fds[2] = { { .fd = place->stop[0], .events = POLLIN },
        { .fd = admin_fd(place->admin, 0), .events = POLLIN } };

    while (fds[0].revents == 0) {
        (void)poll(fds, 2, 1000);
        admin_run(place->admin);
    }
    return NULL;
}

static void
begin(struct place *place, const struct adminfix *fix)
{
    struct admin_options options = { .ops = &adminfix_ops };
    struct err err;

    *place = (struct place){ .fix = *fix };
    (void)snprintf(place->folder, sizeof place->folder,
        "/tmp/kedge-test-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->path, sizeof place->path, "%s/s", place->folder);
    options.socket = place->path;
    options.self = &place->fix;
    place->admin = admin_open(&options, &err);
    assert_non_null(place->admin);
    assert_int_equal(pipe(place->stop), 0);
    assert_int_equal(pthread_create(&place->thread, NULL, turn, place), 0);
}

static void
end(struct place *place)
{
    assert_int_equal(write(place->stop[1], "x", 1), 1);
    assert_int_equal(pthread_join(place->thread, NULL), 0);
    close(place->stop[0]);
    close(place->stop[1]);
    admin_close(place->admin);
    assert_int_equal(rmdir(place->folder), 0);
}

static const struct {
    const char *label;
    cmd_fn *command;
    const char *line; /* the socket is added */
    struct adminfix fix;
    int want;
    const char *want_out, *want_err;
} cases[] = {
    { "status", cmd_status_run, "status", { 0 }, CMD_OK, "FLOW\norders\n", "" },
    { "status for tools", cmd_status_run, "status --json", { 0 }, CMD_OK,
        "{\"orders\":{\"name\":\"orders\",\"type\":\"source\"}}\n", "" },
    { "an option that is not there", cmd_status_run, "status --jsn", { 0 },
        CMD_USAGE, "",
        "kedge: status: no such option: --jsn\nsee 'kedge help status'\n" },
    { "a word too many", cmd_status_run, "status orders", { 0 }, CMD_USAGE, "",
        "kedge: status: one word too many: orders\n"
        "see 'kedge help status'\n" },
    { "pause", cmd_status_flow, "flow pause orders", { 0 }, CMD_OK,
        "orders: pausing\n", "" },
    { "resume", cmd_status_flow, "flow resume orders", { 0 }, CMD_OK,
        "orders: going on\n", "" },
    { "restart", cmd_status_flow, "flow restart orders", { 0 }, CMD_OK,
        "orders: what is held tries again\n", "" },
    { "a flow that is not there", cmd_status_flow, "flow pause nope", { 0 },
        CMD_USAGE, "",
        "kedge: the agent says: The policy has no flow 'nope'\n" },
    { "an order too many", cmd_status_flow, "flow pause orders",
        { .busy = true }, CMD_TRY_LATER, "",
        "kedge: the agent says: The flow has orders waiting; try again "
        "later\n" },
    { "something else to do", cmd_status_flow, "flow skip orders", { 0 },
        CMD_USAGE, "",
        "kedge: it is pause, resume or restart\nsee 'kedge help flow'\n" },
    { "a name that would be a path", cmd_status_flow, "flow pause a/../b",
        { 0 }, CMD_USAGE, "",
        "kedge: that is not the name of a flow\nsee 'kedge help flow'\n" },
    { "an empty name", cmd_status_flow, "flow pause ", { 0 }, CMD_USAGE, "",
        "kedge: that is not the name of a flow\nsee 'kedge help flow'\n" },
};

static void
test_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place place;
        struct cmdfix fix;
        char line[256];

        print_message("%s\n", cases[i].label);
        begin(&place, &cases[i].fix);
        (void)snprintf(line, sizeof line, "%s --socket %s", cases[i].line,
            place.path);
        assert_int_equal(cmdfix_run(&fix, cases[i].command, line),
            cases[i].want);
        assert_string_equal(fix.out, cases[i].want_out);
        assert_string_equal(fix.err, cases[i].want_err);
        cmdfix_free(&fix);
        end(&place);
    }
}

static void
test_no_agent(void **state)
{
    static const struct {
        cmd_fn *command;
        const char *line;
    } rows[] = {
        { cmd_status_run, "status --socket /nowhere/s" },
        { cmd_status_run, "status --json --socket=/nowhere/s" },
        { cmd_status_flow, "flow --socket /nowhere/s pause orders" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cmdfix fix;

        assert_int_equal(cmdfix_run(&fix, rows[i].command, rows[i].line),
            CMD_UNAVAILABLE);
        assert_string_equal(fix.err,
            "kedge: no agent answers on /nowhere/s: start 'kedge run', or give "
            "--socket as in admin.socket of its policy\n");
        cmdfix_free(&fix);
    }
}

/* Somebody else on the socket, who says `answer` once. */
struct stranger {
    int fd;
    const char *answer;
};

static void *
say(void *arg)
{
    const struct stranger *stranger = arg;
    struct pollfd pollfd = { .fd = stranger->fd, .events = POLLIN };
    char request[1024] = "";
    size_t len = 0;

    (void)poll(&pollfd, 1, -1);
    pollfd.fd = accept(stranger->fd, NULL, NULL);
    while (strstr(request, "\r\n\r\n") == NULL) {
        ssize_t n = recv(pollfd.fd, request + len, sizeof request - 1 - len, 0);

        if (n <= 0)
            break;
        len += (size_t)n;
    }
    (void)send(pollfd.fd, stranger->answer, strlen(stranger->answer),
        MSG_NOSIGNAL);
    close(pollfd.fd);
    return NULL;
}

static void
test_a_strangers_text_is_cleaned(void **state)
{
    static const struct {
        const char *line, *answer, *want_out, *want_err;
    } rows[] = {
        { "status", "HTTP/1.1 200 x\r\n\r\n\033[2Ja\nb\xff\tc\u202e\n",
            "\\x1b[2Ja\nb\\xff\\x09c\\xe2\\x80\\xae\n", "" },
        { "status --json",
            "HTTP/1.1 200 x\r\n\r\n{\"a\":\"\033[2J\xff\u202e\u00e9\"}",
            "{\"a\":\"\\u001b[2J\\ufffd\\u202e\u00e9\"}\n", "" },
        { "flow pause a", "HTTP/1.1 200 x\r\n\r\n\033c", "\\x1bc\na: pausing\n",
            "" },
        { "status", "HTTP/1.1 500 x\r\n\r\n{\"message\":\"\\u001b[2J\"}", "",
            "kedge: the agent says: \\x1b[2J\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char folder[64] = "/tmp/kedge-test-XXXXXX", path[80], line[256];
        struct stranger stranger = { .answer = rows[i].answer };
        struct cmdfix fix;
        struct err err;
        pthread_t thread;

        assert_non_null(mkdtemp(folder));
        (void)snprintf(path, sizeof path, "%s/s", folder);
        (void)snprintf(line, sizeof line, "%s --socket %s", rows[i].line, path);
        stranger.fd = adminsocket_unix(path, &err);
        assert_int_equal(pthread_create(&thread, NULL, say, &stranger), 0);
        (void)cmdfix_run(&fix,
            strncmp(line, "flow", 4) == 0 ? cmd_status_flow : cmd_status_run,
            line);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_string_equal(fix.out, rows[i].want_out);
        assert_string_equal(fix.err, rows[i].want_err);
        cmdfix_free(&fix);
        close(stranger.fd);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(folder), 0);
    }
}

static void
test_busy_is_not_absent(void **state)
{
    struct err err = { 0 };

    (void)state;
    err_set(&err, ERR_NET, "no agent answers");
    assert_int_equal(cmd_status(&err), CMD_UNAVAILABLE);
    err_set_retry(&err, ERR_NET, "the agent is busy");
    assert_int_equal(cmd_status(&err), CMD_TRY_LATER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_no_agent),
        cmocka_unit_test(test_a_strangers_text_is_cleaned),
        cmocka_unit_test(test_busy_is_not_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
