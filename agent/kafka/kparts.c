#include "kparts.h"
#include "kconf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REFRESH_WAIT_MS 1

/* The opaque of the library's topic handle. */
struct topic {
    rd_kafka_topic_t *handle;
    int32_t n_parts;
    int32_t *parts; /* by partition */
};

struct part {
    struct topic *topic; /* NULL: stands for nothing */
    int32_t partition;
};

struct kparts {
    rd_kafka_t *rk;
    struct topic **topics; /* by name */
    struct part *parts;    /* by number */
    size_t n_topics, n_parts;
};

struct kparts *
kparts_new(rd_kafka_t *rk, struct err *err)
{
    struct kparts *kparts = calloc(1, sizeof *kparts);

    if (kparts == NULL)
        err_set(err, ERR_MEMORY, "partitions of a client");
    else
        kparts->rk = rk;
    return kparts;
}

static void
topic_free(struct topic *topic)
{
    if (topic->handle != NULL)
        rd_kafka_topic_destroy(topic->handle);
    free(topic->parts);
    free(topic);
}

void
kparts_free(struct kparts *kparts)
{
    if (kparts == NULL)
        return;
    for (size_t i = 0; i < kparts->n_topics; i++)
        topic_free(kparts->topics[i]);
    free(kparts->topics);
    free(kparts->parts);
    free(kparts);
}

/* Where `name` is or would be among the topics. */
static size_t
place_of(const struct kparts *kparts, const char *name, bool *found)
{
    size_t low = 0, high = kparts->n_topics;

    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order =
            strcmp(rd_kafka_topic_name(kparts->topics[middle]->handle), name);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct topic *
topic_new(struct kparts *kparts, const char *name, struct err *err)
{
    struct topic *topic = calloc(1, sizeof *topic);
    rd_kafka_topic_conf_t *conf;

    if (topic == NULL) {
        err_set(err, ERR_MEMORY, "topic %s", name);
        return NULL;
    }
    conf = rd_kafka_default_topic_conf_dup(kparts->rk);
    rd_kafka_topic_conf_set_opaque(conf, topic);
    topic->handle = rd_kafka_topic_new(kparts->rk, name, conf);
    if (topic->handle == NULL) {
        rd_kafka_topic_conf_destroy(conf);
        kconf_err(err, rd_kafka_last_error(), NULL);
        err_wrap(err, "topic %s", name);
        topic_free(topic);
        return NULL;
    }
    return topic;
}

static struct topic *
topic_of(struct kparts *kparts, const char *name, struct err *err)
{
    bool found;
    size_t place = place_of(kparts, name, &found);
    struct topic **topics, *topic;

    if (found)
        return kparts->topics[place];
    topics = realloc(kparts->topics, (kparts->n_topics + 1) * sizeof *topics);
    if (topics == NULL) {
        err_set(err, ERR_MEMORY, "topic %s", name);
        return NULL;
    }
    kparts->topics = topics;
    if ((topic = topic_new(kparts, name, err)) == NULL)
        return NULL;
    memmove(topics + place + 1, topics + place,
        (kparts->n_topics - place) * sizeof *topics);
    topics[place] = topic;
    kparts->n_topics++;
    return topic;
}

/* Room for a partition in its topic's table. */
static bool
widen_topic(struct topic *topic, int32_t partition)
{
    size_t n = (size_t)partition + 1;
    int32_t *parts;

    if (partition < topic->n_parts)
        return true;
    parts = realloc(topic->parts, n * sizeof *parts);
    if (parts == NULL)
        return false;
    topic->parts = parts;
    while (topic->n_parts <= partition)
        parts[topic->n_parts++] = KPARTS_NONE;
    return true;
}

/* Room for a number. */
static bool
widen(struct kparts *kparts, int32_t part)
{
    size_t n = (size_t)part + 1;
    struct part *parts;

    if (n <= kparts->n_parts)
        return true;
    n = n < 16 ? 16 : n + n / 2;
    parts = realloc(kparts->parts, n * sizeof *parts);
    if (parts == NULL)
        return false;
    memset(parts + kparts->n_parts, 0, (n - kparts->n_parts) * sizeof *parts);
    kparts->parts = parts;
    kparts->n_parts = n;
    return true;
}

bool
kparts_name(struct kparts *kparts, int32_t part, const char *name,
    int32_t partition, struct err *err)
{
    struct topic *topic;
    struct part *entry;

    assert(part >= 0 && partition >= 0 && partition < INT32_MAX);
    if ((topic = topic_of(kparts, name, err)) == NULL)
        return false;
    if (!widen_topic(topic, partition) || !widen(kparts, part))
        return err_set(err, ERR_MEMORY, "%s [%d]", name, partition);
    entry = &kparts->parts[part];
    if (entry->topic != NULL && entry->topic->parts[entry->partition] == part)
        entry->topic->parts[entry->partition] = KPARTS_NONE;
    entry->topic = topic;
    entry->partition = partition;
    topic->parts[partition] = part;
    return true;
}

bool
kparts_fits(const struct kparts *kparts, int32_t part, const char *topic,
    int32_t partition)
{
    rd_kafka_topic_t *handle = kparts_topic(kparts, part);

    return handle == NULL ||
           (kparts_partition(kparts, part) == partition &&
               strcmp(rd_kafka_topic_name(handle), topic) == 0);
}

rd_kafka_topic_t *
kparts_topic(const struct kparts *kparts, int32_t part)
{
    if (part < 0 || (size_t)part >= kparts->n_parts ||
        kparts->parts[part].topic == NULL)
        return NULL;
    return kparts->parts[part].topic->handle;
}

int32_t
kparts_partition(const struct kparts *kparts, int32_t part)
{
    return kparts->parts[part].partition;
}

int32_t
kparts_of(const rd_kafka_message_t *message)
{
    const struct topic *topic =
        message->rkt != NULL ? rd_kafka_topic_opaque(message->rkt) : NULL;

    if (topic == NULL || message->partition < 0 ||
        message->partition >= topic->n_parts)
        return KPARTS_NONE;
    return topic->parts[message->partition];
}

void
kparts_refresh(const struct kparts *kparts, int32_t part)
{
    const struct rd_kafka_metadata *metadata = NULL;

    if (rd_kafka_metadata(kparts->rk, 0, kparts_topic(kparts, part), &metadata,
            REFRESH_WAIT_MS) == 0)
        rd_kafka_metadata_destroy(metadata);
}
