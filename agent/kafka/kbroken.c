#include "kbroken.h"

#include <string.h>

static bool
same_key(const struct ledger_record *a, const struct ledger_record *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LEDGER_HEADER:
        return a->header.lane == b->header.lane;
    case LEDGER_CLAIM:
        return a->claim.lane == b->claim.lane;
    case LEDGER_MARK:
        return a->mark.lane == b->mark.lane;
    case LEDGER_ENTRY:
        break;
    }
    return a->entry.partition == b->entry.partition &&
           strcmp(a->entry.topic, b->entry.topic) == 0;
}

static void
drop(struct kbroken *broken, int i)
{
    broken->n--;
    memmove(&broken->record[i], &broken->record[i + 1],
        (size_t)(broken->n - i) * sizeof broken->record[0]);
}

/* Each that was claimed, in whatever words, begins a term. */
static void
note_term(struct kbroken *broken, const struct ledger_record *record)
{
    if (record->kind == LEDGER_CLAIM)
        broken->term = record->offset + 1;
}

bool
kbroken_note(struct kbroken *broken, const struct ledger_record *key,
    const struct err *why)
{
    for (int i = 0; i < broken->n; i++)
        if (same_key(&broken->record[i].key, key)) {
            drop(broken, i);
            break;
        }
    if (broken->n == KBROKEN_MAX)
        return false;
    broken->record[broken->n].key = *key;
    broken->record[broken->n].term = broken->term;
    broken->record[broken->n++].why = *why;
    note_term(broken, key);
    return true;
}

void
kbroken_pass(struct kbroken *broken, const struct ledger_record *record)
{
    note_term(broken, record);
    if (record->tombstone)
        return;
    for (int i = 0; i < broken->n; i++)
        if (same_key(&broken->record[i].key, record) &&
            (record->kind != LEDGER_ENTRY ||
                record->entry.term + 1 >= broken->record[i].term)) {
            drop(broken, i);
            return;
        }
}

const struct err *
kbroken_left(const struct kbroken *broken, int64_t *offset)
{
    if (broken->n == 0)
        return NULL;
    *offset = broken->record[0].key.offset;
    return &broken->record[0].why;
}
