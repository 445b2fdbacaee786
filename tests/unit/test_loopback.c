#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *label, *text;
    int family; /* 0: it is none */
    const char *host;
    int port;
} rows[] = {
    { "the usual", "127.0.0.1:9464", AF_INET, "127.0.0.1", 9464 },
    { "another of that network", "127.8.0.2:1", AF_INET, "127.8.0.2", 1 },
    { "any port", "127.0.0.1:0", AF_INET, "127.0.0.1", 0 },
    { "by its name", "localhost:65535", AF_INET, "127.0.0.1", 65535 },
    { "of IPv6", "[::1]:9464", AF_INET6, "::1", 9464 },
    { "a host whose name begins alike", "127.0.0.1.evil.test:9464", 0, "", 0 },
    { "one that is short", "127.evil:9464", 0, "", 0 },
    { "one that begins with the name", "localhost.evil:9464", 0, "", 0 },
    { "three parts", "127.0.1:9464", 0, "", 0 },
    { "a number too many", "127.0.0.1.1:9464", 0, "", 0 },
    { "a number too large", "127.0.0.256:9464", 0, "", 0 },
    { "an octal one", "0127.0.0.1:9464", 0, "", 0 },
    { "any address", "0.0.0.0:9464", 0, "", 0 },
    { "any of IPv6", "[::]:9464", 0, "", 0 },
    { "without brackets", "::1:9464", 0, "", 0 },
    { "an address of a network", "192.0.2.1:9464", 0, "", 0 },
    { "no port", "127.0.0.1", 0, "", 0 },
    { "an empty port", "127.0.0.1:", 0, "", 0 },
    { "a negative port", "127.0.0.1:-1", 0, "", 0 },
    { "a port too high", "127.0.0.1:65536", 0, "", 0 },
    { "one far too high", "127.0.0.1:99999999999999999999", 0, "", 0 },
    { "something behind the port", "127.0.0.1:1 ", 0, "", 0 },
    { "a port alone", ":9464", 0, "", 0 },
    { "nothing", "", 0, "", 0 },
};

static void
check(size_t i)
{
    struct sockaddr_storage address;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
    socklen_t len = loopback_parse(rows[i].text, &address);
    char host[INET6_ADDRSTRLEN] = "";

    print_message("%s\n", rows[i].label);
    assert_int_equal(address.ss_family, rows[i].family);
    if (rows[i].family == 0) {
        assert_int_equal(len, 0);
        return;
    }
    assert_int_equal(len, rows[i].family == AF_INET ? sizeof *v4 : sizeof *v6);
    assert_non_null(inet_ntop(rows[i].family,
        rows[i].family == AF_INET ? (const void *)&v4->sin_addr
                                  : (const void *)&v6->sin6_addr,
        host, sizeof host));
    assert_string_equal(host, rows[i].host);
    assert_int_equal(ntohs(rows[i].family == AF_INET ? v4->sin_port
                                                     : v6->sin6_port),
        rows[i].port);
}

static void
test_only_this_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(i);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
