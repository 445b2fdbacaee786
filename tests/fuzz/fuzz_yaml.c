/* A text gives a tree or a reason; the tree keeps to the limits, and each of
 * its places is in the text. */
#include "yaml_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t
check(const struct yaml *node, int depth, int n_lines)
{
    size_t n = 0, all = 1;

    if (depth > YAML_DEPTH_MAX || node->at.line < 1 ||
        node->at.line > n_lines || node->at.column < 1 || node->at.length < 1)
        __builtin_trap();
    if ((node->kind == YAML_TEXT) != (node->text != NULL))
        __builtin_trap();
    for (const struct yaml *child = node->first; child; child = child->next) {
        if ((node->kind == YAML_MAP) != (child->key != NULL))
            __builtin_trap();
        if (child->key != NULL && yaml_find(node, child->key) != child)
            __builtin_trap(); /* a key twice */
        all += check(child, depth + 1, n_lines);
        n++;
    }
    if (n != node->n)
        __builtin_trap();
    return all;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct findings *found = findings_new();
    struct yaml *tree = NULL;
    int n_lines = 1;

    if (found == NULL)
        return 0;
    for (size_t i = 0; i < size; i++)
        n_lines += data[i] == '\n';
    tree = yaml_read((const char *)data, size, found);
    if (tree == NULL && !findings_refuse(found))
        __builtin_trap(); /* refused without a reason */
    if (tree != NULL && (tree->kind != YAML_MAP || memchr(data, 0, size)))
        __builtin_trap();
    if (tree != NULL && check(tree, 0, n_lines) > YAML_NODES_MAX)
        __builtin_trap();
    yaml_drop(tree);
    findings_free(found);
    return 0;
}
