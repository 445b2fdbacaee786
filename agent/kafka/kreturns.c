#include "kreturns.h"

#include "clock.h"
#include "kadmin.h"
#include "ktopics.h"
#include "kworker.h"
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MS 200

enum belongs { UNKNOWN, RETURNS, OTHERS };

/* One lane of a ledger. */
struct place {
    int64_t next; /* to be read; -1: nothing was yet */
    int64_t high;
    bool wanted; /* in this look */
};

struct seen {
    struct seen *next;
    struct catalog_topic topic; /* as the list has it */
    bool listed, said;          /* in this look; that it cannot be read */
    enum belongs belongs;
    char flow[LEDGER_ALIAS_MAX];
    struct place lane[]; /* topic.partitions */
};

/* A topic that a ledger has entries of. */
struct pair {
    const struct seen *of;
    int64_t time_ms; /* the broker's, of the newest entry */
    bool idle;
    char origin[LEDGER_NAME_MAX], topic[LEDGER_NAME_MAX];
};

struct kreturns {
    const struct ktopics_options *o;
    char target[LEDGER_ID_MAX]; /* the cluster that `belongs` is about */
    struct seen *seen;
    struct pair *pairs;
    size_t n, room;
};

/* What one look has still to read. */
struct look {
    struct kreturns *returns;
    const struct kjob *job;
    rd_kafka_t *rk;
    size_t left; /* lanes that are wanted */
    bool missed; /* some could not be read now */
    int64_t bytes, deadline_ms;
};

struct kreturns *
kreturns_new(const struct ktopics_options *options, struct err *err)
{
    struct kreturns *returns = calloc(1, sizeof *returns);

    if (returns == NULL)
        err_set(err, ERR_MEMORY, "catalog");
    else
        returns->o = options;
    return returns;
}

static void
forget_pairs(struct kreturns *returns, const struct seen *of)
{
    size_t kept = 0;

    for (size_t i = 0; i < returns->n; i++)
        if (returns->pairs[i].of != of)
            returns->pairs[kept++] = returns->pairs[i];
    returns->n = kept;
}

/* Those that the list does not have (any more). */
static void
forget_unlisted(struct kreturns *returns)
{
    struct seen **at = &returns->seen;

    while (*at != NULL) {
        struct seen *seen = *at;

        if (seen->listed) {
            at = &seen->next;
            continue;
        }
        *at = seen->next;
        forget_pairs(returns, seen);
        free(seen);
    }
}

void
kreturns_free(struct kreturns *returns)
{
    if (returns == NULL)
        return;
    for (struct seen *seen = returns->seen; seen != NULL; seen = seen->next)
        seen->listed = false;
    forget_unlisted(returns);
    free(returns->pairs);
    free(returns);
}

/* --- which ledgers there are --- */

static bool
is_ledger(const char *name)
{
    static const char head[] = "kedge.", tail[] = ".ledger";
    size_t len = strlen(name);

    return len > sizeof head + sizeof tail &&
           strncmp(name, head, sizeof head - 1) == 0 &&
           strcmp(name + len - (sizeof tail - 1), tail) == 0;
}

static struct seen *
find(struct kreturns *returns, const char *name)
{
    struct seen *seen = returns->seen;

    while (seen != NULL && strcmp(seen->topic.name, name) != 0)
        seen = seen->next;
    return seen;
}

static void
meet(struct kreturns *returns, const struct catalog_topic *topic)
{
    struct seen *seen = find(returns, topic->name);
    size_t lanes = (size_t)topic->partitions;

    if (seen != NULL && strcmp(seen->topic.id, topic->id) == 0 &&
        seen->topic.partitions == topic->partitions) {
        seen->listed = true;
        return;
    }
    if (lanes > LEDGER_LANES_MAX ||
        (seen = calloc(1, sizeof *seen + lanes * sizeof seen->lane[0])) == NULL)
        return; /* no memory now: met at the next look */
    seen->topic = *topic;
    seen->listed = true;
    for (size_t i = 0; i < lanes; i++)
        seen->lane[i].next = -1;
    seen->next = returns->seen;
    returns->seen = seen;
}

static void
meet_all(struct kreturns *returns, const struct catalog_list *list)
{
    bool other = strcmp(returns->target, list->target_cluster_id) != 0;

    memcpy(returns->target, list->target_cluster_id, sizeof returns->target);
    for (struct seen *seen = returns->seen; seen != NULL; seen = seen->next)
        seen->listed = false;
    if (other)
        forget_unlisted(returns);
    for (size_t i = 0; i < list->n; i++)
        if (is_ledger(list->topics[i].name))
            meet(returns, &list->topics[i]);
    forget_unlisted(returns);
}

/* What passes by itself is for the next look. */
static void
unread(struct look *look, struct seen *seen, const struct err *why)
{
    look->missed |= why->retry;
    if (why->retry)
        return;
    if (!seen->said)
        LOG(look->returns->o->log, LEVEL_WARN, "ledger.unread",
            kv_str("flow", look->returns->o->flow),
            kv_str("ledger", seen->topic.name), kv_str("why", why->text),
            kv_str("hint",
                "not known whether its flow brings records back in a circle; "
                "grant this client Read on it at the source"));
    seen->said = true;
}

/* --- what was added to them --- */

/* Answers come in the order of the lanes that were asked for. */
static void
take_ends(struct kreturns *returns, struct look *look,
    const struct catalog_partition *ends, const struct err *err)
{
    for (struct seen *seen = returns->seen; seen != NULL; seen = seen->next) {
        for (int32_t i = 0;
             seen->belongs != OTHERS && i < seen->topic.partitions; i++) {
            struct place *place = &seen->lane[i];

            place->high = (ends++)->high;
            if (place->high == CATALOG_UNKNOWN)
                unread(look, seen, err);
            if (place->next < place->high - KRETURNS_TAIL)
                place->next = place->high - KRETURNS_TAIL;
            place->wanted = place->high > 0 && place->high > place->next;
            look->left += place->wanted;
        }
    }
}

static void
ask_ends(struct kreturns *returns, struct kadmin *source, struct look *look)
{
    struct catalog_partition *ends = NULL;
    struct err err = { .kind = ERR_NONE };
    size_t n = 0;

    for (struct seen *seen = returns->seen; seen != NULL; seen = seen->next)
        n += seen->belongs != OTHERS ? (size_t)seen->topic.partitions : 0;
    ends = calloc(n + 1, sizeof ends[0]);
    look->missed = ends == NULL;
    if (n == 0 || ends == NULL) {
        free(ends);
        return;
    }
    n = 0;
    for (struct seen *seen = returns->seen; seen != NULL; seen = seen->next) {
        for (int32_t i = 0;
             seen->belongs != OTHERS && i < seen->topic.partitions; i++) {
            memcpy(ends[n].topic, seen->topic.name, sizeof ends[n].topic);
            ends[n++].partition = i;
        }
    }
    kadmin_highs(source, look->job, ends, n, &err);
    take_ends(returns, look, ends, &err);
    free(ends);
}

static bool
go_to_them(struct look *look, struct err *err)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)look->left);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    for (struct seen *seen = look->returns->seen; seen != NULL;
         seen = seen->next)
        for (int32_t i = 0; i < seen->topic.partitions; i++)
            if (seen->lane[i].wanted)
                rd_kafka_topic_partition_list_add(list, seen->topic.name, i)
                    ->offset = seen->lane[i].next >= 0
                                   ? seen->lane[i].next
                                   : RD_KAFKA_OFFSET_BEGINNING;
    code = rd_kafka_assign(look->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR || kconf_err(err, code, NULL);
}

static void
done_with(struct look *look, struct place *place)
{
    look->left -= place->wanted;
    place->wanted = false;
}

static struct pair *
find_pair(struct kreturns *returns, const struct seen *of, const char *origin)
{
    for (size_t i = 0; i < returns->n; i++) {
        struct pair *pair = &returns->pairs[i];

        if (pair->of == of && strcmp(pair->origin, origin) == 0)
            return pair;
    }
    return NULL;
}

static struct pair *
add_pair(struct kreturns *returns)
{
    size_t room = returns->room == 0 ? 16 : returns->room * 2;
    struct pair *more;

    if (returns->n == returns->room) {
        if (returns->n >= KRETURNS_MAX ||
            (more = realloc(returns->pairs, room * sizeof more[0])) == NULL)
            return NULL;
        returns->pairs = more;
        returns->room = room;
    }
    memset(&returns->pairs[returns->n], 0, sizeof returns->pairs[0]);
    return &returns->pairs[returns->n++];
}

/* Of the partitions of a topic, which are in several lanes, the newest entry
 * says whether it is idle.  False: no room for it. */
static bool
take_entry(struct kreturns *returns, const struct seen *seen,
    const struct ledger_record *record, int64_t time_ms)
{
    const struct ledger_entry *entry = &record->entry;
    struct pair *pair = find_pair(returns, seen, entry->topic);

    if (pair == NULL) {
        if (record->tombstone || entry->target_topic[0] == '\0')
            return true;
        if ((pair = add_pair(returns)) == NULL)
            return false;
        pair->of = seen;
        memcpy(pair->origin, entry->topic, sizeof pair->origin);
    }
    if (time_ms < pair->time_ms)
        return true;
    pair->time_ms = time_ms;
    pair->idle = record->tombstone || entry->idle[0] != '\0';
    if (entry->target_topic[0] != '\0')
        memcpy(pair->topic, entry->target_topic, sizeof pair->topic);
    return true;
}

static void
take_header(struct look *look, struct seen *seen,
    const struct ledger_header *header)
{
    struct kreturns *returns = look->returns;

    memcpy(seen->flow, header->flow, sizeof seen->flow);
    seen->belongs = strcmp(header->source_cluster_id, returns->target) == 0
                        ? RETURNS
                        : OTHERS;
    if (seen->belongs == RETURNS)
        return;
    forget_pairs(returns, seen);
    for (int32_t i = 0; i < seen->topic.partitions; i++)
        done_with(look, &seen->lane[i]);
}

static void
take_record(struct look *look, struct seen *seen,
    const rd_kafka_message_t *message)
{
    struct place *place = &seen->lane[message->partition];
    struct ledger_record record;
    struct err
        ignored; /* a later one with its key counts, or its owner stops */

    look->bytes += (int64_t)(message->len + message->key_len);
    place->next = message->offset + 1;
    if (!ledger_decode(&record, message->key, message->key_len,
            message->payload, message->len, &ignored))
        return;
    if (record.kind == LEDGER_HEADER)
        take_header(look, seen, &record.header);
    else if (record.kind == LEDGER_ENTRY &&
             !take_entry(look->returns, seen, &record,
                 rd_kafka_message_timestamp(message, NULL))) {
        place->next = message->offset; /* read again at the next look */
        look->missed = true;
        done_with(look, place);
    }
}

/* An end, or an error in place of a record. */
static void
hear(struct look *look, struct seen *seen, const rd_kafka_message_t *message)
{
    struct place *place = &seen->lane[message->partition];
    struct err err;

    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        place->next = message->offset; /* markers are behind the last record */
    } else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
        place->next = -1; /* the log was truncated: from its tail, next time */
    } else {
        kconf_err(&err, message->err, rd_kafka_message_errstr(message));
        unread(look, seen, &err);
    }
    done_with(look, place);
}

static void
take(struct look *look, const rd_kafka_message_t *message)
{
    struct seen *seen =
        message->rkt != NULL
            ? find(look->returns, rd_kafka_topic_name(message->rkt))
            : NULL;

    if (seen == NULL || message->partition < 0 ||
        message->partition >= seen->topic.partitions ||
        !seen->lane[message->partition].wanted)
        return;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        take_record(look, seen, message);
    else
        hear(look, seen, message);
}

static void
read_them(struct look *look)
{
    const struct ktopics_options *o = look->returns->o;
    const struct kconf_options options = {
        .client = KCONF_LEDGER,
        .cluster = o->source,
        .agent = o->agent,
        .flow = o->flow,
        .group_id = o->flow, /* which is never joined */
        .log = o->log,
        .configure = o->configure_source,
    };
    rd_kafka_message_t *message = NULL;
    struct err err;

    look->deadline_ms = clock_mono_ms(clock_system()) + KRETURNS_MS;
    if ((look->rk = kconf_open(&options, &err)) == NULL)
        return; /* the next look tries again */
    (void)rd_kafka_poll_set_consumer(look->rk);
    for (bool on = go_to_them(look, &err); on && look->left > 0;
         on = look->bytes < KRETURNS_BYTES && !kworker_cancelled(look->job) &&
              clock_mono_ms(clock_system()) < look->deadline_ms) {
        kworker_progress(look->job);
        if ((message = rd_kafka_consumer_poll(look->rk, SLICE_MS)) == NULL)
            continue;
        take(look, message);
        rd_kafka_message_destroy(message);
    }
    (void)rd_kafka_assign(look->rk, NULL);
    (void)rd_kafka_consumer_close(look->rk);
    kconf_close(look->rk);
}

static void
tell(const struct kreturns *returns, struct catalog_list *list)
{
    struct catalog_return *to = calloc(returns->n + 1, sizeof to[0]);

    list->returns = to;
    for (size_t i = 0; to != NULL && i < returns->n; i++) {
        const struct pair *pair = &returns->pairs[i];

        if (pair->idle || pair->of->belongs != RETURNS)
            continue;
        memcpy(to->ledger, pair->of->topic.name, sizeof to->ledger);
        memcpy(to->flow, pair->of->flow, sizeof to->flow);
        memcpy(to->origin, pair->origin, sizeof to->origin);
        memcpy(to->topic, pair->topic, sizeof to->topic);
        to++;
        list->n_returns++;
    }
}

void
kreturns_look(struct kreturns *returns, struct kadmin *source,
    const struct kjob *job, struct catalog_list *list)
{
    struct look look = { .returns = returns, .job = job };

    meet_all(returns, list);
    ask_ends(returns, source, &look);
    if (look.left > 0)
        read_them(&look);
    tell(returns, list);
    list->returns_missed = look.missed || look.left > 0;
}
