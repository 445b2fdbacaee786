#include "fields.h"

#include "policy.h"

#include <string.h>

/* clang-format would put each of these on lines of their own */
/* clang-format off */
#define AT(type, member) .at = offsetof(struct type, member)
#define TABLE(name, where, rows, ...)                                 \
    static const struct field_table name = { .what = (where),         \
        .fields = (rows), .n = sizeof(rows) / sizeof(rows)[0], __VA_ARGS__ }
#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define MINUTE (INT64_C(60) * 1000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct field agent_rows[] = {
    { "site", FIELD_TEXT, AT(policy, site), .required = true,
        .form = FORM_NAME,
        .help = "Where this agent runs; compared with the sites of the "
                "clusters." },
};
TABLE(agent, "agent", agent_rows, .size = 0);

static const struct field measured_rows[] = {
    { "date", FIELD_TEXT, AT(policy_placement, measured_date),
        .required = true, .form = FORM_DATE,
        .help = "When the two placements were compared; after 180 days it is "
                "time to compare again." },
    { "ratio", FIELD_TEXT, AT(policy_placement, measured_ratio),
        .required = true, .form = FORM_RATIO,
        .help = "Throughput of producing remotely to that of consuming "
                "remotely, as measured." },
};
TABLE(measured, "placement.measured", measured_rows, .size = 0);

static const struct field placement_rows[] = {
    { "because", FIELD_ENUM, AT(policy_placement, because),
        .choices = WORDS("firewall", "encryption"),
        .help = "Why records are produced over the link rather than consumed "
                "over it: no way in through a firewall, or encryption that "
                "costs the source too much.  Needed when a flow produces "
                "remotely." },
    { "outage_budget", FIELD_MS, AT(policy_placement, outage_budget_ms),
        .min = MINUTE, .max = 365 * DAY,
        .help = "How long the link may be down without one record lost: the "
                "source has to keep records that long.  Needed when a flow "
                "produces remotely." },
    { "runs_at", FIELD_ENUM, AT(policy_placement, runs_at),
        .choices = WORDS("source", "target"),
        .help = "An assertion: the side on which the agent of the flow runs.  "
                "Refused when the sites say otherwise." },
    { "measured", FIELD_SECTION, .at = 0, .inner = &measured,
        .help = "The measurement behind because: encryption." },
};
TABLE(placement, "placement", placement_rows, .size = 0);
TABLE(flow_placement, "flows.NAME.placement", placement_rows, .size = 0);

static const struct field tls_rows[] = {
    { "ca", FIELD_TEXT, AT(policy_tls, ca), .form = FORM_PATH,
        .help = "PEM file with the certificates to trust; without it, those "
                "of the system." },
    { "cert", FIELD_TEXT, AT(policy_tls, cert), .form = FORM_PATH,
        .help = "PEM file with the agent's certificate and its chain; goes "
                "with key." },
    { "key", FIELD_TEXT, AT(policy_tls, key), .form = FORM_SECRET_PATH,
        .help = "PEM file with the agent's private key, readable by nobody "
                "else; goes with cert." },
    { "min_version", FIELD_TEXT, AT(policy_tls, min_version),
        .fallback = "1.2",
        .help = "The oldest version of TLS that is spoken, 1.2 or 1.3; the same for "
                "all clusters." },
    { "verify", FIELD_TEXT, AT(policy_tls, verify), .fallback = "full",
        .help = "An assertion: certificate and host name are verified.  There "
                "is no other value." },
    { "pins", FIELD_LATER,
        .help = "Keys that the cluster must have one of." },
};
TABLE(tls, "clusters.NAME.tls", tls_rows, .switched = true,
    .switch_at = offsetof(struct policy_tls, on));

static const struct field password_rows[] = {
    { "file", FIELD_TEXT, AT(policy_sasl, password_file), .required = true,
        .form = FORM_SECRET_PATH,
        .help = "File with the password, readable by nobody else.  A line break at "
                "its end is not part of it." },
    { "credential", FIELD_LATER,
        .help = "A credential of the service manager." },
    { "sealed", FIELD_LATER,
        .help = "The password, sealed to this host's key." },
};
TABLE(password, "clusters.NAME.sasl.password", password_rows, .size = 0);

static const struct field sasl_rows[] = {
    { "mechanism", FIELD_WORD, AT(policy_sasl, mechanism), .required = true,
        .choices = WORDS("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"),
        .later = WORDS("OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"),
        .form = FORM_NEAR_SECRET,
        .help = "How the agent says who it is." },
    { "username", FIELD_TEXT, AT(policy_sasl, username), .required = true,
        .help = "The user's name." },
    { "password", FIELD_SECTION, .at = 0, .required = true,
        .form = FORM_SECRET_PLACE, .inner = &password,
        .help = "Where the password is; it never stands here itself." },
};
TABLE(sasl, "clusters.NAME.sasl", sasl_rows, .size = 0);

static const struct field durability_rows[] = {
    { "replicas", FIELD_INT, AT(policy_cluster, durable_replicas),
        .required = true, .min = 1, .max = 100,
        .help = "How many copies of a record this cluster can keep." },
    { "because", FIELD_TEXT, AT(policy_cluster, durable_because),
        .required = true, .form = FORM_WORD,
        .help = "Why fewer than three are accepted: a word of a-z, 0-9 and "
                "'-', as single-broker." },
};
TABLE(durability, "clusters.NAME.durability", durability_rows, .size = 0);

static const struct field cluster_rows[] = {
    { "site", FIELD_TEXT, AT(policy_cluster, site), .required = true,
        .form = FORM_NAME, .help = "Where the cluster is." },
    { "profile", FIELD_WORD, AT(policy_cluster, profile),
        .fallback = "generic", .choices = WORDS("generic"),
        .later = WORDS("confluent-cloud", "msk", "aiven", "redpanda",
            "event-hubs"),
        .help = "What kind of Kafka it is." },
    { "bootstrap", FIELD_LIST, AT(policy_cluster, bootstrap),
        .required = true, .min = 1, .max = 100, .form = FORM_ADDRESS,
        .help = "Brokers to begin with, host:port." },
    { "tls", FIELD_SECTION, AT(policy_cluster, tls), .required = true,
        .inner = &tls,
        .help = "How connections are protected.  Plaintext has to be said: "
                "tls: off; it is allowed within the agent's own site only." },
    { "sasl", FIELD_SECTION, AT(policy_cluster, sasl), .inner = &sasl,
        .help = "Who the agent is, where a certificate does not say it." },
    { "plaintext_networks", FIELD_LIST, AT(policy_cluster, plaintext_networks),
        .max = 100, .form = FORM_NETWORK,
        .help = "Networks that count as the site's own for plaintext, besides "
                "private and loopback addresses." },
    { "durability", FIELD_SECTION, .at = 0, .inner = &durability,
        .help = "Admits that this cluster keeps fewer than three copies." },
    { "egress", FIELD_LATER,
        .help = "The way out: proxies, and the hosts that may be dialled." },
};
TABLE(cluster, "clusters.NAME", cluster_rows,
    .size = sizeof(struct policy_cluster));

static const struct field topics_rows[] = {
    { "include", FIELD_LIST, AT(policy_flow, include), .required = true,
        .min = 1, .max = 100,
        .help = "Regular expressions (PCRE2) that match whole topic names." },
    { "exclude", FIELD_LIST, AT(policy_flow, exclude), .max = 100,
        .help = "The same, for topics that are not to be forwarded; wins over "
                "include." },
    { "start", FIELD_TEXT, AT(policy_flow, start_text),
        .fallback = "earliest",
        .help = "Where to begin with what exists when the flow is first "
                "started: earliest, latest, or a time as "
                "2026-11-30T21:56:12Z.  What appears later is forwarded from "
                "its beginning, whatever stands here." },
    { "refresh", FIELD_MS, AT(policy_flow, refresh_ms), .fallback = "30s",
        .min = 1000, .max = HOUR,
        .help = "How often new topics and partitions are looked for." },
};
TABLE(topics, "flows.NAME.topics", topics_rows, .size = 0);

static const struct field rename_rows[] = {
    { "policy", FIELD_ENUM, AT(policy_flow, rename), .fallback = "prefix",
        .choices = WORDS("prefix", "identity"),
        .help = "prefix: the source cluster's name goes in front "
                "(plant7.orders); identity: names stay as they are." },
    { "separator", FIELD_TEXT, AT(policy_flow, separator), .fallback = ".",
        .help = "What stands between the prefix and the name." },
};
TABLE(rename_table, "flows.NAME.rename", rename_rows, .size = 0);

static const struct field target_topics_rows[] = {
    { "create", FIELD_BOOL, AT(policy_flow, create_topics),
        .fallback = "true",
        .help = "Make topics and partitions that the target lacks; else they "
                "are waited for." },
    { "replication.factor", FIELD_INT, AT(policy_flow, replication_factor),
        .fallback = "3", .min = 1, .max = 100,
        .help = "Copies of the topics that are made; below 3 the target's "
                "durability has to admit it, and is then the default." },
};
TABLE(target_topics, "flows.NAME.target_topics", target_topics_rows,
    .size = 0);

static const struct field producer_rows[] = {
    { "acks", FIELD_TEXT, AT(policy_flow, acks), .fallback = "all",
        .help = "all.  Has to be written where a flow produces remotely." },
    { "retries", FIELD_TEXT, AT(policy_flow, retries),
        .fallback = "unlimited",
        .help = "unlimited, or Kafka's 2147483647.  Has to be written where a "
                "flow produces remotely." },
    { "compression.type", FIELD_WORD, AT(policy_flow, compression),
        .fallback = "none",
        .choices = WORDS("none", "gzip", "snappy", "lz4", "zstd"),
        .help = "How batches are compressed on the way to the target." },
    { "linger.ms", FIELD_INT, AT(policy_flow, linger_ms), .fallback = "25",
        .min = 1, .max = 60000,
        .help = "How many milliseconds a batch may wait to grow." },
    { "enable.idempotence", FIELD_BOOL, AT(policy_flow, idempotence),
        .fallback = "true", .help = "An assertion: true." },
    { "max.in.flight.requests.per.connection", FIELD_INT,
        AT(policy_flow, in_flight), .fallback = "5",
        .help = "An assertion: 5, with which order holds: the producer is "
                "idempotent." },
    { "delivery.timeout.ms", FIELD_TEXT, AT(policy_flow, delivery_timeout),
        .fallback = "unlimited",
        .help = "An assertion: unlimited, or Kafka's 2147483647." },
    { "batch.size", FIELD_LATER,
        .help = "Follows the target's max.message.bytes." },
    { "max.request.size", FIELD_LATER,
        .help = "Follows the target's max.message.bytes." },
};
TABLE(producer, "flows.NAME.producer", producer_rows, .size = 0);

static const struct field consumer_rows[] = {
    { "isolation.level", FIELD_TEXT, AT(policy_flow, isolation),
        .fallback = "read_committed",
        .help = "An assertion: read_committed: records of aborted "
                "transactions are not forwarded." },
    { "auto.offset.reset", FIELD_TEXT, AT(policy_flow, offset_reset),
        .fallback = "error",
        .help = "An assertion: error (or none, as Java calls it): a position "
                "that is gone holds the partition." },
    { "check.crcs", FIELD_BOOL, AT(policy_flow, check_crcs),
        .fallback = "true", .help = "An assertion: true." },
    { "enable.auto.commit", FIELD_BOOL, AT(policy_flow, auto_commit),
        .fallback = "false", .help = "An assertion: false." },
};
TABLE(consumer, "flows.NAME.consumer", consumer_rows, .size = 0);

static const struct field limits_rows[] = {
    { "max_in_flight", FIELD_BYTES, AT(policy_flow, max_in_flight_bytes),
        .fallback = "64MiB", .min = MIB, .max = 16 * GIB,
        .help = "Memory for records read and not yet acknowledged, prefetch "
                "included; when it is used up, the source is not polled; on "
                "top comes what one compressed batch of a producer, from each "
                "source broker, unpacks to." },
    { "bytes_per_second", FIELD_BYTES, AT(policy_flow, bytes_per_second),
        .nothing = "unlimited", .fallback = "unlimited", .min = KIB,
        .max = 1024 * GIB,
        .help = "How much may be sent, averaged over a second." },
};
TABLE(limits, "flows.NAME.limits", limits_rows, .size = 0);

static const struct field flow_rows[] = {
    { "from", FIELD_TEXT, AT(policy_flow, from_name), .required = true,
        .form = FORM_NAME, .help = "The cluster that records come from." },
    { "to", FIELD_TEXT, AT(policy_flow, to_name), .required = true,
        .form = FORM_NAME, .help = "The cluster that they go to." },
    { "topics", FIELD_SECTION, .at = 0, .required = true, .inner = &topics,
        .help = "Which records." },
    { "placement", FIELD_SECTION, AT(policy_flow, placement),
        .inner = &flow_placement,
        .help = "What this flow has otherwise than the policy's placement." },
    { "rename", FIELD_SECTION, .at = 0, .inner = &rename_table,
        .help = "What topics are called at the target." },
    { "target_topics", FIELD_SECTION, .at = 0, .inner = &target_topics,
        .help = "How topics are made at the target." },
    { "delivery", FIELD_WORD, AT(policy_flow, delivery),
        .fallback = "at-least-once", .choices = WORDS("at-least-once"),
        .later = WORDS("exactly-once"),
        .help = "What a crash or an outage may do: send records again, never "
                "lose one." },
    { "producer", FIELD_SECTION, .at = 0, .inner = &producer,
        .help = "Kafka's settings for writing to the target." },
    { "consumer", FIELD_SECTION, .at = 0, .inner = &consumer,
        .help = "Kafka's settings for reading from the source." },
    { "errors.tolerance", FIELD_TEXT, AT(policy_flow, errors_tolerance),
        .fallback = "none",
        .help = "none: the first record that the target refuses for good "
                "holds what comes behind it.  Has to be written where a flow "
                "produces remotely." },
    { "failure_scope", FIELD_ENUM, AT(policy_flow, failure_scope),
        .fallback = "flow", .choices = WORDS("flow", "partition"),
        .help = "What such a record holds: the whole flow on its agent, or "
                "its partition." },
    { "on_recreate", FIELD_WORD, AT(policy_flow, on_recreate),
        .fallback = "hold", .choices = WORDS("hold"),
        .later = WORDS("restart"),
        .help = "What happens when a source topic was deleted and made "
                "again." },
    { "shared_target", FIELD_BOOL, AT(policy_flow, shared_target),
        .fallback = "false",
        .help = "Others write the target topics, too, with records of their "
                "own: records that the ledger knows nothing of are then no "
                "reason to hold the flow." },
    { "limits", FIELD_SECTION, .at = 0, .inner = &limits,
        .help = "Bounds on memory and rate." },
    { "expected_rate", FIELD_LATER,
        .help = "Bytes a second that the source will see." },
    { "commit_interval", FIELD_LATER,
        .help = "How long a transaction may collect records." },
    { "audit", FIELD_LATER, .help = "Counts and digests of what was sent." },
    { "canary", FIELD_LATER, .help = "Test records of the agent's own." },
};
TABLE(flow, "flows.NAME", flow_rows, .size = sizeof(struct policy_flow));

static const struct field admin_rows[] = {
    { "socket", FIELD_TEXT, AT(policy, admin_socket), .form = FORM_PATH,
        .fallback = "/run/kedge/admin.sock",
        .help = "The Unix socket of the admin API." },
    { "metrics", FIELD_TEXT, AT(policy, metrics), .form = FORM_ADDRESS,
        .nothing = "off",
        .help = "A loopback address on which metrics can be read as well." },
};
TABLE(admin, "admin", admin_rows, .size = 0);

static const struct field root_rows[] = {
    { "version", FIELD_INT, AT(policy, version), .required = true,
        .help = "The version of this format: 1." },
    { "agent", FIELD_SECTION, .at = 0, .required = true, .inner = &agent,
        .help = "This agent." },
    { "placement", FIELD_SECTION, AT(policy, placement), .inner = &placement,
        .help = "Where flows run, and why; a flow may override it." },
    { "clusters", FIELD_NAMED, AT(policy, clusters), .required = true,
        .min = 1, .max = 100, .inner = &cluster,
        .help = "The clusters by name; a name is the alias that prefixes "
                "mirrored topics." },
    { "flows", FIELD_NAMED, AT(policy, flows), .required = true, .min = 1,
        .max = 50, .inner = &flow, .help = "The flows by name." },
    { "admin", FIELD_SECTION, .at = 0, .inner = &admin,
        .help = "How the running agent is looked at." },
    { "audit", FIELD_LATER, .help = "Counts and digests of what was sent." },
    { "canary", FIELD_LATER, .help = "Test records of the agent's own." },
};
TABLE(root, "the policy", root_rows, .size = sizeof(struct policy));
/* clang-format on */

/* A list's or a map's count stands behind its pointer: struct field_list. */
_Static_assert(offsetof(struct policy, n_clusters) ==
                   offsetof(struct policy, clusters) +
                       offsetof(struct field_items, n),
    "clusters");
_Static_assert(offsetof(struct policy, n_flows) ==
                   offsetof(struct policy, flows) +
                       offsetof(struct field_items, n),
    "flows");
_Static_assert(sizeof(struct policy_list) == sizeof(struct field_list), "list");
_Static_assert(sizeof(enum policy_because) == sizeof(unsigned), "enum");

const struct field_table *
fields_root(void)
{
    return &root;
}

static const struct field_table *
table_called(const struct field_table *table, const char *what)
{
    const struct field_table *found = NULL;

    if (strcmp(table->what, what) == 0)
        return table;
    for (size_t i = 0; i < table->n && found == NULL; i++)
        if (table->fields[i].inner != NULL)
            found = table_called(table->fields[i].inner, what);
    return found;
}

bool
fields_has(const char *what, const char *key)
{
    const struct field_table *table = table_called(&root, what);

    for (size_t i = 0; table != NULL && i < table->n; i++)
        if (strcmp(table->fields[i].key, key) == 0)
            return table->fields[i].type != FIELD_LATER;
    return false;
}
