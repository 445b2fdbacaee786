/* Ledgers at the source, as the catalog reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kafkafix.h"
#include "kreturns.h"
#include "ktopics.h"
#include "kworker.h"

#define LEDGER "kedge.cloud.back.ledger"
#define API_LIST_OFFSETS 2

struct scene {
    struct kafkafix fix;
    struct catalog catalog;
    struct kwatch *watch;
    char target_id[LEDGER_ID_MAX];
    rd_kafka_t *writer;
};

static struct catalog_list *
look(struct scene *scene)
{
    int64_t deadline_ms = kafkafix_deadline();
    struct catalog_event event;

    scene->catalog.ops->refresh(scene->catalog.self);
    while (!scene->catalog.ops->event(scene->catalog.self, &event))
        kafkafix_wait(&scene->fix, deadline_ms, "a list");
    if (event.kind != CATALOG_TOPICS)
        fail_msg("%s", event.err.text);
    return event.list;
}

static void
scene_open(struct scene *scene)
{
    struct catalog_list *list;
    struct err err;

    kafkafix_open(&scene->fix);
    scene->watch = kworker_watch_new(NULL, NULL, &err);
    assert_non_null(scene->watch);
    const struct ktopics_options options = {
        .source = &scene->fix.source,
        .target = &scene->fix.target,
        .agent = "a1",
        .flow = "there",
        .wake = &scene->fix.wake,
        .watch = scene->watch,
    };
    if (!ktopics_open(&scene->catalog, &options, &err))
        fail_msg("%s", err.text);
    list = look(scene);
    assert_int_equal(list->n_returns, 0);
    memcpy(scene->target_id, list->target_cluster_id, sizeof scene->target_id);
    catalog_list_free(list);
    assert_int_equal(rd_kafka_mock_topic_create(scene->fix.from, LEDGER, 2, 1),
        0);
    scene->writer =
        kafkafix_client(RD_KAFKA_PRODUCER, scene->fix.source.bootstrap, "");
}

static void
scene_close(struct scene *scene)
{
    rd_kafka_destroy(scene->writer);
    scene->catalog.ops->free(scene->catalog.self);
    kworker_watch_drop(scene->watch);
    kafkafix_close(&scene->fix);
}

/* Written when the writer is flushed. */
static void
put(struct scene *scene, int32_t lane, const struct ledger_record *record)
{
    struct ledger_bytes bytes;
    struct err err;

    assert_true(ledger_encode(&bytes, record, &err));
    assert_int_equal(rd_kafka_producev(scene->writer, RD_KAFKA_V_TOPIC(LEDGER),
                         RD_KAFKA_V_PARTITION(lane),
                         RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                         RD_KAFKA_V_KEY(bytes.key, bytes.key_len),
                         RD_KAFKA_V_VALUE(record->tombstone ? NULL
                                                            : bytes.value,
                             bytes.value_len),
                         RD_KAFKA_V_END),
        0);
}

static void
write_down(struct scene *scene, int32_t lane,
    const struct ledger_record *record)
{
    put(scene, lane, record);
    assert_int_equal(rd_kafka_flush(scene->writer, KAFKAFIX_WAIT_MS), 0);
}

static void
write_header(struct scene *scene, const char *cluster)
{
    struct ledger_record record = { .kind = LEDGER_HEADER,
        .header = { .format = LEDGER_FORMAT,
            .lanes = 2,
            .flow = "back",
            .from = "cloud",
            .to = "plant7",
            .rename = "identity",
            .delivery = "at-least-once" } };

    (void)snprintf(record.header.source_cluster_id,
        sizeof record.header.source_cluster_id, "%s", cluster);
    write_down(scene, 0, &record);
}

static void
write_entry(struct scene *scene, int32_t lane, const char *idle)
{
    struct ledger_record record = { .kind = LEDGER_ENTRY,
        .entry = { .topic = "orders",
            .partition = lane,
            .target_topic = "orders-back",
            .target_offset = -1 } };

    (void)snprintf(record.entry.idle, sizeof record.entry.idle, "%s", idle);
    write_down(scene, lane, &record);
}

static void
expect(struct scene *scene, size_t n)
{
    struct catalog_list *list = look(scene);

    assert_int_equal(list->n_returns, n);
    if (n > 0) {
        assert_string_equal(list->returns[0].ledger, LEDGER);
        assert_string_equal(list->returns[0].flow, "back");
        assert_string_equal(list->returns[0].origin, "orders");
        assert_string_equal(list->returns[0].topic, "orders-back");
    }
    catalog_list_free(list);
}

static void
what_comes_from_the_target_is_told(void **state)
{
    struct scene scene = { 0 };
    const struct ledger_record gone = { .kind = LEDGER_ENTRY,
        .tombstone = true,
        .entry = { .topic = "orders" } };

    (void)state;
    scene_open(&scene);
    expect(&scene, 0); /* it is empty */
    write_entry(&scene, 1, "");
    expect(&scene, 0); /* it is not known whose it is */
    write_header(&scene, scene.target_id);
    expect(&scene, 1);
    expect(&scene, 1); /* nothing was added */
    write_entry(&scene, 0, "yes");
    write_entry(&scene, 1, "yes");
    expect(&scene, 0); /* left out there */
    write_entry(&scene, 0, "");
    expect(&scene, 1);
    write_down(&scene, 0, &gone);
    expect(&scene, 0);
    scene_close(&scene);
}

static void
what_comes_from_elsewhere_is_not(void **state)
{
    struct scene scene = { 0 };

    (void)state;
    scene_open(&scene);
    write_header(&scene, "another-cluster");
    write_entry(&scene, 0, "");
    write_entry(&scene, 1, "");
    expect(&scene, 0);
    write_header(&scene, scene.target_id); /* it is not looked at again */
    expect(&scene, 0);
    scene_close(&scene);
}

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    bool missed; /* the list says that there may be more */
} unread_rows[] = {
    { "it may not be read", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
        false },
    { "a broker that is busy", RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, true },
};

/* The list comes all the same, and the next look sees it. */
static void
one_that_cannot_be_asked_stops_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unread_rows / sizeof unread_rows[0]; i++) {
        struct scene scene = { 0 };
        rd_kafka_resp_err_t code = unread_rows[i].code;
        struct catalog_list *list;

        print_message("%s\n", unread_rows[i].label);
        scene_open(&scene);
        write_header(&scene, scene.target_id);
        write_entry(&scene, 0, "");
        rd_kafka_mock_push_request_errors(scene.fix.from, API_LIST_OFFSETS, 2,
            code, code);
        list = look(&scene);
        assert_int_equal(list->n_returns, 0);
        assert_int_equal(list->returns_missed, unread_rows[i].missed);
        catalog_list_free(list);
        expect(&scene, 1);
        scene_close(&scene);
    }
}

/* What there is no room for is not forgotten: the list says that there is more,
 * each time. */
static void
more_than_can_be_kept_is_said(void **state)
{
    struct scene scene = { 0 };

    (void)state;
    scene_open(&scene);
    write_header(&scene, scene.target_id);
    for (int i = 0; i <= KRETURNS_MAX; i++) {
        struct ledger_record record = { .kind = LEDGER_ENTRY,
            .entry = { .target_topic = "back", .target_offset = -1 } };

        (void)snprintf(record.entry.topic, sizeof record.entry.topic, "t%d", i);
        put(&scene, i % 2, &record);
    }
    assert_int_equal(rd_kafka_flush(scene.writer, KAFKAFIX_WAIT_MS), 0);
    for (int i = 0; i < 2; i++) {
        struct catalog_list *list = look(&scene);

        assert_int_equal(list->n_returns, KRETURNS_MAX);
        assert_true(list->returns_missed);
        catalog_list_free(list);
    }
    scene_close(&scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_from_the_target_is_told),
        cmocka_unit_test(what_comes_from_elsewhere_is_not),
        cmocka_unit_test(one_that_cannot_be_asked_stops_nothing),
        cmocka_unit_test(more_than_can_be_kept_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
