/* value.h - one value of the policy: from text and back.
 *
 * What schema.h is for a section, this is for one setting of one row: the
 * text is checked against the row's type, range, form and words, and put where
 * the row says; and it is written again as an operator would write it.
 *
 * Thread: any; no state.
 * Memory: texts are borrowed from the node.
 * Errors: findings. */
#ifndef KEDGE_VALUE_H
#define KEDGE_VALUE_H

#include "schema.h"

/* Reads a text into `at`.  False with a finding when it does not fit; then
 * nothing is written. */
bool value_read(struct findings *found, const struct field *field,
    const struct yaml *node, void *at);

/* The same for a text of a list, or a name: judged by its form alone; `at`
 * takes the pointer. */
bool value_read_text(struct findings *found, const struct field *field,
    const struct yaml *node, void *at);

/* One of the field's words that are not in this version; node may be NULL. */
bool value_is_later(const struct field *field, const struct yaml *node);

/* As much of a text as a finding shows, without users and passwords of URLs,
 * into VALUE_SHOWN_SIZE bytes. */
#define VALUE_SHOWN_SIZE 81
void value_shown(const char *text, char *shown);

/* The value of a field of the struct at `base`; empty when there is none. */
void value_text(const struct field *field, const void *base, char *text,
    size_t size);

/* How its type reads in the reference: "duration", "one of: a, b". */
void value_type_text(const struct field *field, char *text, size_t size);

#endif
