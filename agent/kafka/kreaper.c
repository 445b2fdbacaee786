#include "kreaper.h"
#include "clock.h"
#include "kconf.h"
#include "kparts.h"
#include "log.h"
#include "sink.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>

#define POLL_MS 100
#define LOOK_MS 5      /* how often kreaper_free() looks at what it waits for */
#define THREAD_MS 3000 /* and for how long it tries to start a thread */

struct kreaper {
    struct kreaper_options o;
    struct kworker *worker;               /* NULL: none could be started yet */
    struct kreaper_client *first, **last; /* that wait for their turn */
    int64_t ending;   /* cost of those, and of the one that is being ended */
    int64_t in_hand;  /* of the one that is being ended, if any */
    bool busy;        /* one is */
    int64_t leaked;   /* cost of those that were left behind */
    bool left_behind; /* there are some */
};

void *
kreaper_opaque(int64_t offset, rd_kafka_message_t *hold)
{
    assert(((uintptr_t)hold & 1) == 0 && sizeof(void *) == sizeof offset);
    if (hold != NULL)
        return hold;
    return (void *)(((uintptr_t)offset << 1) | 1);
}

int64_t
kreaper_end(void *opaque)
{
    rd_kafka_message_t *hold;
    int64_t offset;

    if (((uintptr_t)opaque & 1) != 0)
        return (int64_t)((uintptr_t)opaque >> 1);
    hold = opaque;
    offset = hold->offset;
    rd_kafka_message_destroy(hold);
    return offset;
}

void
kreaper_undo(struct kreaper_client *client)
{
    rd_kafka_queue_destroy(client->queue);
    kparts_free(client->names);
    kconf_close(client->rk);
    free(client);
}

struct kreaper_client *
kreaper_open(const struct kconf_options *options, struct err *err)
{
    struct kreaper_client *client = calloc(1, sizeof *client);

    if (client == NULL) {
        err_set(err, ERR_MEMORY, "client of %s", options->flow);
        return NULL;
    }
    if ((client->rk = kconf_open(options, err)) == NULL) {
        free(client);
        return NULL;
    }
    client->queue = rd_kafka_queue_get_main(client->rk);
    if ((client->names = kparts_new(client->rk, err)) != NULL)
        return client;
    kreaper_undo(client);
    return NULL;
}

/* Takes the reports that are there, or waits a moment for one. */
static void
take_reports(struct kreaper_client *client)
{
    const rd_kafka_message_t *message;

    if (client->event == NULL)
        client->event = rd_kafka_queue_poll(client->queue, POLL_MS);
    if (client->event == NULL)
        return;
    if (rd_kafka_event_type(client->event) == RD_KAFKA_EVENT_DR)
        while ((message = rd_kafka_event_message_next(client->event)) != NULL) {
            (void)kreaper_end(message->_private);
            client->in_flight--;
        }
    rd_kafka_event_destroy(client->event);
    client->event = NULL;
}

/* On the worker.  Nothing here has a deadline of its own: records that do not
 * come back, and threads that do not end, are the watchdog's to judge. */
static void
end_client(struct kjob *job, void *held)
{
    struct kreaper_client *client = (struct kreaper_client *)job;

    (void)held;
    if (client->event != NULL)
        take_reports(client);
    while (client->in_flight > 0) {
        kconf_purge(client->rk,
            RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        take_reports(client);
    }
    kworker_progress(job);
    rd_kafka_queue_destroy(client->queue);
    kparts_free(client->names);
    kconf_close(client->rk);
}

static void
free_client(struct kjob *job)
{
    free(job);
}

static bool
start_worker(struct kreaper *reaper, struct err *err)
{
    const struct kworker_options options = {
        .name = "reaper",
        .clock = reaper->o.clock,
        .watch = reaper->o.watch,
    };

    if (reaper->worker == NULL)
        reaper->worker = kworker_start(&options, err);
    return reaper->worker != NULL;
}

struct kreaper *
kreaper_new(const struct kreaper_options *options, struct err *err)
{
    struct kreaper *reaper = calloc(1, sizeof *reaper);

    if (reaper == NULL) {
        err_set(err, ERR_MEMORY, "what ends producers");
        return NULL;
    }
    reaper->o = *options;
    reaper->last = &reaper->first;
    if (!start_worker(reaper, err)) {
        free(reaper);
        return NULL;
    }
    return reaper;
}

void
kreaper_give(struct kreaper *reaper, struct kreaper_client **client)
{
    struct kreaper_client *given = *client;

    *client = NULL;
    given->job = (struct kjob){ .run = end_client,
        .free = free_client,
        .timeout_ms = KREAPER_END_MS };
    given->next = NULL;
    *reaper->last = given;
    reaper->last = &given->next;
    reaper->ending += given->cost;
    kreaper_tick(reaper);
}

/* The one in hand has ended, or never will. */
static void
forget(struct kreaper *reaper)
{
    reaper->ending -= reaper->in_hand;
    reaper->in_hand = 0;
    reaper->busy = false;
}

static void
count_leaked(struct kreaper *reaper, int64_t cost)
{
    reaper->leaked += cost;
    reaper->left_behind = true;
    LOG(reaper->o.log, LEVEL_WARN, "sink.leaked",
        kv_str("flow", reaper->o.flow), kv_int("bytes", cost),
        kv_str("why",
            "a client of the target did not end and was left behind; what "
            "it holds counts against max_in_flight until a restart"));
}

static void
leave_behind(struct kreaper *reaper)
{
    int64_t cost = reaper->in_hand;

    forget(reaper);
    if (!kworker_stop(reaper->worker))
        count_leaked(reaper, cost);
    reaper->worker = NULL;
}

static void
next(struct kreaper *reaper)
{
    struct kreaper_client *client = reaper->first;
    struct kjob *job = &client->job;
    struct err err;

    if (!start_worker(reaper, &err))
        return; /* no thread now: tried again at the next tick */
    reaper->first = client->next;
    if (reaper->first == NULL)
        reaper->last = &reaper->first;
    reaper->in_hand = client->cost;
    reaper->busy = true;
    if (!kworker_push(reaper->worker, &job))
        abort(); /* it has one at a time */
}

void
kreaper_tick(struct kreaper *reaper)
{
    struct kjob *job;

    if (reaper->busy && (job = kworker_take(reaper->worker)) != NULL) {
        job->free(job);
        forget(reaper);
    } else if (reaper->busy && kworker_overdue(reaper->worker)) {
        leave_behind(reaper);
    }
    if (!reaper->busy && reaper->first != NULL)
        next(reaper);
}

void
kreaper_closed(const struct kreaper *reaper, struct sink_closed *closed)
{
    *closed = (struct sink_closed){ reaper->ending, reaper->leaked };
}

/* Those that wait for a thread which cannot be had. */
static void
leave_waiting(struct kreaper *reaper)
{
    for (; reaper->first != NULL; reaper->first = reaper->first->next) {
        reaper->ending -= reaper->first->cost;
        count_leaked(reaper, reaper->first->cost);
    }
    reaper->last = &reaper->first;
}

bool
kreaper_free(struct kreaper *reaper)
{
    bool all = true;
    int64_t until_ms = 0, now_ms;

    if (reaper == NULL)
        return true;
    while (reaper->busy || reaper->first != NULL) {
        kreaper_tick(reaper);
        now_ms = clock_mono_ms(reaper->o.clock);
        if (reaper->busy || until_ms == 0)
            until_ms = now_ms + THREAD_MS;
        else if (now_ms >= until_ms)
            leave_waiting(reaper);
        if (reaper->busy || reaper->first != NULL)
            (void)poll(NULL, 0, LOOK_MS);
    }
    (void)kworker_stop(reaper->worker);
    all = !reaper->left_behind;
    free(reaper);
    return all;
}
