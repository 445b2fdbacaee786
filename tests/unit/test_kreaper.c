#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kconf.h"
#include "kparts.h"
#include "kreaper.h"
#include "log.h"
#include "sinkfix.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define COST INT64_C(80000) /* as the flow counts what is in flight */

static void
nothing_is_told_of_a_closed_lane(void **state)
{
    struct sinkfix *scene = *state;

    kafkafix_fill(&scene->fix, 0, 0, 10);
    kafkafix_fill_large(&scene->fix, 0, 10, SINKFIX_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_open_lane(scene, 1);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_attach(scene, 1, 1, 1);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 20);
    scene->sink.ops->close(scene->sink.self, 0, 0);
    scene->sink.ops->close(scene->sink.self, 0, 0);  /* not open: fine */
    scene->sink.ops->close(scene->sink.self, 99, 0); /* nor ever */
    kafkafix_fill(&scene->fix, 1, 0, 5);
    sinkfix_set_target(scene, true);
    sinkfix_read_part(scene, 1, 1, 0);
    scene->source.ops->stop(scene->source.self, 0);
    sinkfix_forward(scene, 5);
    sinkfix_wait_told(scene, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(scene->told[i].lane, 1);
    /* free() gives back what is held: the source could not end otherwise */
}

static void
a_sink_ends_with_everything_in_flight(void **state)
{
    struct sinkfix *scene = *state;

    kafkafix_fill_large(&scene->fix, 3, 10, SINKFIX_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 3);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 3, 0);
    sinkfix_forward(scene, 10);
    assert_int_equal(scene->n_told, 0);
}

/* The next client that is destroyed hangs. */
static struct {
    sem_t entered, go, left;
    atomic_bool hangs;
} stuck;

static rd_kafka_resp_err_t
on_destroy(rd_kafka_t *rk, void *ctx)
{
    (void)rk;
    (void)ctx;
    if (!atomic_exchange(&stuck.hangs, false))
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    (void)sem_post(&stuck.entered);
    while (sem_wait(&stuck.go) != 0)
        continue;
    (void)sem_post(&stuck.left);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *ctx, char *why,
    size_t size)
{
    (void)conf;
    (void)ctx;
    (void)why;
    (void)size;
    return rd_kafka_interceptor_add_on_destroy(rk, "stuck", on_destroy, NULL);
}

static void
may_hang(rd_kafka_conf_t *conf)
{
    assert_int_equal(rd_kafka_conf_interceptor_add_on_new(conf, "stuck", on_new,
                         NULL),
        0);
}

static int
set_up_stuck(void **state)
{
    assert_int_equal(sem_init(&stuck.entered, 0, 0), 0);
    assert_int_equal(sem_init(&stuck.go, 0, 0), 0);
    assert_int_equal(sem_init(&stuck.left, 0, 0), 0);
    *state = sinkfix_open(may_hang, 1);
    return 0;
}

static struct sink_closed
closed(struct sinkfix *scene)
{
    struct sink_closed it;

    scene->sink.ops->closed(scene->sink.self, &it);
    return it;
}

static void
wait_ended(struct sinkfix *scene)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (closed(scene).ending > 0) {
        kafkafix_wait(&scene->fix, deadline_ms, "the end of a client");
        (void)scene->sink.ops->poll(scene->sink.self, 50);
    }
}

static void
what_a_closed_lane_had_counts_until_its_client_has_ended(void **state)
{
    struct sinkfix *scene = *state;

    kafkafix_fill_large(&scene->fix, 0, 10, SINKFIX_LARGE);
    sinkfix_open_lane(scene, 0);
    sinkfix_attach(scene, 0, 0, 0);
    sinkfix_set_target(scene, false);
    sinkfix_read_part(scene, 0, 0, 0);
    sinkfix_forward(scene, 10);
    assert_int_equal(closed(scene).ending, 0);
    scene->sink.ops->close(scene->sink.self, 0, COST);
    assert_int_equal(closed(scene).ending, COST);
    wait_ended(scene);
    assert_int_equal(closed(scene).leaked, 0);
    assert_int_equal(scene->n_told, 0);
}

/* Its thread is left behind, what it holds is counted, and the next client has
 * its turn. */
static void
a_client_that_does_not_end_is_left_behind(void **state)
{
    struct sinkfix *scene = *state;

    sinkfix_open_lane(scene, 0);
    atomic_store(&stuck.hangs, true);
    scene->sink.ops->close(scene->sink.self, 0, COST);
    assert_int_equal(sem_wait(&stuck.entered), 0);
    sinkfix_open_lane(scene, 0);
    scene->sink.ops->close(scene->sink.self, 0, 2 * COST);
    (void)scene->sink.ops->poll(scene->sink.self, 50);
    assert_int_equal(closed(scene).ending, 3 * COST);
    assert_int_equal(closed(scene).leaked, 0);
    assert_false(kworker_watch_leaked(scene->watch));
    atomic_store(&scene->passed_ms, KREAPER_END_MS + KWORKER_GRACE_MS + 1);
    (void)scene->sink.ops->poll(scene->sink.self, 50);
    assert_int_equal(closed(scene).leaked, COST);
    assert_true(kworker_watch_leaked(scene->watch));
    wait_ended(scene);
    assert_int_equal(closed(scene).leaked, COST);
    assert_false(scene->sink.ops->free(scene->sink.self));
    (void)sem_post(&stuck.go);
    assert_int_equal(sem_wait(&stuck.left), 0);
    /* It held nothing of the source here, which can end. */
    scene->source.ops->free(scene->source.self);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
    free(scene);
}

/* What the client says of what it was told to throw away: lines at WARN and
 * above, and below. */
struct said {
    atomic_int loud, quiet;
};

static void
on_line(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    struct said *said = ctx;

    if (strcmp(event, "kafka.client") != 0)
        return;
    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, "text") == 0 &&
            strstr(fields->text, "Purged in ") != NULL)
            atomic_fetch_add(level <= LEVEL_WARN ? &said->loud : &said->quiet,
                1);
}

static void
wait_produced(struct sinkfix *scene)
{
    int64_t deadline_ms = kafkafix_deadline();
    bool produced = false;

    while (!produced) {
        size_t n = 0;
        rd_kafka_mock_request_t **requests =
            rd_kafka_mock_get_requests(scene->fix.to, &n);

        for (size_t i = 0; i < n; i++)
            produced = produced || rd_kafka_mock_request_api_key(requests[i]) ==
                                       SINKFIX_PRODUCE;
        rd_kafka_mock_request_destroy_array(requests, n);
        if (!produced)
            kafkafix_wait(&scene->fix, deadline_ms, "a request");
    }
}

static void
set_rtt(struct sinkfix *scene, int ms)
{
    for (int32_t broker = 1; broker <= 2; broker++)
        rd_kafka_mock_broker_set_rtt(scene->fix.to, broker, ms);
}

static void
produce(struct kreaper_client *client)
{
    char value[] = "a";

    assert_int_equal(rd_kafka_produce(kparts_topic(client->names, 0), 0,
                         RD_KAFKA_MSG_F_COPY, value, 1, NULL, 0,
                         kreaper_opaque(0, NULL)),
        0);
}

/* A client with one record in flight, of which no report comes soon. */
static struct kreaper_client *
client_in_flight(struct sinkfix *scene, struct log *log)
{
    const struct kconf_options options = { .client = KCONF_DATA,
        .cluster = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .linger_ms = 1,
        .events = RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR,
        .log = log };
    struct err err;
    struct kreaper_client *client = kreaper_open(&options, &err);

    assert_non_null(client);
    assert_true(kparts_name(client->names, 0, "out", 0, &err));
    produce(client); /* and it is connected */
    client->event = rd_kafka_queue_poll(client->queue, KAFKAFIX_WAIT_MS);
    assert_int_equal(rd_kafka_event_type(client->event), RD_KAFKA_EVENT_DR);
    rd_kafka_event_destroy(client->event);
    client->event = NULL;
    rd_kafka_mock_clear_requests(scene->fix.to);
    set_rtt(scene, 5000);
    produce(client);
    wait_produced(scene);
    return client;
}

static void
nobody_is_warned_of_what_was_thrown_away_on_purpose(void **state)
{
    static const struct {
        const char *label;
        bool ours;
        int loud, quiet;
    } rows[] = {
        { "on purpose", true, 0, 1 },
        { "not by us", false, 1, 0 },
    };
    struct sinkfix *scene = *state;

    rd_kafka_mock_start_request_tracking(scene->fix.to);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct said said = { 0 };
        struct err err;
        struct log *log =
            log_new(STDERR_FILENO, LEVEL_DEBUG, clock_system(), &err);
        struct kreaper_client *client;

        print_message("%s\n", rows[i].label);
        log_set_sink(log, on_line, &said);
        client = client_in_flight(scene, log);
        if (rows[i].ours)
            kconf_purge(client->rk, RD_KAFKA_PURGE_F_INFLIGHT);
        else
            (void)rd_kafka_purge(client->rk, RD_KAFKA_PURGE_F_INFLIGHT);
        kreaper_undo(client);
        set_rtt(scene, 0);
        assert_int_equal(said.loud, rows[i].loud);
        assert_int_equal(said.quiet, rows[i].quiet);
        log_free(log);
    }
}

/* It is later by a second at each look. */
static int64_t
hasty_now(void *ctx)
{
    return atomic_fetch_add((atomic_int_fast64_t *)ctx, 1000);
}

static struct kreaper_client *
idle_client(struct sinkfix *scene, bool hangs)
{
    const struct kconf_options options = { .client = KCONF_DATA,
        .cluster = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .configure = hangs ? may_hang : NULL };
    struct err err;
    struct kreaper_client *client = kreaper_open(&options, &err);

    assert_non_null(client);
    client->cost = COST;
    return client;
}

static void
count_leaks(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    (void)level;
    (void)fields;
    *(int *)ctx += strcmp(event, "sink.leaked") == 0;
}

/* The end of a flow does not wait for a thread that never comes. */
static void
without_a_thread_the_others_are_left_behind(void **state)
{
    static struct kreaper_client *stuck_one, *waiting; /* for good */
    static atomic_int_fast64_t now_ms;
    static struct clock clock = { hasty_now, hasty_now, &now_ms };
    static struct log *log;
    struct sinkfix *scene = *state;
    pthread_attr_t usual, huge;
    struct kreaper_client *client;
    struct err err;
    int leaks = 0;

    log = log_new(STDERR_FILENO, LEVEL_WARN, clock_system(), &err);
    log_set_sink(log, count_leaks, &leaks);
    const struct kreaper_options options = { .flow = "telemetry",
        .log = log,
        .clock = &clock,
        .watch = scene->watch };
    struct kreaper *reaper = kreaper_new(&options, &err);

    assert_non_null(reaper);
    stuck_one = client = idle_client(scene, true);
    waiting = idle_client(scene, false);
    atomic_store(&stuck.hangs, true);
    kreaper_give(reaper, &client);
    assert_int_equal(sem_wait(&stuck.entered), 0);
    client = waiting;
    kreaper_give(reaper, &client);
    /* no address space has room for such a stack */
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    assert_false(kreaper_free(reaper));
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_int_equal(leaks, 2);
    log_set_sink(log, NULL, NULL);
    (void)sem_post(&stuck.go);
    assert_int_equal(sem_wait(&stuck.left), 0);
    assert_non_null(stuck_one);
    kreaper_undo(waiting);
}

int
main(void)
{
#define TEST(name, up) \
    cmocka_unit_test_setup_teardown(name, up, sinkfix_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_told_of_a_closed_lane, sinkfix_set_up),
        TEST(a_sink_ends_with_everything_in_flight, sinkfix_set_up),
        TEST(what_a_closed_lane_had_counts_until_its_client_has_ended,
            sinkfix_set_up),
        cmocka_unit_test_setup(a_client_that_does_not_end_is_left_behind,
            set_up_stuck),
        TEST(without_a_thread_the_others_are_left_behind, set_up_stuck),
        TEST(nobody_is_warned_of_what_was_thrown_away_on_purpose,
            sinkfix_set_up),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    /* Clients were left behind, of which not all can be found: no leak check. */
    (void)fflush(NULL);
    _exit(failed);
}
