#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "ktopics.h"
#include "kworker.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#define API_LIST_OFFSETS 2

/* The mock makes no topics and has no settings.  What needs a real broker is
 * in tests/system/ledger_probe. */
struct scene {
    struct kafkafix fix;
    struct catalog catalog;
    struct kwatch *watch;
    bool shipped_step;
    struct clock clock;
    atomic_int_fast64_t ahead_ms; /* of this machine's clock */
    void (*configure_source)(rd_kafka_conf_t *conf);
    void (*configure_target)(rd_kafka_conf_t *conf);
};

static int64_t
scene_now(void *ctx)
{
    struct scene *scene = ctx;

    return clock_mono_ms(clock_system()) + atomic_load(&scene->ahead_ms);
}

static void
scene_open(struct scene *scene, bool create)
{
    struct err err;

    kafkafix_open(&scene->fix);
    scene->watch = kworker_watch_new(NULL, NULL, &err);
    assert_non_null(scene->watch);
    scene->clock = (struct clock){ scene_now, scene_now, scene };
    const struct ktopics_options options = {
        .source = &scene->fix.source,
        .target = &scene->fix.target,
        .agent = "a1",
        .flow = "telemetry",
        .replication_factor = 1,
        .create_topics = create,
        .step_ms = scene->shipped_step ? 0 : 3000,
        .clock = &scene->clock,
        .configure_source = scene->configure_source,
        .configure_target = scene->configure_target,
        .wake = &scene->fix.wake,
        .watch = scene->watch,
    };
    if (!ktopics_open(&scene->catalog, &options, &err))
        fail_msg("%s", err.text);
}

static void
scene_close(struct scene *scene)
{
    scene->catalog.ops->free(scene->catalog.self);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
}

static enum catalog_event_kind
event(struct scene *scene, struct catalog_event *event)
{
    int64_t deadline_ms = kafkafix_deadline();

    while (!scene->catalog.ops->event(scene->catalog.self, event))
        kafkafix_wait(&scene->fix, deadline_ms, "an event");
    return event->kind;
}

static void
the_topics_of_the_source_are_listed(void **state)
{
    struct scene scene = { 0 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    assert_int_equal(rd_kafka_mock_topic_create(scene.fix.from, "a", 7, 1), 0);
    scene.catalog.ops->refresh(scene.catalog.self);
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_TOPICS);
    assert_int_equal(got.list->n, 2);
    assert_string_equal(got.list->topics[0].name, "a");
    assert_int_equal(got.list->topics[0].partitions, 7);
    assert_string_equal(got.list->topics[1].name, "in");
    assert_true(got.list->source_cluster_id[0] != '\0');
    assert_true(got.list->target_cluster_id[0] != '\0');
    catalog_list_free(got.list);
    /* One question, one answer; then it can be asked again. */
    assert_false(scene.catalog.ops->event(scene.catalog.self, &got));
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_TOPICS);
    catalog_list_free(got.list);
    scene_close(&scene);
}

static void
set_up_brokers(rd_kafka_mock_cluster_t *cluster, bool up)
{
    for (int32_t broker = 1; broker <= 2; broker++)
        assert_int_equal(up ? rd_kafka_mock_broker_set_up(cluster, broker)
                            : rd_kafka_mock_broker_set_down(cluster, broker),
            0);
}

/* What is listed and the id of the source are of the same cluster, also when
 * another one answers now. */
static void
another_cluster_at_the_same_address_has_its_own_id(void **state)
{
    struct scene scene = { 0 };
    struct catalog_event got;
    rd_kafka_mock_cluster_t *other;
    char both[256], id[LEDGER_ID_MAX];
    int64_t deadline_ms;
    bool changed = false;

    (void)state;
    scene_open(&scene, true);
    other = kafkafix_cluster(scene.fix.host, "other");
    set_up_brokers(other, false);
    (void)snprintf(both, sizeof both, "%s,%s", scene.fix.source.bootstrap,
        rd_kafka_mock_cluster_bootstraps(other));
    scene.fix.source.bootstrap = both;
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_TOPICS);
    (void)snprintf(id, sizeof id, "%s", got.list->source_cluster_id);
    catalog_list_free(got.list);
    set_up_brokers(scene.fix.from, false);
    set_up_brokers(other, true);
    deadline_ms = kafkafix_deadline();
    while (!changed) {
        kafkafix_wait(&scene.fix, deadline_ms, "the other cluster");
        scene.catalog.ops->refresh(scene.catalog.self);
        if (event(&scene, &got) != CATALOG_TOPICS)
            continue;
        changed = strcmp(got.list->source_cluster_id, id) != 0;
        assert_int_equal(got.list->n, 1);
        assert_string_equal(got.list->topics[0].name, changed ? "other" : "in");
        catalog_list_free(got.list);
    }
    scene.catalog.ops->free(scene.catalog.self);
    rd_kafka_mock_cluster_destroy(other);
    kworker_watch_drop(scene.watch);
    kafkafix_close(&scene.fix);
}

static const struct {
    const char *label, *target;
    bool create;
    int32_t partitions;
    enum catalog_event_kind want;
    const char *said; /* in the reason */
} wants[] = {
    { "what is there is there", "out", true, KAFKAFIX_PARTITIONS,
        CATALOG_TARGET, "" },
    { "more partitions than wanted are fine", "out", true, 1, CATALOG_TARGET,
        "" },
    { "a broker that makes no topics has it wait", "gone", true, 2,
        CATALOG_WAIT, "gone" },
    { "one that may not be made waits for a person", "gone", false, 2,
        CATALOG_WAIT, "--create --topic gone --partitions 2" },
    { "one that may not grow waits for a person", "out", false, 9, CATALOG_WAIT,
        "--alter --topic out --partitions 9" },
};

static void
what_is_wanted_is_there_or_waits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        struct scene scene = { 0 };
        struct catalog_want want = { .partitions = wants[i].partitions };
        struct catalog_event got;

        scene_open(&scene, wants[i].create);
        (void)snprintf(want.source, sizeof want.source, "in");
        (void)snprintf(want.target, sizeof want.target, "%s", wants[i].target);
        scene.catalog.ops->ensure(scene.catalog.self, &want, 1);
        if (event(&scene, &got) != wants[i].want)
            fail_msg("%s: %s", wants[i].label, got.err.text);
        assert_string_equal(got.source, "in");
        assert_string_equal(got.target, wants[i].target);
        if (got.kind == CATALOG_TARGET)
            assert_int_equal(got.partitions, KAFKAFIX_PARTITIONS);
        else if (strstr(got.err.text, wants[i].said) == NULL)
            fail_msg("%s: %s", wants[i].label, got.err.text);
        scene_close(&scene);
    }
}

/* It is there and may be used, and takes nothing just now. */
static void
a_target_without_a_leader_is_told(void **state)
{
    struct scene scene = { 0 };
    struct catalog_want want = { .source = "in",
        .target = "out",
        .partitions = 1 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    scene.catalog.ops->ensure(scene.catalog.self, &want, 1);
    assert_int_equal(event(&scene, &got), CATALOG_TARGET);
    if (got.err.kind != ERR_NONE)
        fail_msg("%s", got.err.text);
    assert_int_equal(rd_kafka_mock_partition_set_leader(scene.fix.to, "out", 1,
                         -1),
        0);
    scene.catalog.ops->ensure(scene.catalog.self, &want, 1);
    assert_int_equal(event(&scene, &got), CATALOG_TARGET);
    assert_int_equal(got.partitions, KAFKAFIX_PARTITIONS);
    assert_non_null(strstr(got.err.text, "out [1] at "));
    assert_non_null(strstr(got.err.text, "has no leader"));
    scene_close(&scene);
}

static void
nothing_wanted_is_nothing_to_tell(void **state)
{
    struct scene scene = { 0 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    scene.catalog.ops->ensure(scene.catalog.self, NULL, 0);
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_TOPICS);
    catalog_list_free(got.list);
    scene_close(&scene);
}

static void
a_ledger_that_is_there_is_taken_as_it_is(void **state)
{
    struct scene scene = { 0 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    scene.catalog.ops->ensure_ledger(scene.catalog.self, "out", 8);
    assert_int_equal(event(&scene, &got), CATALOG_LEDGER);
    assert_int_equal(got.partitions, KAFKAFIX_PARTITIONS);
    scene.catalog.ops->ensure_ledger(scene.catalog.self, "gone", 8);
    assert_int_equal(event(&scene, &got), CATALOG_LEDGER_WAIT);
    assert_non_null(strstr(got.err.text, "ledger gone"));
    /* Who only looks makes none. */
    scene.catalog.ops->ensure_ledger(scene.catalog.self, "out", 0);
    assert_int_equal(event(&scene, &got), CATALOG_LEDGER);
    assert_int_equal(got.partitions, KAFKAFIX_PARTITIONS);
    scene.catalog.ops->ensure_ledger(scene.catalog.self, "gone", 0);
    assert_int_equal(event(&scene, &got), CATALOG_LEDGER_GONE);
    scene_close(&scene);
}

static void
ends_are_asked_once_more_of_a_new_leader(void **state)
{
    struct scene scene = { 0 };
    struct catalog_partition partitions[2] = { { "out", 0, 7, 0 },
        { "nowhere", 1, 8, 0 } };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    rd_kafka_mock_push_request_errors(scene.fix.to, API_LIST_OFFSETS, 1,
        RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH);
    scene.catalog.ops->ask_ends(scene.catalog.self, 3, partitions, 1);
    assert_int_equal(event(&scene, &got), CATALOG_ENDS);
    assert_int_equal(got.lane, 3);
    assert_int_equal(got.n_ends, 1);
    assert_int_equal(got.ends[0].number, 7);
    assert_int_equal(got.ends[0].high, 0);
    free(got.ends);
    scene_close(&scene);
}

/* The broker was stopped and goes on: what was sent on the old connection, and
 * what is sent behind it, is not answered for as long as the test may take. */
static void
ends_are_asked_once_more_on_a_new_connection(void **state)
{
    struct scene scene = { 0 };
    struct catalog_partition partition = { "out", 0, 7, 0 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    for (int broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_push_request_error_rtts(scene.fix
                                                                          .to,
                             broker, API_LIST_OFFSETS, 1,
                             RD_KAFKA_RESP_ERR_NO_ERROR, 600000),
            0);
    scene.catalog.ops->ask_ends(scene.catalog.self, 3, &partition, 1);
    assert_int_equal(event(&scene, &got), CATALOG_ENDS);
    assert_int_equal(got.n_ends, 1);
    assert_int_equal(got.ends[0].high, 0);
    free(got.ends);
    scene_close(&scene);
}

/* As long as all that is asked may take: its worker is not given up. */
static void
a_target_that_is_away_is_no_library_that_hangs(void **state)
{
    struct scene scene = { .shipped_step = true };
    struct catalog_partition partition = { "out", 0, 7, 0 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_TOPICS);
    catalog_list_free(got.list);
    set_up_brokers(scene.fix.to, false);
    scene.catalog.ops->ask_ends(scene.catalog.self, 3, &partition, 1);
    assert_int_equal(event(&scene, &got), CATALOG_ENDS);
    assert_int_equal(got.n_ends, 1);
    assert_int_equal(got.ends[0].high, CATALOG_UNKNOWN);
    assert_int_equal(got.err.kind, ERR_NET);
    assert_false(kworker_watch_leaked(scene.watch));
    free(got.ends);
    scene_close(&scene);
}

static void
a_source_that_is_away_is_said_to_be(void **state)
{
    struct scene scene = { 0 };
    struct catalog_event got;

    (void)state;
    scene_open(&scene, true);
    for (int broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_set_down(scene.fix.from, broker),
            0);
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_DOWN);
    assert_true(got.source_side);
    assert_true(got.err.retry);
    for (int broker = 1; broker <= 2; broker++)
        assert_int_equal(rd_kafka_mock_broker_set_up(scene.fix.from, broker),
            0);
    scene.catalog.ops->refresh(scene.catalog.self);
    assert_int_equal(event(&scene, &got), CATALOG_TOPICS);
    catalog_list_free(got.list);
    scene_close(&scene);
}

static void
a_catalog_can_be_freed_while_it_works(void **state)
{
    struct scene scene = { 0 };
    struct catalog_partition partition = { .topic = "out" };

    (void)state;
    scene_open(&scene, true);
    scene.catalog.ops->refresh(scene.catalog.self);
    for (int32_t lane = 0; lane < 2 * KWORKER_JOBS; lane++)
        scene.catalog.ops->ask_ends(scene.catalog.self, lane, &partition, 1);
    scene_close(&scene);
}

/* What is abandoned outlives its catalog, so it is kept where it can be
 * found. */
static struct kept {
    struct scene scene;
    void *catalog;
    sem_t entered, go;
    atomic_bool hangs;
} kept, kept_too;

/* Called by the worker while it makes a client. */
static void
hang(struct kept *one)
{
    if (!atomic_exchange(&one->hangs, false))
        return;
    (void)sem_post(&one->entered);
    while (sem_wait(&one->go) != 0)
        continue;
}

static void
hanging_configure(rd_kafka_conf_t *conf)
{
    (void)conf;
    hang(&kept);
}

static void
hanging_too_configure(rd_kafka_conf_t *conf)
{
    (void)conf;
    hang(&kept_too);
}

static void
a_call_that_does_not_come_back_is_answered_all_the_same(void **state)
{
    struct scene *scene = &kept.scene;
    struct catalog_partition partition = { .topic = "out" };
    struct catalog_want want = { .source = "in",
        .target = "out",
        .partitions = 1 };
    struct catalog_event got;

    (void)state;
    scene->configure_source = hanging_configure;
    scene_open(scene, true);
    kept.catalog = scene->catalog.self;
    assert_int_equal(sem_init(&kept.entered, 0, 0), 0);
    assert_int_equal(sem_init(&kept.go, 0, 0), 0);
    atomic_store(&kept.hangs, true);
    scene->catalog.ops->refresh(scene->catalog.self);
    scene->catalog.ops->ensure(scene->catalog.self, &want, 1);
    scene->catalog.ops->ask_ends(scene->catalog.self, 6, &partition, 1);
    scene->catalog.ops->ensure_ledger(scene->catalog.self, "out", 4);
    assert_int_equal(sem_wait(&kept.entered), 0);
    assert_false(scene->catalog.ops->event(scene->catalog.self, &got));
    atomic_store(&scene->ahead_ms, 60000);
    assert_int_equal(event(scene, &got), CATALOG_DOWN);
    assert_true(got.source_side && got.err.retry);
    assert_int_equal(event(scene, &got), CATALOG_WAIT);
    assert_string_equal(got.target, "out");
    /* Which cannot be told is said to be unknown. */
    assert_int_equal(event(scene, &got), CATALOG_ENDS);
    assert_int_equal(got.lane, 6);
    assert_int_equal(got.n_ends, 0);
    assert_int_equal(event(scene, &got), CATALOG_LEDGER_WAIT);
    assert_string_equal(got.target, "out");
    (void)sem_post(&kept.go);
    scene->catalog.ops->refresh(scene->catalog.self);
    assert_int_equal(event(scene, &got), CATALOG_TOPICS);
    catalog_list_free(got.list);
    scene->catalog.ops->free(scene->catalog.self);
}

/* The source has answered, so it is the target that is told to be down. */
static void
who_did_not_come_back_is_told(void **state)
{
    struct scene *scene = &kept_too.scene;
    struct catalog_event got;

    (void)state;
    scene->configure_target = hanging_too_configure;
    scene_open(scene, true);
    kept_too.catalog = scene->catalog.self;
    assert_int_equal(sem_init(&kept_too.entered, 0, 0), 0);
    assert_int_equal(sem_init(&kept_too.go, 0, 0), 0);
    atomic_store(&kept_too.hangs, true);
    scene->catalog.ops->refresh(scene->catalog.self);
    assert_int_equal(sem_wait(&kept_too.entered), 0);
    atomic_store(&scene->ahead_ms, 60000);
    assert_int_equal(event(scene, &got), CATALOG_DOWN);
    assert_true(!got.source_side && got.err.retry);
    (void)sem_post(&kept_too.go);
    scene->catalog.ops->free(scene->catalog.self);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_topics_of_the_source_are_listed),
        cmocka_unit_test(another_cluster_at_the_same_address_has_its_own_id),
        cmocka_unit_test(what_is_wanted_is_there_or_waits),
        cmocka_unit_test(a_target_without_a_leader_is_told),
        cmocka_unit_test(nothing_wanted_is_nothing_to_tell),
        cmocka_unit_test(a_ledger_that_is_there_is_taken_as_it_is),
        cmocka_unit_test(ends_are_asked_once_more_of_a_new_leader),
        cmocka_unit_test(ends_are_asked_once_more_on_a_new_connection),
        cmocka_unit_test(a_target_that_is_away_is_no_library_that_hangs),
        cmocka_unit_test(a_source_that_is_away_is_said_to_be),
        cmocka_unit_test(a_catalog_can_be_freed_while_it_works),
        cmocka_unit_test(
            a_call_that_does_not_come_back_is_answered_all_the_same),
        cmocka_unit_test(who_did_not_come_back_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
