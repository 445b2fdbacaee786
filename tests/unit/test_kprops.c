#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kprops.h"

#include <stdlib.h>
#include <string.h>

static void
the_table_can_be_printed(void **state)
{
    char *text = NULL;
    size_t size, n, n_lines = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    (void)kprops_rows(&n);
    kprops_document(out);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; *at != '\0'; at++)
        n_lines += *at == '\n';
    assert_int_equal(n_lines, n + 2);
    assert_non_null(strstr(text, "| `acks` |  | all | all |  |  |  |"));
    assert_non_null(strstr(text, "| `sasl.password` | *policy* |"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_can_be_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
