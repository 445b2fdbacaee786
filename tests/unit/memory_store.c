/* Group and ledger store: every lane is this agent's unless a test says
 * otherwise, and the ledger is one log a lane. */
#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- group --- */

static void
tell(struct memory *memory, const struct group_event *event)
{
    assert(memory->n_told < MEMORY_EVENTS);
    memory->told[memory->n_told++] = *event;
    wake_signal(&memory->wake);
}

void
memory_tell(struct memory *memory, enum group_event_kind kind, int32_t lane,
    const char *why)
{
    struct group_event event = { .kind = kind, .lane = lane };

    event.hint = lane >= 0 ? memory->lane[lane].hint : GROUP_NO_HINT;
    (void)err_set(&event.err, ERR_KAFKA, "%s", why);
    memory_enter(memory);
    tell(memory, &event);
    memory_leave(memory);
}

static bool
do_join(void *self, struct err *err)
{
    struct memory *memory = self;

    (void)err;
    memory_enter(memory);
    if (!memory->joined)
        memory_tell(memory, GROUP_IN, -1, "");
    for (int32_t i = 0; i < memory->lanes && !memory->joined; i++)
        memory_tell(memory, GROUP_ASSIGNED, i, "");
    memory->joins += !memory->joined;
    memory->joined = true;
    memory_leave(memory);
    return true;
}

/* Proofs are owed; all else is void. */
static void
do_leave(void *self)
{
    struct memory *memory = self;
    size_t n = 0;

    memory_enter(memory);
    memory->leaves++;
    memory->joined = false;
    for (size_t i = 0; i < memory->n_told; i++) {
        struct group_event event = memory->told[i];

        if (event.kind == GROUP_PROVED)
            event.kind = GROUP_REFUSED;
        if (event.kind == GROUP_REFUSED || event.kind == GROUP_UNSURE)
            memory->told[n++] = event;
    }
    memory->n_told = n;
    memory_leave(memory);
}

static void
do_release(void *self, int32_t lane)
{
    struct memory *memory = self;

    memory_enter(memory);
    memory->lane[lane].released++;
    memory_leave(memory);
}

static void
do_prove(void *self, int32_t lane, int64_t hint)
{
    struct memory *memory = self;

    memory_enter(memory);
    if (hint != GROUP_NO_HINT)
        memory->lane[lane].hint = hint;
    memory->proofs_owed[lane]++;
    memory_leave(memory);
}

static bool
do_group_event(void *self, struct group_event *event)
{
    struct memory *memory = self;
    bool some;

    memory_enter(memory);
    for (int32_t i = 0; i < memory->lanes && !memory->mute_proofs; i++)
        for (; memory->proofs_owed[i] > 0; memory->proofs_owed[i]--)
            memory_tell(memory, memory->joined ? memory->proof : GROUP_REFUSED,
                i, "the group does not answer");
    if ((some = memory->n_told > 0)) {
        *event = memory->told[0];
        memmove(memory->told, memory->told + 1,
            --memory->n_told * sizeof memory->told[0]);
    }
    memory_leave(memory);
    return some;
}

static void
do_free(void *self)
{
    ((struct memory *)self)->freed++;
}

struct group
memory_group(struct memory *memory)
{
    static const struct group_ops ops = { do_join, do_leave, do_group_event,
        do_release, do_prove, do_free };

    return (struct group){ &ops, memory };
}

/* --- ledger store --- */

void
memory_append_log(struct memory_lane *lane, const struct ledger_record *record)
{
    lane->log = reallocarray(lane->log, lane->n_log + 1, sizeof lane->log[0]);
    assert(lane->log != NULL);
    lane->log[lane->n_log] = *record;
    lane->log[lane->n_log].offset = (int64_t)lane->n_log;
    lane->n_log++;
}

static struct memory_lane *
order(struct memory *memory, int32_t number, enum store_step step)
{
    struct memory_lane *lane = &memory->lane[number];

    assert(!lane->ordered); /* one at a time */
    assert(lane->client || step == STORE_OPEN);
    lane->ordered = true;
    lane->step = step;
    wake_signal(&memory->wake);
    return lane;
}

static void
do_headers(void *self)
{
    ((struct memory *)self)->headers_asked = true;
}

static void
do_open(void *self, int32_t lane)
{
    struct memory *memory = self;

    memory_enter(memory);
    order(memory, lane, STORE_OPEN)->client = true;
    memory_leave(memory);
}

static void
do_claim(void *self, int32_t lane, const struct ledger_claim *claim)
{
    struct memory *memory = self;

    memory_enter(memory);
    order(memory, lane, STORE_CLAIM)->claim = *claim;
    memory_leave(memory);
}

static void
do_read(void *self, int32_t number, int64_t hint, const char *nonce)
{
    struct memory *memory = self;
    struct memory_lane *lane;

    memory_enter(memory);
    lane = order(memory, number, STORE_READ);
    lane->from = hint;
    (void)snprintf(lane->nonce, sizeof lane->nonce, "%s", nonce);
    memory_leave(memory);
}

static void
do_commit(void *self, int32_t number, struct ledger_batch **batch)
{
    struct memory *memory = self;

    memory_enter(memory);
    assert((*batch)->n > 0);
    order(memory, number, STORE_COMMIT)->batch = *batch;
    *batch = NULL;
    memory->commits++;
    memory_leave(memory);
}

static void
do_close(void *self, int32_t number)
{
    struct memory *memory = self;
    struct memory_lane *lane = &memory->lane[number];

    memory_enter(memory);
    assert(lane->client);
    lane->client = lane->ordered = false;
    ledger_batch_free(lane->batch);
    lane->batch = NULL;
    memory_leave(memory);
}

static void
copy(struct ledger_batch *batch, const struct ledger_record *record)
{
    struct ledger_record *to = ledger_batch_add(batch);

    assert(to != NULL);
    *to = *record;
}

static void
carry_out(const struct memory *memory, struct memory_lane *lane,
    struct store_answer *answer)
{
    struct ledger_record claim = { .kind = LEDGER_CLAIM };
    struct err err;

    answer->offset = (int64_t)lane->n_log;
    switch (lane->step) {
    case STORE_CLAIM:
        claim.claim = lane->claim;
        memory_append_log(lane, &claim);
        break;
    case STORE_COMMIT:
        for (size_t i = 0; i < lane->batch->n; i++)
            memory_append_log(lane, &lane->batch->records[i]);
        break;
    case STORE_READ:
        answer->records = ledger_batch_new(4, &err);
        assert(answer->records != NULL);
        answer->offset = (int64_t)lane->n_log - 1;
        answer->wall_ms = clock_wall_ms(&memory->clock);
        for (size_t i = lane->from < 0 ? 0 : (size_t)lane->from;
             i + 1 < lane->n_log; i++)
            copy(answer->records, &lane->log[i]);
        assert(
            strcmp(lane->log[lane->n_log - 1].claim.nonce, lane->nonce) == 0);
        break;
    case STORE_HEADERS:
    case STORE_OPEN:
        break;
    }
}

static enum store_result
scripted(struct memory *memory, struct store_answer *answer)
{
    if (memory->script[answer->step].times == 0)
        return STORE_DONE;
    memory->script[answer->step].times--;
    err_set(&answer->err, ERR_KAFKA, "as the test says");
    return memory->script[answer->step].result;
}

static void
answer_headers(struct memory *memory, struct store_answer *answer)
{
    struct err err;

    *answer = (struct store_answer){ .lane = -1, .step = STORE_HEADERS };
    answer->result = scripted(memory, answer);
    memory->headers_asked = false;
    answer->records = ledger_batch_new(8, &err);
    assert(answer->records != NULL);
    for (int32_t i = 0; i < memory->lanes; i++)
        for (size_t k = 0; k < memory->lane[i].n_log; k++)
            if (memory->lane[i].log[k].kind == LEDGER_HEADER)
                copy(answer->records, &memory->lane[i].log[k]);
}

static bool
do_answer(void *self, struct store_answer *answer)
{
    struct memory *memory = self;
    bool some = false;

    memory_enter(memory);
    if (memory->headers_asked && !memory->mute[STORE_HEADERS]) {
        answer_headers(memory, answer);
        some = true;
    }
    for (int32_t i = 0; i < memory->lanes && !some; i++) {
        struct memory_lane *lane = &memory->lane[i];

        if (!lane->ordered || memory->mute[lane->step])
            continue;
        some = true;
        *answer = (struct store_answer){ .lane = i, .step = lane->step };
        answer->result = scripted(memory, answer);
        if (answer->result == STORE_DONE)
            carry_out(memory, lane, answer);
        lane->ordered = false;
        ledger_batch_free(lane->batch);
        lane->batch = NULL;
    }
    memory_leave(memory);
    return some;
}

static int64_t
do_leaked(void *self)
{
    return ((struct memory *)self)->store_leaked;
}

struct ledgerstore
memory_store(struct memory *memory)
{
    static const struct store_ops ops = { do_headers, do_open, do_claim,
        do_read, do_commit, do_close, do_answer, do_leaked, do_free };

    return (struct ledgerstore){ &ops, memory };
}
