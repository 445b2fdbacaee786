#include "clock.h"
#include "cmd.h"
#include "diag.h"
#include "effective.h"
#include "format.h"
#include "inspect.h"
#include "option.h"
#include "policy.h"
#include "reference.h"

#include <stdlib.h>
#include <string.h>

/* What the verdict comes to. */
static int
status_of(const struct inspect *inspect)
{
    switch (inspect_verdict(inspect)) {
    case ERR_NONE:
        return CMD_OK;
    case ERR_MISSING:
        return CMD_NO_INPUT;
    default:
        return CMD_CONFIG;
    }
}

static bool
open_policy(struct inspect *inspect, const char *path, bool files,
    struct err *err)
{
    return inspect_open(inspect, path, files, clock_wall_ms(clock_system()),
        err);
}

/* ---- check ------------------------------------------------------------------ */

static void
describe_flow(const struct policy_flow *flow, FILE *out)
{
    static const char *const reasons[] = { "", "firewall", "encryption" };
    char budget[FORMAT_TEXT_SIZE];

    fprintf(out, "  flow %s: %s to %s, ", flow->name, flow->from_name,
        flow->to_name);
    if (flow->at_source) {
        format_duration_text(budget, sizeof budget,
            flow->placement.outage_budget_ms);
        fprintf(out, "produced remotely because of %s, %s without the link; ",
            reasons[flow->placement.because], budget);
    } else {
        fprintf(out, "%s; ",
            flow->at_target ? "consumed remotely" : "within this site");
    }
    fprintf(out, "topics ");
    for (size_t i = 0; i < flow->include.n && i < 3; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", flow->include.items[i]);
    if (flow->include.n > 3)
        fprintf(out, " and %zu more", flow->include.n - 3);
    if (flow->rename == POLICY_PREFIX)
        fprintf(out, " as %s%s*\n", flow->from_name, flow->separator);
    else
        fprintf(out, " under their own names\n");
}

static void
summarise(const struct inspect *inspect, FILE *out)
{
    size_t refused = 0, warned = 0;

    for (size_t i = 0; i < findings_count(inspect->found); i++) {
        enum severity severity = findings_at(inspect->found, i)->severity;

        refused += severity == SEVERITY_REFUSE;
        warned += severity == SEVERITY_WARNING;
    }
    if (findings_refuse(inspect->found)) {
        fprintf(out,
            "%s: refused: %zu finding%s, %zu warning%s; nothing would be "
            "started\n",
            inspect->path, refused, refused == 1 ? "" : "s", warned,
            warned == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < inspect->policy->n_flows; i++)
        describe_flow(&inspect->policy->flows[i], out);
    fprintf(out, "%s: passes, %zu warning%s; no connection was made\n",
        inspect->path, warned, warned == 1 ? "" : "s");
}

static int
is_json(struct cmd_ctx *ctx, const char *name, const char *format, bool *json)
{
    if (format != NULL && strcmp(format, "json") == 0)
        *json = true;
    else if (format != NULL && strcmp(format, "human") != 0)
        return cmd_usage(ctx, name, "--format is human or json");
    return CMD_OK;
}

int
cmd_check_run(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct inspect inspect;
    const char *path = CMD_POLICY;
    const char *format = NULL;
    bool json = false, online = false;
    struct err err;
    const struct option_row rows[] = { { "--format", &format, NULL },
        { "--json", NULL, &json }, { "--online", NULL, &online } };
    struct option_words words = { .rows = rows,
        .n_rows = 3,
        .plain = &path,
        .max_plain = 1 };
    int status = option_parse(ctx, argc, argv, &words);

    if (status == CMD_OK)
        status = is_json(ctx, "check", format, &json);
    if (status == CMD_OK && online)
        status = cmd_usage(ctx, "check",
            "--online, a look at the live clusters, is not in this version");
    if (status != CMD_OK)
        return status;
    if (!open_policy(&inspect, path, true, &err))
        return cmd_no_policy(ctx, path, &err);
    status = status_of(&inspect);
    if (json) {
        findings_print_json(inspect.found, ctx->out, path);
    } else {
        findings_print(inspect.found, ctx->out, path, inspect.text,
            inspect.len);
        summarise(&inspect, ctx->out);
    }
    inspect_close(&inspect);
    return status;
}

/* ---- explain ---------------------------------------------------------------- */

int
cmd_check_explain(struct cmd_ctx *ctx, int argc, char **argv)
{
    const char *name = NULL, *schema = NULL;
    const struct option_row rows[] = { { "--schema", &schema, NULL } };
    struct option_words words = { .rows = rows,
        .n_rows = 1,
        .plain = &name,
        .max_plain = 1 };
    int status = option_parse(ctx, argc, argv, &words);

    if (status != CMD_OK)
        return status;
    if (schema != NULL && strcmp(schema, "markdown") == 0)
        reference_markdown(ctx->out);
    else if (schema != NULL && strcmp(schema, "mdoc") == 0)
        reference_mdoc(ctx->out);
    else if (schema != NULL)
        return cmd_usage(ctx, "explain", "--schema is markdown or mdoc");
    else if (name == NULL)
        reference_codes(ctx->out);
    else if (!reference_explain(name, ctx->out))
        return cmd_usage(ctx, "explain",
            "there is no such code; 'kedge explain' lists them all");
    return CMD_OK;
}

/* ---- policy show ------------------------------------------------------------ */

static int
show(struct cmd_ctx *ctx, const struct inspect *inspect, bool json)
{
    struct err err;

    if (inspect_verdict(inspect) != ERR_NONE) {
        findings_print(inspect->found, ctx->err, inspect->path, inspect->text,
            inspect->len);
        summarise(inspect, ctx->err);
        return CMD_CONFIG;
    }
    if (!json)
        effective_print(inspect->policy, inspect->path, ctx->out);
    else if (!effective_print_json(inspect->policy, inspect->path, ctx->out,
                 &err))
        return cmd_fail(ctx, &err);
    return CMD_OK;
}

int
cmd_check_policy(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct inspect inspect;
    struct err err;
    const char *plain[2] = { NULL, CMD_POLICY };
    const char *format = NULL;
    bool json = false;
    const struct option_row rows[] = { { "--format", &format, NULL },
        { "--json", NULL, &json } };
    struct option_words words = { .rows = rows,
        .n_rows = 2,
        .plain = plain,
        .min_plain = 1,
        .max_plain = 2 };
    int status = option_parse(ctx, argc, argv, &words);

    if (status == CMD_OK)
        status = is_json(ctx, "policy", format, &json);
    if (status != CMD_OK)
        return status;
    if (strcmp(plain[0], "show") != 0)
        return cmd_usage(ctx, "policy", "what it can do is show");
    if (!open_policy(&inspect, plain[1], false, &err))
        return cmd_no_policy(ctx, plain[1], &err);
    status = show(ctx, &inspect, json);
    inspect_close(&inspect);
    return status;
}
