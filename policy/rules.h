/* rules.h - the table of what must hold before a record may leave.
 *
 * One row is one code and one function; codes.c has the sentences.  Where the
 * agent of a flow runs comes first, because what is asked of a flow depends
 * on it.
 *
 * Thread: one owner, while the policy is made.
 * Memory: none.
 * Errors: findings, each root cause once: where something was not understood,
 *         nothing more is said about it. */
#ifndef KEDGE_RULES_H
#define KEDGE_RULES_H

#include "policy.h"

/* now_wall_ms is for the age of a measurement. */
void rules_check(const struct policy *policy, int64_t now_wall_ms,
    struct findings *found);

#endif
