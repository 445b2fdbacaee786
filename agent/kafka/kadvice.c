#include "kadvice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAYS \
    "it is tried again; if it stays, look at the network, and whether "

#define OF_CLIENT                                                           \
    {                                                                       \
        ERR_CERT, true, false,                                              \
            "the broker wants a certificate of this client or refuses it: " \
            "look at tls.cert and tls.key in the policy"                    \
    }
#define NO_TLS                                                          \
    {                                                                   \
        ERR_NET, true, false,                                           \
            "that port does not speak TLS: correct the port, or 'tls' " \
            "in the policy"                                             \
    }

/* In the library's words and OpenSSL's. */
static const struct {
    const char *words;
    struct kadvice advice;
} rows[] = {
    { "PLAINTEXT broker listener",
        { ERR_NET, true, false,
            STAYS "that port speaks TLS ('tls' in the policy)" } },
    { "connecting to a SSL listener",
        { ERR_NET, true, false,
            STAYS "that port wants TLS or SASL ('tls', 'sasl' in the "
                  "policy)" } },
    { "mechanism handshake failed: Local:",
        { ERR_NET, true, false,
            STAYS "that port speaks SASL ('sasl' in the policy)" } },
    { "Unsupported SASL mechanism",
        { ERR_LOGIN, false, false,
            "choose one of the broker's as sasl.mechanism in the policy" } },
    { "wrong version number", NO_TLS },
    { "packet length too long", NO_TLS },
    { "alert bad certificate", OF_CLIENT },
    { "alert certificate required", OF_CLIENT },
    { "alert certificate unknown", OF_CLIENT },
    { "alert unknown ca", OF_CLIENT },
    { "client SSL authentication might be required", OF_CLIENT },
    /* "0/1 brokers are down": all that is said of a connection that the other
     * side closes at the first words */
    { " brokers are down",
        { ERR_NET, true, true,
            "no broker answers; " STAYS "that port wants TLS or SASL ('tls', "
            "'sasl' in the policy)" } },
};

static const struct kadvice few_brokers = { ERR_CONFIG, false, true,
    "the cluster has fewer brokers than replicas are asked for: add brokers "
    "or, where one is enough, write 'durability: {replicas: 1, because: "
    "single-broker}' in that cluster in the policy" };

const struct kadvice *
kadvice_find(rd_kafka_resp_err_t code, const char *detail)
{
    if (code == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR)
        return &few_brokers;
    for (size_t i = 0; detail != NULL && i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(detail, rows[i].words) != NULL)
            return &rows[i].advice;
    return NULL;
}

const char *
kadvice_plain(const char *detail, char *plain, size_t size)
{
    const char *scheme = strstr(detail, "://");
    const char *end = strstr(detail, ": ");
    const char *slash = NULL;

    if (scheme != NULL && end != NULL && scheme < end &&
        memchr(detail, ' ', (size_t)(scheme - detail)) == NULL) {
        detail = scheme + 3;
        slash = memchr(detail, '/', (size_t)(end - detail));
    }
    if (slash != NULL)
        (void)snprintf(plain, size, "%.*s%s", (int)(slash - detail), detail,
            end);
    else
        (void)snprintf(plain, size, "%s", detail);
    return plain;
}

int64_t
kadvice_cut(const char *detail)
{
    static const char words[] = "broker end offset is ";
    const char *at = detail == NULL ? NULL : strstr(detail, words);

    if (at == NULL || at[sizeof words - 1] < '0' || at[sizeof words - 1] > '9')
        return -1;
    return strtoll(at + sizeof words - 1, NULL, 10);
}
