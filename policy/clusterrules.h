/* clusterrules.h - what must hold for one cluster; each is a row in rules.c.
 *
 * How it is reached, how it is known to be the right one, and who may read
 * along.
 *
 * Thread: one owner, while the policy is made.
 * Memory: none.
 * Errors: findings; nothing about what was not understood. */
#ifndef KEDGE_CLUSTERRULES_H
#define KEDGE_CLUSTERRULES_H

#include "judge.h"

/* Looks at one cluster of judge->policy, and adds what it finds. */
typedef void clusterrules_fn(const struct judge *judge,
    const struct policy_cluster *cluster);

clusterrules_fn clusterrules_tls_version;
clusterrules_fn clusterrules_plaintext_at_home;
clusterrules_fn clusterrules_verified;
clusterrules_fn clusterrules_pair;
clusterrules_fn clusterrules_public_plaintext;
clusterrules_fn clusterrules_sasl_in_clear;
clusterrules_fn clusterrules_networks_used;
clusterrules_fn clusterrules_cluster_used;

#endif
