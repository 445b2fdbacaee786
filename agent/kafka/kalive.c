#include "kalive.h"
#include "kconf.h"
#include "metric.h"
#include "wake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DOWN_AFTER_MS 1000
#define FETCH 1                                   /* of the protocol */
#define HASH_FIRST UINT64_C(14695981039346656037) /* FNV-1a */
#define HASH_PRIME UINT64_C(1099511628211)

struct connection {
    uint64_t broker;
    bool up;
};

struct kalive {
    /* fixed */
    const struct wake *wake;
    struct metrics *metrics;
    /* own */
    const rd_kafka_t *rk; /* once it is made */
    bool suspect;         /* all brokers were lost, none is known to be back */
    bool down, told_down; /* what is so, and what was told */
    int64_t suspect_ms;
    struct err why;
    /* shared, under the lock */
    pthread_mutex_t lock;
    struct connection *connections;
    size_t n, n_up;
};

struct kalive *
kalive_new(const struct wake *wake, struct metrics *metrics, struct err *err)
{
    struct kalive *kalive = calloc(1, sizeof *kalive);

    if (kalive == NULL) {
        err_set(err, ERR_MEMORY, "connections of a client");
        return NULL;
    }
    kalive->wake = wake;
    kalive->metrics = metrics;
    (void)pthread_mutex_init(&kalive->lock, NULL);
    return kalive;
}

void
kalive_free(struct kalive *kalive)
{
    if (kalive == NULL)
        return;
    (void)pthread_mutex_destroy(&kalive->lock);
    free(kalive->connections);
    free(kalive);
}

/* Bootstrap brokers have no number, only a name. */
static uint64_t
broker_hash(int32_t id, const char *name, int port)
{
    uint64_t hash = HASH_FIRST;

    if (id >= 0)
        return (uint64_t)id;
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * HASH_PRIME;
    return hash ^ (uint64_t)port;
}

/* The place of a broker; NULL without memory.  Under the lock. */
static struct connection *
find(struct kalive *kalive, uint64_t broker)
{
    struct connection *connections;

    for (size_t i = 0; i < kalive->n; i++)
        if (kalive->connections[i].broker == broker)
            return &kalive->connections[i];
    connections =
        realloc(kalive->connections, (kalive->n + 1) * sizeof *connections);
    if (connections == NULL)
        return NULL;
    kalive->connections = connections;
    connections[kalive->n] = (struct connection){ .broker = broker };
    return &connections[kalive->n++];
}

/* On the thread of that broker.  The library says how many parameters. */
static rd_kafka_resp_err_t
/* NOLINTNEXTLINE(readability-function-size) */
on_state(rd_kafka_t *rk, int32_t id, const char *protocol, const char *name,
    int port, const char *state, void *ctx)
{
    struct kalive *kalive = ctx;
    struct connection *connection;
    bool up = strcmp(state, "UP") == 0, changed = false;

    (void)rk;
    (void)protocol;
    if (port == 0) /* a role, which has a connection of its own besides */
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    (void)pthread_mutex_lock(&kalive->lock);
    connection = find(kalive, broker_hash(id, name, port));
    if (connection != NULL && connection->up != up) {
        connection->up = up;
        kalive->n_up = up ? kalive->n_up + 1 : kalive->n_up - 1;
        changed = true;
    }
    (void)pthread_mutex_unlock(&kalive->lock);
    if (changed)
        wake_signal(kalive->wake);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The same. */
static rd_kafka_resp_err_t
/* NOLINTNEXTLINE(readability-function-size) */
on_answer(rd_kafka_t *rk, int fd, const char *broker, int32_t id, int16_t key,
    int16_t version, int32_t correlation, size_t size, int64_t rtt,
    rd_kafka_resp_err_t code, void *ctx)
{
    const struct kalive *kalive = ctx;

    (void)rk;
    (void)fd;
    (void)broker;
    (void)id;
    (void)version;
    (void)correlation;
    (void)rtt;
    (void)code;
    if (key == FETCH)
        metric_add(kalive->metrics, METRIC_BYTES_FETCHED, (int64_t)size);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ctx, char *why,
    size_t why_size)
{
    (void)conf;
    (void)why;
    (void)why_size;
    ((struct kalive *)ctx)->rk = rk;
    (void)rd_kafka_interceptor_add_on_response_received(rk, "kalive", on_answer,
        ctx);
    return rd_kafka_interceptor_add_on_broker_state_change(rk, "kalive",
        on_state, ctx);
}

void
kalive_watch(struct kalive *kalive, rd_kafka_conf_t *conf)
{
    (void)rd_kafka_conf_interceptor_add_on_new(conf, "kalive", on_new, kalive);
}

void
kalive_event(struct kalive *kalive, rd_kafka_event_t *event, int64_t now_ms)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    bool all = code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;

    /* what one broker had says more than that all are gone */
    if (!kconf_distrusts(kalive->rk, &kalive->why) &&
        (!all || kalive->why.kind == ERR_NONE))
        kconf_err(&kalive->why, code, rd_kafka_event_error_string(event));
    if (all && !kalive->suspect) {
        kalive->suspect = true;
        kalive->suspect_ms = now_ms;
    }
}

bool
kalive_changed(struct kalive *kalive, int64_t now_ms, bool *down,
    struct err *err)
{
    if (!kalive->suspect)
        return false;
    (void)pthread_mutex_lock(&kalive->lock);
    if (kalive->n_up > 0)
        kalive->suspect = kalive->down = false;
    (void)pthread_mutex_unlock(&kalive->lock);
    if (!kalive->suspect)
        kalive->why = (struct err){ .kind = ERR_NONE };
    else if (now_ms - kalive->suspect_ms >= DOWN_AFTER_MS)
        kalive->down = true;
    if (kalive->down == kalive->told_down)
        return false;
    kalive->told_down = kalive->down;
    *down = kalive->down;
    *err = kalive->why;
    return true;
}
