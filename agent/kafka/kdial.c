#include "kdial.h"
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_MAX 64

/* The first `bits` of an address decide. */
struct range {
    uint8_t first[16];
    unsigned bits;
};

struct kdial {
    /* fixed */
    char cluster[CLUSTER_MAX];
    struct log *log;
    /* shared */
    atomic_int_fast64_t refused;
    pthread_mutex_t lock;
    struct sockaddr_storage said[KDIAL_SAID]; /* under the lock */
    size_t n_said;                            /* ever; under the lock */
};

static const struct range private_v4[] = {
    { { 127 }, 8 },
    { { 10 }, 8 },
    { { 172, 16 }, 12 },
    { { 192, 168 }, 16 },
    { { 169, 254 }, 16 },
};

static const struct range private_v6[] = {
    { { [15] = 1 }, 128 },
    { { 0xfc }, 7 },
    { { 0xfe, 0x80 }, 10 },
};

struct kdial *
kdial_new(const char *cluster, struct log *log, struct err *err)
{
    struct kdial *kdial = calloc(1, sizeof *kdial);

    if (kdial == NULL) {
        err_set(err, ERR_MEMORY, "dialer of %s", cluster);
        return NULL;
    }
    (void)snprintf(kdial->cluster, sizeof kdial->cluster, "%s", cluster);
    kdial->log = log;
    (void)pthread_mutex_init(&kdial->lock, NULL);
    return kdial;
}

void
kdial_free(struct kdial *kdial)
{
    if (kdial == NULL)
        return;
    (void)pthread_mutex_destroy(&kdial->lock);
    free(kdial);
}

static bool
within(const uint8_t *address, const struct range *range)
{
    unsigned bytes = range->bits / 8, rest = range->bits % 8;
    uint8_t mask = (uint8_t)(0xff00U >> rest);

    if (memcmp(address, range->first, bytes) != 0)
        return false;
    return rest == 0 || (address[bytes] & mask) == range->first[bytes];
}

static bool
any_of(const uint8_t *address, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (within(address, &ranges[i]))
            return true;
    return false;
}

static bool
is_private_v4(const uint8_t *address)
{
    return any_of(address, private_v4, sizeof private_v4 / sizeof *private_v4);
}

bool
kdial_private(const struct sockaddr *addr)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (addr->sa_family == AF_INET) {
        memcpy(&v4, addr, sizeof v4);
        return is_private_v4((const uint8_t *)&v4.sin_addr);
    }
    if (addr->sa_family != AF_INET6)
        return false;
    memcpy(&v6, addr, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return is_private_v4(&v6.sin6_addr.s6_addr[12]);
    return any_of(v6.sin6_addr.s6_addr, private_v6,
        sizeof private_v6 / sizeof *private_v6);
}

/* The address alone, so that every port of it is one. */
static void
only_address(struct sockaddr_storage *only, const struct sockaddr *addr,
    socklen_t len)
{
    memset(only, 0, sizeof *only);
    if (len > sizeof *only)
        len = sizeof *only;
    memcpy(only, addr, len);
    if (addr->sa_family == AF_INET)
        ((struct sockaddr_in *)only)->sin_port = 0;
    else if (addr->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)only)->sin6_port = 0;
}

/* True the first time. */
static bool
remember(struct kdial *kdial, const struct sockaddr *addr, socklen_t len)
{
    struct sockaddr_storage only;
    size_t known;
    bool is_new = true;

    only_address(&only, addr, len);
    (void)pthread_mutex_lock(&kdial->lock);
    known = kdial->n_said < KDIAL_SAID ? kdial->n_said : KDIAL_SAID;
    for (size_t i = 0; is_new && i < known; i++)
        is_new = memcmp(&kdial->said[i], &only, sizeof only) != 0;
    if (is_new)
        kdial->said[kdial->n_said++ % KDIAL_SAID] = only;
    (void)pthread_mutex_unlock(&kdial->lock);
    return is_new;
}

static void
say(const struct kdial *kdial, const struct sockaddr *addr, const char *broker)
{
    char text[INET6_ADDRSTRLEN] = "?";
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (addr->sa_family == AF_INET) {
        memcpy(&v4, addr, sizeof v4);
        (void)inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    } else if (addr->sa_family == AF_INET6) {
        memcpy(&v6, addr, sizeof v6);
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    }
    LOG(kdial->log, LEVEL_ERROR, "dial.refused",
        kv_str("cluster", kdial->cluster), kv_str("broker", broker),
        kv_str("address", text), kv_str("why", "plaintext to a public address"),
        kv_str("help", "turn TLS on for this cluster, or let its brokers "
                       "advertise a private address"));
}

int
kdial_connect(struct kdial *kdial, int fd, const struct sockaddr *addr,
    socklen_t addr_len, const char *broker)
{
    if (!kdial_private(addr)) {
        atomic_fetch_add(&kdial->refused, 1);
        if (remember(kdial, addr, addr_len))
            say(kdial, addr, broker);
        return EACCES;
    }
    if (connect(fd, addr, addr_len) == -1 && errno != EINPROGRESS)
        return errno;
    return 0;
}

int64_t
kdial_refused(const struct kdial *kdial)
{
    return atomic_load(&kdial->refused);
}
