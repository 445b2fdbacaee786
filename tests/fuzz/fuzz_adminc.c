/* Any bytes are an answer with a status and a body that fits into them, or are
 * refused with one line that says why. */
#include "adminc.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adminc_reply reply;
    struct err err = { 0 };

    if (!adminc_parse(data, size, &reply, &err)) {
        if (err.kind != ERR_NET || err.text[0] == '\0')
            __builtin_trap();
        return 0;
    }
    if (reply.status < 200 || reply.status > 999 || reply.len > size ||
        reply.body[reply.len] != '\0')
        __builtin_trap();
    adminc_reply_free(&reply);
    return 0;
}
