#include "kafkaname.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BROKERS "bootstrap: [HOST:PORT, HOST:PORT]"
#define PROTOCOL "tls: {ca: FILE}, or tls: off for plaintext"
#define LOGIN \
    "sasl: {mechanism: SCRAM-SHA-512, username: NAME, password: {file: FILE}}"
#define ITSELF "kedge sets it itself: take it out"
#define PLACE "a record keeps the partition that it has: take it out"
#define BYTES "records stay the bytes that they are: take it out"

/* clang-format off */
static const struct kafkaname names[] = {
    { "bootstrap.servers", "clusters.NAME", "bootstrap", BROKERS },
    { "metadata.broker.list", "clusters.NAME", "bootstrap", BROKERS },
    { "brokers", "clusters.NAME", "bootstrap", BROKERS },
    { "security.protocol", "clusters.NAME", "tls", PROTOCOL },
    { "sasl.jaas.config", "clusters.NAME", "sasl", LOGIN },
    { "ssl.ca.location", "clusters.NAME.tls", "ca", NULL },
    { "ssl.ca.pem", "clusters.NAME.tls", "ca", NULL },
    { "ssl.cafile", "clusters.NAME.tls", "ca", NULL },
    { "ca.file", "clusters.NAME.tls", "ca", NULL },
    { "ssl.truststore.*", "clusters.NAME.tls", "ca",
        "ca: FILE, in which the certificates are as PEM" },
    { "ssl.certificate.*", "clusters.NAME.tls", "cert", NULL },
    { "ssl.certfile", "clusters.NAME.tls", "cert", NULL },
    { "ssl.keystore.key", "clusters.NAME.tls", "key", NULL },
    { "ssl.keystore.*", "clusters.NAME.tls", "cert",
        "cert: FILE, key: FILE, both as PEM" },
    { "ssl.key.password", "clusters.NAME.tls", "key",
        "key: FILE, in which the key is not encrypted" },
    { "ssl.key.*", "clusters.NAME.tls", "key", NULL },
    { "ssl.keyfile", "clusters.NAME.tls", "key", NULL },
    { "ssl.protocol", "clusters.NAME.tls", "min_version", NULL },
    { "ssl.enabled.protocols", "clusters.NAME.tls", "min_version", NULL },
    { "ssl.endpoint.*", "clusters.NAME.tls", "verify", NULL },
    { "enable.ssl.certificate.verification", "clusters.NAME.tls", "verify",
        NULL },
    { "ssl.*", "clusters.NAME", "tls", "tls: {ca: FILE}" },
    { "ssl", "clusters.NAME", "tls", "tls: {ca: FILE}" },
    { "sasl.mechanism", "clusters.NAME.sasl", "mechanism", NULL },
    { "sasl.mechanisms", "clusters.NAME.sasl", "mechanism", NULL },
    { "sasl.enabled.mechanisms", "clusters.NAME.sasl", "mechanism", NULL },
    { "sasl.username", "clusters.NAME.sasl", "username", NULL },
    { "sasl.password", "clusters.NAME.sasl", "password",
        "password: {file: FILE}" },
    { "password.file", "clusters.NAME.sasl", "password",
        "password: {file: FILE}" },
    { "sasl.*", "clusters.NAME", "sasl", LOGIN },
    { "source", "flows.NAME", "from", NULL },
    { "source.cluster.alias", "flows.NAME", "from", NULL },
    { "target", "flows.NAME", "to", NULL },
    { "target.cluster.alias", "flows.NAME", "to", NULL },
    { "topics.pattern", "flows.NAME.topics", "include", NULL },
    { "topics.regex", "flows.NAME.topics", "include", NULL },
    { "topics.whitelist", "flows.NAME.topics", "include", NULL },
    { "whitelist", "flows.NAME.topics", "include", NULL },
    { "include.regex", "flows.NAME.topics", "include", NULL },
    { "topics.exclude", "flows.NAME.topics", "exclude", NULL },
    { "topics.blacklist", "flows.NAME.topics", "exclude", NULL },
    { "blacklist", "flows.NAME.topics", "exclude", NULL },
    { "refresh.topics.interval.seconds", "flows.NAME.topics", "refresh",
        "refresh: 30s" },
    { "topic.metadata.refresh.interval.ms", "flows.NAME.topics", "refresh",
        "refresh: 30s" },
    { "replication.policy.class", "flows.NAME.rename", "policy",
        "policy: prefix, or policy: identity" },
    { "replication.policy.separator", "flows.NAME.rename", "separator", NULL },
    { "auto.create.topics.enable", "flows.NAME.target_topics", "create",
        NULL },
    { "allow.auto.create.topics", "flows.NAME.target_topics", "create", NULL },
    { "request.required.acks", "flows.NAME.producer", "acks", NULL },
    { "message.send.max.retries", "flows.NAME.producer", "retries", NULL },
    { "retry", "flows.NAME.producer", "retries", NULL },
    { "compression", "flows.NAME.producer", "compression.type", NULL },
    { "linger", "flows.NAME.producer", "linger.ms", NULL },
    { "errors", "flows.NAME", "errors.tolerance", NULL },
    { "compression.codec", "flows.NAME.producer", "compression.type", NULL },
    { "queue.buffering.max.ms", "flows.NAME.producer", "linger.ms", NULL },
    { "message.timeout.ms", "flows.NAME.producer", "delivery.timeout.ms",
        NULL },
    { "max.in.flight", "flows.NAME.producer",
        "max.in.flight.requests.per.connection", NULL },
    { "exactly.once.source.support", "flows.NAME", "delivery", NULL },
    { "listeners", NULL, NULL, "kedge listens to no one but its admin socket: "
        "take it out" },
    { "request.timeout.ms", NULL, NULL, ITSELF },
    { "transaction.timeout.ms", NULL, NULL, ITSELF },
    { "session.timeout.ms", NULL, NULL, ITSELF },
    { "heartbeat.interval.ms", NULL, NULL, ITSELF },
    { "max.poll.*", NULL, NULL, ITSELF },
    { "retry.backoff.*", NULL, NULL, ITSELF },
    { "fetch.*", NULL, NULL, ITSELF },
    { "max.partition.fetch.bytes", NULL, NULL, ITSELF },
    { "enable.auto.offset.store", NULL, NULL, ITSELF },
    { "partition.assignment.strategy", NULL, NULL, ITSELF },
    { "max.block.ms", NULL, NULL, ITSELF },
    { "partitioner", NULL, NULL, PLACE },
    { "partitioner.class", NULL, NULL, PLACE },
    { "buffer.memory", "flows.NAME.limits", "max_in_flight", NULL },
    { "queue.buffering.max.*", "flows.NAME.limits", "max_in_flight", NULL },
    { "group.id", NULL, NULL, ITSELF },
    { "group.instance.id", NULL, NULL, ITSELF },
    { "client.id", NULL, NULL, ITSELF },
    { "transactional.id", NULL, NULL, ITSELF },
    { "tasks.max", NULL, NULL, ITSELF },
    { "offset.storage.*", NULL, NULL, ITSELF },
    { "key.converter", NULL, NULL, BYTES },
    { "value.converter", NULL, NULL, BYTES },
    { "key.serializer", NULL, NULL, BYTES },
    { "value.serializer", NULL, NULL, BYTES },
    { NULL, NULL, NULL, NULL },
};
/* clang-format on */

/* The same letters, up to a star. */
static bool
fits(const char *theirs, const char *key)
{
    for (;; theirs++, key++) {
        theirs += strspn(theirs, "._-");
        key += strspn(key, "._-");
        if (*theirs == '*')
            return *key != '\0';
        if (*theirs != tolower((unsigned char)*key))
            return false;
        if (*theirs == '\0')
            return true;
    }
}

const struct kafkaname *
kafkaname_find(const char *key)
{
    while (key != NULL && *key != '\0') {
        for (const struct kafkaname *name = names; name->theirs; name++)
            if (fits(name->theirs, key))
                return name;
        key = strchr(key, '.');
        key = key == NULL ? NULL : key + 1;
    }
    return NULL;
}

const struct kafkaname *
kafkaname_all(void)
{
    return names;
}
