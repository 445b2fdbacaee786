/* files.h - the files that a policy names: are they there, and are they kept?
 *
 * A missing password is better found by a check than by a start at night.
 * What is in certificates and keys is for whoever knows them: this looks at
 * the files alone.
 *
 * Thread: one owner; reads files, opens no connection.
 * Memory: none stays; secrets are wiped.
 * Errors: findings: KP090 missing, KP091 unreadable, KP092 open to others. */
#ifndef KEDGE_FILES_H
#define KEDGE_FILES_H

#include "policy.h"

void files_check(const struct policy *policy, struct findings *found);

/* Where a file of a cluster is named in the policy: section "tls" and key
 * "ca", "cert" or "key". */
struct span files_place(const struct policy *policy,
    const struct policy_cluster *cluster, const char *section, const char *key);

#endif
