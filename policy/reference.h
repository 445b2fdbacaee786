/* reference.h - the reference of the policy, from the tables that read it.
 *
 * docs/policy.md and the middle of docs/kedge.policy.5 are written by this;
 * a test compares them.
 *
 * Thread: any.   Memory: none. */
#ifndef KEDGE_REFERENCE_H
#define KEDGE_REFERENCE_H

#include <stdbool.h>
#include <stdio.h>

void reference_markdown(FILE *out);
void reference_mdoc(FILE *out); /* the sections of settings and codes */

/* One line for each code; and all there is to say about one (false: there is
 * no such code). */
void reference_codes(FILE *out);
bool reference_explain(const char *code, FILE *out);

#endif
