#include "catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void
test_list_free(void **state)
{
    struct catalog_list *list =
        calloc(1, sizeof *list + 2 * sizeof list->topics[0]);
    (void)state;

    assert_non_null(list);
    list->n = 2;
    list->topics[1].partitions = 7;
    list->returns = calloc(2, sizeof list->returns[0]);
    catalog_list_free(list); /* nothing of it is left */
    catalog_list_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
