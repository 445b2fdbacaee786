/* selection.h - which topics a flow selects, as text that can be kept.
 *
 * A ledger's header keeps it, so that after a change of `topics` it can be told
 * what is newly matched: `start` is for that alone, the rest begins at its
 * beginning.  A line for each pattern, with '+' where it includes and '-'
 * where it excludes.
 *
 * Thread: any.   Cost: compiles the patterns at each question. */
#ifndef KEDGE_SELECTION_H
#define KEDGE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

struct policy_flow;

/* "" when it does not fit, or a pattern has a line break. */
void selection_text(const struct policy_flow *flow, char *text, size_t size);

/* Is the topic selected by what the text says?  True as well when that cannot
 * be told: the text may come from anywhere. */
bool selection_has(const char *text, const char *topic);

#endif
