/* A policy is refused with a reason or taken without one; what was taken is
 * shown as a policy that is taken again and selects the same; every finding
 * can be printed. */
#include "codes.h"
#include "effective.h"
#include "policy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOW_WALL_MS INT64_C(1796000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_findings(const struct findings *found, const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    FILE *out = fopen("/dev/null", "w");

    if (copy == NULL || out == NULL)
        abort();
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    policy_redact(copy, size);
    for (size_t i = 0; i < findings_count(found); i++)
        if (codes_find(findings_at(found, i)->code) == NULL)
            __builtin_trap();
    findings_print(found, out, "fuzz", copy, size);
    findings_print_json(found, out, "fuzz");
    (void)fclose(out);
    free(copy);
}

static void
check_shown(const struct policy *policy)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct findings *found = findings_new();
    struct policy *again = NULL;

    if (out == NULL || found == NULL)
        abort();
    effective_print(policy, "fuzz", out);
    (void)fclose(out);
    again = policy_parse(text, size, NOW_WALL_MS, found);
    if (size < POLICY_BYTES_MAX &&
        (again == NULL || again->n_flows != policy->n_flows))
        __builtin_trap();
    for (size_t i = 0; again != NULL && i < policy->n_flows; i++)
        if (policy_fingerprint(&again->flows[i]) !=
            policy_fingerprint(&policy->flows[i]))
            __builtin_trap();
    policy_free(again);
    findings_free(found);
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct findings *found = findings_new();
    struct policy *policy = NULL;

    if (found == NULL)
        return 0;
    policy = policy_parse((const char *)data, size, NOW_WALL_MS, found);
    if ((policy == NULL) != findings_refuse(found))
        __builtin_trap(); /* refused without a reason, or taken with one */
    check_findings(found, (const char *)data, size);
    if (policy != NULL)
        check_shown(policy);
    policy_free(policy);
    findings_free(found);
    return 0;
}
