#include "metric.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static size_t
count_of(const char *page, const char *what)
{
    size_t n = 0;

    for (; (page = strstr(page, what)) != NULL; page += strlen(what))
        n++;
    return n;
}

static char *
render(const struct metric_set *sets, size_t n)
{
    char *page = NULL;
    size_t len;
    FILE *out = open_memstream(&page, &len);

    assert_non_null(out);
    metrics_render(out, sets, n);
    assert_int_equal(fclose(out), 0);
    return page;
}

static void
test_values(void **state)
{
    struct metrics *metrics = metrics_new();
    (void)state;

    assert_int_equal(metric_get(metrics, METRIC_RECORDS_READ), 0);
    metric_add(metrics, METRIC_RECORDS_READ, 2);
    metric_add(metrics, METRIC_RECORDS_READ, 3);
    metric_set(metrics, METRIC_IN_FLIGHT_BYTES, INT64_C(5000000000));
    metric_add(metrics, METRIC_IN_FLIGHT_BYTES, -1);
    assert_int_equal(metric_get(metrics, METRIC_RECORDS_READ), 5);
    assert_int_equal(metric_get(metrics, METRIC_IN_FLIGHT_BYTES),
        INT64_C(4999999999));
    assert_int_equal(metric_get(metrics, METRIC_COMMITS), 0);
    metrics_free(metrics);
}

static void
test_no_set(void **state)
{
    (void)state;
    metric_add(NULL, METRIC_COMMITS, 1);
    metric_set(NULL, METRIC_COMMITS, 1);
    assert_int_equal(metric_get(NULL, METRIC_COMMITS), 0);
    metrics_free(NULL);
}

static void
test_page(void **state)
{
    struct metrics *a = metrics_new(), *b = metrics_new();
    const struct metric_set sets[] = { { "orders", a }, { "a\"\\\nb", b } };
    char *page;
    (void)state;

    metric_add(a, METRIC_RECORDS_ACKED, 7);
    metric_add(b, METRIC_RECORDS_ACKED, 9);
    page = render(sets, 2);
    assert_non_null(strstr(page,
        "# HELP kedge_records_acked_total Records that the target cluster has "
        "acknowledged with acks=all.\n"
        "# TYPE kedge_records_acked_total counter\n"
        "kedge_records_acked_total{flow=\"orders\"} 7\n"
        "kedge_records_acked_total{flow=\"a\\\"\\\\\\nb\"} 9\n"));
    assert_non_null(strstr(page, "# TYPE kedge_source_up gauge\n"));
    assert_int_equal(count_of(page, "# HELP "), METRIC_N);
    assert_int_equal(count_of(page, "# TYPE "), METRIC_N);
    assert_int_equal(count_of(page, "\n"), 4 * METRIC_N);
    free(page);
    metrics_free(a);
    metrics_free(b);
}

static void
test_page_of_the_process(void **state)
{
    const struct metric_set set = { NULL, NULL };
    char *page = render(&set, 1);
    (void)state;

    assert_non_null(strstr(page, "\nkedge_lanes_owned 0\n"));
    assert_int_equal(count_of(page, "{"), 0);
    free(page);
}

static void
test_document(void **state)
{
    char *page = NULL;
    size_t len;
    FILE *out = open_memstream(&page, &len);
    (void)state;

    assert_non_null(out);
    metrics_document(out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(count_of(page, "\n"), METRIC_N + 2);
    assert_non_null(
        strstr(page, "\n| `kedge_lanes_owned` | gauge | Lanes that this agent "
                     "owns: not those "
                     "that it is taking over, or that are held. |\n"));
    free(page);
}

static void *
add_many(void *ctx)
{
    for (int i = 0; i < 10000; i++)
        metric_add(ctx, METRIC_RECORDS_READ, 1);
    return NULL;
}

static void
test_two_threads(void **state)
{
    struct metrics *metrics = metrics_new();
    pthread_t other;
    (void)state;

    assert_int_equal(pthread_create(&other, NULL, add_many, metrics), 0);
    add_many(metrics);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(metric_get(metrics, METRIC_RECORDS_READ), 20000);
    metrics_free(metrics);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_no_set),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_page_of_the_process),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_two_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
