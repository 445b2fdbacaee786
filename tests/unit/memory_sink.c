/* The sink: what was sent waits in its lane until the lane acknowledges it. */
#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool
do_open(void *self, int32_t number, int64_t batch_bytes, struct err *err)
{
    struct memory *memory = self;
    struct memory_lane *lane = &memory->lane[number];
    bool refused;

    memory_enter(memory);
    assert(!lane->open);
    refused = memory->open_refused;
    lane->open = !refused;
    lane->dead = false;
    lane->n_sent = 0;
    lane->batch_bytes = batch_bytes;
    lane->opens++;
    for (int i = 0; i < MEMORY_PARTS; i++)
        memory->attached[i].last = -1;
    memory_leave(memory);
    return !refused || err_set_retry(err, ERR_KAFKA, "no client now");
}

static void
do_close(void *self, int32_t number, int64_t cost)
{
    struct memory *memory = self;

    memory_enter(memory);
    assert(memory->lane[number].open);
    memory->lane[number].open = false;
    memory->lane[number].n_sent = 0;
    if (memory->ends_not)
        memory->closed.ending += cost;
    memory_leave(memory);
}

static void
do_closed(void *self, struct sink_closed *closed)
{
    *closed = ((struct memory *)self)->closed;
}

static bool
do_attach(void *self, int32_t part, int32_t lane, const char *topic,
    int32_t partition, struct err *err)
{
    struct memory *memory = self;
    struct memory_topic *of;

    (void)err;
    memory_enter(memory);
    of = memory_find(memory, topic);
    assert(of != NULL && memory->lane[lane].open);
    memory->attached[part].attached = true;
    memory->attached[part].lane = lane;
    memory->attached[part].of = &of->partition[partition];
    memory_leave(memory);
    return true;
}

static void
do_detach(void *self, int32_t part)
{
    struct memory *memory = self;

    memory_enter(memory);
    memory->attached[part].attached = false;
    memory_leave(memory);
}

static enum sink_answer
do_send(void *self, struct record *record, struct err *err)
{
    struct memory *memory = self;
    struct memory_lane *lane;
    const struct memory_partition *of;
    enum sink_answer answer = SINK_TAKEN;

    memory_enter(memory);
    of = memory->attached[record->part].of;
    lane = &memory->lane[memory->attached[record->part].lane];
    assert(memory->attached[record->part].attached && lane->open);
    if (lane->dead || lane->full) {
        answer = SINK_FULL;
    } else if (of->refuses == 1 && of->refused == record->offset) {
        err_set(err, ERR_KAFKA, "too large for the target");
        answer = SINK_REFUSED;
    } else {
        assert(record->offset > memory->attached[record->part].last);
        assert(lane->n_sent < MEMORY_FLIGHT);
        memory->attached[record->part].last = record->offset;
        lane->sent[lane->n_sent++] =
            (struct memory_sent){ record->part, record->offset };
        record_release(record);
    }
    memory_leave(memory);
    return answer;
}

/* One report; behind one that failed all fail. */
static void
report(struct memory *memory, int32_t number, const struct memory_sent *sent)
{
    struct memory_lane *lane = &memory->lane[number];
    struct memory_partition *of = memory->attached[sent->part].of;
    struct sink_done done = { .lane = number,
        .part = sent->part,
        .offset = sent->offset,
        .target_offset = -1 };
    struct err err;

    if (lane->dead) {
        err_set_retry(&err, ERR_KAFKA, "behind one that failed");
        done.err = &err;
    } else if (of->refuses == 2 && of->refused == sent->offset) {
        err_set(&err, ERR_KAFKA, "too large for the target");
        done.err = &err;
        lane->dead = true;
    } else {
        assert(of->n_got < MEMORY_OFFSETS);
        done.target_offset = (int64_t)of->n_got;
        of->got[of->n_got++] = sent->offset;
        if (lane->acks > 0)
            lane->acks--;
    }
    memory->done(memory->ctx, &done);
}

static size_t
poll_lane(struct memory *memory, int32_t number, size_t max)
{
    struct memory_lane *lane = &memory->lane[number];
    struct err err;
    size_t n = 0;

    if (lane->fail)
        lane->dead = true;
    while (n < max && n < lane->n_sent && (lane->acks != 0 || lane->dead))
        report(memory, number, &lane->sent[n++]);
    lane->n_sent -= n;
    memmove(lane->sent, lane->sent + n, lane->n_sent * sizeof lane->sent[0]);
    if (lane->fail && lane->n_sent == 0) {
        lane->fail = false;
        err_set_retry(&err, ERR_KAFKA, "the client is broken");
        memory->failed(memory->ctx, number, &err);
    }
    return n;
}

static size_t
do_poll(void *self, size_t max)
{
    struct memory *memory = self;
    size_t n = 0;

    memory_enter(memory);
    for (int32_t i = 0; i < memory->lanes; i++)
        if (memory->lane[i].open)
            n += poll_lane(memory, i, max - n);
    memory_leave(memory);
    return n;
}

static bool
do_free(void *self)
{
    struct memory *memory = self;

    memory->freed++;
    return memory->closed.leaked == 0;
}

struct sink
memory_sink(struct memory *memory)
{
    static const struct sink_ops ops = { do_open, do_close, do_attach,
        do_detach, do_send, do_poll, do_closed, do_free };

    return (struct sink){ &ops, memory };
}
