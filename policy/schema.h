/* schema.h - a section of the tree into a struct, by a table.
 *
 * One row a setting: its key, its type, where it goes, whether it must be
 * there, its range, its default as an operator would write it, and the
 * sentence that explains it.  The reader walks the table, and so do
 * `kedge policy show` and the generator of docs/policy.md and
 * kedge.policy(5); so they cannot drift apart.
 *
 * Thread: any; tables are constant.
 * Memory: texts in the struct are borrowed from the tree (or are constants);
 *         lists and named things are freed by schema_clear().
 * Errors: findings; what is not understood has its default, and the map it
 *         stands in is marked `spoiled`. */
#ifndef KEDGE_SCHEMA_H
#define KEDGE_SCHEMA_H

#include "diag.h"
#include "yaml_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_TEXT,    /* const char * */
    FIELD_ENUM,    /* unsigned, a place in `choices`, from 0; from 1
                    * when there is no default, and 0 is absent */
    FIELD_WORD,    /* const char *, one of `choices` */
    FIELD_BOOL,    /* bool */
    FIELD_MS,      /* int64_t */
    FIELD_BYTES,   /* int64_t */
    FIELD_INT,     /* int64_t */
    FIELD_LIST,    /* items pointer and count: struct field_list */
    FIELD_SECTION, /* a map of known keys; its table counts from `at` */
    FIELD_NAMED,   /* a map of names to sections: struct field_items */
    FIELD_LATER,   /* known, and refused: not in this version */
};

/* What a text, or each text of a list, has to look like. */
enum field_form {
    FORM_ANY,
    FORM_NAME,
    FORM_WORD, /* written as a name is */
    FORM_ADDRESS,
    FORM_NETWORK,
    FORM_PATH,
    FORM_DATE,
    FORM_RATIO,
    FORM_SECRET_PATH,  /* a path; what stands there instead is not shown */
    FORM_NEAR_SECRET,  /* any; what does not fit may be the secret */
    FORM_SECRET_PLACE, /* a map: text itself would be the secret */
    FORM_N,
};

struct field_list {
    const char **items;
    size_t n;
};

struct field_items {
    char *items;
    size_t n;
};

struct field_table;

struct field {
    const char *key;
    enum field_type type;
    size_t at;
    bool required;
    const char *fallback; /* the default, as it would be written; NULL: none */
    const char *help;
    int64_t min, max;    /* of a number or of a list's count; 0, 0: no limit */
    const char *nothing; /* the word for 0 ("unlimited"), for a section "off" */
    enum field_form form;
    const char *const *choices; /* ends in NULL */
    const char *const *later;   /* words that are known and refused */
    const struct field_table *inner;
};

struct field_table {
    const char *what; /* "flows.NAME.producer" */
    const struct field *fields;
    size_t n;
    size_t size;      /* of a named thing; its first member is its name */
    bool switched;    /* a section that may be "off" ... */
    size_t switch_at; /* ... and the bool that says it is not */
};

/* Fills the struct at `base` (zeroed) from the tree. */
void schema_read(const struct field_table *table, struct yaml *tree, void *base,
    struct findings *found);

/* Frees the lists and named things of the struct. */
void schema_clear(const struct field_table *table, void *base);

/* Where a list or named things are, as plain values. */
struct field_list schema_list(const struct field *field, const void *base);
struct field_items schema_items(const struct field *field, const void *base);

#endif
