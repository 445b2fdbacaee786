#include "ksqueeze.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DROPPED INT64_C(-2)

static int
by_key(const struct ledger_record *a, const struct ledger_record *b)
{
    int order = (int)a->kind - (int)b->kind;

    if (order != 0 || a->kind != LEDGER_ENTRY)
        return order;
    if ((order = strcmp(a->entry.topic, b->entry.topic)) != 0)
        return order;
    return (a->entry.partition > b->entry.partition) -
           (a->entry.partition < b->entry.partition);
}

static int
by_key_then_offset(const void *left, const void *right)
{
    const struct ledger_record *a = *(struct ledger_record *const *)left;
    const struct ledger_record *b = *(struct ledger_record *const *)right;
    int order = by_key(a, b);

    return order != 0 ? order
                      : (a->offset > b->offset) - (a->offset < b->offset);
}

void
ksqueeze_batch(struct ledger_batch *batch)
{
    struct ledger_record **sorted = calloc(batch->n + 1, sizeof(void *));
    size_t kept = 0;

    if (sorted == NULL)
        return;
    for (size_t i = 0; i < batch->n; i++)
        sorted[i] = &batch->records[i];
    qsort(sorted, batch->n, sizeof(void *), by_key_then_offset);
    for (size_t i = 0; i + 1 < batch->n; i++) {
        if (by_key(sorted[i], sorted[i + 1]) == 0)
            sorted[i]->offset = DROPPED;
    }
    free(sorted);
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->records[i].offset == DROPPED)
            continue;
        if (kept != i)
            batch->records[kept] = batch->records[i];
        kept++;
    }
    batch->n = kept;
}
