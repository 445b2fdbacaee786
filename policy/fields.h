/* fields.h - every setting of the policy, as tables.
 *
 * The reader, `kedge policy show`, docs/policy.md and kedge.policy(5) all walk
 * these; a setting that has no row does not exist.
 *
 * Thread: any; constants.   Memory: none. */
#ifndef KEDGE_FIELDS_H
#define KEDGE_FIELDS_H

#include "schema.h"

/* The table of the whole file; its struct is struct policy. */
const struct field_table *fields_root(void);

/* Does the table that is called `what` have this key, and is it of this
 * version? */
bool fields_has(const char *what, const char *key);

#endif
