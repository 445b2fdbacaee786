#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ktext.h"

#include <stdlib.h>
#include <string.h>

static void
texts_outlive_what_they_were_copied_from(void **state)
{
    char lent[8] = "agent";
    const char *agent = lent;
    const char *none = NULL;
    const char *empty = "";
    struct err err;
    char *block =
        ktext_keep((const char **const[]){ &agent, &none, &empty }, 3, &err);

    (void)state;
    assert_non_null(block);
    assert_ptr_not_equal(agent, lent);
    memset(lent, 'x', sizeof lent);
    assert_string_equal(agent, "agent");
    assert_null(none);
    assert_string_equal(empty, "");
    free(block);
}

static void
nothing_to_keep_is_fine(void **state)
{
    struct err err;
    char *block = ktext_keep(NULL, 0, &err);

    (void)state;
    assert_non_null(block);
    free(block);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_outlive_what_they_were_copied_from),
        cmocka_unit_test(nothing_to_keep_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
