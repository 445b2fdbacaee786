#include "kconf.h"
#include "clock.h"
#include "kadvice.h"
#include "kalive.h"
#include "kdial.h"
#include "kflow.h"
#include "kprops.h"
#include "kpulse.h"
#include "ktrust.h"
#include "log.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALIAS_MAX 64
#define FLOW_MAX 64

/* What the client's opaque points at. */
struct context {
    /* fixed */
    char cluster[ALIAS_MAX], flow[FLOW_MAX];
    const char *client;
    struct log *log;
    struct kdial *kdial;   /* NULL: any address */
    struct ktrust *ktrust; /* NULL: no TLS */
    /* shared */
    atomic_bool purged; /* by us: it was told to throw records away */
};

static const struct {
    const char *name;
    rd_kafka_type_t type;
} clients[KCONF_N] = {
    [KCONF_SOURCE] = { "source", RD_KAFKA_CONSUMER },
    [KCONF_DATA] = { "data", RD_KAFKA_PRODUCER },
    [KCONF_LANE] = { "lane", RD_KAFKA_PRODUCER },
    [KCONF_MEMBER] = { "member", RD_KAFKA_CONSUMER },
    [KCONF_LEDGER] = { "ledger", RD_KAFKA_CONSUMER },
    [KCONF_ADMIN] = { "admin", RD_KAFKA_PRODUCER },
};

const char *
kconf_client_name(enum kconf_client client)
{
    assert((unsigned)client < KCONF_N);
    return clients[client].name;
}

/* One property; a secret value is named by nobody. */
static bool
set_property(rd_kafka_conf_t *conf, const struct kprops *property,
    const char *value, struct err *err)
{
    char why[192];

    if (rd_kafka_conf_set(conf, property->name, value, why, sizeof why) ==
        RD_KAFKA_CONF_OK)
        return true;
    if (property->from == KPROPS_KEY || property->from == KPROPS_PASSWORD)
        return err_set(err, ERR_CONFIG, "%s: not accepted", property->name);
    return err_set(err, ERR_CONFIG, "%s: %s", property->name, why);
}

/* The library calls enable.gapless.guarantee experimental and says so once for
 * every client that sets it, so for every lane at each start.  We need it: a
 * record must not overtake one that failed before it, and what the library
 * does then was read and is tested.  Nobody could act on the line; any other
 * warning about a property is a mistake in the table and stays. */
static bool
is_known_noise(const char *facility, const char *text)
{
    return strcmp(facility, "CONFWARN") == 0 &&
           strstr(text, "enable.gapless.guarantee is experimental") != NULL;
}

/* Its guess at what is wrong with a certificate, and a property that is none of
 * the policy's; what is wrong was said in the line before (SSLCERTVRFY). */
static bool
is_guess(const struct context *context, const char *text)
{
    return context->ktrust != NULL &&
           strstr(text, "broker certificate could not be verified") != NULL;
}

/* A gapless client calls it fatal when a record of it is thrown away, also when
 * it was told to do so because it ends. */
static bool
is_our_purge(struct context *context, const char *facility, const char *text)
{
    return atomic_load(&context->purged) && strcmp(facility, "FATAL") == 0 &&
           strstr(text, "Purged in ") != NULL;
}

/* syslog's levels: 4 is a warning. */
static void
on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    struct context *context = rk != NULL ? rd_kafka_opaque(rk) : NULL;
    int64_t held_back = 0;
    bool ours = false;

    if (context == NULL || is_known_noise(facility, text) ||
        is_guess(context, text))
        return;
    ours = is_our_purge(context, facility, text);
    if (!ours &&
        !log_seldom(context->log, facility, context->cluster, &held_back))
        return;
    LOG(context->log, level <= 4 && !ours ? LEVEL_WARN : LEVEL_DEBUG,
        "kafka.client", kv_str("cluster", context->cluster),
        kv_str("flow", context->flow), kv_str("client", context->client),
        kv_str("facility", facility), kv_str("text", text),
        kv_int("held_back", held_back));
}

static int
on_connect(int fd, const struct sockaddr *addr, int addr_len,
    const char *broker, void *opaque)
{
    const struct context *context = opaque;

    return kdial_connect(context->kdial, fd, addr, (socklen_t)addr_len, broker);
}

/* The library would take a certificate if this said so: it says what OpenSSL
 * says, and learns why.  The library says how many parameters. */
static int
/* NOLINTNEXTLINE(readability-function-size) */
on_certificate(rd_kafka_t *rk, const char *broker, int32_t id, int *error,
    int depth, const char *der, size_t len, char *why, size_t size,
    void *opaque)
{
    const struct context *context = opaque;
    const struct kcert cert = { .cluster = context->cluster,
        .broker = broker,
        .error = *error,
        .depth = depth,
        .der = der,
        .len = len };

    (void)rk;
    (void)id;
    ktrust_note(context->ktrust, &cert, clock_mono_ms(clock_system()), why,
        size);
    return *error == 0;
}

bool
kconf_distrusts(const rd_kafka_t *rk, struct err *err)
{
    const struct context *context = rk != NULL ? rd_kafka_opaque(rk) : NULL;

    return context != NULL && context->ktrust != NULL &&
           ktrust_refused(context->ktrust, clock_mono_ms(clock_system()), err);
}

static void
context_free(struct context *context)
{
    if (context == NULL)
        return;
    kdial_free(context->kdial);
    ktrust_free(context->ktrust);
    free(context);
}

/* May a client of this cluster connect to any address? */
static bool
dials_freely(const struct kcluster *cluster)
{
    return cluster->tls || !cluster->plaintext_private_only;
}

static bool
make_dialer(struct context *context, const struct kcluster *cluster,
    struct err *err)
{
    context->kdial = kdial_new(cluster->alias, context->log, err);
    if (context->kdial == NULL)
        return false;
    for (size_t i = 0; i < cluster->n_plaintext_networks; i++)
        if (!kdial_allow(context->kdial, cluster->plaintext_networks[i], err))
            return false;
    return true;
}

static struct context *
context_new(const struct kconf_options *options, struct err *err)
{
    const struct kcluster *cluster = options->cluster;
    struct context *context = calloc(1, sizeof *context);

    if (context == NULL) {
        err_set(err, ERR_MEMORY, "client of %s", cluster->alias);
        return NULL;
    }
    atomic_init(&context->purged, false);
    (void)snprintf(context->cluster, sizeof context->cluster, "%s",
        cluster->alias);
    (void)snprintf(context->flow, sizeof context->flow, "%s", options->flow);
    context->client = clients[options->client].name;
    context->log = options->log;
    if (cluster->tls)
        context->ktrust = ktrust_new(cluster->explain, err);
    if ((cluster->tls && context->ktrust == NULL) ||
        (!dials_freely(cluster) && !make_dialer(context, cluster, err))) {
        context_free(context);
        return NULL;
    }
    return context;
}

static bool
fill(rd_kafka_conf_t *conf, const struct kconf_options *options,
    struct context *context, struct err *err)
{
    char buffer[KPROPS_VALUE_MAX];
    size_t n;
    const struct kprops *rows = kprops_rows(&n);

    for (size_t i = 0; i < n; i++) {
        const struct kprops *property = &rows[i];
        const char *value;

        if ((property->clients & (1U << options->client)) == 0)
            continue;
        value = kprops_value(property, options, buffer, sizeof buffer);
        if (value != NULL && !set_property(conf, property, value, err))
            return false;
    }
    rd_kafka_conf_set_opaque(conf, context);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_events(conf, options->events);
    if (context->kdial != NULL)
        rd_kafka_conf_set_connect_cb(conf, on_connect);
    if (context->ktrust != NULL)
        (void)rd_kafka_conf_set_ssl_cert_verify_cb(conf, on_certificate);
    if (options->alive != NULL)
        kalive_watch(options->alive, conf);
    if (options->pulse != NULL)
        kpulse_watch(options->pulse, conf);
    if (options->configure != NULL)
        options->configure(conf);
    return true;
}

rd_kafka_t *
kconf_open(const struct kconf_options *options, struct err *err)
{
    struct context *context = NULL;
    rd_kafka_conf_t *conf = NULL;
    rd_kafka_t *rk = NULL;
    char why[256];

    assert((unsigned)options->client < KCONF_N);
    if ((context = context_new(options, err)) == NULL)
        goto out;
    conf = rd_kafka_conf_new();
    if (!fill(conf, options, context, err))
        goto out;
    rk = rd_kafka_new(clients[options->client].type, conf, why, sizeof why);
    if (rk == NULL)
        err_set(err, strstr(why, "ssl.") != NULL ? ERR_CERT : ERR_CONFIG, "%s",
            why);
out:
    if (rk == NULL) {
        err_wrap(err, "cluster %s, %s client", options->cluster->alias,
            clients[options->client].name);
        if (conf != NULL)
            rd_kafka_conf_destroy(conf);
        context_free(context);
    }
    return rk;
}

void
kconf_close(rd_kafka_t *rk)
{
    struct context *context;

    if (rk == NULL)
        return;
    context = rd_kafka_opaque(rk);
    rd_kafka_destroy(rk);
    context_free(context);
}

void
kconf_purge(rd_kafka_t *rk, int flags)
{
    struct context *context = rd_kafka_opaque(rk);

    atomic_store(&context->purged, true);
    (void)rd_kafka_purge(rk, flags);
}

#define PASSES "this passes by itself, and it is tried again"
#define FENCED                                                          \
    "a lane that is still this agent's is taken over again, another's " \
    "goes on there; nobody has to act"
#define AWAY "it is tried again; if it stays, look at the network and brokers"
#define GRANT "the cluster's administrator has to grant it to this client" AGAIN
#define AGAIN "; 'kedge flow restart' then tries again"
#define LOST                                                          \
    "records were lost to retention or truncation: to go on without " \
    "them, forward the topic, in the policy, by a flow of another name"

/* What the codes mean that a person may have to know about. */
static const struct {
    rd_kafka_resp_err_t code;
    enum err_kind kind;
    bool retry;
    const char *who;
} meanings[] = {
    { RD_KAFKA_RESP_ERR__TRANSPORT, ERR_NET, true, AWAY },
    { RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, ERR_NET, true, AWAY },
    { RD_KAFKA_RESP_ERR__RESOLVE, ERR_NET, true,
        "it is tried again; if it stays, look at the name service" },
    { RD_KAFKA_RESP_ERR__TIMED_OUT, ERR_NET, true, AWAY },
    { RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, ERR_NET, true, AWAY },
    { RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, ERR_NET, true, AWAY },
    { RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, ERR_NET, true, AWAY },
    { RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, ERR_IO, true,
        "this machine gives kedge too few threads, one for each broker and "
        "client: raise TasksMax= of the service, then restart it" },
    { RD_KAFKA_RESP_ERR__SSL, ERR_CERT, true,
        "look at the certificates of both sides" },
    { RD_KAFKA_RESP_ERR__AUTHENTICATION, ERR_LOGIN, false,
        "look at the user and password in the policy" },
    { RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, ERR_LOGIN, false,
        "look at the user and password in the policy" },
    { RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, ERR_DENIED, false, GRANT },
    { RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, ERR_DENIED, false, GRANT },
    { RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, ERR_DENIED, false,
        GRANT },
    { RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ERR_DENIED,
        false, GRANT },
    { RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, ERR_KAFKA, false,
        "raise max.message.bytes of the target topic, and it goes on soon "
        "after" },
    { RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, ERR_KAFKA, false,
        "raise segment.bytes of the target topic" AGAIN },
    { RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, ERR_KAFKA, false,
        "widen message.timestamp.before.max.ms and after.max.ms of the target "
        "topic" AGAIN },
    { RD_KAFKA_RESP_ERR_INVALID_RECORD, ERR_KAFKA, false,
        "the target topic does not take this record (compacted topics need a "
        "key): change the topic" AGAIN },
    { RD_KAFKA_RESP_ERR_POLICY_VIOLATION, ERR_KAFKA, false,
        "the cluster's administrator has to change its policy" AGAIN },
    { RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, ERR_CONFIG, false,
        "choose a compression.type that the target knows" },
    { RD_KAFKA_RESP_ERR__INVALID_ARG, ERR_CONFIG, false,
        "a setting of the policy does not fit" },
    { RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, ERR_KAFKA, false, LOST },
    { RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, ERR_KAFKA, false, LOST },
    { RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, ERR_KAFKA, true,
        "the topic has to be created" AGAIN },
    { RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, ERR_KAFKA, true,
        "it is tried again; brokers of the cluster are away" },
    { RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, ERR_KAFKA, true,
        "it is tried again; brokers of the cluster are away" },
    { RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, ERR_KAFKA, true,
        "the topic has to be created" AGAIN },
    { RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, ERR_KAFKA, true,
        "the topic needs more partitions" AGAIN },
    { RD_KAFKA_RESP_ERR__FAIL, ERR_KAFKA, true,
        "the log's lines before this one say why" AGAIN },
    { RD_KAFKA_RESP_ERR__FENCED, ERR_KAFKA, true, FENCED },
    { RD_KAFKA_RESP_ERR_PRODUCER_FENCED, ERR_KAFKA, true, FENCED },
    { RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, ERR_KAFKA, true, FENCED },
    { RD_KAFKA_RESP_ERR__BAD_MSG, ERR_KAFKA, true,
        "the broker's copy is damaged: look at its disk" AGAIN },
};

/* A topic that was made anew, to brokers whose halves have not both heard. */
#define INCONSISTENT_TOPIC_ID ((rd_kafka_resp_err_t)103)

/* Codes of brokers that are no verdict, only a moment. */
static const rd_kafka_resp_err_t passing[] = {
    RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
    RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
    RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
    RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
    RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID,
    INCONSISTENT_TOPIC_ID,
    RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
    RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
    RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
    RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
    RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
    RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
};

/* How much of `text` there is room for: to its end, or to the end of a word. */
static size_t
length_in(const char *text, size_t room)
{
    size_t len = strnlen(text, room + 1), at = room;

    if (len <= room)
        return len;
    while (at > room / 2 && text[at] != ' ')
        at--;
    return at > room / 2 ? at : room;
}

static bool
fill_err(struct err *err, rd_kafka_resp_err_t code, const char *detail,
    bool retry)
{
    const struct kadvice *advice = kadvice_find(code, detail);
    char plain[512];
    size_t len;
    enum err_kind kind = ERR_KAFKA;
    const char *who = retry ? PASSES : "look at the brokers' logs" AGAIN;

    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].code == code) {
            kind = meanings[i].kind;
            retry = meanings[i].retry;
            who = meanings[i].who;
        }
    if (advice != NULL) {
        kind = advice->kind;
        retry = advice->retry;
        who = advice->who;
    }
    if (advice != NULL && advice->alone)
        err_set(err, kind, "%s", who);
    else if (detail == NULL || detail[0] == '\0')
        err_set(err, kind, "%s; %s", rd_kafka_err2str(code), who);
    else { /* the advice stays readable when the detail is long */
        detail = kadvice_plain(detail, plain, sizeof plain);
        len =
            length_in(detail, sizeof err->text - sizeof " ...; " - strlen(who));
        err_set(err, kind, "%.*s%s; %s", (int)len, detail,
            detail[len] == '\0' ? "" : " ...", who);
    }
    err->retry = retry;
    return false;
}

bool
kconf_err(struct err *err, rd_kafka_resp_err_t code, const char *detail)
{
    bool retry = code < 0; /* the library's own are about this client */

    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        retry = retry || passing[i] == code;
    return fill_err(err, code, detail, retry);
}

bool
kconf_err_take(struct err *err, rd_kafka_error_t *error)
{
    kconf_err(err, rd_kafka_error_code(error), rd_kafka_error_string(error));
    if (rd_kafka_error_is_retriable(error))
        err->retry = true;
    rd_kafka_error_destroy(error);
    return false;
}
