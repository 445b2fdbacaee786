#include "kreaper.h"
#include "clock.h"
#include "kconf.h"
#include "kparts.h"
#include "log.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define PURGE_FOR_MS 10000
#define POLL_MS 100

struct kreaper {
    /* fixed */
    struct log *log;
    pthread_t thread;
    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct kreaper_client *first;
    bool stop;
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

static void
end_client(struct kreaper *kreaper, struct kreaper_client *client)
{
    const struct clock *clock = clock_system();
    int64_t deadline_ms = clock_mono_ms(clock) + PURGE_FOR_MS;

    if (client->event != NULL)
        take_reports(client);
    while (client->in_flight > 0 && clock_mono_ms(clock) < deadline_ms) {
        (void)rd_kafka_purge(client->rk,
            RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        take_reports(client);
    }
    if (client->in_flight > 0)
        LOG(kreaper->log, LEVEL_WARN, "sink.abandoned",
            kv_int("records", client->in_flight));
    rd_kafka_queue_destroy(client->queue);
    kparts_free(client->names);
    kconf_close(client->rk);
    free(client);
}

static void *
run(void *arg)
{
    struct kreaper *kreaper = arg;
    struct kreaper_client *client;

    for (;;) {
        (void)pthread_mutex_lock(&kreaper->lock);
        while (kreaper->first == NULL && !kreaper->stop)
            (void)pthread_cond_wait(&kreaper->given, &kreaper->lock);
        client = kreaper->first;
        if (client != NULL)
            kreaper->first = client->next;
        (void)pthread_mutex_unlock(&kreaper->lock);
        if (client == NULL)
            return NULL;
        end_client(kreaper, client);
    }
}

struct kreaper *
kreaper_new(struct log *log, struct err *err)
{
    struct kreaper *kreaper = calloc(1, sizeof *kreaper);

    if (kreaper == NULL) {
        err_set(err, ERR_MEMORY, "thread that ends producers");
        return NULL;
    }
    kreaper->log = log;
    (void)pthread_mutex_init(&kreaper->lock, NULL);
    (void)pthread_cond_init(&kreaper->given, NULL);
    if (pthread_create(&kreaper->thread, NULL, run, kreaper) != 0) {
        err_set(err, ERR_IO, "thread that ends producers: cannot be started");
        free(kreaper);
        return NULL;
    }
    return kreaper;
}

void
kreaper_free(struct kreaper *kreaper)
{
    if (kreaper == NULL)
        return;
    (void)pthread_mutex_lock(&kreaper->lock);
    kreaper->stop = true;
    (void)pthread_cond_signal(&kreaper->given);
    (void)pthread_mutex_unlock(&kreaper->lock);
    (void)pthread_join(kreaper->thread, NULL);
    (void)pthread_cond_destroy(&kreaper->given);
    (void)pthread_mutex_destroy(&kreaper->lock);
    free(kreaper);
}

void
kreaper_give(struct kreaper *kreaper, struct kreaper_client **client)
{
    (void)pthread_mutex_lock(&kreaper->lock);
    (*client)->next = kreaper->first;
    kreaper->first = *client;
    *client = NULL;
    (void)pthread_cond_signal(&kreaper->given);
    (void)pthread_mutex_unlock(&kreaper->lock);
}
