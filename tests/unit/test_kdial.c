#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "kdial.h"
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *address;
    bool is_private;
} addresses[] = {
    { "127.0.0.1", true }, { "127.255.255.254", true },
    { "126.255.255.255", false }, { "128.0.0.1", false }, { "10.0.0.0", true },
    { "10.255.255.255", true }, { "11.0.0.0", false },
    { "9.255.255.255", false }, { "172.15.255.255", false },
    { "172.16.0.0", true }, { "172.31.255.255", true }, { "172.32.0.0", false },
    { "192.167.255.255", false }, { "192.168.0.0", true },
    { "192.168.255.255", true }, { "192.169.0.0", false },
    { "169.254.0.1", true }, { "169.255.0.1", false },
    { "100.64.0.1", false }, /* a carrier's, not ours */
    { "0.0.0.0", false }, { "255.255.255.255", false }, { "8.8.8.8", false },
    { "::1", true }, { "::", false }, { "::2", false }, { "fc00::1", true },
    { "fdff:ffff::1", true }, { "fbff::1", false }, { "fe00::1", false },
    { "fe80::1", true }, { "febf:ffff::1", true }, { "fec0::1", false },
    { "2001:db8::1", false }, { "::ffff:10.1.2.3", true },
    { "::ffff:8.8.8.8", false },
    { "::10.1.2.3", false }, /* compatible, not mapped: nobody's */
};

static socklen_t
address_of(struct sockaddr_storage *storage, const char *text, int port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;

    memset(storage, 0, sizeof *storage);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof *v4;
    }
    assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof *v6;
}

static void
what_is_private(void **state)
{
    struct sockaddr_storage storage;
    const struct sockaddr unknown = { .sa_family = AF_UNIX };

    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        (void)address_of(&storage, addresses[i].address, 9092);
        if (kdial_private((struct sockaddr *)&storage) !=
            addresses[i].is_private)
            fail_msg("%s", addresses[i].address);
    }
    assert_false(kdial_private(&unknown));
}

static void
count_line(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    size_t *n = ctx;

    assert_int_equal(level, LEVEL_ERROR);
    assert_string_equal(event, "dial.refused");
    assert_string_equal(fields[0].text, "plant7");
    (*n)++;
}

/* No packet leaves: the address is judged before connect(). */
static void
a_public_address_is_refused_and_said_once(void **state)
{
    static const struct {
        const char *address;
        int port;
        size_t lines; /* so far */
    } dials[] = {
        { "203.0.113.1", 9092, 1 },
        { "203.0.113.1", 9092, 1 },
        { "203.0.113.1", 9093, 1 }, /* the address counts, not the port */
        { "203.0.113.2", 9092, 2 },
        { "2001:db8::1", 9092, 3 },
        { "2001:db8::1", 9093, 3 },
        { "203.0.113.1", 9092, 3 },
    };
    size_t lines = 0;
    struct err err;
    struct log *log = log_new(STDERR_FILENO, LEVEL_DEBUG, clock_system(), &err);
    struct kdial *kdial;
    struct sockaddr_storage storage;

    (void)state;
    assert_non_null(log);
    log_set_sink(log, count_line, &lines);
    assert_non_null(kdial = kdial_new("plant7", log, &err));
    for (size_t i = 0; i < sizeof dials / sizeof dials[0]; i++) {
        socklen_t len = address_of(&storage, dials[i].address, dials[i].port);

        assert_int_equal(kdial_connect(kdial, -1, (struct sockaddr *)&storage,
                             len, "b1.plant7.test:9092"),
            EACCES);
        assert_int_equal(lines, dials[i].lines);
    }
    kdial_free(kdial);
    kdial_free(NULL);
    log_free(log);
}

/* Allowed: connect() is called, and says EBADF of the descriptor -1. */
static void
networks_that_are_named_are_the_sites_own(void **state)
{
    static const struct {
        const char *label, *network, *address;
        bool want;
    } rows[] = {
        { "the first of a network", "203.0.113.0/24", "203.0.113.0", true },
        { "the last of it", "203.0.113.0/24", "203.0.113.255", true },
        { "one behind it", "203.0.113.0/24", "203.0.114.0", false },
        { "one before it", "203.0.113.0/24", "203.0.112.255", false },
        { "a length within a byte", "203.0.113.128/25", "203.0.113.128", true },
        { "the other half", "203.0.113.128/25", "203.0.113.127", false },
        { "bits behind the length do not count", "203.0.113.77/20",
            "203.0.112.1", true },
        { "one address", "203.0.113.7/32", "203.0.113.7", true },
        { "its neighbour", "203.0.113.7/32", "203.0.113.6", false },
        { "all of IPv4", "0.0.0.0/0", "8.8.8.8", true },
        { "all of IPv4 is nothing of IPv6", "0.0.0.0/0", "2001:db8::1", false },
        { "all of IPv6 is nothing of IPv4", "::/0", "8.8.8.8", false },
        { "IPv6", "2001:db8:7::/48", "2001:db8:7:ffff::1", true },
        { "IPv6, one behind", "2001:db8:7::/48", "2001:db8:8::1", false },
        { "one IPv6 address", "2001:db8::1/128", "2001:db8::1", true },
        { "IPv4 written as IPv6", "203.0.113.0/24", "::ffff:203.0.113.9",
            true },
        { "private ones stay allowed", "203.0.113.0/24", "10.1.2.3", true },
    };
    size_t lines = 0;
    struct err err;
    struct log *log = log_new(STDERR_FILENO, LEVEL_DEBUG, clock_system(), &err);
    struct sockaddr_storage storage;

    (void)state;
    assert_non_null(log);
    log_set_sink(log, count_line, &lines);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kdial *kdial = kdial_new("plant7", log, &err);
        socklen_t len = address_of(&storage, rows[i].address, 9092);

        assert_non_null(kdial);
        assert_true(kdial_allow(kdial, "198.51.100.0/24", &err));
        assert_true(kdial_allow(kdial, rows[i].network, &err));
        if (kdial_connect(kdial, -1, (struct sockaddr *)&storage, len, "b") !=
            (rows[i].want ? EBADF : EACCES))
            fail_msg("%s", rows[i].label);
        kdial_free(kdial);
    }
    log_free(log);
}

static void
what_is_no_network_is_refused(void **state)
{
    static const char *const texts[] = { "", "/24", "203.0.113.0",
        "203.0.113.0/", "203.0.113.0/33", "203.0.113.0/-1", "203.0.113.0/+1",
        "203.0.113.0/24x", "203.0.113/24", "2001:db8::/129", "host/24",
        "203.0.113.0/4294967296",
        "2001:db8:0000:0000:0000:0000:0000:0000:0000:0000/32" };
    struct err err;
    struct kdial *kdial = kdial_new("plant7", NULL, &err);

    (void)state;
    assert_non_null(kdial);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        err = (struct err){ 0 };
        if (kdial_allow(kdial, texts[i], &err))
            fail_msg("'%s'", texts[i]);
        assert_int_equal(err.kind, ERR_CONFIG);
    }
    kdial_free(kdial);
}

/* Never more than KDIAL_SAID are remembered; the oldest is said again. */
static void
a_flood_of_addresses_is_bounded(void **state)
{
    size_t lines = 0;
    struct err err;
    struct log *log = log_new(STDERR_FILENO, LEVEL_DEBUG, clock_system(), &err);
    struct kdial *kdial;
    struct sockaddr_storage storage;
    char text[32];

    (void)state;
    assert_non_null(log);
    log_set_sink(log, count_line, &lines);
    assert_non_null(kdial = kdial_new("plant7", log, &err));
    for (int i = 0; i <= KDIAL_SAID; i++) {
        (void)snprintf(text, sizeof text, "203.0.113.%d", i);
        (void)kdial_connect(kdial, -1, (struct sockaddr *)&storage,
            address_of(&storage, text, 9092), "b");
    }
    assert_int_equal(lines, KDIAL_SAID + 1);
    (void)kdial_connect(kdial, -1, (struct sockaddr *)&storage,
        address_of(&storage, "203.0.113.0", 9092), "b");
    assert_int_equal(lines, KDIAL_SAID + 2);
    kdial_free(kdial);
    log_free(log);
}

static void
a_private_address_is_dialled_without_waiting(void **state)
{
    struct err err;
    struct kdial *kdial = kdial_new("plant7", NULL, &err);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_storage storage;
    socklen_t len = address_of(&storage, "127.0.0.1", 0);
    struct pollfd waiting = { .fd = fd, .events = POLLOUT };
    int error = -1;
    socklen_t size = sizeof error;

    (void)state;
    assert_non_null(kdial);
    assert_int_equal(bind(listener, (struct sockaddr *)&storage, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&storage, &len),
        0);
    assert_int_equal(kdial_connect(kdial, fd, (struct sockaddr *)&storage, len,
                         "b"),
        0);
    assert_int_equal(poll(&waiting, 1, 10000), 1);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
    assert_int_equal(error, 0);
    /* what connect() says is given on */
    assert_int_equal(kdial_connect(kdial, -1, (struct sockaddr *)&storage, len,
                         "b"),
        EBADF);
    (void)close(fd);
    (void)close(listener);
    kdial_free(kdial);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_private),
        cmocka_unit_test(a_public_address_is_refused_and_said_once),
        cmocka_unit_test(networks_that_are_named_are_the_sites_own),
        cmocka_unit_test(what_is_no_network_is_refused),
        cmocka_unit_test(a_flood_of_addresses_is_bounded),
        cmocka_unit_test(a_private_address_is_dialled_without_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
