#include "kdial.h"
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_MAX 64

/* The first `bits` of an address decide. */
struct range {
    uint8_t first[16];
    unsigned bits;
};

/* A range that an operator named. */
struct network {
    int family; /* AF_INET, AF_INET6 */
    struct range range;
};

struct kdial {
    /* fixed */
    char cluster[CLUSTER_MAX];
    struct log *log;
    struct network *networks;
    size_t n_networks;
    /* shared */
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
    free(kdial->networks);
    free(kdial);
}

static bool
within(const uint8_t *address, const struct range *range)
{
    unsigned bytes = range->bits / 8, rest = range->bits % 8;
    uint8_t mask = (uint8_t)(0xff00U >> rest);

    if (memcmp(address, range->first, bytes) != 0)
        return false;
    return rest == 0 || (address[bytes] & mask) == (range->first[bytes] & mask);
}

static bool
any_of(const uint8_t *address, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (within(address, &ranges[i]))
            return true;
    return false;
}

/* The address's bytes, and what they are of; AF_UNSPEC: neither IPv4 nor 6. */
static int
bytes_of(const struct sockaddr *addr, uint8_t bytes[16])
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (addr->sa_family == AF_INET) {
        memcpy(&v4, addr, sizeof v4);
        memcpy(bytes, &v4.sin_addr, sizeof v4.sin_addr);
        return AF_INET;
    }
    if (addr->sa_family != AF_INET6)
        return AF_UNSPEC;
    memcpy(&v6, addr, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        memcpy(bytes, &v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
        return AF_INET;
    }
    memcpy(bytes, &v6.sin6_addr, sizeof v6.sin6_addr);
    return AF_INET6;
}

bool
kdial_private(const struct sockaddr *addr)
{
    uint8_t bytes[16] = { 0 };
    int family = bytes_of(addr, bytes);

    if (family == AF_INET)
        return any_of(bytes, private_v4,
            sizeof private_v4 / sizeof *private_v4);
    return family == AF_INET6 &&
           any_of(bytes, private_v6, sizeof private_v6 / sizeof *private_v6);
}

/* "192.0.2.0/24": the policy has judged it, so that nothing is guessed here. */
static bool
read_network(struct network *network, const char *text)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - text);
    unsigned most;
    char *end;
    unsigned long bits;

    if (len == 0 || len >= sizeof address || slash[1] < '0' || slash[1] > '9')
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    bits = strtoul(slash + 1, &end, 10);
    network->family = strchr(address, ':') == NULL ? AF_INET : AF_INET6;
    most = network->family == AF_INET ? 32 : 128;
    if (*end != '\0' || bits > most ||
        inet_pton(network->family, address, network->range.first) != 1)
        return false;
    network->range.bits = (unsigned)bits;
    return true;
}

bool
kdial_allow(struct kdial *kdial, const char *network, struct err *err)
{
    struct network *networks =
        realloc(kdial->networks, (kdial->n_networks + 1) * sizeof *networks);

    if (networks == NULL)
        return err_set(err, ERR_MEMORY, "networks of %s", kdial->cluster);
    kdial->networks = networks;
    memset(&networks[kdial->n_networks], 0, sizeof networks[0]);
    if (!read_network(&networks[kdial->n_networks], network))
        return err_set(err, ERR_CONFIG, "'%s' is not a network", network);
    kdial->n_networks++;
    return true;
}

static bool
is_allowed(const struct kdial *kdial, const struct sockaddr *addr)
{
    uint8_t bytes[16] = { 0 };
    int family = bytes_of(addr, bytes);

    for (size_t i = 0; i < kdial->n_networks; i++)
        if (kdial->networks[i].family == family &&
            within(bytes, &kdial->networks[i].range))
            return true;
    return kdial_private(addr);
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
        kv_str("help", "turn TLS on for this cluster, let its brokers "
                       "advertise a private address, or name the network in "
                       "the cluster's plaintext_networks"));
}

int
kdial_connect(struct kdial *kdial, int fd, const struct sockaddr *addr,
    socklen_t addr_len, const char *broker)
{
    if (!is_allowed(kdial, addr)) {
        if (remember(kdial, addr, addr_len))
            say(kdial, addr, broker);
        return EACCES;
    }
    if (connect(fd, addr, addr_len) == -1 && errno != EINPROGRESS)
        return errno;
    return 0;
}
