/* effective.h - the policy as it is in force, and where each value comes from.
 *
 * A file says only what differs from the defaults; this says all of it, with
 * the line or "default" behind each value.  Secrets are not in it: a policy
 * names the files that have them.
 *
 * Thread: one owner.   Memory: none stays. */
#ifndef KEDGE_EFFECTIVE_H
#define KEDGE_EFFECTIVE_H

#include "policy.h"

#include <stdio.h>

/* YAML that reads back as the same policy, with comments; `path` is the name
 * of the file. */
void effective_print(const struct policy *policy, const char *path, FILE *out);

/* The same as JSON: {"value":..,"line":..} for each value, line null for a
 * default.  False with err ERR_MEMORY. */
bool effective_print_json(const struct policy *policy, const char *path,
    FILE *out, struct err *err) MUST_CHECK;

#endif
