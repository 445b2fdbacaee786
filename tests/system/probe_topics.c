#include "ktopics.h"
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
open_catalog(struct probe *probe, struct catalog *catalog, bool create)
{
    const struct ktopics_options options = {
        .source = &probe->cluster,
        .target = &probe->cluster,
        .agent = "probe",
        .flow = "telemetry",
        .replication_factor = 1,
        .create_topics = create,
        .step_ms = 20000,
        .wake = &probe->wake,
        .log = probe->log,
        .watch = probe->watch,
    };
    struct err err;

    return ktopics_open(catalog, &options, &err);
}

static void
close_catalog(struct catalog *catalog)
{
    if (catalog->ops != NULL)
        catalog->ops->free(catalog->self);
}

static bool
wait_for(struct probe *probe, struct catalog *catalog,
    struct catalog_event *event)
{
    int64_t until_ms = probe_now_ms() + PROBE_WAIT_MS;

    while (!catalog->ops->event(catalog->self, event)) {
        if (probe_now_ms() > until_ms)
            return false;
        wake_wait(&probe->wake, 100);
    }
    if (event->kind == CATALOG_WAIT || event->kind == CATALOG_LEDGER_WAIT ||
        event->kind == CATALOG_DOWN)
        (void)fprintf(stderr, "%s\n", event->err.text);
    return true;
}

static struct catalog_want
want(const struct probe *probe, const char *topic, int32_t partitions)
{
    struct catalog_want it = { .partitions = partitions };

    (void)snprintf(it.source, sizeof it.source, "%s-%s", probe->name, topic);
    (void)snprintf(it.target, sizeof it.target, "to.%s-%s", probe->name, topic);
    return it;
}

/* A setting of a topic, asked with a client of the probe's own. */
static bool
has_setting(struct probe *probe, const char *topic, const char *name,
    const char *value)
{
    rd_kafka_ConfigResource_t *wanted =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(probe->rk);
    rd_kafka_event_t *event = NULL;
    const rd_kafka_ConfigResource_t **found = NULL;
    const rd_kafka_ConfigEntry_t **entries = NULL;
    size_t n = 0;
    bool ok = false;

    rd_kafka_DescribeConfigs(probe->rk, &wanted, 1, NULL, queue);
    event = rd_kafka_queue_poll(queue, PROBE_WAIT_MS);
    if (event != NULL)
        found = rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event), &n);
    if (n == 1)
        entries = rd_kafka_ConfigResource_configs(found[0], &n);
    for (size_t i = 0; entries != NULL && i < n; i++) {
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
            ok = strcmp(rd_kafka_ConfigEntry_value(entries[i]), value) == 0;
    }
    if (event != NULL)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_ConfigResource_destroy(wanted);
    return ok;
}

static const struct catalog_topic *
find(const struct catalog_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->topics[i].name, name) == 0)
            return &list->topics[i];
    }
    return NULL;
}

static bool
check_refresh(struct probe *probe)
{
    struct catalog catalog = { 0 };
    struct catalog_event event = { 0 };
    const struct catalog_topic *topic = NULL;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, 3, NULL));
    HOLDS(probe, open_catalog(probe, &catalog, true));
    catalog.ops->refresh(catalog.self);
    catalog.ops->refresh(catalog.self); /* the same question */
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_TOPICS);
    HOLDS(probe, event.list->source_cluster_id[0] != '\0');
    HOLDS(probe, strcmp(event.list->source_cluster_id,
                     event.list->target_cluster_id) == 0);
    for (size_t i = 1; i < event.list->n; i++)
        HOLDS(probe, strcmp(event.list->topics[i - 1].name,
                         event.list->topics[i].name) < 0);
    topic = find(event.list, probe->name);
    HOLDS(probe, topic != NULL && topic->partitions == 3);
    HOLDS(probe, strlen(topic->id) == 22);
    catalog_list_free(event.list);
    event.list = NULL;
    HOLDS(probe, !catalog.ops->event(catalog.self, &event));
    ok = true;
out:
    catalog_list_free(event.list);
    close_catalog(&catalog);
    return ok;
}

/* Made like the source's, grown with it, known for a while, and left alone
 * when there are more partitions than wanted. */
static bool
check_ensure(struct probe *probe)
{
    static const char *const settings[] = { "cleanup.policy", "compact",
        "max.message.bytes", "2000000", "min.insync.replicas", "1",
        "message.timestamp.type", "LogAppendTime", NULL };
    struct catalog catalog = { 0 };
    struct catalog_event event = { 0 };
    struct catalog_want wants[3];
    char id[LEDGER_ID_MAX] = "";
    bool ok = false;

    wants[0] = want(probe, "compacted", 5);
    wants[1] = want(probe, "plain", 1);
    wants[2] = want(probe, "never-made", 1);
    HOLDS(probe, probe_topic(probe, wants[0].source, 5, settings));
    HOLDS(probe, probe_topic(probe, wants[1].source, 1, NULL));
    HOLDS(probe, open_catalog(probe, &catalog, true));
    catalog.ops->ensure(catalog.self, wants, 3);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_TARGET && event.partitions == 5);
    HOLDS(probe, event.max_message_bytes == 2000000);
    HOLDS(probe, strcmp(event.source, wants[0].source) == 0);
    HOLDS(probe, strlen(event.id) == 22);
    memcpy(id, event.id, sizeof id);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_TARGET && event.partitions == 1);
    HOLDS(probe, event.max_message_bytes == 1048588);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_WAIT);
    HOLDS(probe, strcmp(event.target, wants[2].target) == 0);
    HOLDS(probe,
        has_setting(probe, wants[0].target, "cleanup.policy", "compact"));
    HOLDS(probe, has_setting(probe, wants[0].target, "message.timestamp.type",
                     "CreateTime"));
    /* It grows; and it is the same topic. */
    wants[0].partitions = 8;
    wants[1].partitions = 1;
    catalog.ops->ensure(catalog.self, wants, 2);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_TARGET && event.partitions == 8);
    HOLDS(probe, strcmp(id, event.id) == 0);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_TARGET && event.partitions == 1);
    wants[0].partitions = 2;
    catalog.ops->ensure(catalog.self, wants, 1);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_TARGET && event.partitions == 8);
    ok = true;
out:
    close_catalog(&catalog);
    return ok;
}

/* Where none may be made, the missing one is named with what to run. */
static bool
check_forbidden(struct probe *probe)
{
    struct catalog catalog = { 0 };
    struct catalog_event event = { 0 };
    struct catalog_want wants[2];
    bool ok = false;

    wants[0] = want(probe, "missing", 4);
    wants[1] = want(probe, "small", 4);
    HOLDS(probe, probe_topic(probe, wants[0].source, 4, NULL));
    HOLDS(probe, probe_topic(probe, wants[1].target, 2, NULL));
    HOLDS(probe, open_catalog(probe, &catalog, false));
    catalog.ops->ensure(catalog.self, wants, 2);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_WAIT);
    HOLDS(probe, strstr(event.err.text, wants[0].target) != NULL);
    HOLDS(probe, strstr(event.err.text, "--create") != NULL);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_WAIT);
    HOLDS(probe, strstr(event.err.text, "--alter") != NULL);
    HOLDS(probe, event.partitions == 2 && event.max_message_bytes > 0);
    catalog.ops->ensure_ledger(catalog.self, probe->name, 8);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_LEDGER_WAIT);
    HOLDS(probe, strstr(event.err.text, "cleanup.policy=compact") != NULL);
    ok = true;
out:
    close_catalog(&catalog);
    return ok;
}

static bool
check_make_ledger(struct probe *probe)
{
    static const char *const wrong[] = { "cleanup.policy", "compact,delete",
        NULL };
    struct catalog catalog = { 0 };
    struct catalog_event event = { 0 };
    char other[80];
    bool ok = false;

    (void)snprintf(other, sizeof other, "%s-other", probe->name);
    HOLDS(probe, open_catalog(probe, &catalog, true));
    catalog.ops->ensure_ledger(catalog.self, probe->name, 8);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_LEDGER && event.partitions == 8);
    HOLDS(probe, strlen(event.id) == 22);
    HOLDS(probe, has_setting(probe, probe->name, "cleanup.policy", "compact"));
    HOLDS(probe, has_setting(probe, probe->name, "segment.bytes", "16777216"));
    HOLDS(probe, has_setting(probe, probe->name, "segment.ms", "3600000"));
    HOLDS(probe, has_setting(probe, probe->name, "message.timestamp.type",
                     "LogAppendTime"));
    /* It keeps the number of lanes that it was made with. */
    catalog.ops->ensure_ledger(catalog.self, probe->name, 12);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_LEDGER && event.partitions == 8);
    HOLDS(probe, probe_topic(probe, other, 2, wrong));
    catalog.ops->ensure_ledger(catalog.self, other, 2);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_LEDGER_WAIT);
    HOLDS(probe, strstr(event.err.text, "cleanup.policy") != NULL);
    HOLDS(probe, strstr(event.err.text, other) != NULL);
    ok = true;
out:
    close_catalog(&catalog);
    return ok;
}

static bool
check_ends(struct probe *probe)
{
    struct catalog catalog = { 0 };
    struct catalog_event event = { 0 };
    struct catalog_partition partitions[3] = { 0 };
    bool ok = false;

    for (int i = 0; i < 3; i++)
        (void)snprintf(partitions[i].topic, sizeof partitions[i].topic,
            i < 2 ? "%s" : "%s-missing", probe->name);
    partitions[1].partition = 1;
    HOLDS(probe, probe_topic(probe, probe->name, 2, NULL));
    HOLDS(probe, open_catalog(probe, &catalog, true));
    catalog.ops->ask_ends(catalog.self, 4, partitions, 0);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_ENDS && event.lane == 4);
    HOLDS(probe, event.n_ends == 0);
    free(event.ends);
    HOLDS(probe, probe_write(probe, probe->name, 1, "key", NULL));
    HOLDS(probe, probe_write(probe, probe->name, 1, "key", "value"));
    catalog.ops->ask_ends(catalog.self, 6, partitions, 3);
    HOLDS(probe, wait_for(probe, &catalog, &event));
    HOLDS(probe, event.kind == CATALOG_ENDS && event.lane == 6);
    HOLDS(probe, event.n_ends == 3 && event.ends[0].high == 0);
    HOLDS(probe, event.ends[1].high == 2 && event.ends[1].partition == 1);
    HOLDS(probe, event.ends[2].high == 0);
    free(event.ends);
    ok = true;
out:
    close_catalog(&catalog);
    return ok;
}

/* More than one request takes. */
static bool
check_many(struct probe *probe)
{
    enum { MANY = 600 };
    struct catalog catalog = { 0 };
    struct catalog_event event = { 0 };
    struct catalog_want wants[MANY];
    struct catalog_want source = want(probe, "one", 1);
    bool ok = false;

    HOLDS(probe, probe_topic(probe, source.source, 1, NULL));
    HOLDS(probe, open_catalog(probe, &catalog, true));
    for (int i = 0; i < MANY; i++) {
        wants[i] = source;
        (void)snprintf(wants[i].target, sizeof wants[i].target, "%s-%d",
            probe->name, i);
    }
    catalog.ops->ensure(catalog.self, wants, MANY);
    for (int i = 0; i < MANY; i++) {
        HOLDS(probe, wait_for(probe, &catalog, &event));
        HOLDS(probe, event.kind == CATALOG_TARGET && event.partitions == 1);
        HOLDS(probe, strcmp(event.target, wants[i].target) == 0);
        HOLDS(probe, event.max_message_bytes > 0 && event.id[0] != '\0');
    }
    ok = true;
out:
    close_catalog(&catalog);
    return ok;
}

const struct probe_check probe_topics[] = {
    { "refresh", check_refresh },
    { "ensure", check_ensure },
    { "forbidden", check_forbidden },
    { "make-ledger", check_make_ledger },
    { "ends", check_ends },
    { "many", check_many },
    { NULL, NULL },
};
