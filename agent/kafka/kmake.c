#include "kmake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
kmake_settings_clear(struct kmake_settings *settings)
{
    for (size_t i = 0; i < settings->n; i++) {
        free((void *)(uintptr_t)settings->list[i].name);
        free((void *)(uintptr_t)settings->list[i].value);
    }
    free(settings->list);
    settings->list = NULL;
    settings->n = 0;
}

const char *
kmake_settings_get(const struct kmake_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->n; i++) {
        if (strcmp(settings->list[i].name, name) == 0)
            return settings->list[i].value;
    }
    return NULL;
}

/* A default, a broker's file and what may not be seen do not belong to the
 * topic. */
static bool
is_own(const rd_kafka_ConfigEntry_t *entry)
{
    rd_kafka_ConfigSource_t source = rd_kafka_ConfigEntry_source(entry);

    return (source == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG ||
               source == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG ||
               source ==
                   RD_KAFKA_CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG) &&
           rd_kafka_ConfigEntry_is_read_only(entry) == 0 &&
           rd_kafka_ConfigEntry_is_sensitive(entry) == 0;
}

static void
take_settings(const rd_kafka_ConfigResource_t *from, struct kmake_settings *to)
{
    size_t n = 0;
    const rd_kafka_ConfigEntry_t **entries =
        rd_kafka_ConfigResource_configs(from, &n);

    to->code = rd_kafka_ConfigResource_error(from);
    if (to->code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kconf_err(&to->err, to->code,
            rd_kafka_ConfigResource_error_string(from));
        return;
    }
    to->list = calloc(n > 0 ? n : 1, sizeof to->list[0]);
    for (size_t i = 0; to->list != NULL && i < n; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        struct kmake_setting *setting = &to->list[to->n];

        if (value == NULL)
            continue;
        setting->name = strdup(rd_kafka_ConfigEntry_name(entries[i]));
        setting->value = strdup(value);
        setting->own = is_own(entries[i]);
        to->n++;
        if (setting->name == NULL || setting->value == NULL)
            break;
    }
    if (to->list == NULL || (to->n > 0 && to->list[to->n - 1].value == NULL)) {
        to->code = RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
        err_set_retry(&to->err, ERR_MEMORY, "settings of %s", to->topic);
    }
}

/* A name may stand in a request only once. */
static bool
asked_before(const struct kmake_settings *settings, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(settings[j].topic, settings[i].topic) == 0)
            return true;
    }
    return false;
}

static bool
settings_batch(struct kadmin *admin, const struct kjob *job,
    struct kmake_settings *settings, size_t n, struct err *err)
{
    rd_kafka_ConfigResource_t *wanted[KADMIN_BATCH];
    rd_kafka_AdminOptions_t *options =
        kadmin_request(admin, job, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, err);
    rd_kafka_queue_t *queue = NULL;
    rd_kafka_event_t *event = NULL;
    const rd_kafka_ConfigResource_t **found = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    size_t n_found = 0;
    size_t n_wanted = 0;

    if (options == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!asked_before(settings, i))
            wanted[n_wanted++] =
                rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC,
                    settings[i].topic);
    }
    queue = rd_kafka_queue_new(kadmin_client(admin));
    rd_kafka_DescribeConfigs(kadmin_client(admin), wanted, n_wanted, options,
        queue);
    rd_kafka_ConfigResource_destroy_array(wanted, n_wanted);
    rd_kafka_AdminOptions_destroy(options);
    event = kadmin_wait(admin, job, queue, &code, err);
    if (event == NULL && code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) {
        for (size_t i = 0; i < n; i++)
            settings[i].code = code;
        return true;
    }
    if (event == NULL)
        return false;
    found = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &n_found);
    for (size_t i = 0; i < n_found; i++) {
        const char *name = rd_kafka_ConfigResource_name(found[i]);

        for (size_t j = 0; j < n; j++) {
            if (strcmp(settings[j].topic, name) == 0)
                take_settings(found[i], &settings[j]);
        }
    }
    rd_kafka_event_destroy(event);
    return true;
}

bool
kmake_settings_ask(struct kadmin *admin, const struct kjob *job,
    struct kmake_settings *settings, size_t n, struct err *err)
{
    for (size_t at = 0; at < n; at += KADMIN_BATCH) {
        size_t some = n - at < KADMIN_BATCH ? n - at : KADMIN_BATCH;

        if (!settings_batch(admin, job, settings + at, some, err))
            return false;
    }
    return true;
}

/* The answers to a request for topics, by name. */
static void
take_results(const rd_kafka_topic_result_t **results, size_t n_results,
    struct kmake_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct kmake_spec *spec = &specs[i];

        if (spec->code == RD_KAFKA_RESP_ERR__INVALID_ARG)
            continue; /* was not asked for */
        spec->code = RD_KAFKA_RESP_ERR__FAIL;
        for (size_t j = 0; j < n_results; j++) {
            const rd_kafka_topic_result_t *result =
                results[(i + j) % n_results];

            if (strcmp(rd_kafka_topic_result_name(result), spec->topic) != 0)
                continue;
            spec->code = rd_kafka_topic_result_error(result);
            if (spec->code != RD_KAFKA_RESP_ERR_NO_ERROR)
                kconf_err(&spec->err, spec->code,
                    rd_kafka_topic_result_error_string(result));
            break;
        }
        if (spec->code == RD_KAFKA_RESP_ERR__FAIL)
            err_set_retry(&spec->err, ERR_KAFKA, "the broker did not say");
    }
}

/* What the client itself does not take is said of the one topic. */
static rd_kafka_NewTopic_t *
new_topic(struct kmake_spec *spec)
{
    char errstr[160];
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(spec->topic,
        spec->partitions, spec->replicas, errstr, sizeof errstr);

    spec->code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (topic == NULL) {
        spec->code = RD_KAFKA_RESP_ERR__INVALID_ARG;
        kconf_err(&spec->err, spec->code, errstr);
        return NULL;
    }
    for (size_t i = 0; i < spec->n; i++) {
        if (spec->list[i].own)
            (void)rd_kafka_NewTopic_set_config(topic, spec->list[i].name,
                spec->list[i].value);
    }
    return topic;
}

bool
kmake_topics(struct kadmin *admin, const struct kjob *job,
    struct kmake_spec *specs, size_t n, struct err *err)
{
    rd_kafka_AdminOptions_t *options =
        kadmin_request(admin, job, RD_KAFKA_ADMIN_OP_CREATETOPICS, err);
    rd_kafka_NewTopic_t **topics = calloc(n, sizeof(void *));
    rd_kafka_queue_t *queue = NULL;
    rd_kafka_event_t *event = NULL;
    const rd_kafka_topic_result_t **results = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    size_t sent = 0;
    size_t n_results = 0;

    for (size_t i = 0; topics != NULL && i < n; i++) {
        if ((topics[sent] = new_topic(&specs[i])) != NULL)
            sent++;
    }
    if (options == NULL || sent == 0) {
        bool ok = options != NULL &&
                  (topics != NULL || err_set(err, ERR_MEMORY, "%zu topics", n));

        if (options != NULL)
            rd_kafka_AdminOptions_destroy(options);
        if (topics != NULL)
            rd_kafka_NewTopic_destroy_array(topics, sent);
        free(topics);
        return ok; /* each spec says why it was not asked for */
    }
    queue = rd_kafka_queue_new(kadmin_client(admin));
    rd_kafka_CreateTopics(kadmin_client(admin), topics, sent, options, queue);
    rd_kafka_NewTopic_destroy_array(topics, sent);
    free(topics);
    rd_kafka_AdminOptions_destroy(options);
    if ((event = kadmin_wait(admin, job, queue, &code, err)) == NULL)
        return false;
    results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(
                                                event),
            &n_results);
    take_results(results, n_results, specs, n);
    rd_kafka_event_destroy(event);
    return true;
}

bool
kmake_grow(struct kadmin *admin, const struct kjob *job,
    struct kmake_spec *specs, size_t n, struct err *err)
{
    char errstr[160];
    rd_kafka_AdminOptions_t *options =
        kadmin_request(admin, job, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, err);
    rd_kafka_NewPartitions_t **wanted = NULL;
    rd_kafka_queue_t *queue = NULL;
    rd_kafka_event_t *event = NULL;
    const rd_kafka_topic_result_t **results = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    size_t n_results = 0;

    if (options == NULL)
        return false;
    if ((wanted = calloc(n, sizeof(void *))) == NULL) {
        rd_kafka_AdminOptions_destroy(options);
        return err_set(err, ERR_MEMORY, "%zu topics", n);
    }
    for (size_t i = 0; i < n; i++) {
        specs[i].code = RD_KAFKA_RESP_ERR_NO_ERROR;
        wanted[i] = rd_kafka_NewPartitions_new(specs[i].topic,
            (size_t)specs[i].partitions, errstr, sizeof errstr);
    }
    queue = rd_kafka_queue_new(kadmin_client(admin));
    rd_kafka_CreatePartitions(kadmin_client(admin), wanted, n, options, queue);
    rd_kafka_NewPartitions_destroy_array(wanted, n);
    free(wanted);
    rd_kafka_AdminOptions_destroy(options);
    if ((event = kadmin_wait(admin, job, queue, &code, err)) == NULL)
        return false;
    results = rd_kafka_CreatePartitions_result_topics(
        rd_kafka_event_CreatePartitions_result(event), &n_results);
    take_results(results, n_results, specs, n);
    rd_kafka_event_destroy(event);
    return true;
}
