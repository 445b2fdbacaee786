#include "kcatalog.h"

#include "clock.h"
#include "kensure.h"
#include "kflow.h"
#include "kmake.h"
#include "kreturns.h"
#include "ktopics.h"
#include "kworker.h"
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN_TRIES 20 /* until a topic that was made is seen */
#define SEEN_WAIT_US 250000
#define ENDS_TRIES 2
#define ENDS_FIRST_MS 5000 /* a lane waits for the answer */
#define ENDS_SECOND_MS 25000
#define AGAIN_TRIES 10 /* before a question is asked again */
#define AGAIN_WAIT_US 100000

struct kcatalog {
    const struct ktopics_options *o;
    struct kadmin *source, *target; /* NULL until needed */
    struct kensure *ensure;
    struct kreturns *returns;
};

struct kcatalog *
kcatalog_new(const struct ktopics_options *options, struct err *err)
{
    struct kcatalog *catalog = calloc(1, sizeof *catalog);

    if (catalog == NULL) {
        err_set(err, ERR_MEMORY, "catalog");
        return NULL;
    }
    catalog->o = options;
    catalog->ensure = kensure_new(options, err);
    if (catalog->ensure != NULL)
        catalog->returns = kreturns_new(options, err);
    if (catalog->returns == NULL) {
        kcatalog_free(catalog);
        return NULL;
    }
    return catalog;
}

void
kcatalog_free(void *held)
{
    struct kcatalog *catalog = held;

    if (catalog == NULL)
        return;
    kadmin_close(catalog->source);
    kadmin_close(catalog->target);
    kensure_free(catalog->ensure);
    kreturns_free(catalog->returns);
    free(catalog);
}

static struct kadmin *
source_of(struct kcatalog *catalog, struct err *err)
{
    const struct kadmin_options options = {
        .cluster = catalog->o->source,
        .agent = catalog->o->agent,
        .flow = catalog->o->flow,
        .step_ms = catalog->o->step_ms,
        .log = catalog->o->log,
        .configure = catalog->o->configure_source,
    };

    if (catalog->source == NULL)
        catalog->source = kadmin_open(&options, err);
    return catalog->source;
}

static struct kadmin *
target_of(struct kcatalog *catalog, struct err *err)
{
    const struct kadmin_options options = {
        .cluster = catalog->o->target,
        .agent = catalog->o->agent,
        .flow = catalog->o->flow,
        .step_ms = catalog->o->step_ms,
        .log = catalog->o->log,
        .configure = catalog->o->configure_target,
    };

    if (catalog->target == NULL)
        catalog->target = kadmin_open(&options, err);
    return catalog->target;
}

static int
by_name(const void *left, const void *right)
{
    return strcmp(((const struct catalog_topic *)left)->name,
        ((const struct catalog_topic *)right)->name);
}

/* The topics that still are there, in the order of their names. */
static struct catalog_list *
make_list(const struct kadmin_topic *topics, size_t n, struct err *err)
{
    struct catalog_list *list = NULL;

    if (n <= (SIZE_MAX - sizeof *list) / sizeof list->topics[0])
        list = calloc(1, sizeof *list + n * sizeof list->topics[0]);
    if (list == NULL) {
        err_set_retry(err, ERR_MEMORY, "a list of %zu topics", n);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        struct catalog_topic *to = &list->topics[list->n];

        if (topics[i].partitions <= 0)
            continue;
        memcpy(to->name, topics[i].name, sizeof to->name);
        memcpy(to->id, topics[i].id, sizeof to->id);
        to->partitions = topics[i].partitions;
        list->n++;
    }
    qsort(list->topics, list->n, sizeof list->topics[0], by_name);
    return list;
}

static struct catalog_list *
ask_source(struct kcatalog *catalog, const struct kjob *job, struct err *err)
{
    struct kadmin *source = source_of(catalog, err);
    struct kadmin_topic *topics = NULL;
    struct catalog_list *list = NULL;
    char id[LEDGER_ID_MAX] = "";
    size_t n = 0;

    if (source == NULL || !kadmin_cluster_id(source, job, id, err) ||
        !kadmin_list(source, job, &topics, &n, err))
        return NULL;
    /* Again: of the cluster that has just answered, if it is another one now. */
    if (kadmin_cluster_id(source, job, id, err) &&
        kadmin_describe(source, job, topics, n, err))
        list = make_list(topics, n, err);
    free(topics);
    if (list != NULL)
        memcpy(list->source_cluster_id, id, sizeof id);
    return list;
}

void
kcatalog_refresh(struct kcatalog *catalog, const struct kjob *job,
    struct catalog_event *event, atomic_bool *at_target)
{
    struct catalog_list *list = ask_source(catalog, job, &event->err);
    struct kadmin *target = NULL;

    event->kind = CATALOG_DOWN;
    event->source_side = list == NULL;
    if (list == NULL)
        return;
    atomic_store(at_target, true);
    target = target_of(catalog, &event->err);
    if (target == NULL ||
        !kadmin_cluster_id(target, job, list->target_cluster_id, &event->err)) {
        catalog_list_free(list);
        return;
    }
    kreturns_look(catalog->returns, catalog->source, job, list);
    event->kind = CATALOG_TOPICS;
    event->list = list;
}

void
kcatalog_ensure(struct kcatalog *catalog, const struct kjob *job,
    const struct catalog_want *wants, struct catalog_event *events, size_t n)
{
    struct kensure_clusters clusters = { .job = job };
    struct err err;

    clusters.source = source_of(catalog, &err);
    clusters.target = clusters.source != NULL ? target_of(catalog, &err) : NULL;
    if (clusters.target != NULL) {
        kensure_topics(catalog->ensure, &clusters, wants, events, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(events[i].source, wants[i].source, sizeof events[i].source);
        memcpy(events[i].target, wants[i].target, sizeof events[i].target);
        events[i].kind = CATALOG_WAIT;
        events[i].err = err;
    }
}

/* Only the first is a condition of safety: some providers refuse the others,
 * and then refuse the whole topic. */
static const struct kmake_setting ledger_settings[] = {
    { "cleanup.policy", "compact", true },
    { "segment.bytes", "16777216", true }, { "segment.ms", "3600000", true },
    { "min.cleanable.dirty.ratio", "0.1", true },
    /* a broker refuses a time that is an hour ahead of its own */
    { "message.timestamp.type", "LogAppendTime", true },
    { "min.insync.replicas", "2", true }, /* where there are three replicas */
};

static bool
make_ledger(struct kcatalog *catalog, const struct kjob *job, const char *name,
    int32_t lanes, struct err *err)
{
    int32_t replicas = catalog->o->replication_factor;
    struct kmake_spec spec = { .topic = name,
        .partitions = lanes,
        .replicas = replicas,
        .list = ledger_settings,
        .n = replicas >= 3 ? 6 : 5 };

    if (!catalog->o->create_topics)
        return err_set(err, ERR_KAFKA,
            "no such topic, and the policy creates none; run "
            "kafka-topics.sh --bootstrap-server %.50s --create --topic "
            "%.60s --partitions %d --config cleanup.policy=compact",
            catalog->o->target->bootstrap, name, lanes);
    if (!kmake_topics(catalog->target, job, &spec, 1, err))
        return false;
    if (spec.code == RD_KAFKA_RESP_ERR_INVALID_CONFIG ||
        spec.code == RD_KAFKA_RESP_ERR_POLICY_VIOLATION ||
        spec.code == RD_KAFKA_RESP_ERR_INVALID_REQUEST) {
        spec.n = 1;
        if (!kmake_topics(catalog->target, job, &spec, 1, err))
            return false;
    }
    if (spec.code == RD_KAFKA_RESP_ERR_NO_ERROR ||
        spec.code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return true;
    *err = spec.err;
    return false;
}

/* Is it compacted, and nothing else?  Who may not look, does not know. */
static bool
check_policy(struct kcatalog *catalog, const struct kjob *job, const char *name,
    struct err *err)
{
    struct kmake_settings settings = { .topic = name };
    const char *policy = NULL;
    bool ok = kmake_settings_ask(catalog->target, job, &settings, 1, err);

    if (ok && settings.code == RD_KAFKA_RESP_ERR_NO_ERROR)
        policy = kmake_settings_get(&settings, "cleanup.policy");
    if (policy != NULL && strcmp(policy, "compact") != 0)
        ok = err_set(err, ERR_KAFKA,
            "cleanup.policy is %s, which would forget positions: it has to "
            "be compact",
            policy);
    kmake_settings_clear(&settings);
    return ok;
}

static bool
have_ledger(struct kcatalog *catalog, const struct kjob *job, int32_t lanes,
    struct kadmin_topic *topic, struct err *err)
{
    int tries = 0;

    if (target_of(catalog, err) == NULL ||
        !kadmin_describe(catalog->target, job, topic, 1, err))
        return false;
    if (topic->partitions == 0 && topic->code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (lanes == 0)
            return true; /* who only looks has seen it */
        if (!make_ledger(catalog, job, topic->name, lanes, err))
            return false;
        /* The controller knows it at once, the brokers a little later. */
        while (topic->partitions == 0 && tries++ < SEEN_TRIES) {
            (void)usleep(SEEN_WAIT_US);
            if (!kadmin_describe(catalog->target, job, topic, 1, err))
                return false;
        }
    }
    if (topic->code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        *err = topic->err;
        return false;
    }
    if (topic->partitions == 0)
        return err_set_retry(err, ERR_KAFKA, "was made, and is not seen yet");
    return check_policy(catalog, job, topic->name, err);
}

void
kcatalog_ledger(struct kcatalog *catalog, const struct kjob *job, int32_t lanes,
    struct catalog_event *event)
{
    struct kadmin_topic topic = { .partitions = 0 };

    memcpy(topic.name, event->target, sizeof topic.name);
    if (!have_ledger(catalog, job, lanes, &topic, &event->err)) {
        event->kind = CATALOG_LEDGER_WAIT;
        if (event->err.kind != ERR_NET && event->err.kind != ERR_CERT &&
            event->err.kind != ERR_LOGIN) /* those are of the whole cluster */
            err_wrap(&event->err, "ledger %s", event->target);
        return;
    }
    event->kind = topic.partitions > 0 ? CATALOG_LEDGER : CATALOG_LEDGER_GONE;
    event->partitions = topic.partitions;
    memcpy(event->id, topic.id, sizeof event->id);
}

/* After a change of leaders the client goes on asking the old one, until it
 * has asked who leads; and a connection that a broker was frozen under may stay
 * without answers until its requests are half a minute old.  A new client has
 * neither. */
static void
begin_anew(struct kcatalog *catalog, const struct kjob *job)
{
    kworker_progress(job);
    kadmin_close(catalog->target);
    catalog->target = NULL;
    for (int i = 0; i < AGAIN_TRIES && !kworker_cancelled(job); i++)
        (void)usleep(AGAIN_WAIT_US);
}

static bool
any_unknown(const struct catalog_event *event)
{
    for (size_t i = 0; i < event->n_ends; i++)
        if (event->ends[i].high == CATALOG_UNKNOWN)
            return true;
    return false;
}

void
kcatalog_ends(struct kcatalog *catalog, const struct kjob *job,
    struct catalog_event *event)
{
    int64_t most_ms = ENDS_FIRST_MS;

    for (size_t i = 0; i < event->n_ends; i++)
        event->ends[i].high = CATALOG_UNKNOWN;
    for (int tries = 0; tries < ENDS_TRIES && event->n_ends > 0; tries++) {
        if (target_of(catalog, &event->err) != NULL) {
            kadmin_until(catalog->target,
                clock_mono_ms(clock_system()) + most_ms);
            kadmin_highs(catalog->target, job, event->ends, event->n_ends,
                &event->err);
            kadmin_until(catalog->target, KADMIN_STEPS);
        }
        if (!any_unknown(event) || kworker_cancelled(job))
            return;
        LOG(catalog->o->log, LEVEL_WARN, "catalog.unanswered",
            kv_str("flow", catalog->o->flow), kv_int("lane", event->lane),
            kv_str("error", event->err.text));
        begin_anew(catalog, job);
        most_ms = ENDS_SECOND_MS;
    }
}
