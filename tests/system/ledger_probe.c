/* Tries the parts of kafka/ that need real brokers; see probe.h.
 *
 *   ledger_probe BOOTSTRAP [CHECK...]
 *
 * One line of JSON a check; 0 when all of them held. */
#include "clock.h"
#include "kworker.h"
#include "log.h"
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t
probe_now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* Waits for the answer to an admin request; true when it has no error. */
static bool
created(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PROBE_WAIT_MS);
    const rd_kafka_CreateTopics_result_t *result = NULL;
    const rd_kafka_topic_result_t **topics = NULL;
    size_t n = 0;
    bool ok = false;

    if (event == NULL)
        return false;
    result = rd_kafka_event_CreateTopics_result(event);
    if (result != NULL)
        topics = rd_kafka_CreateTopics_result_topics(result, &n);
    ok = n == 1 &&
         rd_kafka_topic_result_error(topics[0]) == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (n == 1 && !ok)
        (void)fprintf(stderr, "%s\n",
            rd_kafka_topic_result_error_string(topics[0]));
    rd_kafka_event_destroy(event);
    return ok;
}

/* The controller knows a topic at once, the brokers a little later. */
static bool
seen(struct probe *probe, const char *topic)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(probe->rk, topic, NULL);
    int64_t until_ms = probe_now_ms() + PROBE_WAIT_MS;
    bool ok = false;

    while (handle != NULL && !ok && probe_now_ms() < until_ms) {
        if (rd_kafka_metadata(probe->rk, 0, handle, &metadata, 5000) !=
            RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        ok = metadata->topic_cnt == 1 &&
             metadata->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR;
        for (int i = 0; ok && i < metadata->topics[0].partition_cnt; i++)
            ok = metadata->topics[0].partitions[i].leader >= 0;
        rd_kafka_metadata_destroy(metadata);
    }
    if (handle != NULL)
        rd_kafka_topic_destroy(handle);
    return ok;
}

bool
probe_topic(struct probe *probe, const char *topic, int partitions,
    const char *const *settings)
{
    char errstr[256];
    rd_kafka_NewTopic_t *wanted =
        rd_kafka_NewTopic_new(topic, partitions, 1, errstr, sizeof errstr);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(probe->rk);
    bool ok = false;

    for (; settings != NULL && *settings != NULL; settings += 2)
        (void)rd_kafka_NewTopic_set_config(wanted, settings[0], settings[1]);
    rd_kafka_CreateTopics(probe->rk, &wanted, 1, NULL, queue);
    ok = created(queue);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(wanted);
    return ok && seen(probe, topic);
}

bool
probe_write(struct probe *probe, const char *topic, int partition,
    const char *key, const char *value)
{
    void *bytes = (void *)(uintptr_t)value;
    size_t len = value != NULL ? strlen(value) : 0;
    rd_kafka_resp_err_t code = rd_kafka_producev(probe->rk,
        RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(key, strlen(key)), RD_KAFKA_V_VALUE(bytes, len),
        RD_KAFKA_V_END);

    return code == RD_KAFKA_RESP_ERR_NO_ERROR &&
           rd_kafka_flush(probe->rk, PROBE_WAIT_MS) ==
               RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool
probe_begin(struct probe *probe, const char *bootstrap)
{
    char errstr[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    struct err err;

    probe->cluster =
        (struct kcluster){ .alias = "probe", .bootstrap = bootstrap };
    probe->log = log_new(2, LEVEL_INFO, clock_system(), &err);
    probe->watch = kworker_watch_new(NULL, NULL, &err);
    if (probe->log == NULL || probe->watch == NULL ||
        !wake_open(&probe->wake, &err))
        return false;
    (void)rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, errstr,
        sizeof errstr);
    probe->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof errstr);
    return probe->rk != NULL;
}

static void
probe_end(struct probe *probe)
{
    rd_kafka_destroy(probe->rk);
    wake_close(&probe->wake);
    kworker_watch_drop(probe->watch);
    log_free(probe->log);
}

static bool
run_check(struct probe *probe, const struct probe_check *check)
{
    int64_t began_ms = probe_now_ms();
    bool ok = false;

    probe->what = "";
    probe->line = 0;
    (void)snprintf(probe->name, sizeof probe->name, "probe-%d-%s",
        (int)getpid(), check->name);
    ok = check->run(probe);
    (void)printf("{\"check\":\"%s\",\"ok\":%s,\"ms\":%lld,\"line\":%d,"
                 "\"not_held\":\"",
        check->name, ok ? "true" : "false",
        (long long)(probe_now_ms() - began_ms), probe->line);
    for (const char *c = probe->what; *c != '\0'; c++)
        (void)printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    (void)printf("\"}\n");
    (void)fflush(stdout);
    return ok;
}

static bool
wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
    }
    return argc == 2;
}

int
main(int argc, char **argv)
{
    const struct probe_check *const tables[] = { probe_ledger, probe_group,
        probe_topics };
    struct probe probe = { 0 };
    int failed = 0;
    int ran = 0;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: ledger_probe BOOTSTRAP [CHECK...]\n");
        return 64;
    }
    if (!probe_begin(&probe, argv[1]))
        return 70;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const struct probe_check *c = tables[i]; c->name != NULL; c++) {
            if (!wanted(c->name, argc, argv))
                continue;
            ran++;
            failed += run_check(&probe, c) ? 0 : 1;
        }
    }
    probe_end(&probe);
    return failed == 0 && ran > 0 ? 0 : 1;
}
