/* policy.h - the policy file, read, judged, and held.
 *
 * One YAML file says which clusters there are, which records go from one to
 * another, and what must hold before the first one may.  Reading it gives an
 * immutable policy, or a list of findings that says everything that is wrong
 * with it; `kedge check` and `kedge run` make the same call.
 *
 * Thread: a policy may be read from any thread once it is loaded.
 * Memory: policy_free() frees it all; every text below belongs to it.  Texts
 *         that are optional are NULL when they were not given.
 * Cost:   policy_flow_wants() at most a fixed amount of work a pattern. */
#ifndef KEDGE_POLICY_H
#define KEDGE_POLICY_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_BYTES_MAX ((size_t)256 * 1024) /* of more, none is read */

enum policy_because { POLICY_NO_REASON, POLICY_FIREWALL, POLICY_ENCRYPTION };
enum policy_start { POLICY_EARLIEST, POLICY_LATEST, POLICY_AT_TIME };
enum policy_rename { POLICY_PREFIX, POLICY_IDENTITY };
enum policy_scope { POLICY_STOP_FLOW, POLICY_STOP_PARTITION };
enum policy_where { POLICY_ANY_SIDE, POLICY_AT_SOURCE, POLICY_AT_TARGET };

/* Texts, in the order of the file. */
struct policy_list {
    const char **items;
    size_t n;
};

/* How the connections to a cluster are protected. */
struct policy_tls {
    bool on;
    const char *ca;          /* NULL: the system's */
    const char *cert, *key;  /* both or neither */
    const char *min_version; /* "1.2" or "1.3", the same everywhere */
    const char *verify;      /* "full"; there is nothing else */
};

/* Who the agent is, where a certificate does not say it. */
struct policy_sasl {
    const char *mechanism; /* PLAIN, SCRAM-SHA-256, -512; NULL: no SASL */
    const char *username;
    const char *password_file;
};

/* One of the clusters; others point at it by its address. */
struct policy_cluster {
    const char *name, *site, *profile;
    struct policy_list bootstrap; /* host:port */
    struct policy_tls tls;
    struct policy_sasl sasl;
    /* Besides private and loopback addresses, plaintext may be dialled here. */
    struct policy_list plaintext_networks; /* 192.0.2.0/24, 2001:db8::/32 */
    int64_t durable_replicas; /* what `durability` admits; 0: not said */
    const char *durable_because;
};

/* Why the flow runs where it does. */
struct policy_placement {
    enum policy_because because;
    int64_t outage_budget_ms;  /* 0: not said */
    enum policy_where runs_at; /* asserted; ANY: not */
    const char *measured_date, *measured_ratio;
};

struct match;

/* Records of the matching topics of one cluster, written to another. */
struct policy_flow {
    const char *name;
    const char *from_name, *to_name;
    const struct policy_cluster *from, *to;
    const struct policy *policy; /* it is one of these flows */
    bool at_source;              /* the flow produces remotely */
    bool at_target; /* it consumes remotely; neither: both are at this site */

    struct policy_list include, exclude;
    const struct match *topics; /* both, compiled */
    enum policy_start start;    /* for what exists at the first start */
    const char *start_text;
    int64_t start_wall_ms; /* of POLICY_AT_TIME */
    int64_t refresh_ms;

    enum policy_rename rename;
    const char *separator;

    bool create_topics;         /* at the target */
    int64_t replication_factor; /* of those */

    const char *compression; /* none, gzip, snappy, lz4, zstd */
    int64_t linger_ms;       /* 0: let the sink choose */

    enum policy_scope failure_scope;
    bool shared_target; /* others write the target topics too */
    int64_t max_in_flight_bytes;
    int64_t bytes_per_second; /* 0: no limit */

    struct policy_placement placement; /* the policy's, with what is overridden
                                        * in the flow */
    /* Judged by the rules; weaker words never reach the agent, and what is in
     * force is always the default. */
    const char *acks, *retries, *errors_tolerance;
    const char *delivery, *delivery_timeout, *on_recreate;
    const char *offset_reset, *isolation;
    int64_t in_flight; /* requests for each connection */
    bool idempotence, check_crcs, auto_commit;
};

struct yaml;

/* All of it. */
struct policy {
    int64_t version;
    const char *site; /* where this agent runs */
    struct policy_placement placement;
    struct policy_cluster *clusters;
    size_t n_clusters;
    struct policy_flow *flows;
    size_t n_flows;
    const char *admin_socket;
    const char *metrics; /* loopback host:port; NULL: not on TCP */

    struct yaml *tree; /* where each value stands in the file */
};

/* NULL exactly when a finding refuses.  now_wall_ms is for rules about age. */
struct policy *policy_parse(const char *text, size_t len, int64_t now_wall_ms,
    struct findings *found) MUST_CHECK;
void policy_free(const struct policy *policy); /* NULL is fine */

/* Does the flow select this source topic?  Exclude wins.  False and *why (may
 * be NULL) a clause: it is excluded, cannot be told, or another flow brings it
 * from the target; NULL: nothing includes it.  The caller's route is apart. */
bool policy_flow_wants(const struct policy_flow *flow, const char *topic,
    const char **why);
bool policy_flow_excludes(const struct policy_flow *flow, const char *topic);

/* Of topics and start: another number when they select something else. */
uint64_t policy_fingerprint(const struct policy_flow *flow);

/* Covers what may be a secret with '*', in place, line by line; works for
 * files that are not YAML, too.  For showing source lines. */
void policy_redact(char *text, size_t len);

#endif
