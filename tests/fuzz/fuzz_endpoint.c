/* Method, path, query and header, one a line: any of it is answered, with a
 * body of the length that is said, and an order comes only by its own path. */
#include "../unit/adminfix.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct endpoint_request *request)
{
    struct adminfix fix = { 0 };
    struct endpoint_reply reply;
    bool ordered;

    endpoint_answer(&reply, &adminfix_ops, &fix, request);
    ordered = fix.orders[0] + fix.orders[1] + fix.orders[2] == 1;
    if (reply.status < 200 || reply.status > 503)
        __builtin_trap();
    if (ordered != (reply.status == 202 || reply.status == 204))
        __builtin_trap();
    if (ordered && strncmp(request->path, "/connectors/orders/", 19) != 0)
        __builtin_trap();
    if (ordered == (reply.body != NULL))
        __builtin_trap();
    if (reply.body != NULL && strlen(reply.body) != reply.len)
        __builtin_trap();
    endpoint_reply_free(&reply);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 5);
    char *lines[4];
    char *at = text;

    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    for (size_t i = 0; i < 4; i++) {
        lines[i] = at;
        at += strcspn(at, "\n");
        if (*at == '\n')
            *at++ = '\0';
    }
    for (int tcp = 0; tcp < 2; tcp++) {
        const struct endpoint_request request = {
            .method = lines[0],
            .path = lines[1],
            .expand = lines[2][0] == '\0' ? NULL : lines[2],
            .accept = lines[3][0] == '\0' ? NULL : lines[3],
            .metrics_only = tcp == 1,
        };

        check(&request);
    }
    free(text);
    return 0;
}
