#include "ledgerstore.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct ledger_batch *
ledger_batch_new(size_t room, struct err *err)
{
    struct ledger_batch *batch = calloc(1, sizeof *batch);

    if (batch != NULL && room > 0 &&
        room <= SIZE_MAX / 2 / sizeof batch->records[0])
        batch->records = calloc(room, sizeof batch->records[0]);
    if (batch == NULL || (room > 0 && batch->records == NULL)) {
        ledger_batch_free(batch);
        err_set(err, ERR_MEMORY, "batch of %zu ledger records", room);
        return NULL;
    }
    batch->room = room;
    return batch;
}

void
ledger_batch_free(struct ledger_batch *batch)
{
    if (batch == NULL)
        return;
    free(batch->records);
    free(batch);
}

static bool
grow(struct ledger_batch *batch)
{
    size_t room = batch->room == 0 ? 4 : batch->room * 2;
    struct ledger_record *records;

    if (room > SIZE_MAX / 2 / sizeof *records)
        return false;
    records = reallocarray(batch->records, room, sizeof batch->records[0]);
    if (records == NULL)
        return false;
    batch->records = records;
    batch->room = room;
    return true;
}

struct ledger_record *
ledger_batch_add(struct ledger_batch *batch)
{
    struct ledger_record *record;

    assert(batch->n <= batch->room);
    if (batch->n == batch->room && !grow(batch))
        return NULL;
    record = &batch->records[batch->n++];
    memset(record, 0, sizeof *record);
    return record;
}
