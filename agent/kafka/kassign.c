#include "kassign.h"

#include "kadvice.h"
#include "kparts.h"
#include "krecord.h"

#include <stdlib.h>
#include <string.h>

#define DOUBTS 2

struct part {
    int64_t next;         /* where to read; nothing before it is given */
    int32_t leader_epoch; /* of the record before it, -1 */
    int64_t cut;          /* of the last error about its position */
    int doubts;    /* errors that may be of an earlier reading: so many more are
                 * answered by another try */
    bool reading;  /* as ordered */
    bool assigned; /* the library has it */
    bool changed;  /* in `changes`: the two may differ */
    bool settled;  /* the library's position is of this reading */
};

struct kassign {
    rd_kafka_t *rk;
    const struct kparts *names;
    kassign_fail_fn *fail;
    void *ctx;
    struct part *parts; /* by number */
    int32_t *changes;   /* as much room */
    size_t n_parts, n_changes, n_assigned;
};

struct kassign *
kassign_new(rd_kafka_t *rk, const struct kparts *names, kassign_fail_fn *fail,
    void *ctx, struct err *err)
{
    struct kassign *kassign = calloc(1, sizeof *kassign);

    if (kassign == NULL) {
        err_set(err, ERR_MEMORY, "assignment of a client");
        return NULL;
    }
    kassign->rk = rk;
    kassign->names = names;
    kassign->fail = fail;
    kassign->ctx = ctx;
    return kassign;
}

void
kassign_free(struct kassign *kassign)
{
    if (kassign == NULL)
        return;
    free(kassign->parts);
    free(kassign->changes);
    free(kassign);
}

bool
kassign_room(struct kassign *kassign, int32_t part, struct err *err)
{
    size_t n = (size_t)part + 1;
    struct part *parts;
    int32_t *changes;

    if (n <= kassign->n_parts)
        return true;
    n = n < 16 ? 16 : n + n / 2;
    if ((changes = realloc(kassign->changes, n * sizeof *changes)) == NULL)
        return err_set(err, ERR_MEMORY, "assignment of a client");
    kassign->changes = changes;
    if ((parts = realloc(kassign->parts, n * sizeof *parts)) == NULL)
        return err_set(err, ERR_MEMORY, "assignment of a client");
    memset(parts + kassign->n_parts, 0, (n - kassign->n_parts) * sizeof *parts);
    kassign->parts = parts;
    kassign->n_parts = n;
    return true;
}

static void
mark_changed(struct kassign *kassign, int32_t part)
{
    if (kassign->parts[part].changed)
        return;
    kassign->parts[part].changed = true;
    kassign->changes[kassign->n_changes++] = part;
}

void
kassign_read(struct kassign *kassign, int32_t number, int64_t offset,
    int32_t leader_epoch)
{
    struct part *part = &kassign->parts[number];

    part->next = offset;
    part->leader_epoch = leader_epoch;
    part->doubts = part->assigned ? DOUBTS : 0;
    part->reading = true;
    part->settled = false;
    mark_changed(kassign, number);
}

/* The library queues such an error without the version that would tell it from
 * one of an earlier reading; and one that it met before it heard of the newest
 * order stops the reading of that order.  A log that was truncated is not read
 * once more: the library would not look at its epochs again. */
bool
kassign_is_gone(struct kassign *kassign, int32_t number,
    const rd_kafka_message_t *error)
{
    struct part *part = &kassign->parts[number];
    const char *truncated = rd_kafka_err2str(RD_KAFKA_RESP_ERR__LOG_TRUNCATION);

    if (part->changed)
        return false; /* it will be read from there soon */
    part->cut = kadvice_cut(rd_kafka_message_errstr(error));
    if (part->doubts == 0 || error->offset == part->next ||
        strstr(rd_kafka_message_errstr(error), truncated) != NULL)
        return true;
    part->doubts--;
    mark_changed(kassign, number);
    return false;
}

int64_t
kassign_cut(const struct kassign *kassign, int32_t part)
{
    return kassign->parts[part].cut;
}

bool
kassign_reads(const struct kassign *kassign, int32_t part)
{
    return part >= 0 && (size_t)part < kassign->n_parts &&
           kassign->parts[part].reading;
}

void
kassign_stop(struct kassign *kassign, int32_t part)
{
    if (!kassign_reads(kassign, part))
        return;
    kassign->parts[part].reading = false;
    mark_changed(kassign, part);
}

static void
add(const struct kassign *kassign, int32_t number,
    rd_kafka_topic_partition_list_t *list)
{
    const struct part *part = &kassign->parts[number];
    rd_kafka_topic_partition_t *entry = rd_kafka_topic_partition_list_add(list,
        rd_kafka_topic_name(kparts_topic(kassign->names, number)),
        kparts_partition(kassign->names, number));

    entry->offset = part->next;
    if (part->leader_epoch >= 0)
        rd_kafka_topic_partition_set_leader_epoch(entry, part->leader_epoch);
}

/* First all of `out` are taken back, then all of `in` are given. */
static rd_kafka_resp_err_t
change(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *out,
    rd_kafka_topic_partition_list_t *in)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_error_t *error = NULL;

    if (out->cnt > 0)
        error = rd_kafka_incremental_unassign(rk, out);
    if (error == NULL && in->cnt > 0)
        error = rd_kafka_incremental_assign(rk, in);
    if (error != NULL) {
        code = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
    }
    return code;
}

static void
cannot_be_read(struct kassign *kassign, int32_t number,
    rd_kafka_resp_err_t code)
{
    struct part *part = &kassign->parts[number];
    bool reading = part->reading;

    kassign->n_assigned -= part->assigned;
    part->reading = part->assigned = false;
    if (reading)
        kassign->fail(kassign->ctx, number, code);
}

/* How many changes the library gets in one call. */
static size_t
portion(const struct kassign *kassign)
{
    size_t n = KASSIGN_LOOKS / (kassign->n_assigned + 1);

    if (n < KASSIGN_LEAST)
        n = KASSIGN_LEAST;
    return n < kassign->n_changes ? n : kassign->n_changes;
}

bool
kassign_apply(struct kassign *kassign)
{
    size_t n = portion(kassign);
    int32_t *now = kassign->changes + kassign->n_changes - n;
    rd_kafka_topic_partition_list_t *out, *in;
    rd_kafka_resp_err_t code;

    if (n == 0)
        return false;
    out = rd_kafka_topic_partition_list_new((int)n);
    in = rd_kafka_topic_partition_list_new((int)n);
    for (size_t i = 0; i < n; i++) {
        struct part *part = &kassign->parts[now[i]];

        if (part->assigned)
            add(kassign, now[i], out);
        if (part->reading)
            add(kassign, now[i], in);
        kassign->n_assigned -= part->assigned;
        kassign->n_assigned += part->reading;
        part->assigned = part->reading;
        part->changed = false;
    }
    kassign->n_changes -= n;
    code = change(kassign->rk, out, in);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        for (size_t i = 0; i < n; i++)
            cannot_be_read(kassign, now[i], code);
    rd_kafka_topic_partition_list_destroy(out);
    rd_kafka_topic_partition_list_destroy(in);
    return kassign->n_changes > 0;
}

bool
kassign_take(struct kassign *kassign, int32_t number,
    rd_kafka_message_t *message, struct record *record)
{
    struct part *part = &kassign->parts[number];

    if (!part->reading || part->changed || message->offset < part->next)
        return false;
    krecord_fill(record, message, number);
    part->next = message->offset + 1;
    part->leader_epoch = record->leader_epoch;
    part->doubts = 0;
    part->settled = true;
    return true;
}

int64_t
kassign_next(const struct kassign *kassign, int32_t part)
{
    return kassign->parts[part].next;
}

/* Until it has stopped an earlier reading the library answers for that one: its
 * position counts from the first record on, or once there was none. */
int64_t
kassign_position(struct kassign *kassign, int32_t number)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    struct part *part = &kassign->parts[number];
    int64_t offset;

    add(kassign, number, list);
    (void)rd_kafka_position(kassign->rk, list);
    offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    if (offset < 0 && !part->changed)
        part->settled = true;
    return part->settled && offset > part->next ? offset : part->next;
}
