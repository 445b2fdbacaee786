#include "kprops.h"
#include "kflow.h"
#include "secret.h"

#include <assert.h>
#include <inttypes.h>

#define NUMBER_MAX 32
#define PREFETCH_DEFAULT (INT64_C(64) << 20)
#define RECORD_COST 512 /* bytes that a record's books count for */
#define ANSWER_NEAR (INT64_C(128) << 10) /* the least that is asked for */
#define ANSWER_FAR (INT64_C(1) << 20)
#define ANSWER_MOST (INT64_C(16) << 20)

#define SOURCE (1U << KCONF_SOURCE)
#define DATA (1U << KCONF_DATA)
#define LANE (1U << KCONF_LANE)
#define MEMBER (1U << KCONF_MEMBER)
#define LEDGER (1U << KCONF_LEDGER)
#define ADMIN (1U << KCONF_ADMIN)
#define CONSUMERS (SOURCE | MEMBER | LEDGER)
#define PRODUCERS (DATA | LANE)
#define ALL (CONSUMERS | PRODUCERS | ADMIN)

static const struct kprops rows[] = {
    { "bootstrap.servers", ALL, KPROPS_BOOTSTRAP, NULL,
        "The brokers that the policy names." },
    { "client.id", ALL, KPROPS_CLIENT_ID, NULL,
        "So that the brokers' logs and quotas can tell who it is." },
    { "security.protocol", ALL, KPROPS_PROTOCOL, NULL,
        "Its default is plaintext; what the policy says is always said." },
    { "ssl.ca.pem", ALL, KPROPS_CA, NULL,
        "Who may vouch for the brokers; without it the system's bundle." },
    { "ssl.certificate.pem", ALL, KPROPS_CERT, NULL,
        "The agent's certificate with its chain." },
    { "ssl.key.pem", ALL, KPROPS_KEY, NULL,
        "As text, so that the key needs no second reader." },
    { "enable.ssl.certificate.verification", ALL, KPROPS_FIXED, "true",
        "Never turned off." },
    { "ssl.endpoint.identification.algorithm", ALL, KPROPS_FIXED, "https",
        "The name in the certificate is that of the broker dialled." },
    { "sasl.mechanism", ALL, KPROPS_MECHANISM, NULL, "As the policy says." },
    { "sasl.username", ALL, KPROPS_USERNAME, NULL, "As the policy says." },
    { "sasl.password", ALL, KPROPS_PASSWORD, NULL, "As the policy says." },
    { "enable.metrics.push", ALL, KPROPS_FIXED, "false",
        "Otherwise client metrics would leave for the cluster unasked." },
    { "log.connection.close", ALL, KPROPS_FIXED, "false",
        "Brokers close idle connections; that is no news." },
    { "socket.keepalive.enable", ALL, KPROPS_FIXED, "true",
        "Firewalls forget silent connections." },
    { "socket.nagle.disable", ALL, KPROPS_FIXED, "true",
        "The batches are made already; waiting adds only latency." },
    { "socket.timeout.ms", ALL, KPROPS_FIXED, "30000",
        "A path that drops silently costs half a minute, not a whole one." },
    { "topic.metadata.refresh.interval.ms", SOURCE | DATA | LEDGER,
        KPROPS_FIXED, "60000",
        "New partitions and moved leaders are known after a minute." },
    { "allow.auto.create.topics", ALL, KPROPS_FIXED, "false",
        "A topic made in passing has the wrong number of partitions." },
    { "group.id", CONSUMERS, KPROPS_GROUP, NULL,
        "Of the flow; nobody joins as source or ledger reader." },
    { "enable.auto.commit", CONSUMERS, KPROPS_FIXED, "false",
        "Positions live in the ledger." },
    { "enable.auto.offset.store", CONSUMERS, KPROPS_FIXED, "false",
        "A record that was read is not a record that was delivered." },
    { "auto.offset.reset", CONSUMERS, KPROPS_FIXED, "error",
        "A position that is gone is a loss to be named, never a jump." },
    { "check.crcs", CONSUMERS, KPROPS_FIXED, "true",
        "Without it a flipped byte is forwarded as good data." },
    { "isolation.level", CONSUMERS, KPROPS_FIXED, "read_committed",
        "Aborted records are not forwarded; an entry counts when its "
        "transaction is committed." },
    { "enable.partition.eof", SOURCE | MEMBER, KPROPS_FIXED, "false",
        "The end of a partition is asked of the brokers." },
    { "enable.partition.eof", LEDGER, KPROPS_FIXED, "true",
        "Headers are read up to the end." },
    { "queued.max.messages.kbytes", SOURCE, KPROPS_PREFETCH, NULL,
        "Bytes read ahead, over all partitions." },
    { "queued.min.messages", SOURCE, KPROPS_PREFETCH_RECORDS, NULL,
        "Records read ahead, one for every 512 bytes, which bounds small ones: "
        "each costs about 430 bytes besides its own." },
    { "fetch.message.max.bytes", SOURCE, KPROPS_FIXED, "1048576",
        "One partition in one answer; a larger record still comes." },
    { "fetch.max.bytes", SOURCE, KPROPS_FETCH, NULL,
        "An eighth of what is read ahead: an answer may come when all but one "
        "byte is used up, a record that is held holds its whole answer, and "
        "what finds no room unpacked comes again. Half of it from afar, where "
        "one comes in a round trip." },
    { "message.max.bytes", SOURCE, KPROPS_FETCH_LEAST, NULL,
        "The library wants fetch.max.bytes not below it. To a consumer it is "
        "a first guess at what lz4 unpacks to, and no limit." },
    { "fetch.max.bytes", MEMBER, KPROPS_FIXED, "1048576",
        "The member reads nothing of worth." },
    { "fetch.wait.max.ms", SOURCE | LEDGER, KPROPS_FIXED, "100",
        "How long a broker may wait for more." },
    { "fetch.queue.backoff.ms", SOURCE, KPROPS_FIXED, "20",
        "By default a second passes before a full queue is looked at again, "
        "longer than it takes to empty it." },
    { "partition.assignment.strategy", MEMBER, KPROPS_FIXED,
        "cooperative-sticky", "Lanes that stay are not touched." },
    { "session.timeout.ms", MEMBER, KPROPS_FIXED, "30000",
        "A dead agent's lanes move after half a minute." },
    { "max.poll.interval.ms", MEMBER, KPROPS_FIXED, "45000",
        "A stuck agent's lanes move as well; not below the session." },
    { "enable.idempotence", PRODUCERS, KPROPS_FIXED, "true",
        "Without it a retry can write a record twice or out of order." },
    { "enable.gapless.guarantee", DATA, KPROPS_FIXED, "true",
        "Without it the stream goes on behind a record that failed." },
    { "acks", PRODUCERS, KPROPS_FIXED, "all",
        "A record that one broker alone has seen is lost with that broker." },
    { "max.in.flight", PRODUCERS, KPROPS_FIXED, "5",
        "The most that keeps order over retries." },
    { "message.timeout.ms", DATA, KPROPS_FIXED, "0",
        "Never: a local timeout would make a gap." },
    { "transactional.id", LANE, KPROPS_TRANSACTIONAL_ID, NULL,
        "One for each lane: whoever takes it over fences the one before." },
    { "transaction.timeout.ms", LANE, KPROPS_TRANSACTION_TIMEOUT, NULL,
        "After which the target ends a transaction left open." },
    { "linger.ms", DATA, KPROPS_LINGER, NULL,
        "How long a batch may grow; a partition sends one batch a round "
        "trip." },
    { "batch.size", PRODUCERS, KPROPS_BATCH, NULL,
        "Below the max.message.bytes that a topic has by default; a batch "
        "above it is refused as a whole." },
    { "batch.num.messages", PRODUCERS, KPROPS_FIXED, "100000",
        "Bytes bound a batch, not records." },
    { "message.max.bytes", DATA, KPROPS_MESSAGE_MAX, NULL,
        "The size of a record is judged before it is sent, by the target "
        "topic's own max.message.bytes; this must not come before it." },
    { "queue.buffering.max.messages", DATA, KPROPS_FIXED, "100000",
        "About 300 bytes each besides the record; when full, the records "
        "wait in the flow." },
    { "compression.type", DATA, KPROPS_COMPRESSION, NULL,
        "As the policy says." },
    { "compression.type", LANE, KPROPS_FIXED, "zstd",
        "Entries are alike: 311 bytes become 45." },
};

const struct kprops *
kprops_rows(size_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

static const char *
number(char *buffer, int64_t value)
{
    (void)snprintf(buffer, NUMBER_MAX, "%" PRId64, value);
    return buffer;
}

static const char *
protocol(const struct kcluster *cluster)
{
    if (cluster->sasl_mechanism != NULL)
        return cluster->tls ? "sasl_ssl" : "sasl_plaintext";
    return cluster->tls ? "ssl" : "plaintext";
}

static const char *
secret_or_null(const struct secret *secret)
{
    return secret != NULL ? secret_text(secret) : NULL;
}

/* So many bytes, shared out, within limits. */
static int64_t
prefetch(const struct kconf_options *options, int64_t share, int64_t least,
    int64_t most)
{
    int64_t bytes = options->prefetch_bytes;
    int64_t value = (bytes == 0 ? PREFETCH_DEFAULT : bytes) / share;

    return value < least ? least : value > most ? most : value;
}

/* The most that one answer of a broker may have, as it is on the wire. */
static int64_t
answer(const struct kconf_options *options)
{
    return options->far ? prefetch(options, 2, ANSWER_FAR, ANSWER_MOST)
                        : prefetch(options, 8, ANSWER_NEAR, ANSWER_MOST);
}

const char *
kprops_value(const struct kprops *row, const struct kconf_options *options,
    char *buffer, size_t size)
{
    const struct kcluster *cluster = options->cluster;

    assert(size >= NUMBER_MAX);
    switch (row->from) {
    case KPROPS_FIXED:
        return row->fixed;
    case KPROPS_BOOTSTRAP:
        return cluster->bootstrap;
    case KPROPS_CLIENT_ID:
        (void)snprintf(buffer, size, "kedge-%s-%s", options->agent,
            options->flow);
        return buffer;
    case KPROPS_PROTOCOL:
        return protocol(cluster);
    case KPROPS_CA:
        return cluster->tls ? cluster->ca_pem : NULL;
    case KPROPS_CERT:
        return cluster->tls ? cluster->cert_pem : NULL;
    case KPROPS_KEY:
        return cluster->tls ? secret_or_null(cluster->key_pem) : NULL;
    case KPROPS_MECHANISM:
        return cluster->sasl_mechanism;
    case KPROPS_USERNAME:
        return cluster->sasl_username;
    case KPROPS_PASSWORD:
        return secret_or_null(cluster->sasl_password);
    case KPROPS_GROUP:
        return options->group_id;
    case KPROPS_TRANSACTIONAL_ID:
        return options->transactional_id;
    case KPROPS_TRANSACTION_TIMEOUT:
        return number(buffer, KCONF_TRANSACTION_TIMEOUT_MS);
    case KPROPS_COMPRESSION:
        return options->compression != NULL ? options->compression : "none";
    case KPROPS_LINGER:
        return number(buffer, options->linger_ms > 0 ? options->linger_ms : 25);
    case KPROPS_BATCH:
        return number(buffer,
            options->batch_bytes > 0 ? options->batch_bytes : 1000000);
    case KPROPS_MESSAGE_MAX:
        return number(buffer, KCONF_MESSAGE_MAX_BYTES);
    case KPROPS_PREFETCH:
        return number(buffer, prefetch(options, 1024, 1, 2097151));
    case KPROPS_PREFETCH_RECORDS:
        return number(buffer, prefetch(options, RECORD_COST, 1000, 100000));
    case KPROPS_FETCH:
        return number(buffer, answer(options));
    case KPROPS_FETCH_LEAST:
        return number(buffer,
            answer(options) < 1000000 ? answer(options) : 1000000);
    }
    return NULL;
}

void
kprops_document(FILE *out)
{
    (void)fputs("| property | source | data | lane | member | ledger | admin "
                "| why |\n|---|---|---|---|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct kprops *property = &rows[i];

        (void)fprintf(out, "| `%s` |", property->name);
        for (int client = 0; client < KCONF_N; client++) {
            bool is_set = (property->clients & (1U << client)) != 0;

            (void)fprintf(out, " %s |",
                !is_set                   ? ""
                : property->fixed != NULL ? property->fixed
                                          : "*policy*");
        }
        (void)fprintf(out, " %s |\n", property->why);
    }
}
