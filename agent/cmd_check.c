#include "chain.h"
#include "clock.h"
#include "cmd.h"
#include "effective.h"
#include "file.h"
#include "files.h"
#include "format.h"
#include "identity.h"
#include "option.h"
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_POLICY "/etc/kedge/policy.yaml"
#define FILE_MAX \
    ((size_t)4 * 1024 * 1024) /* what is too long is a finding, too */

/* A policy file under judgement. */
struct check {
    const char *path;
    char *text;
    size_t len;
    struct findings *found;
    struct policy *policy; /* NULL: refused */
};

static bool
has_finding_at(const struct findings *found, struct span at)
{
    for (size_t i = 0; i < findings_count(found); i++) {
        struct span other = findings_at(found, i)->at;

        if (other.line == at.line && other.column == at.column)
            return true;
    }
    return false;
}

static void
report_cert(struct check *check, const struct policy_cluster *cluster,
    const char *key, const struct err *err)
{
    struct span at = files_place(check->policy, cluster, "tls", key);

    if (!has_finding_at(check->found, at))
        findings_add(check->found, "KP093", SEVERITY_REFUSE, at, "%s",
            err->text);
}

/* What is in the certificates and keys, with the code of the run. */
static void
check_certs(struct check *check, const struct policy_cluster *cluster,
    int64_t now_wall_ms)
{
    const struct policy_tls *tls = &cluster->tls;
    const struct identity_files files = { .key = tls->key, .cert = tls->cert };
    struct chain *chain = NULL;
    struct identity *identity = NULL;
    struct err err;

    if (tls->ca != NULL) {
        chain = chain_load(tls->ca, now_wall_ms, &err);
        if (chain == NULL)
            report_cert(check, cluster, "ca", &err);
    }
    if (tls->cert != NULL && tls->key != NULL &&
        !has_finding_at(check->found,
            files_place(check->policy, cluster, "tls", "key"))) {
        identity = identity_load(&files, now_wall_ms, &err);
        if (identity == NULL)
            report_cert(check, cluster, "cert", &err);
    }
    identity_free(identity);
    chain_free(chain);
}

/* True when the policy and its files pass. */
static bool
judge(struct check *check, bool files)
{
    int64_t now_wall_ms = clock_wall_ms(clock_system());

    check->policy =
        policy_parse(check->text, check->len, now_wall_ms, check->found);
    if (check->policy != NULL && files) {
        files_check(check->policy, check->found);
        for (size_t i = 0; i < check->policy->n_clusters; i++)
            if (check->policy->clusters[i].tls.on)
                check_certs(check, &check->policy->clusters[i], now_wall_ms);
    }
    policy_redact(check->text, check->len);
    return !findings_refuse(check->found);
}

static int
open_check(struct cmd_ctx *ctx, struct check *check)
{
    struct err err;

    check->found = findings_new();
    if (check->found == NULL) {
        err_set(&err, ERR_MEMORY, "%s", check->path);
        return cmd_fail(ctx, &err);
    }
    check->text = file_read(check->path, FILE_MAX, &check->len, &err);
    return check->text == NULL ? cmd_fail(ctx, &err) : CMD_OK;
}

static void
close_check(struct check *check)
{
    policy_free(check->policy);
    findings_free(check->found);
    free(check->text);
}

/* 66 when nothing but missing files stands in the way. */
static int
status_of(const struct findings *found)
{
    if (!findings_refuse(found))
        return CMD_OK;
    for (size_t i = 0; i < findings_count(found); i++) {
        const struct finding *one = findings_at(found, i);

        if (one->severity == SEVERITY_REFUSE && strcmp(one->code, "KP090") != 0)
            return CMD_CONFIG;
    }
    return findings_dropped(found) > 0 ? CMD_CONFIG : CMD_NO_INPUT;
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
summarise(const struct check *check, FILE *out)
{
    size_t refused = 0, warned = 0;

    for (size_t i = 0; i < findings_count(check->found); i++) {
        enum severity severity = findings_at(check->found, i)->severity;

        refused += severity == SEVERITY_REFUSE;
        warned += severity == SEVERITY_WARNING;
    }
    if (findings_refuse(check->found)) {
        fprintf(out,
            "%s: refused: %zu finding%s, %zu warning%s; nothing would be "
            "started\n",
            check->path, refused, refused == 1 ? "" : "s", warned,
            warned == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < check->policy->n_flows; i++)
        describe_flow(&check->policy->flows[i], out);
    fprintf(out, "%s: passes, %zu warning%s; no connection was made\n",
        check->path, warned, warned == 1 ? "" : "s");
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
    struct check check = { .path = DEFAULT_POLICY };
    const char *format = NULL;
    bool json = false;
    const struct option_row rows[] = { { "--format", &format, NULL } };
    struct option_words words = { .rows = rows,
        .n_rows = 1,
        .plain = &check.path,
        .max_plain = 1 };
    int status = option_parse(ctx, argc, argv, &words);

    if (status == CMD_OK)
        status = is_json(ctx, "check", format, &json);
    if (status != CMD_OK)
        return status;
    status = open_check(ctx, &check);
    if (status == CMD_OK) {
        (void)judge(&check, true);
        status = status_of(check.found);
        if (json) {
            findings_print_json(check.found, ctx->out, check.path);
        } else {
            findings_print(check.found, ctx->out, check.path, check.text,
                check.len);
            summarise(&check, ctx->out);
        }
    }
    close_check(&check);
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
        return cmd_usage(ctx, "explain", "there is no such code");
    return CMD_OK;
}

/* ---- policy show ------------------------------------------------------------ */

static int
show(struct cmd_ctx *ctx, struct check *check, bool json)
{
    struct err err;

    if (!judge(check, false)) {
        findings_print(check->found, ctx->err, check->path, check->text,
            check->len);
        summarise(check, ctx->err);
        return CMD_CONFIG;
    }
    if (!json)
        effective_print(check->policy, check->path, ctx->out);
    else if (!effective_print_json(check->policy, check->path, ctx->out, &err))
        return cmd_fail(ctx, &err);
    return CMD_OK;
}

int
cmd_check_policy(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct check check = { .path = DEFAULT_POLICY };
    const char *plain[2] = { NULL, DEFAULT_POLICY };
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
        return cmd_usage(ctx, "policy", "what is there to do? show");
    check.path = plain[1];
    status = open_check(ctx, &check);
    if (status == CMD_OK)
        status = show(ctx, &check, json);
    close_check(&check);
    return status;
}
