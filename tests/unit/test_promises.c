#include "promises.h"

#include "policyfix.h"

/* The block that is proposed for a change of the good policy. */
static const struct {
    const char *label, *was, *is, *block;
} cases[] = {
    { "acks alone", "acks: all", "acks: 1",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    producer: {acks: all, retries: unlimited}" },
    { "what else the producer has is kept", "acks: all",
        "acks: 1, compression.type: zstd, linger.ms: 5",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    producer: {acks: all, retries: unlimited, "
        "compression.type: zstd, linger.ms: 5}" },
    { "quotes are kept", "acks: all", "acks: 1, compression.type: 'zstd'",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    producer: {acks: all, retries: unlimited, "
        "compression.type: 'zstd'}" },
    { "what is not understood is not kept", "acks: all",
        "acks: 1, pasword: S3cr3t, linger.ms: 5, batch.size: 9, "
        "compression.type: lz5",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    producer: {acks: all, retries: unlimited, linger.ms: 5}" },
    { "nor is what may be refused", "retries: unlimited",
        "retries: 10, delivery.timeout.ms: 120000, enable.idempotence: true, "
        "max.in.flight.requests.per.connection: 1, linger.ms: 5",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    producer: {acks: all, retries: unlimited, linger.ms: 5}" },
    { "no placement at all",
        "placement: {because: firewall, outage_budget: 72h}\n", "",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    placement: {because: firewall, outage_budget: 72h}"
        "   # firewall or encryption" },
    { "the flow's own placement is kept",
        "placement: {because: firewall, outage_budget: 72h}\nclusters:",
        "placement: {because: firewall}\nclusters:",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    placement: {outage_budget: 72h}" },
    { "tolerance alone", "tolerance: none", "tolerance: all",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    errors.tolerance: none" },
    { "indented as the flow is",
        "  telemetry:\n    from: plant7\n"
        "    to: cloud\n    topics: {include: [orders]}\n"
        "    producer: {acks: all, retries: unlimited}\n"
        "    errors.tolerance: none\n",
        "  telemetry:\n        from: plant7\n        to: cloud\n"
        "        topics: {include: [orders]}\n"
        "        producer: {acks: all, retries: unlimited}\n",
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "        errors.tolerance: none" },
};

static void
test_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        char *text =
            policyfix_change(policyfix_good, cases[i].was, cases[i].is);
        struct findings *found = findings_new();
        const char *block = NULL;

        assert_null(policy_parse(text, strlen(text), NOW_WALL_MS, found));
        for (size_t k = 0; k < findings_count(found); k++)
            if (findings_at(found, k)->remedy != NULL &&
                findings_at(found, k)->remedy[0] == '#')
                block = findings_at(found, k)->remedy;
        if (block == NULL || strcmp(block, cases[i].block) != 0)
            fail_msg("%s:\n%s", cases[i].label, block);
        findings_free(found);
        free(text);
    }
}

static void
test_own_placement_with_a_measurement(void **state)
{
    char *bare = policyfix_change(policyfix_good,
        "placement: {because: firewall, outage_budget: 72h}\n", "");
    char *text = policyfix_change(bare, "    errors.tol",
        "    placement: {because: encryption,\n"
        "        measured: {date: 2026-11-01, ratio: '1.5'}}\n"
        "    errors.tol");
    struct findings *found = findings_new();

    (void)state;
    assert_null(policy_parse(text, strlen(text), NOW_WALL_MS, found));
    assert_string_equal(findings_at(found, 0)->code, "KP044");
    assert_string_equal(findings_at(found, 0)->remedy,
        "# in flows.telemetry, in place of what it has of these keys:\n"
        "    placement: {because: encryption, outage_budget: 72h, "
        "measured: {date: 2026-11-01, ratio: '1.5'}}");
    findings_free(found);
    free(text);
    free(bare);
}

/* Each flow has its own findings and its own block. */
static void
test_two_flows(void **state)
{
    char *one = policyfix_change(policyfix_good, "acks: all", "acks: 1");
    char *text = policyfix_change(one, NULL,
        "  second:\n    from: plant7\n    to: cloud\n"
        "    topics: {include: [payments]}\n");
    struct findings *found = findings_new();
    size_t blocks = 0;

    (void)state;
    assert_null(policy_parse(text, strlen(text), NOW_WALL_MS, found));
    assert_int_equal(findings_count(found), 4);
    for (size_t i = 0; i < findings_count(found); i++)
        blocks += findings_at(found, i)->remedy != NULL;
    assert_int_equal(blocks, 2);
    assert_non_null(strstr(findings_at(found, 3)->remedy, "in flows.second"));
    findings_free(found);
    free(text);
    free(one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_own_placement_with_a_measurement),
        cmocka_unit_test(test_two_flows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
