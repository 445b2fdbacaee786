#include "kledger.h"

#include "clock.h"
#include "klane.h"
#include "kreader.h"
#include "ktext.h"
#include "kworker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 30000
#define READ_MS 90000
#define CLOSE_MS 10000

/* One order on its way to a worker and back. */
struct order {
    struct kjob job; /* first */
    const struct kledger_options *o;
    bool close; /* no answer; `step` means nothing */
    uint64_t incarnation;
    struct ledger_batch *batch; /* CLAIM, COMMIT */
    struct kreader_wanted wanted;
    struct store_answer answer;
};

/* One lane, or the headers.  The incarnation counts its closings: what an
 * earlier one ordered is not answered. */
struct slot {
    int32_t lane; /* -1: headers */
    struct kworker *worker;
    uint64_t incarnation;
    bool busy; /* an order of this incarnation is under way */
    enum store_step step;
    bool closing;         /* the client of an earlier one is being ended */
    struct order *parked; /* waits for that */
    int64_t claim_offset; /* of our claim, -1 unknown */
    int64_t cost;         /* bytes of the batch that was ordered last */
    bool failed;          /* `failure` is to be told */
    struct store_answer failure;
};

struct kledger {
    /* fixed */
    struct kledger_options o;
    char *texts; /* all of its texts */
    /* own to the flow's thread */
    struct slot *slots; /* of lane n at n + 1 */
    size_t n;
    bool leaked; /* a worker was abandoned and may still look at `o` */
    int64_t leaked_bytes;
};

static void
order_free(struct kjob *job)
{
    struct order *order = (struct order *)job;

    ledger_batch_free(order->batch);
    ledger_batch_free(order->answer.records);
    free(order);
}

static void
order_run(struct kjob *job, void *held)
{
    struct order *order = (struct order *)job;
    struct store_answer *answer = &order->answer;
    struct klane *lane = held;

    if (order->close) {
        klane_close(lane);
        return;
    }
    answer->offset = -1;
    switch (answer->step) {
    case STORE_HEADERS:
        answer->result =
            kreader_headers(order->o, job, &answer->records, &answer->err);
        break;
    case STORE_OPEN:
        answer->result = klane_open(lane, job, &answer->err);
        break;
    case STORE_READ:
        answer->result = kreader_lane(order->o, job, &order->wanted, answer);
        break;
    case STORE_CLAIM:
    case STORE_COMMIT:
        answer->result = klane_commit(lane, job, order->batch, &answer->offset,
            &answer->err);
        break;
    }
}

/* NULL: no memory, which then is the answer. */
static struct slot *
slot_of(struct kledger *ledger, int32_t lane)
{
    size_t i = (size_t)lane + 1;

    assert(lane >= -1 && lane < LEDGER_LANES_MAX);
    if (i >= ledger->n) {
        struct slot *slots = reallocarray(ledger->slots, i + 1, sizeof *slots);

        if (slots == NULL)
            abort(); /* nobody could be told which lane it was */
        ledger->slots = slots;
        for (; ledger->n <= i; ledger->n++)
            slots[ledger->n] = (struct slot){ .lane = (int32_t)ledger->n - 1,
                .claim_offset = -1 };
    }
    return &ledger->slots[i];
}

static void
fail(struct slot *slot, const struct err *err)
{
    slot->busy = false;
    slot->failed = true;
    slot->failure = (struct store_answer){ .lane = slot->lane,
        .step = slot->step,
        .result = STORE_RETRY,
        .offset = -1,
        .err = *err };
}

static bool
start_worker(struct kledger *ledger, struct slot *slot, struct err *err)
{
    char name[16];
    struct kworker_options options = {
        .name = name,
        .end_timeout_ms = CLOSE_MS,
        .wake = ledger->o.wake,
        .clock = ledger->o.clock,
        .watch = ledger->o.watch,
    };

    if (slot->worker != NULL)
        return true;
    (void)snprintf(name, sizeof name, "lane %d", slot->lane);
    if (slot->lane >= 0) {
        options.held = klane_new(&ledger->o, slot->lane, err);
        options.end = klane_free;
        if (options.held == NULL)
            return false;
    }
    slot->worker = kworker_start(&options, err);
    if (slot->worker == NULL)
        klane_free(options.held);
    return slot->worker != NULL;
}

/* Takes the order.  It waits while an earlier client is being ended. */
static void
push(struct kledger *ledger, struct slot *slot, struct order *order)
{
    struct kjob *job = &order->job;
    struct err err;

    if (slot->closing) {
        assert(slot->parked == NULL);
        slot->parked = order;
        return;
    }
    if (!start_worker(ledger, slot, &err)) {
        order_free(job);
        fail(slot, &err);
        return;
    }
    if (!kworker_push(slot->worker, &job))
        abort(); /* one order and one close: there is room for more */
}

/* An order of which an answer will come; NULL when it has come already. */
static struct order *
order_new(struct kledger *ledger, int32_t lane, enum store_step step)
{
    struct slot *slot = slot_of(ledger, lane);
    struct order *order = calloc(1, sizeof *order);
    struct err err;

    assert(!slot->busy);
    slot->busy = true;
    slot->step = step;
    if (order == NULL) {
        err_set_retry(&err, ERR_MEMORY, "an order for lane %d", lane);
        fail(slot, &err);
        return NULL;
    }
    order->job.run = order_run;
    order->job.free = order_free;
    order->job.timeout_ms =
        step == STORE_HEADERS || step == STORE_READ
            ? ledger->o.step_ms + ledger->o.read_ms + KREADER_END_MS
            : ledger->o.step_ms + KLANE_ABORT_MS;
    order->o = &ledger->o;
    order->incarnation = slot->incarnation;
    order->answer.lane = lane;
    order->answer.step = step;
    return order;
}

static void
kledger_headers(void *self)
{
    struct kledger *ledger = self;
    struct order *order = order_new(ledger, -1, STORE_HEADERS);

    if (order != NULL)
        push(ledger, slot_of(ledger, -1), order);
}

static void
kledger_open_lane(void *self, int32_t lane)
{
    struct kledger *ledger = self;
    struct slot *slot = slot_of(ledger, lane);
    struct order *order = order_new(ledger, lane, STORE_OPEN);

    slot->claim_offset = -1;
    if (order != NULL)
        push(ledger, slot, order);
}

static void
kledger_claim(void *self, int32_t lane, const struct ledger_claim *claim)
{
    struct kledger *ledger = self;
    struct slot *slot = slot_of(ledger, lane);
    struct order *order = order_new(ledger, lane, STORE_CLAIM);
    struct ledger_record *record = NULL;
    struct err err;

    if (order == NULL)
        return;
    if ((order->batch = ledger_batch_new(1, &err)) == NULL) {
        order_free(&order->job);
        fail(slot, &err);
        return;
    }
    record = ledger_batch_add(order->batch);
    record->kind = LEDGER_CLAIM;
    record->claim = *claim;
    push(ledger, slot, order);
}

static void
kledger_read(void *self, int32_t lane, int64_t hint, const char *nonce)
{
    struct kledger *ledger = self;
    struct slot *slot = slot_of(ledger, lane);
    struct order *order = order_new(ledger, lane, STORE_READ);

    if (order == NULL)
        return;
    order->wanted = (struct kreader_wanted){ .lane = lane,
        .hint = hint,
        .claim_offset = slot->claim_offset };
    (void)snprintf(order->wanted.nonce, sizeof order->wanted.nonce, "%s",
        nonce);
    push(ledger, slot, order);
}

static void
kledger_commit(void *self, int32_t lane, struct ledger_batch **batch)
{
    struct kledger *ledger = self;
    struct order *order = order_new(ledger, lane, STORE_COMMIT);
    struct ledger_batch *taken = *batch;

    *batch = NULL;
    if (order == NULL) {
        ledger_batch_free(taken);
        return;
    }
    order->batch = taken;
    /* The batch, and what the client made of its records. */
    slot_of(ledger, lane)->cost =
        (int64_t)((taken->room + taken->n) * sizeof taken->records[0]);
    push(ledger, slot_of(ledger, lane), order);
}

static void
kledger_close(void *self, int32_t lane)
{
    struct kledger *ledger = self;
    struct slot *slot = slot_of(ledger, lane);
    struct order *order = NULL;
    struct kjob *job = NULL;

    slot->incarnation++;
    slot->busy = false;
    slot->failed = false;
    if (slot->parked != NULL)
        order_free(&slot->parked->job);
    slot->parked = NULL;
    if (slot->worker == NULL || slot->closing)
        return;
    kworker_cancel(slot->worker);
    if ((order = calloc(1, sizeof *order)) == NULL)
        return; /* the next open ends the client before it makes one */
    order->job = (struct kjob){ .run = order_run,
        .free = order_free,
        .timeout_ms = CLOSE_MS };
    order->close = true;
    job = &order->job;
    if (!kworker_push(slot->worker, &job))
        abort(); /* one order and one close: there is room for more */
    slot->closing = true;
}

/* The worker is free again, or gone: what waited for it goes on. */
static void
closed(struct kledger *ledger, struct slot *slot)
{
    struct order *order = slot->parked;

    slot->closing = false;
    slot->parked = NULL;
    if (order != NULL)
        push(ledger, slot, order);
}

static bool
take(struct kledger *ledger, struct slot *slot, struct store_answer *answer)
{
    struct kjob *job = NULL;
    bool told = false;

    while (!told && (job = kworker_take(slot->worker)) != NULL) {
        struct order *order = (struct order *)job;

        if (order->close) {
            closed(ledger, slot);
            order_free(job);
            continue;
        }
        slot->cost = 0; /* the client has nothing of it any more */
        if (order->incarnation == slot->incarnation) {
            *answer = order->answer;
            order->answer.records = NULL;
            slot->busy = false;
            if (answer->step == STORE_CLAIM && answer->result == STORE_DONE)
                slot->claim_offset = answer->offset;
            told = true;
        }
        order_free(job);
    }
    return told;
}

/* Gives up a worker that is stuck, and with it the lane's client. */
static bool
abandon(struct kledger *ledger, struct slot *slot, struct store_answer *answer)
{
    bool told = slot->busy && slot->parked == NULL;

    if (!kworker_stop(slot->worker)) {
        ledger->leaked = true;
        ledger->leaked_bytes += slot->cost;
    }
    slot->worker = NULL;
    slot->cost = 0;
    if (told) {
        *answer = (struct store_answer){ .lane = slot->lane,
            .step = slot->step,
            .result = STORE_OVERDUE,
            .offset = -1 };
        err_set_retry(&answer->err, ERR_KAFKA,
            "the client library did not come back");
        slot->busy = false;
    }
    closed(ledger, slot);
    return told;
}

static bool
kledger_answer(void *self, struct store_answer *answer)
{
    struct kledger *ledger = self;

    for (size_t i = 0; i < ledger->n; i++) {
        struct slot *slot = &ledger->slots[i];

        if (slot->failed) {
            slot->failed = false;
            *answer = slot->failure;
            return true;
        }
        if (slot->worker == NULL)
            continue;
        if (take(ledger, slot, answer))
            return true;
        if (kworker_overdue(slot->worker) && abandon(ledger, slot, answer))
            return true;
    }
    return false;
}

static int64_t
kledger_leaked(void *self)
{
    return ((struct kledger *)self)->leaked_bytes;
}

static void
kledger_free(void *self)
{
    struct kledger *ledger = self;

    /* All at once, so that the waiting below is for the slowest alone. */
    for (size_t i = 0; i < ledger->n; i++) {
        if (ledger->slots[i].worker != NULL && ledger->slots[i].lane >= 0)
            kledger_close(ledger, ledger->slots[i].lane);
    }
    for (size_t i = 0; i < ledger->n; i++) {
        struct kworker *worker = ledger->slots[i].worker;

        if (worker == NULL)
            continue;
        kworker_cancel(worker);
        ledger->leaked = !kworker_stop(worker) || ledger->leaked;
    }
    kworker_watch_drop(ledger->o.watch);
    free(ledger->slots);
    if (ledger->leaked)
        return; /* with what the abandoned may still look at */
    free(ledger->texts);
    free(ledger);
}

static const struct store_ops ops = {
    .headers = kledger_headers,
    .open = kledger_open_lane,
    .claim = kledger_claim,
    .read = kledger_read,
    .commit = kledger_commit,
    .close = kledger_close,
    .answer = kledger_answer,
    .leaked = kledger_leaked,
    .free = kledger_free,
};

bool
kledger_open(struct ledgerstore *store, const struct kledger_options *options,
    struct err *err)
{
    struct kledger *ledger = calloc(1, sizeof *ledger);

    if (ledger == NULL)
        return err_set(err, ERR_MEMORY, "ledger store");
    ledger->o = *options;
    ledger->texts =
        ktext_keep((const char **const[]){ &ledger->o.agent, &ledger->o.flow,
                       &ledger->o.topic, &ledger->o.group_id },
            4, err);
    if (ledger->texts == NULL) {
        free(ledger);
        return false;
    }
    if (options->clock == NULL)
        ledger->o.clock = clock_system();
    ledger->o.step_ms = options->step_ms > 0 ? options->step_ms : STEP_MS;
    ledger->o.read_ms = options->read_ms > 0 ? options->read_ms : READ_MS;
    (void)kworker_watch_hold(ledger->o.watch);
    *store = (struct ledgerstore){ .ops = &ops, .self = ledger };
    return true;
}
