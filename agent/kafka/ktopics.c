#include "ktopics.h"

#include "catalog.h"
#include "clock.h"
#include "kcatalog.h"
#include "ktext.h"
#include "kworker.h"
#include "wake.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 30000
#define END_MS 10000

enum order_kind { ORDER_REFRESH, ORDER_ENSURE, ORDER_LEDGER, ORDER_ENDS };

/* One order on its way to the worker and back. */
struct order {
    struct kjob job; /* first */
    struct order *next;
    enum order_kind kind;
    struct catalog_want *wants; /* ENSURE */
    size_t n;                   /* of those */
    int32_t lanes;              /* LEDGER */
    atomic_bool at_target;      /* REFRESH: the source has answered */
    size_t n_events, told;
    struct catalog_event *events;
};

struct ktopics {
    /* fixed */
    struct ktopics_options o;
    char *texts;
    /* own to the flow's thread */
    struct kworker *worker;
    struct order *waiting; /* for the worker, oldest first */
    struct order *working; /* in its hands, oldest first */
    struct order *telling; /* whose events are being given */
    bool refreshing;       /* one question is under way */
    bool leaked;
};

/* One that nobody was told of. */
static void
end_event(struct catalog_event *event)
{
    catalog_list_free(event->list);
    free(event->ends);
}

static void
order_free(struct kjob *job)
{
    struct order *order = (struct order *)job;

    for (size_t i = order->told; i < order->n_events; i++)
        end_event(&order->events[i]);
    free(order->events);
    free(order->wants);
    free(order);
}

static void
order_run(struct kjob *job, void *held)
{
    struct order *order = (struct order *)job;
    struct kcatalog *catalog = held;

    switch (order->kind) {
    case ORDER_REFRESH:
        kcatalog_refresh(catalog, job, &order->events[0], &order->at_target);
        break;
    case ORDER_ENSURE:
        kcatalog_ensure(catalog, job, order->wants, order->events, order->n);
        break;
    case ORDER_LEDGER:
        kcatalog_ledger(catalog, job, order->lanes, &order->events[0]);
        break;
    case ORDER_ENDS:
        kcatalog_ends(catalog, job, &order->events[0]);
        break;
    }
}

static void
append(struct order **list, struct order *order)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = order;
    order->next = NULL;
}

static bool
start_worker(struct ktopics *topics, struct err *err)
{
    struct kworker_options options = {
        .name = "topics",
        .end = kcatalog_free,
        .end_timeout_ms = END_MS,
        .wake = topics->o.wake,
        .clock = topics->o.clock,
        .watch = topics->o.watch,
    };

    if (topics->worker != NULL)
        return true;
    if ((options.held = kcatalog_new(&topics->o, err)) == NULL)
        return false;
    topics->worker = kworker_start(&options, err);
    if (topics->worker == NULL)
        kcatalog_free(options.held);
    return topics->worker != NULL;
}

/* Gives the worker what waits for it, as much as it takes. */
static void
pump(struct ktopics *topics)
{
    struct err err;

    while (topics->waiting != NULL && start_worker(topics, &err)) {
        struct order *order = topics->waiting;
        struct order *next = order->next;
        struct kjob *job = &order->job;

        if (!kworker_push(topics->worker, &job))
            return;
        topics->waiting = next;
        append(&topics->working, order);
    }
}

/* An order with room for `n` events; nobody could be told that it cannot be
 * made, so it is made. */
static struct order *
order_new(struct ktopics *topics, enum order_kind kind, size_t n)
{
    struct order *order = calloc(1, sizeof *order);

    if (order != NULL)
        order->events = calloc(n > 0 ? n : 1, sizeof order->events[0]);
    if (order == NULL || order->events == NULL)
        abort();
    order->job = (struct kjob){ .run = order_run,
        .free = order_free,
        .timeout_ms = topics->o.step_ms }; /* begins anew, see kadmin.h */
    order->kind = kind;
    order->n_events = n;
    return order;
}

static void *
copy(const void *from, size_t n, size_t size)
{
    void *to = calloc(n > 0 ? n : 1, size);

    if (to == NULL)
        abort(); /* as in order_new() */
    if (n > 0)
        memcpy(to, from, n * size);
    return to;
}

static void
ktopics_refresh(void *self)
{
    struct ktopics *topics = self;

    if (topics->refreshing)
        return;
    topics->refreshing = true;
    append(&topics->waiting, order_new(topics, ORDER_REFRESH, 1));
    pump(topics);
}

static void
ktopics_ensure(void *self, const struct catalog_want *wants, size_t n)
{
    struct ktopics *topics = self;
    struct order *order = order_new(topics, ORDER_ENSURE, n);

    order->wants = copy(wants, n, sizeof wants[0]);
    order->n = n;
    append(&topics->waiting, order);
    pump(topics);
}

static void
ktopics_ensure_ledger(void *self, const char *name, int32_t lanes)
{
    struct ktopics *topics = self;
    struct order *order = order_new(topics, ORDER_LEDGER, 1);

    order->lanes = lanes;
    strncpy(order->events[0].target, name, sizeof order->events[0].target - 1);
    append(&topics->waiting, order);
    pump(topics);
}

static void
ktopics_ask_ends(void *self, int32_t lane,
    const struct catalog_partition *partitions, size_t n)
{
    struct ktopics *topics = self;
    struct order *order = order_new(topics, ORDER_ENDS, 1);

    order->events[0].kind = CATALOG_ENDS;
    order->events[0].ends = copy(partitions, n, sizeof partitions[0]);
    order->events[0].n_ends = n;
    order->events[0].lane = lane;
    append(&topics->waiting, order);
    pump(topics);
}

/* The answers of an order that the worker did not come back from. */
static struct order *
overdue(struct ktopics *topics, struct order *stuck)
{
    struct order *order = order_new(topics, stuck->kind, stuck->n_events);
    struct err err;

    err_set_retry(&err, ERR_KAFKA, "the client library did not come back");
    for (size_t i = 0; i < order->n_events; i++) {
        struct catalog_event *event = &order->events[i];

        event->err = err;
        if (stuck->kind == ORDER_REFRESH) {
            event->kind = CATALOG_DOWN;
            event->source_side = !atomic_load(&stuck->at_target);
        } else if (stuck->kind == ORDER_ENSURE) {
            event->kind = CATALOG_WAIT;
            memcpy(event->source, stuck->wants[i].source, sizeof event->source);
            memcpy(event->target, stuck->wants[i].target, sizeof event->target);
        } else if (stuck->kind == ORDER_ENDS) {
            event->kind = CATALOG_ENDS; /* nobody could say */
            event->lane = stuck->events[i].lane;
        } else {
            event->kind = CATALOG_LEDGER_WAIT;
            memcpy(event->target, stuck->events[i].target,
                sizeof event->target);
        }
    }
    return order;
}

static void
abandon(struct ktopics *topics)
{
    struct order *stuck = topics->working;

    topics->working = NULL;
    for (; stuck != NULL; stuck = stuck->next)
        append(&topics->telling, overdue(topics, stuck));
    topics->leaked = !kworker_stop(topics->worker) || topics->leaked;
    topics->worker = NULL;
}

static void
take(struct ktopics *topics)
{
    struct kjob *job = NULL;

    while (topics->worker != NULL &&
           (job = kworker_take(topics->worker)) != NULL) {
        struct order *order = (struct order *)job;

        assert(topics->working == order);
        topics->working = order->next;
        append(&topics->telling, order);
    }
    if (topics->worker != NULL && kworker_overdue(topics->worker))
        abandon(topics);
    pump(topics);
}

static bool
ktopics_event(void *self, struct catalog_event *event)
{
    struct ktopics *topics = self;

    if (topics->telling == NULL)
        take(topics);
    while (topics->telling != NULL) {
        struct order *order = topics->telling;
        bool told = order->told < order->n_events;

        if (told)
            *event = order->events[order->told++];
        if (order->told == order->n_events) {
            topics->telling = order->next;
            topics->refreshing =
                topics->refreshing && order->kind != ORDER_REFRESH;
            order_free(&order->job);
        }
        if (told)
            return true;
    }
    return false;
}

static void
free_all(struct order *order)
{
    while (order != NULL) {
        struct order *next = order->next;

        order_free(&order->job);
        order = next;
    }
}

static void
ktopics_free(void *self)
{
    struct ktopics *topics = self;

    topics->leaked = !kworker_stop(topics->worker) || topics->leaked;
    free_all(topics->waiting);
    free_all(topics->telling);
    kworker_watch_drop(topics->o.watch);
    if (topics->leaked)
        return; /* with what the abandoned may still look at */
    free(topics->texts);
    free(topics);
}

static const struct catalog_ops ops = {
    .refresh = ktopics_refresh,
    .ensure = ktopics_ensure,
    .ensure_ledger = ktopics_ensure_ledger,
    .ask_ends = ktopics_ask_ends,
    .event = ktopics_event,
    .free = ktopics_free,
};

bool
ktopics_open(struct catalog *catalog, const struct ktopics_options *options,
    struct err *err)
{
    struct ktopics *topics = calloc(1, sizeof *topics);

    if (topics == NULL)
        return err_set(err, ERR_MEMORY, "catalog");
    topics->o = *options;
    topics->texts =
        ktext_keep((const char **const[]){ &topics->o.agent, &topics->o.flow },
            2, err);
    if (topics->texts == NULL) {
        free(topics);
        return false;
    }
    if (options->clock == NULL)
        topics->o.clock = clock_system();
    topics->o.step_ms = options->step_ms > 0 ? options->step_ms : STEP_MS;
    (void)kworker_watch_hold(topics->o.watch);
    *catalog = (struct catalog){ .ops = &ops, .self = topics };
    return true;
}
