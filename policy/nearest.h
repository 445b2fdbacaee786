/* nearest.h - which word was meant.
 *
 * A misspelt key is answered with the key that is nearest to it, and a key of
 * another section with the section it belongs to.
 *
 * Thread: any; no state.   Memory: texts are constants of the tables.
 * Cost:   words longer than NEAREST_MAX are not compared. */
#ifndef KEDGE_NEAREST_H
#define KEDGE_NEAREST_H

#include "schema.h"

#define NEAREST_MAX 40

/* How many letters have to be put in, taken out, changed or swapped; -1 when
 * one of the words is too long. */
int nearest_distance(const char *a, const char *b);

/* Is it one of `words` (ends in NULL), letter by letter? */
bool nearest_is(const char *text, const char *const *words);

/* The one of `words` (ends in NULL) that is near enough; NULL: none is. */
const char *nearest_word(const char *text, const char *const *words);

/* What a key that `table` does not have may have meant.  *here is the key as
 * it is written, *there the section it belongs to, NULL when it is `table`.
 * Gives the field when it is one of `table`; both NULL: nothing is near. */
const struct field *nearest_field(const struct field_table *root,
    const struct field_table *table, const char *key, const char **here,
    const char **there);

/* "{KEY: VALUE}": a value that stands where a map of the table's keys belongs,
 * under the key that takes it; what is required beside it as "...".  False,
 * and nothing is written, when no key does; what may be a secret is not taken. */
bool nearest_form(const struct field_table *table, const struct yaml *value,
    char *text, size_t size);

/* "a, b, c": the keys of a table. */
void nearest_list(const struct field_table *table, char *text, size_t size);

#endif
