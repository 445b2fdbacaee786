/* yaml_tree.h - a strict subset of YAML into a bounded tree with places.
 *
 * An operator's file says one thing to one reader.  What YAML reads in a
 * surprising way is refused, each with a code of its own: a key twice in a
 * map, aliases and anchors, tags, directives, several documents, tabs, values
 * over several lines, control characters, too much of anything.  Scalars stay
 * text: whoever knows the setting knows its type.  (The module is yaml.c; its
 * header has another name because the library's is called yaml.h.)
 *
 * Thread: one owner.
 * Memory: yaml_read() gives a tree, yaml_drop() frees all of it.
 * Limits: YAML_BYTES_MAX for the file, YAML_DEPTH_MAX levels, YAML_NODES_MAX
 *         values, YAML_TEXT_MAX bytes in one of them. */
#ifndef KEDGE_YAML_TREE_H
#define KEDGE_YAML_TREE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

#define YAML_BYTES_MAX ((size_t)256 * 1024)
#define YAML_DEPTH_MAX 12
#define YAML_NODES_MAX 10000
#define YAML_TEXT_MAX 2048

enum yaml_kind {
    YAML_BROKEN, /* refused with a finding already: say nothing more */
    YAML_TEXT,
    YAML_LIST,
    YAML_MAP,
};

struct yaml {
    enum yaml_kind kind;
    bool quoted;    /* a text in quotes: never taken for nothing */
    bool spoiled;   /* a map with a key that nobody understood */
    struct span at; /* of the value */
    struct span key_at;
    char *key;                 /* in a map; else NULL */
    char *text;                /* of a text; else NULL */
    struct yaml *first, *next; /* children, in the order of the file */
    size_t n;                  /* how many children */
};

/* Gives the tree of the one document, which is a map.  Where a value was
 * refused, the tree goes on around it, so that everything wrong is found in
 * one run.  NULL when a finding says why there is no tree. */
struct yaml *yaml_read(const char *text, size_t len, struct findings *found);
void yaml_drop(struct yaml *tree); /* NULL is fine */

/* The value of a key; NULL when the map (may be NULL, may be something else)
 * does not have it. */
struct yaml *yaml_find(const struct yaml *map, const char *key);

/* True for a text that says nothing: empty, ~ or null, not in quotes. */
bool yaml_is_nothing(const struct yaml *node);

/* Where the key stands, or the value when it has none. */
struct span yaml_place(const struct yaml *node);

#endif
