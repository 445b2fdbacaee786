#include "adminc.h"
#include "clock.h"
#include "cmd.h"
#include "json.h"
#include "option.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#define FLOW_NAME_MAX 40

/* The sentence of an answer that says no; else its number. */
static int
refuse(struct cmd_ctx *ctx, const struct adminc_reply *reply)
{
    struct err err, unread;
    struct json *json = json_parse(reply->body, reply->len, &unread);
    const char *message = json_get_text(json, "message");

    if (message != NULL)
        err_set(&err, ERR_NET, "the agent says: %s", message);
    else
        err_set(&err, ERR_NET, "the agent answers with status %d",
            reply->status);
    json_free(json);
    (void)cmd_fail(ctx, &err);
    return reply->status == 404   ? CMD_USAGE
           : reply->status == 409 ? CMD_TRY_LATER
                                  : CMD_UNAVAILABLE;
}

/* Whoever answers on the socket writes no terminal controls through us: as
 * \xNN in a text, and as \uNNNN in JSON, which stays JSON. */
static void
print_clean(FILE *out, const char *text, size_t len, bool json)
{
    for (size_t at = 0; at < len;) {
        uint32_t point = 0;
        size_t n = utf8_next(text + at, len - at, &point);
        size_t bytes = n == 0 ? 1 : n;
        char hex[17];

        utf8_hex(hex, text + at, bytes);
        if (n != 0 && (utf8_is_safe(point) || point == '\n'))
            (void)fwrite(text + at, 1, n, out);
        else if (json)
            (void)fprintf(out, "\\u%04x", n == 0 ? 0xFFFDu : (unsigned)point);
        else
            (void)fputs(hex, out);
        at += bytes;
    }
}

static int
ask(struct cmd_ctx *ctx, const struct adminc_request *request)
{
    struct adminc_reply reply;
    struct err err;
    int status = CMD_OK;

    if (!adminc_call(request, clock_system(), &reply, &err))
        return cmd_fail(ctx, &err);
    if (reply.status >= 300)
        status = refuse(ctx, &reply);
    else if (reply.len > 0)
        print_clean(ctx->out, reply.body, reply.len,
            request->accept != NULL &&
                strcmp(request->accept, "application/json") == 0);
    if (status == CMD_OK && reply.len > 0 && reply.body[reply.len - 1] != '\n')
        (void)fputc('\n', ctx->out);
    adminc_reply_free(&reply);
    return status;
}

int
cmd_status_run(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct adminc_request request = { .socket = CMD_SOCKET,
        .method = "GET",
        .path = "/",
        .accept = "text/plain" };
    bool json = false;
    const struct option_row rows[] = {
        { "--json", NULL, &json },
        { "--socket", &request.socket, NULL },
    };
    struct option_words words = { .rows = rows, .n_rows = 2 };
    int status = option_parse(ctx, argc, argv, &words);

    if (status != CMD_OK)
        return status;
    if (json) {
        request.path = "/connectors?expand=status";
        request.accept = "application/json";
    }
    return ask(ctx, &request);
}

/* A name that the policy could have; what else would go into the path? */
static bool
is_name(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len <= FLOW_NAME_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

int
cmd_status_flow(struct cmd_ctx *ctx, int argc, char **argv)
{
    static const struct {
        const char *word, *method, *said;
    } orders[] = {
        { "pause", "PUT", "pausing" },
        { "resume", "PUT", "going on" },
        { "restart", "POST", "what is held tries again" },
    };
    const char *plain[2] = { NULL, NULL };
    struct adminc_request request = { .socket = CMD_SOCKET };
    const struct option_row rows[] = { { "--socket", &request.socket, NULL } };
    struct option_words words = { .rows = rows,
        .n_rows = 1,
        .plain = plain,
        .min_plain = 2,
        .max_plain = 2 };
    char path[128];
    int status = option_parse(ctx, argc, argv, &words);

    if (status != CMD_OK)
        return status;
    if (!is_name(plain[1]))
        return cmd_usage(ctx, "flow", "that is not the name of a flow");
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (strcmp(orders[i].word, plain[0]) != 0)
            continue;
        (void)snprintf(path, sizeof path, "/connectors/%s/%s", plain[1],
            plain[0]);
        request.method = orders[i].method;
        request.path = path;
        status = ask(ctx, &request);
        if (status == CMD_OK)
            (void)fprintf(ctx->out, "%s: %s\n", plain[1], orders[i].said);
        return status;
    }
    return cmd_usage(ctx, "flow", "it is pause, resume or restart");
}
