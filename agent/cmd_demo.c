#include "adminc.h"
#include "clock.h"
#include "cmd.h"
#include "demo.h"
#include "json.h"
#include "limits.h"
#include "load.h"
#include "option.h"

#include <errno.h>
#include <stdlib.h>

/* What is not there is not known: the demo then goes by its counts. */
static void
read_status(const struct adminc_reply *reply, struct demo_status *status)
{
    struct err err;
    struct json *json = json_parse(reply->body, reply->len, &err);
    const struct json *kedge = json_get(json, "kedge");

    if (!json_get_int(kedge, "true_lag", &status->true_lag))
        status->true_lag = -1;
    if (!json_get_int(kedge, "in_flight_records", &status->in_flight))
        status->in_flight = -1;
    json_free(json);
}

static void
ask_status(void *ctx, const char *socket, const char *flow,
    struct demo_status *status)
{
    char path[128];
    const struct adminc_request request = {
        .socket = socket,
        .method = "GET",
        .path = path,
    };
    struct adminc_reply reply;
    struct err err;

    (void)ctx;
    (void)snprintf(path, sizeof path, "/connectors/%s/status", flow);
    if (!adminc_call(&request, clock_system(), &reply, &err))
        return;
    if (reply.status == 200)
        read_status(&reply, status);
    adminc_reply_free(&reply);
}

/* False when it is no number that the embedded clusters can keep. */
static bool
read_records(const char *text, int64_t *records)
{
    char *end;
    long long number;

    if (text == NULL)
        return true;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' ||
        number < LOAD_RECORDS_MIN || number > LOAD_RECORDS_MAX)
        return false;
    *records = number;
    return true;
}

int
cmd_demo_run(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct demo_options options = {
        .records = DEMO_RECORDS,
        .out = ctx->out,
        .status = ask_status,
    };
    const char *records = NULL;
    const struct option_row rows[] = {
        { "--keep", NULL, &options.keep },
        { "--records", &records, NULL },
    };
    struct option_words words = { .rows = rows, .n_rows = 2 };
    struct limits limits; /* of the embedded clusters; the agent has its own */
    struct err err;
    int status = option_parse(ctx, argc, argv, &words);

    if (status != CMD_OK)
        return status;
    if (!read_records(records, &options.records))
        return cmd_usage(ctx, "demo", "--records is from 1000 to 250000");
    if (!limits_raise(&limits, &err))
        return cmd_fail(ctx, &err);
    if (demo_run(&options, &err))
        return CMD_OK;
    status = cmd_fail(ctx, &err);
    return err.retry ? CMD_TRY_LATER : status; /* interrupted */
}
