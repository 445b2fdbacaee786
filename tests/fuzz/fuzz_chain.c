/* A bundle is taken with what was found in it, or refused with one line that
 * says why; what is given out is read again as the same. */
#include "chain.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t now_wall_ms = INT64_C(1790000000000);
    struct err err = { 0 };
    struct chain *chain = chain_parse("ca.pem", data, size, now_wall_ms, &err);
    struct chain *again;
    const char *pem;

    if (chain == NULL) {
        if (err.kind == ERR_NONE || err.text[0] == '\0' ||
            strchr(err.text, '\n') != NULL)
            __builtin_trap();
        return 0;
    }
    pem = chain_pem(chain);
    again = chain_parse("ca.pem", pem, strlen(pem), now_wall_ms, &err);
    if (again == NULL || chain_count(again) != chain_count(chain) ||
        chain_ends_wall_ms(again) != chain_ends_wall_ms(chain))
        __builtin_trap();
    chain_free(again);
    chain_free(chain);
    return 0;
}
