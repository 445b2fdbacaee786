#include "kadmin.h"

#include "clock.h"
#include "kworker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MS 200
#define ASK_MS 1000
#define FIRST_MS 3000

struct kadmin {
    rd_kafka_t *rk;
    rd_kafka_queue_t *told; /* errors that come by themselves */
    int64_t step_ms, until_ms;
    rd_kafka_resp_err_t heard_code;
    char heard[256]; /* what was told last, but for "all are down" */
    bool kept_out;   /* by every broker, until somebody changes something */
    bool starved;    /* of a broker's thread, which is not tried again */
    bool lost;       /* every broker, since begun_ms */
    bool answered;   /* once at least */
    int64_t begun_ms;
};

struct kadmin *
kadmin_open(const struct kadmin_options *options, struct err *err)
{
    const struct kconf_options conf = {
        .client = KCONF_ADMIN,
        .cluster = options->cluster,
        .agent = options->agent,
        .flow = options->flow,
        .events = RD_KAFKA_EVENT_ERROR,
        .log = options->log,
        .configure = options->configure,
    };
    struct kadmin *admin = calloc(1, sizeof *admin);

    if (admin == NULL) {
        err_set(err, ERR_MEMORY, "admin client");
        return NULL;
    }
    admin->step_ms = options->step_ms;
    if ((admin->rk = kconf_open(&conf, err)) == NULL) {
        free(admin);
        return NULL;
    }
    admin->told = rd_kafka_queue_get_main(admin->rk);
    return admin;
}

void
kadmin_close(struct kadmin *admin)
{
    if (admin == NULL)
        return;
    rd_kafka_queue_destroy(admin->told);
    kconf_close(admin->rk);
    free(admin);
}

void
kadmin_until(struct kadmin *admin, int64_t until_ms)
{
    admin->until_ms = until_ms;
}

rd_kafka_t *
kadmin_client(const struct kadmin *admin)
{
    return admin->rk;
}

static int64_t
now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* Takes what the client tells by itself, without waiting. */
static void
hear(struct kadmin *admin)
{
    rd_kafka_event_t *event = NULL;

    while ((event = rd_kafka_queue_poll(admin->told, 0)) != NULL) {
        rd_kafka_resp_err_t code = rd_kafka_event_error(event);

        admin->starved =
            admin->starved || code == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
        if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
            admin->lost = true;
            admin->kept_out =
                admin->heard_code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                admin->heard_code == RD_KAFKA_RESP_ERR__SSL;
        }
        /* what one broker had says more than that all are gone */
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR &&
            (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
                admin->heard[0] == '\0')) {
            admin->heard_code = code;
            (void)snprintf(admin->heard, sizeof admin->heard, "%s",
                rd_kafka_event_error_string(event));
        }
        rd_kafka_event_destroy(event);
    }
}

/* What may still be waited for an answer. */
static int64_t
allowed_ms(const struct kadmin *admin)
{
    int64_t left_ms = admin->until_ms - now_ms();

    if (admin->until_ms == KADMIN_STEPS || left_ms > admin->step_ms)
        return admin->step_ms;
    return left_ms > 0 ? left_ms : 0;
}

static int64_t
begin(struct kadmin *admin, const struct kjob *job)
{
    kworker_progress(job);
    admin->kept_out = admin->lost = false; /* it may be mended */
    admin->begun_ms = now_ms();
    return admin->begun_ms + allowed_ms(admin);
}

/* Time, and reason, to go on waiting for an answer.  A cluster that never gave
 * one is not waited for in silence. */
static bool
waits(struct kadmin *admin, int64_t deadline_ms, const struct kjob *job)
{
    bool in_vain;

    hear(admin);
    in_vain = (admin->lost || admin->starved) && !admin->answered &&
              now_ms() >= admin->begun_ms + FIRST_MS;
    return now_ms() < deadline_ms && !kworker_cancelled(job) && !in_vain &&
           !admin->kept_out;
}

/* An answer came: what was heard before is past. */
static void
answered(struct kadmin *admin)
{
    admin->heard_code = RD_KAFKA_RESP_ERR_NO_ERROR;
    admin->heard[0] = '\0';
    admin->kept_out = admin->starved = false; /* of some broker at most */
    admin->answered = true;
}

static bool
unanswered(struct kadmin *admin, rd_kafka_resp_err_t code, struct err *err)
{
    hear(admin);
    if (code <= 0 && kconf_distrusts(admin->rk, err))
        return false;
    if (code <= 0 && admin->starved)
        return kconf_err(err, RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, NULL);
    if (admin->heard[0] == '\0' || code > 0)
        return kconf_err(err, code, NULL);
    kconf_err(err, admin->kept_out ? admin->heard_code : code, admin->heard);
    err->retry = true; /* a password may change at the broker, too */
    return false;
}

rd_kafka_event_t *
kadmin_wait(struct kadmin *admin, const struct kjob *job,
    rd_kafka_queue_t *queue, rd_kafka_resp_err_t *code, struct err *err)
{
    int64_t deadline_ms = begin(admin, job);
    rd_kafka_event_t *event = NULL;

    while (event == NULL && waits(admin, deadline_ms, job))
        event = rd_kafka_queue_poll(queue, SLICE_MS);
    rd_kafka_queue_destroy(queue);
    *code = event != NULL ? rd_kafka_event_error(event)
                          : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (*code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        answered(admin);
        return event;
    }
    unanswered(admin, *code, err);
    if (event != NULL)
        rd_kafka_event_destroy(event);
    return NULL;
}

bool
kadmin_cluster_id(struct kadmin *admin, const struct kjob *job,
    char id[LEDGER_ID_MAX], struct err *err)
{
    int64_t deadline_ms = begin(admin, job);
    char *text = NULL;

    while (text == NULL && waits(admin, deadline_ms, job))
        text = rd_kafka_clusterid(admin->rk, SLICE_MS);
    if (text == NULL)
        return unanswered(admin, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, err);
    admin->answered = true;
    (void)snprintf(id, LEDGER_ID_MAX, "%s", text);
    rd_kafka_mem_free(admin->rk, text);
    return true;
}

/* Of all topics, or of none. */
static const struct rd_kafka_metadata *
ask_metadata(struct kadmin *admin, const struct kjob *job, bool all,
    struct err *err)
{
    int64_t deadline_ms = begin(admin, job);
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;

    while (code != RD_KAFKA_RESP_ERR_NO_ERROR && waits(admin, deadline_ms, job))
        code =
            rd_kafka_metadata(admin->rk, all ? 1 : 0, NULL, &metadata, ASK_MS);
    admin->answered |= code == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return metadata;
    unanswered(admin, code, err);
    return NULL;
}

/* A broker to ask in place of a controller that is not among them; -1: the
 * controller is there. */
static int32_t
stand_in(struct kadmin *admin, const struct rd_kafka_metadata *metadata)
{
    int32_t controller = rd_kafka_controllerid(admin->rk, 0);

    for (int i = 0; i < metadata->broker_cnt; i++) {
        if (metadata->brokers[i].id == controller)
            return -1;
    }
    return metadata->broker_cnt > 0 ? metadata->brokers[0].id : -1;
}

rd_kafka_AdminOptions_t *
kadmin_request(struct kadmin *admin, const struct kjob *job,
    rd_kafka_admin_op_t op, struct err *err)
{
    const struct rd_kafka_metadata *metadata =
        ask_metadata(admin, job, false, err);
    rd_kafka_AdminOptions_t *options = NULL;
    char errstr[128];
    int32_t broker = -1;

    if (metadata == NULL)
        return NULL;
    broker = stand_in(admin, metadata);
    rd_kafka_metadata_destroy(metadata);
    options = rd_kafka_AdminOptions_new(admin->rk, op);
    (void)rd_kafka_AdminOptions_set_request_timeout(options,
        (int)allowed_ms(admin), errstr, sizeof errstr);
    if (broker >= 0 && op != RD_KAFKA_ADMIN_OP_LISTOFFSETS)
        (void)rd_kafka_AdminOptions_set_broker(options, broker, errstr,
            sizeof errstr);
    return options;
}

bool
kadmin_list(struct kadmin *admin, const struct kjob *job,
    struct kadmin_topic **topics, size_t *n, struct err *err)
{
    const struct rd_kafka_metadata *metadata =
        ask_metadata(admin, job, true, err);
    size_t room = 0;

    *n = 0;
    if (metadata == NULL)
        return false;
    room = (size_t)metadata->topic_cnt;
    *topics = calloc(room > 0 ? room : 1, sizeof **topics);
    for (size_t i = 0; *topics != NULL && i < room; i++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];
        struct kadmin_topic *to = &(*topics)[*n];

        if (topic->partition_cnt <= 0 ||
            strlen(topic->topic) >= sizeof to->name)
            continue;
        (void)snprintf(to->name, sizeof to->name, "%s", topic->topic);
        to->partitions = topic->partition_cnt;
        (*n)++;
    }
    rd_kafka_metadata_destroy(metadata);
    return *topics != NULL || err_set(err, ERR_MEMORY, "%zu topics", room);
}

/* Without a leader it is worse than with any number of replicas. */
static void
take_worst(const rd_kafka_TopicPartitionInfo_t **partitions, size_t n,
    struct kadmin_topic *to)
{
    for (size_t i = 0; i < n; i++) {
        const rd_kafka_Node_t *leader =
            rd_kafka_TopicPartitionInfo_leader(partitions[i]);
        bool led = leader != NULL && rd_kafka_Node_id(leader) >= 0;
        size_t replicas = 0, in_sync = 0;

        (void)rd_kafka_TopicPartitionInfo_replicas(partitions[i], &replicas);
        (void)rd_kafka_TopicPartitionInfo_isr(partitions[i], &in_sync);
        if (i > 0 &&
            (!to->worst.led || (led && (int32_t)in_sync >= to->worst.in_sync)))
            continue;
        to->worst.partition =
            rd_kafka_TopicPartitionInfo_partition(partitions[i]);
        to->worst.replicas = (int32_t)replicas;
        to->worst.in_sync = (int32_t)in_sync;
        to->worst.led = led;
    }
}

static void
take_topic(const rd_kafka_TopicDescription_t *from, struct kadmin_topic *to)
{
    const rd_kafka_error_t *error = rd_kafka_TopicDescription_error(from);
    const rd_kafka_Uuid_t *id = rd_kafka_TopicDescription_topic_id(from);
    const rd_kafka_TopicPartitionInfo_t **partitions;
    size_t n = 0;

    to->code = rd_kafka_error_code(error);
    to->partitions = 0;
    to->id[0] = '\0';
    if (to->code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        to->code = RD_KAFKA_RESP_ERR_NO_ERROR;
        return;
    }
    if (to->code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kconf_err(&to->err, to->code, rd_kafka_error_string(error));
        return;
    }
    partitions = rd_kafka_TopicDescription_partitions(from, &n);
    take_worst(partitions, n, to);
    to->partitions = (int32_t)n;
    if (id != NULL && (rd_kafka_Uuid_most_significant_bits(id) != 0 ||
                          rd_kafka_Uuid_least_significant_bits(id) != 0))
        (void)snprintf(to->id, sizeof to->id, "%s",
            rd_kafka_Uuid_base64str(id));
}

static bool
describe_batch(struct kadmin *admin, const struct kjob *job,
    struct kadmin_topic *topics, size_t n, struct err *err)
{
    const char *names[KADMIN_BATCH];
    rd_kafka_TopicCollection_t *wanted = NULL;
    rd_kafka_AdminOptions_t *options =
        kadmin_request(admin, job, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, err);
    rd_kafka_queue_t *queue = NULL;
    rd_kafka_event_t *event = NULL;
    const rd_kafka_TopicDescription_t **found = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    size_t n_found = 0;
    size_t n_names = 0;

    if (options == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;

        while (strcmp(topics[j].name, topics[i].name) != 0)
            j++;
        if (j == i) /* a name may stand in a request only once */
            names[n_names++] = topics[i].name;
    }
    wanted = rd_kafka_TopicCollection_of_topic_names(names, n_names);
    queue = rd_kafka_queue_new(admin->rk);
    rd_kafka_DescribeTopics(admin->rk, wanted, options, queue);
    rd_kafka_TopicCollection_destroy(wanted);
    rd_kafka_AdminOptions_destroy(options);
    if ((event = kadmin_wait(admin, job, queue, &code, err)) == NULL)
        return false;
    found = rd_kafka_DescribeTopics_result_topics(
        rd_kafka_event_DescribeTopics_result(event), &n_found);
    for (size_t i = 0; i < n_found; i++) {
        const char *name = rd_kafka_TopicDescription_name(found[i]);

        for (size_t j = 0; j < n; j++) {
            if (strcmp(topics[j].name, name) == 0)
                take_topic(found[i], &topics[j]);
        }
    }
    rd_kafka_event_destroy(event);
    return true;
}

bool
kadmin_describe(struct kadmin *admin, const struct kjob *job,
    struct kadmin_topic *topics, size_t n, struct err *err)
{
    for (size_t at = 0; at < n; at += KADMIN_BATCH) {
        size_t some = n - at < KADMIN_BATCH ? n - at : KADMIN_BATCH;

        if (!describe_batch(admin, job, topics + at, some, err))
            return false;
    }
    return true;
}

/* A partition whose broker failed has neither an error nor an offset. */
static bool
unanswered_high(const rd_kafka_topic_partition_t *at)
{
    return at == NULL ||
           (at->err == RD_KAFKA_RESP_ERR_NO_ERROR && at->offset < 0);
}

/* Fills in the answers that are there. */
static void
take_highs(rd_kafka_event_t *event, struct catalog_partition *partitions,
    size_t n, struct err *err)
{
    size_t n_found = 0;
    const rd_kafka_ListOffsetsResultInfo_t **found =
        rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(
                                              event),
            &n_found);

    for (size_t i = 0; i < n; i++) {
        const rd_kafka_topic_partition_t *at = NULL;

        for (size_t j = 0; j < n_found && at == NULL; j++) {
            at = rd_kafka_ListOffsetsResultInfo_topic_partition(
                found[(i + j) % n_found]);
            if (at->partition != partitions[i].partition ||
                strcmp(at->topic, partitions[i].topic) != 0)
                at = NULL;
        }
        if (unanswered_high(at)) {
            err_set_retry(err, ERR_KAFKA, "%s [%d]: no answer",
                partitions[i].topic, partitions[i].partition);
        } else if (at->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
            partitions[i].high = 0;
        } else if (at->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            partitions[i].high = at->offset;
        } else {
            kconf_err(err, at->err, NULL);
            err_wrap(err, "%s [%d]", partitions[i].topic,
                partitions[i].partition);
        }
    }
}

void
kadmin_highs(struct kadmin *admin, const struct kjob *job,
    struct catalog_partition *partitions, size_t n, struct err *err)
{
    rd_kafka_AdminOptions_t *options =
        kadmin_request(admin, job, RD_KAFKA_ADMIN_OP_LISTOFFSETS, err);
    rd_kafka_topic_partition_list_t *list = NULL;
    rd_kafka_queue_t *queue = NULL;
    rd_kafka_event_t *event = NULL;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    for (size_t i = 0; i < n; i++)
        partitions[i].high = CATALOG_UNKNOWN;
    if (options == NULL)
        return;
    list = rd_kafka_topic_partition_list_new((int)n);
    queue = rd_kafka_queue_new(admin->rk);
    for (size_t i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(list, partitions[i].topic,
            partitions[i].partition)
            ->offset = RD_KAFKA_OFFSET_SPEC_LATEST;
    rd_kafka_ListOffsets(admin->rk, list, options, queue);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
    if ((event = kadmin_wait(admin, job, queue, &code, err)) == NULL)
        return;
    take_highs(event, partitions, n, err);
    rd_kafka_event_destroy(event);
}
