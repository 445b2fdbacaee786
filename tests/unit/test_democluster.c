#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "cluster.h"
#include "load.h"
#include "proof.h"
#include "reader.h"

#include <stdio.h>
#include <string.h>

#define RECORDS 3000
#define WAIT_MS 20000 /* an upper bound, never slept through when it works */

static void
make_topics(struct cluster *cluster)
{
    struct err err;

    for (int i = 0; i < LOAD_TOPICS; i++)
        assert_true(cluster_topic(cluster, load_topic_name(i),
            load_topic_partitions(i), &err));
}

/* Sends all of it and waits for the reports. */
static void
send_all(const struct load_plan *plan, const char *bootstrap)
{
    int64_t until_ms = clock_mono_ms(clock_system()) + WAIT_MS;
    struct err err;
    struct load *load = load_start(plan, bootstrap, &err);

    assert_non_null(load);
    while (load_delivered(load) < plan->records) {
        assert_true(load_send(load, plan->records, &err));
        assert_true(clock_mono_ms(clock_system()) < until_ms);
    }
    assert_int_equal(load_sent(load), plan->records);
    load_stop(load);
}

/* What is produced into a cluster is read from it as it was, also when its
 * clients are told of ports where nobody listens. */
static void
test_reads_what_was_produced(void **state)
{
    const struct load_plan plan = {
        .records = RECORDS,
        .base_wall_ms = INT64_C(1790000000000),
    };
    struct err err;
    struct cluster *cluster = cluster_new(3, &err);
    struct proof *proof = proof_new(&plan, &err);
    struct reader *reader;
    struct proof_counts counts;

    (void)state;
    assert_non_null(cluster);
    assert_non_null(proof);
    make_topics(cluster);
    send_all(&plan, cluster_bootstrap(cluster));
    for (int i = 0; i < cluster_brokers(cluster); i++)
        cluster_advertise(cluster, i, (uint16_t)(i + 1));
    reader = reader_open(cluster, "", &err);
    assert_non_null(reader);
    if (!reader_drain(reader, proof, WAIT_MS, &err))
        fail_msg("%s", err.text);
    proof_count(proof, &counts);
    assert_int_equal(counts.first, RECORDS);
    assert_int_equal(counts.repeats, 0);
    assert_null(proof_fault(proof, 0));
    assert_true(proof_holds(proof));
    reader_close(reader);
    proof_free(proof);
    cluster_free(cluster);
}

static void
test_counts_what_was_sent_twice(void **state)
{
    const struct load_plan plan = {
        .records = RECORDS,
        .base_wall_ms = INT64_C(1790000000000),
    };
    struct err err;
    struct cluster *cluster = cluster_new(2, &err);
    struct proof *proof = proof_new(&plan, &err);
    struct reader *reader;
    struct proof_counts counts;

    (void)state;
    assert_non_null(cluster);
    assert_non_null(proof);
    make_topics(cluster);
    send_all(&plan, cluster_bootstrap(cluster));
    send_all(&plan, cluster_bootstrap(cluster));
    reader = reader_open(cluster, "", &err);
    assert_non_null(reader);
    assert_true(reader_drain(reader, proof, WAIT_MS, &err));
    proof_count(proof, &counts);
    assert_int_equal(counts.first, RECORDS);
    assert_int_equal(counts.repeats, RECORDS);
    assert_true(proof_holds(proof));
    reader_close(reader);
    proof_free(proof);
    cluster_free(cluster);
}

static void
test_tells_its_ports(void **state)
{
    struct err err;
    struct cluster *cluster = cluster_new(CLUSTER_BROKERS_MAX, &err);
    char text[64];

    (void)state;
    assert_non_null(cluster);
    assert_int_equal(cluster_brokers(cluster), CLUSTER_BROKERS_MAX);
    for (int i = 0; i < CLUSTER_BROKERS_MAX; i++) {
        (void)snprintf(text, sizeof text, "127.0.0.1:%d",
            cluster_port(cluster, i));
        assert_non_null(strstr(cluster_bootstrap(cluster), text));
    }
    assert_true(cluster_topic(cluster, "once", 2, &err));
    assert_false(cluster_topic(cluster, "once", 2, &err));
    assert_int_equal(err.kind, ERR_KAFKA);
    cluster_free(cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_was_produced),
        cmocka_unit_test(test_counts_what_was_sent_twice),
        cmocka_unit_test(test_tells_its_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
