#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LOOPBACK_NET 127

static bool
parse_port(const char *text, in_port_t *port)
{
    char *end = NULL;
    unsigned long number = 0;

    if (*text < '0' || *text > '9')
        return false;
    number = strtoul(text, &end, 10);
    *port = htons((uint16_t)number);
    return *end == '\0' && number <= UINT16_MAX;
}

static bool
parse_host(const char *host, struct in_addr *address)
{
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    return inet_pton(AF_INET, host, address) == 1 &&
           ntohl(address->s_addr) >> 24 == LOOPBACK_NET;
}

socklen_t
loopback_parse(const char *text, struct sockaddr_storage *address)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
        .sin6_addr = in6addr_loopback };
    const char *colon = strrchr(text, ':');
    char host[INET_ADDRSTRLEN] = "";
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);

    *address = (struct sockaddr_storage){ 0 };
    if (len == 0 || len >= sizeof host || !parse_port(colon + 1, &v4.sin_port))
        return 0;
    memcpy(host, text, len);
    if (strcmp(host, "[::1]") == 0) {
        v6.sin6_port = v4.sin_port;
        memcpy(address, &v6, sizeof v6);
        return sizeof v6;
    }
    if (!parse_host(host, &v4.sin_addr))
        return 0;
    memcpy(address, &v4, sizeof v4);
    return sizeof v4;
}
