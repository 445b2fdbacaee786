/* What a flow logs while something lasts: not a line for each try. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flowfix.h"

/* Ten minutes of it. */
static const struct outage_row {
    const char *label;
    bool source, target, ledger, group; /* what does not work */
    bool differ;                        /* each try fails with another text */
    int least, most;                    /* lines of flow.state */
} outage_rows[] = {
    { "nothing", false, false, false, false, false, 3, 3 },
    { "the source does not answer", true, false, false, false, false, 2, 2 },
    { "the source, in other words each time", true, false, false, false, true,
        10, 33 },
    { "the target, in other words each time", false, true, false, false, true,
        10, 33 },
    { "the ledger may not be made", false, false, true, false, false, 2, 2 },
    { "the group cannot be joined", false, false, false, true, false, 4, 4 },
    { "the group, and the source goes", true, false, false, true, false, 3,
        33 },
};

static void
begin(struct flowfix *fix, const struct outage_row *row)
{
    fix->memory->texts_differ = row->differ;
    if (row->group) {
        flowfix_start(fix);
        memory_tell(fix->memory, GROUP_FAILED, -1, "not authorised");
    }
    fix->memory->source_down = row->source;
    fix->memory->target_down = row->target;
    fix->memory->ledger_waits = row->ledger;
    if (!row->group)
        flowfix_start(fix);
}

static void
an_outage_is_few_lines_a_minute(void **state)
{
    for (size_t i = 0; i < sizeof outage_rows / sizeof outage_rows[0]; i++) {
        const struct outage_row *row = &outage_rows[i];
        struct flowfix_lines lines = { .event = "flow.state" };
        struct flowfix fix;
        struct log *log;

        (void)state;
        print_message("  %s\n", row->label);
        flowfix_init(&fix, 1);
        memory_topic(fix.memory, "t", 1, 10, 100);
        log = flowfix_count(&fix, &lines);
        begin(&fix, row);
        flowfix_go(&fix, 600000);
        print_message("    %d lines\n", lines.n);
        assert_in_range(lines.n, row->least, row->most);
        flowfix_free(&fix);
        log_free(log);
    }
}

/* Somebody has to mend it, and is told at WARN, once in the ten minutes. */
static void
a_ledger_that_cannot_be_made_is_a_warning(void **state)
{
    struct flowfix_lines lines = { .event = "ledger.waits" };
    struct flowfix fix;
    struct log *log;

    (void)state;
    flowfix_init(&fix, 1);
    log = flowfix_count(&fix, &lines);
    fix.memory->ledger_waits = true;
    flowfix_start(&fix);
    flowfix_go(&fix, 600000);
    assert_int_equal(lines.n, 1);
    flowfix_free(&fix);
    log_free(log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outage_is_few_lines_a_minute),
        cmocka_unit_test(a_ledger_that_cannot_be_made_is_a_warning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
