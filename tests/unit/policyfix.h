/* policyfix.h - what the tests of the policy share: a policy that passes, with
 * a change, and questions about findings. */
#ifndef KEDGE_POLICYFIX_H
#define KEDGE_POLICYFIX_H

#include "policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N(rows) (sizeof(rows) / sizeof(rows)[0])
#define NOW_WALL_MS INT64_C(1796080000000) /* 2026-11-30T23:06:40Z */

/* Produces remotely, and says all that it has to say. */
static const char policyfix_good[] =
    "version: 1\n"
    "agent: {site: plant7}\n"
    "placement: {because: firewall, outage_budget: 72h}\n"
    "clusters:\n"
    "  plant7:\n"
    "    site: plant7\n"
    "    bootstrap: [kafka1.plant7.test:9092]\n"
    "    tls: off\n"
    "  cloud:\n"
    "    site: eu-west-1\n"
    "    bootstrap: [b1.cloud.test:9093]\n"
    "    tls: {ca: /etc/kedge/tls/cloud-ca.pem}\n"
    "flows:\n"
    "  telemetry:\n"
    "    from: plant7\n"
    "    to: cloud\n"
    "    topics: {include: [orders]}\n"
    "    producer: {acks: all, retries: unlimited}\n"
    "    errors.tolerance: none\n";

/* The first `was` of `text` becomes `is`; the caller frees it.  `was` NULL:
 * `is` goes to the end. */
static inline char *
policyfix_change(const char *text, const char *was, const char *is)
{
    const char *at = was == NULL ? text + strlen(text) : strstr(text, was);
    size_t skip = was == NULL ? 0 : strlen(was);
    size_t size = strlen(text) + strlen(is) + 1;
    char *changed = malloc(size);

    if (at == NULL || changed == NULL)
        abort(); /* the row does not fit the policy */
    (void)snprintf(changed, size, "%.*s%s%s", (int)(at - text), text, is,
        at + skip);
    return changed;
}

/* "KP045 KP046": the codes of all findings, in their order. */
static inline void
policyfix_codes(const struct findings *found, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < findings_count(found) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
            i > 0 ? " " : "", findings_at(found, i)->code);
}

static inline const struct finding *
policyfix_find(const struct findings *found, const char *code)
{
    for (size_t i = 0; i < findings_count(found); i++)
        if (strcmp(findings_at(found, i)->code, code) == 0)
            return findings_at(found, i);
    return NULL;
}

/* What a policy with one change is told; NULL label: nothing is printed. */
static inline void
policyfix_expect(const char *label, const char *text, const char *want)
{
    struct findings *found = findings_new();
    struct policy *policy = NULL;
    char codes[1024];

    assert_non_null(found);
    policy = policy_parse(text, strlen(text), NOW_WALL_MS, found);
    policyfix_codes(found, codes, sizeof codes);
    if (strcmp(codes, want) != 0) {
        findings_print(found, stderr, label, text, strlen(text));
        fail_msg("%s: found '%s', wanted '%s'", label, codes, want);
    }
    if ((policy == NULL) != findings_refuse(found))
        fail_msg("%s: refused without a reason, or taken with one", label);
    policy_free(policy);
    findings_free(found);
}

/* A row of most tests: one change of the good policy, and the codes. */
struct policyfix_row {
    const char *label, *was, *is, *want;
};

static inline void
policyfix_run(const struct policyfix_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text = policyfix_change(policyfix_good, rows[i].was, rows[i].is);

        policyfix_expect(rows[i].label, text, rows[i].want);
        free(text);
    }
}

#endif
