/* A ledger record is read, written, and read again as the same; or it is
 * refused with a reason.  Input: the key, a line break, the value (without a
 * line break: a tombstone). */
#include "ledger.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_same(const struct ledger_bytes *a, const struct ledger_bytes *b)
{
    return a->key_len == b->key_len && a->value_len == b->value_len &&
           memcmp(a->key, b->key, a->key_len) == 0 &&
           memcmp(a->value, b->value, a->value_len) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    size_t key_len = end == NULL ? size : (size_t)(end - data);
    const uint8_t *value = end == NULL ? NULL : end + 1;
    struct ledger_record record, again;
    struct ledger_bytes first, second;
    struct err err = { 0 };

    if (!ledger_decode(&record, data, key_len, value,
            value == NULL ? 0 : size - key_len - 1, &err)) {
        if (err.kind != ERR_KAFKA || err.text[0] == '\0')
            __builtin_trap(); /* refused without a reason */
        return 0;
    }
    if (!ledger_encode(&first, &record, &err) ||
        !ledger_decode(&again, first.key, first.key_len,
            record.tombstone ? NULL : first.value, first.value_len, &err) ||
        !ledger_encode(&second, &again, &err) || !is_same(&first, &second) ||
        record.kind != again.kind || record.tombstone != again.tombstone)
        __builtin_trap();
    return 0;
}
