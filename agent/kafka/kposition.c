#include "kposition.h"
#include "clock.h"
#include "kflow.h"
#include "ledger.h"
#include "log.h"
#include "pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACE_MS 5000
#define RARELY_MS 600000
#define AGAIN_MS INT64_C(3600000)
#define REQUEST_TIMEOUT_MS 10000
#define MOST \
    1000            /* in one request: the broker writes it as one batch, and
                     * the library compares each answer with all of it */
#define SAY_AFTER 3 /* failures of what may pass, in a row */

struct place {
    char topic[LEDGER_NAME_MAX]; /* empty: never told */
    int32_t partition;
    bool told;        /* since it was sent last */
    int64_t offset;   /* as told */
    int64_t sent;     /* in the newest request */
    int64_t shown;    /* as the group has it, by us; -1 */
    int64_t due_ms;   /* when to send it if it moved */
    int64_t again_ms; /* and if it did not */
};

struct kposition {
    /* fixed */
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    rd_kafka_AdminOptions_t *options;
    struct log *log;
    char group_id[LEDGER_NAME_MAX];
    char cluster[LEDGER_ALIAS_MAX], flow[LEDGER_ALIAS_MAX];
    /* own */
    struct place *places; /* by part */
    size_t n_places;
    size_t from; /* the place with which the next request begins */
    bool under_way;
    int64_t due_ms; /* of the next request */
    struct backoff backoff;
    int failures; /* of whole requests, in a row */
    bool said_denied, said_failed;
};

struct kposition *
kposition_new(const struct kposition_options *options, struct err *err)
{
    struct kposition *kposition = calloc(1, sizeof *kposition);
    char why[128];

    if (kposition != NULL)
        kposition->options = rd_kafka_AdminOptions_new(options->rk,
            RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    if (kposition == NULL || kposition->options == NULL) {
        err_set(err, ERR_MEMORY, "the position at the source");
        kposition_free(kposition);
        return NULL;
    }
    (void)rd_kafka_AdminOptions_set_request_timeout(kposition->options,
        REQUEST_TIMEOUT_MS, why, sizeof why);
    kposition->rk = options->rk;
    kposition->queue = options->queue;
    kposition->log = options->log;
    (void)snprintf(kposition->group_id, sizeof kposition->group_id, "%s",
        options->group_id);
    (void)snprintf(kposition->cluster, sizeof kposition->cluster, "%s",
        options->cluster->alias);
    (void)snprintf(kposition->flow, sizeof kposition->flow, "%s",
        options->flow);
    return kposition;
}

void
kposition_free(struct kposition *kposition)
{
    if (kposition == NULL)
        return;
    if (kposition->options != NULL)
        rd_kafka_AdminOptions_destroy(kposition->options);
    free(kposition->places);
    free(kposition);
}

static bool
make_room(struct kposition *kposition, size_t n)
{
    struct place *places;

    if (n <= kposition->n_places)
        return true;
    n = n < 16 ? 16 : n + n / 2;
    places = realloc(kposition->places, n * sizeof *places);
    if (places == NULL)
        return false;
    memset(places + kposition->n_places, 0,
        (n - kposition->n_places) * sizeof *places);
    kposition->places = places;
    kposition->n_places = n;
    return true;
}

void
kposition_told(struct kposition *kposition, int32_t part, const char *topic,
    int32_t partition, int64_t offset)
{
    struct place *place;

    if (!make_room(kposition, (size_t)part + 1))
        return;
    place = &kposition->places[part];
    if (place->partition != partition || strcmp(place->topic, topic) != 0) {
        *place = (struct place){ .partition = partition, .shown = -1 };
        (void)snprintf(place->topic, sizeof place->topic, "%s", topic);
    }
    place->offset = offset;
    place->told = true;
}

static bool
is_due(const struct place *place, int64_t now_ms)
{
    return place->told &&
           now_ms >= (place->offset != place->shown ? place->due_ms
                                                    : place->again_ms);
}

static void
add(struct place *place, int32_t part, rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_topic_partition_t *entry =
        rd_kafka_topic_partition_list_add(list, place->topic, place->partition);

    entry->offset = place->offset;
    entry->opaque = (void *)(intptr_t)part;
    place->sent = place->offset;
    place->told = false;
}

/* Not by rd_kafka_commit_queue(): while such a commit waits for a coordinator
 * that the client may not even look for, the library begins to read nothing. */
static void
send_due(struct kposition *kposition, int64_t now_ms)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(16);
    size_t from = kposition->from;
    rd_kafka_AlterConsumerGroupOffsets_t *group;

    for (size_t i = 0; i < kposition->n_places && list->cnt < MOST; i++) {
        size_t part = (from + i) % kposition->n_places;

        if (is_due(&kposition->places[part], now_ms))
            add(&kposition->places[part], (int32_t)part, list);
        kposition->from = part + 1;
    }
    if (list->cnt == MOST)
        kposition->due_ms = now_ms; /* the others behind it */
    if (list->cnt > 0) {
        group =
            rd_kafka_AlterConsumerGroupOffsets_new(kposition->group_id, list);
        rd_kafka_AlterConsumerGroupOffsets(kposition->rk, &group, 1,
            kposition->options, kposition->queue);
        rd_kafka_AlterConsumerGroupOffsets_destroy(group);
        kposition->under_way = true;
    }
    rd_kafka_topic_partition_list_destroy(list);
}

void
kposition_serve(struct kposition *kposition, int64_t now_ms)
{
    if (kposition->under_way || now_ms < kposition->due_ms)
        return;
    kposition->due_ms = now_ms + PACE_MS;
    send_due(kposition, now_ms);
}

static bool
is_denied(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* Each of the two once: it is nothing that anybody has to act on. */
static void
say(struct kposition *kposition, rd_kafka_resp_err_t code)
{
    bool denied = is_denied(code);
    bool *said = denied ? &kposition->said_denied : &kposition->said_failed;

    if (*said)
        return;
    *said = true;
    LOG(kposition->log, LEVEL_INFO, "position.hidden",
        kv_str("flow", kposition->flow), kv_str("cluster", kposition->cluster),
        kv_str("group", kposition->group_id),
        kv_str("error", rd_kafka_err2str(code)),
        kv_str("why",
            denied ? "records flow all the same; whoever wants to see lag with "
                     "Kafka's own tools grants this client Read on the group "
                     "at that cluster"
                   : "records flow all the same; lag is not seen with Kafka's "
                     "own tools until it passes; it is tried again"));
}

static void
failed(struct kposition *kposition, rd_kafka_resp_err_t code, int64_t now_ms)
{
    int64_t pause_ms = backoff_next(&kposition->backoff, PACE_MS, RARELY_MS);

    kposition->failures++;
    kposition->due_ms = now_ms + (is_denied(code) ? AGAIN_MS : pause_ms);
    if (is_denied(code) || kposition->failures >= SAY_AFTER)
        say(kposition, code);
}

/* Partitions are judged one by one: a topic may be gone, or out of sight. */
static void
take(struct kposition *kposition, const rd_kafka_topic_partition_t *entry,
    int64_t now_ms)
{
    size_t part = (size_t)(intptr_t)entry->opaque;
    struct place *place = &kposition->places[part];

    if (place->partition != entry->partition ||
        strcmp(place->topic, entry->topic) != 0)
        return; /* the number is another's meanwhile */
    if (entry->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        place->shown = place->sent;
        place->due_ms = 0;
        place->again_ms = now_ms + AGAIN_MS;
        return;
    }
    place->due_ms = place->again_ms = now_ms + RARELY_MS;
    if (is_denied(entry->err))
        say(kposition, entry->err);
}

/* Never of the whole request, even if it was for one partition alone. */
static bool
is_of_topic(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

/* What all partitions say; the whole request failed, then. */
static rd_kafka_resp_err_t
common_error(const rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt > 0 && is_of_topic(list->elems[0].err))
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int i = 1; i < list->cnt; i++)
        if (list->elems[i].err != list->elems[0].err)
            return RD_KAFKA_RESP_ERR_NO_ERROR;
    return list->cnt > 0 ? list->elems[0].err : RD_KAFKA_RESP_ERR__FAIL;
}

void
kposition_result(struct kposition *kposition, rd_kafka_event_t *event,
    int64_t now_ms)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    const rd_kafka_topic_partition_list_t *list = NULL;
    const rd_kafka_group_result_t **groups = NULL;
    size_t n = 0;

    kposition->under_way = false;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
            rd_kafka_event_AlterConsumerGroupOffsets_result(event), &n);
        list = n == 1 ? rd_kafka_group_result_partitions(groups[0]) : NULL;
        code = list != NULL ? common_error(list) : RD_KAFKA_RESP_ERR__FAIL;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        failed(kposition, code, now_ms);
        return;
    }
    kposition->failures = 0;
    kposition->backoff = (struct backoff){ 0 };
    for (int i = 0; i < list->cnt; i++)
        take(kposition, &list->elems[i], now_ms);
}

void
kposition_last(struct kposition *kposition, const struct clock *clock)
{
    int64_t now_ms = clock_mono_ms(clock);
    int64_t until_ms = now_ms + KPOSITION_LAST_MS;
    rd_kafka_event_t *event;

    while (kposition->failures == 0 && now_ms < until_ms) {
        if (!kposition->under_way)
            send_due(kposition, now_ms);
        if (!kposition->under_way)
            return; /* all of it is shown */
        event = rd_kafka_queue_poll(kposition->queue, (int)(until_ms - now_ms));
        now_ms = clock_mono_ms(clock);
        if (rd_kafka_event_type(event) ==
            RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT)
            kposition_result(kposition, event, now_ms);
        rd_kafka_event_destroy(event);
    }
}
