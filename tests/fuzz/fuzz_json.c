/* What was read and is written is read again and written the same. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { 0 };
    struct json *json = json_parse((const char *)data, size, &err);
    struct json *again;
    char *first, *second;
    size_t first_len, second_len;

    if (json == NULL) {
        if (err.kind != ERR_CONFIG || err.text[0] == '\0')
            __builtin_trap(); /* refused without a reason */
        return 0;
    }
    first = json_render(json, &first_len);
    again = first == NULL ? NULL : json_parse(first, first_len, &err);
    second = json_render(again, &second_len);
    if (second == NULL || first_len != second_len ||
        memcmp(first, second, first_len) != 0 || strchr(first, '\n') != NULL)
        __builtin_trap();
    free(second);
    free(first);
    json_free(again);
    json_free(json);
    return 0;
}
