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
struct policy_list;

/* "" when it does not fit, or a pattern has a line break. */
void selection_text(const struct policy_flow *flow, char *text, size_t size);

/* Is the topic selected by what the text says?  True as well when that cannot
 * be told: the text may come from anywhere. */
bool selection_has(const char *text, const char *topic);

/* Is the pattern in the list, word for word? */
bool selection_lists(const struct policy_list *list, const char *pattern);

/* False when it is shown that the flow writes nothing that `pattern` matches,
 * or no topic `name`; that may be NULL. */
bool selection_writes(const struct policy_flow *flow, const char *pattern,
    const char *name);

/* A pattern for all that the flow writes out of what `pattern` includes: in
 * topics.exclude of another one it says that nothing of it is taken. */
void selection_written(const struct policy_flow *flow, const char *pattern,
    char *text, size_t size);

#endif
