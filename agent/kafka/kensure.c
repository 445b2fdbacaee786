#include "kensure.h"

#include "clock.h"
#include "kflow.h"
#include "kmake.h"
#include "ktopics.h"
#include "kworker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_MS 60000
#define SEEN_TRIES 20 /* until a topic that was made is seen */
#define SEEN_WAIT_US 250000

/* What is known about a target topic until `until_ms`. */
struct known {
    struct kadmin_topic topic;
    int64_t max_message_bytes, min_in_sync, until_ms;
};

struct kensure {
    const struct ktopics_options *o;
    struct known *known;
    size_t n, room;
    /* during kensure_topics() */
    struct kadmin *source, *target;
    const struct kjob *job;
};

/* One want on its way to its event. */
struct item {
    const struct catalog_want *want;
    struct catalog_event *event;
    struct known now;
    bool settled; /* it waits: its event is filled in */
    bool limited; /* its limit is known from before */
};

struct kensure *
kensure_new(const struct ktopics_options *options, struct err *err)
{
    struct kensure *ensure = calloc(1, sizeof *ensure);

    if (ensure == NULL)
        err_set(err, ERR_MEMORY, "catalog");
    else
        ensure->o = options;
    return ensure;
}

void
kensure_free(struct kensure *ensure)
{
    if (ensure != NULL)
        free(ensure->known);
    free(ensure);
}

static struct known *
find(struct kensure *ensure, const char *name)
{
    for (size_t i = 0; i < ensure->n; i++) {
        if (strcmp(ensure->known[i].topic.name, name) == 0)
            return &ensure->known[i];
    }
    return NULL;
}

/* Without memory it is asked again the next time. */
static void
remember(struct kensure *ensure, const struct known *now)
{
    struct known *known = find(ensure, now->topic.name);

    if (known == NULL && ensure->n == ensure->room) {
        size_t room = ensure->room == 0 ? 64 : ensure->room * 2;
        struct known *more = reallocarray(ensure->known, room, sizeof *more);

        if (more == NULL)
            return;
        ensure->known = more;
        ensure->room = room;
    }
    if (known == NULL)
        known = &ensure->known[ensure->n++];
    *known = *now;
    known->until_ms = clock_mono_ms(ensure->o->clock) + KNOWN_MS;
}

/* What is there may be used, also where it is not all that is wanted. */
static void
settle_as(struct item *item, enum catalog_event_kind kind)
{
    struct catalog_event *event = item->event;

    item->settled = true;
    event->kind = kind;
    event->partitions = item->now.topic.partitions;
    event->max_message_bytes = item->now.max_message_bytes;
    memcpy(event->id, item->now.topic.id, sizeof event->id);
}

#define BROKERS                                                        \
    ": whoever runs the target has to bring brokers back; until then " \
    "records wait in the source"

bool
kensure_stands(const struct kadmin_topic *topic, int64_t min_in_sync,
    const char *cluster, struct err *err)
{
    if (topic->partitions == 0 ||
        (topic->worst.led && topic->worst.in_sync >= min_in_sync))
        return false;
    if (!topic->worst.led)
        err_set_retry(err, ERR_KAFKA,
            "%.64s [%d] at %.32s has no leader" BROKERS, topic->name,
            topic->worst.partition, cluster);
    else
        err_set_retry(err, ERR_KAFKA,
            "%.64s [%d] at %.32s: %d of %d replicas in sync, "
            "min.insync.replicas %lld" BROKERS,
            topic->name, topic->worst.partition, cluster, topic->worst.in_sync,
            topic->worst.replicas, (long long)min_in_sync);
    return true;
}

static void
settle(const struct kensure *ensure, struct item *item)
{
    settle_as(item, CATALOG_TARGET);
    (void)kensure_stands(&item->now.topic, item->now.min_in_sync,
        ensure->o->target->alias, &item->event->err);
}

static void
wait_with(struct item *item, const struct err *err)
{
    settle_as(item, CATALOG_WAIT);
    item->event->err = *err;
    err_wrap(&item->event->err, "%s", item->want->target);
}

static void
wait_all(struct item *items, size_t n, const struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!items[i].settled)
            wait_with(&items[i], err);
    }
}

/* Asks what is at the target of the items that are not settled.  What the
 * broker does not say because it may not, waits. */
static bool
look(struct kensure *ensure, struct item *items, size_t n, struct err *err)
{
    struct kadmin_topic *topics = calloc(n, sizeof *topics);
    size_t asked = 0;
    bool ok = false;

    if (topics == NULL)
        return err_set_retry(err, ERR_MEMORY, "%zu topics", n);
    for (size_t i = 0; i < n; i++) {
        if (!items[i].settled)
            memcpy(topics[asked++].name, items[i].want->target,
                LEDGER_NAME_MAX);
    }
    ok = kadmin_describe(ensure->target, ensure->job, topics, asked, err);
    asked = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (items[i].settled)
            continue;
        items[i].now.topic = topics[asked++];
        if (items[i].now.topic.code != RD_KAFKA_RESP_ERR_NO_ERROR)
            wait_with(&items[i], &items[i].now.topic.err);
    }
    free(topics);
    return ok;
}

/* Settings that belong to a cluster, not to the data (MirrorMaker 2 leaves
 * out the same): its replicas, and what it thinks of timestamps. */
static const char *const left_out[] = {
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.insync.replicas",
    "unclean.leader.election.enable",
};

static void
leave_out(struct kmake_settings *settings)
{
    for (size_t i = 0; i < settings->n; i++) {
        for (size_t j = 0; j < sizeof left_out / sizeof left_out[0]; j++) {
            if (strcmp(settings->list[i].name, left_out[j]) == 0)
                settings->list[i].own = false;
        }
    }
}

/* The command for somebody who may. */
static void
wait_for_person(struct kensure *ensure, struct item *item, bool grow)
{
    struct err err;

    err_set(&err, ERR_KAFKA,
        "%s, and the policy creates none; run kafka-topics.sh "
        "--bootstrap-server %.60s --%s --topic %.100s --partitions %d",
        grow ? "too few partitions" : "no such topic",
        ensure->o->target->bootstrap, grow ? "alter" : "create",
        item->want->target, item->want->partitions);
    settle_as(item, CATALOG_WAIT);
    item->event->err = err;
}

/* Makes what is missing, in one request, like what is at the source. */
static bool
make(struct kensure *ensure, struct item **items, size_t n, struct err *err)
{
    struct kmake_settings *settings = calloc(n, sizeof *settings);
    struct kmake_spec *specs = calloc(n, sizeof *specs);
    struct item **asked = calloc(n, sizeof(void *));
    size_t m = 0;
    bool ok = false;

    if (settings == NULL || specs == NULL || asked == NULL) {
        err_set_retry(err, ERR_MEMORY, "%zu topics", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        settings[i].topic = items[i]->want->source;
    if (!kmake_settings_ask(ensure->source, ensure->job, settings, n, err))
        goto out;
    for (size_t i = 0; i < n; i++) {
        if (settings[i].code != RD_KAFKA_RESP_ERR_NO_ERROR &&
            settings[i].code != RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) {
            err_wrap(&settings[i].err, "settings of %s at the source",
                settings[i].topic);
            wait_with(items[i], &settings[i].err);
            continue;
        }
        leave_out(&settings[i]);
        specs[m] = (struct kmake_spec){ .topic = items[i]->want->target,
            .partitions = items[i]->want->partitions,
            .replicas = ensure->o->replication_factor,
            .list = settings[i].list,
            .n = settings[i].n };
        asked[m++] = items[i];
    }
    ok = m == 0 || kmake_topics(ensure->target, ensure->job, specs, m, err);
    for (size_t i = 0; ok && i < m; i++) {
        if (specs[i].code != RD_KAFKA_RESP_ERR_NO_ERROR &&
            specs[i].code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            wait_with(asked[i], &specs[i].err);
    }
out:
    for (size_t i = 0; settings != NULL && i < n; i++)
        kmake_settings_clear(&settings[i]);
    free(settings);
    free(specs);
    free(asked);
    return ok;
}

static bool
grow(struct kensure *ensure, struct item **items, size_t n, struct err *err)
{
    struct kmake_spec *specs = calloc(n, sizeof *specs);
    bool ok = specs != NULL;

    if (!ok)
        err_set_retry(err, ERR_MEMORY, "%zu topics", n);
    for (size_t i = 0; ok && i < n; i++)
        specs[i] = (struct kmake_spec){ .topic = items[i]->want->target,
            .partitions = items[i]->want->partitions };
    ok = ok && kmake_grow(ensure->target, ensure->job, specs, n, err);
    for (size_t i = 0; ok && i < n; i++) {
        if (specs[i].code != RD_KAFKA_RESP_ERR_NO_ERROR)
            wait_with(items[i], &specs[i].err);
    }
    free(specs);
    return ok;
}

/* Makes or grows the items that are not as wanted, if that is allowed.  Gives
 * how many were, -1 when it could not be done. */
static int
change(struct kensure *ensure, struct item *items, size_t n, struct err *err)
{
    struct item **some = calloc(n, sizeof(void *));
    size_t made = 0;
    size_t grown = 0;
    bool ok = some != NULL;

    if (!ok)
        err_set_retry(err, ERR_MEMORY, "%zu topics", n);
    for (size_t i = 0; ok && i < n; i++) {
        int32_t has = items[i].now.topic.partitions;

        if (items[i].settled || has >= items[i].want->partitions)
            continue;
        if (!ensure->o->create_topics)
            wait_for_person(ensure, &items[i], has > 0);
        else if (has == 0)
            some[made++] = &items[i]; /* from the front */
        else
            some[n - ++grown] = &items[i]; /* from the back */
    }
    ok = ok && (made == 0 || make(ensure, some, made, err)) &&
         (grown == 0 || grow(ensure, some + n - grown, grown, err));
    free(some);
    return ok ? (int)(made + grown) : -1;
}

static bool
all_there(const struct item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!items[i].settled &&
            items[i].now.topic.partitions < items[i].want->partitions)
            return false;
    }
    return true;
}

/* 0: it is not told. */
static int64_t
number_of(const struct kmake_settings *settings, const char *name)
{
    const char *text = kmake_settings_get(settings, name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* Also of one that waits: what is there of it may be used. */
static bool
limit_open(const struct item *item)
{
    return !item->limited && item->now.topic.partitions > 0;
}

static bool
ask_limits(struct kensure *ensure, struct item *items, size_t n,
    struct err *err)
{
    struct kmake_settings *settings = calloc(n, sizeof *settings);
    size_t asked = 0;
    bool ok = settings != NULL;

    if (!ok)
        return err_set_retry(err, ERR_MEMORY, "%zu topics", n);
    for (size_t i = 0; i < n; i++) {
        if (limit_open(&items[i]))
            settings[asked++].topic = items[i].want->target;
    }
    ok = asked == 0 ||
         kmake_settings_ask(ensure->target, ensure->job, settings, asked, err);
    asked = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (!limit_open(&items[i]))
            continue;
        items[i].now.max_message_bytes =
            number_of(&settings[asked], "max.message.bytes");
        items[i].event->max_message_bytes = items[i].now.max_message_bytes;
        items[i].now.min_in_sync =
            number_of(&settings[asked++], "min.insync.replicas");
    }
    for (size_t i = 0; i < asked; i++)
        kmake_settings_clear(&settings[i]);
    free(settings);
    return ok;
}

static bool
work(struct kensure *ensure, struct item *items, size_t n, struct err *err)
{
    int changed = 0;

    if (!look(ensure, items, n, err) ||
        (changed = change(ensure, items, n, err)) < 0)
        return false;
    /* The controller knows it at once, the other brokers a little later. */
    for (int i = 0; changed > 0 && i < SEEN_TRIES; i++) {
        if (!look(ensure, items, n, err))
            return false;
        if (all_there(items, n))
            break;
        (void)usleep(SEEN_WAIT_US);
    }
    if (!all_there(items, n)) {
        err_set_retry(err, ERR_KAFKA, "was made, and is not seen yet");
        for (size_t i = 0; i < n; i++) {
            if (items[i].now.topic.partitions < items[i].want->partitions &&
                !items[i].settled)
                wait_with(&items[i], err);
        }
    }
    return ask_limits(ensure, items, n, err);
}

void
kensure_topics(struct kensure *ensure, const struct kensure_clusters *clusters,
    const struct catalog_want *wants, struct catalog_event *events, size_t n)
{
    struct item *items = calloc(n, sizeof *items);
    int64_t now_ms = clock_mono_ms(ensure->o->clock);
    struct err err;

    ensure->source = clusters->source;
    ensure->target = clusters->target;
    ensure->job = clusters->job;
    for (size_t i = 0; i < n; i++) {
        memcpy(events[i].source, wants[i].source, sizeof events[i].source);
        memcpy(events[i].target, wants[i].target, sizeof events[i].target);
        events[i].kind = CATALOG_WAIT;
        if (items == NULL)
            err_set_retry(&events[i].err, ERR_MEMORY, "%zu topics", n);
    }
    for (size_t i = 0; items != NULL && i < n; i++) {
        const struct known *known = find(ensure, wants[i].target);

        items[i].want = &wants[i];
        items[i].event = &events[i];
        /* Ids and partitions are looked at each time: a topic that is made
         * anew must not be taken for the old one. */
        if (known != NULL && !wants[i].anew && known->until_ms > now_ms) {
            items[i].now.max_message_bytes = known->max_message_bytes;
            items[i].now.min_in_sync = known->min_in_sync;
            items[i].limited = true;
        }
    }
    if (items != NULL && !work(ensure, items, n, &err))
        wait_all(items, n, &err);
    for (size_t i = 0; items != NULL && i < n; i++) {
        if (items[i].settled)
            continue;
        if (!items[i].limited)
            remember(ensure, &items[i].now);
        settle(ensure, &items[i]);
    }
    free(items);
}
