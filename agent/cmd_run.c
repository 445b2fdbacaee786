#include "agent.h"
#include "clock.h"
#include "cmd.h"
#include "log.h"
#include "loop.h"
#include "option.h"
#include "service.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64

struct settings {
    const char *policy, *name, *level;
    enum log_level log_level;
    struct log *log;
};

static int
read_settings(struct cmd_ctx *ctx, int argc, char **argv,
    struct settings *settings)
{
    const struct option_row rows[] = {
        { "--name", &settings->name, NULL },
        { "--log-level", &settings->level, NULL },
    };
    struct option_words words = { .rows = rows,
        .n_rows = 2,
        .plain = &settings->policy,
        .max_plain = 1 };
    int status = option_parse(ctx, argc, argv, &words);

    if (status != CMD_OK)
        return status;
    if (settings->name != NULL &&
        (settings->name[0] == '\0' || strlen(settings->name) > NAME_MAX_BYTES))
        return cmd_usage(ctx, "run", "a name has 1 to 64 bytes");
    settings->log_level = LEVEL_INFO;
    if (settings->level == NULL)
        return CMD_OK;
    for (int level = LEVEL_ERROR; level <= LEVEL_DEBUG; level++) {
        settings->log_level = (enum log_level)level;
        if (strcmp(log_level_name(settings->log_level), settings->level) == 0)
            return CMD_OK;
    }
    return cmd_usage(ctx, "run",
        "--log-level is one of error, warn, info, debug");
}

/* `kedge run` ends with 0, 64, 66, 70, 77 or 78 only: what cannot be reached
 * is waited for. */
static int
status_of(const struct err *err)
{
    int status = cmd_status(err);

    return status == CMD_UNAVAILABLE ? CMD_SOFTWARE : status;
}

static int
fail(struct cmd_ctx *ctx, const struct err *err)
{
    (void)cmd_fail(ctx, err);
    return status_of(err);
}

/* Once the log has begun, it is said there and nowhere else. */
static int
fail_agent(struct cmd_ctx *ctx, const struct settings *settings,
    const struct agent *agent, const struct err *err)
{
    if (!agent_begun(agent)) {
        (void)cmd_no_policy(ctx, settings->policy, err);
        return status_of(err);
    }
    LOG(settings->log, LEVEL_ERROR, "agent.failed", kv_str("why", err->text),
        kv_int("status", status_of(err)));
    return status_of(err);
}

/* The end that SIGTERM has in a program that does not catch it: who waits for
 * us can tell it from a drain, and systemd counts it as a stop. */
static int
end_by_signal(void)
{
    sigset_t set;

    (void)signal(SIGTERM, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    (void)raise(SIGTERM);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    _exit(CMD_SOFTWARE);
}

static int
run(struct cmd_ctx *ctx, const struct settings *settings, struct agent *agent)
{
    enum agent_end end;
    struct err err;

    if (!agent_start(agent, &err))
        return fail_agent(ctx, settings, agent, &err);
    if (!agent_run(agent, &end, &err)) {
        agent_abandon(agent);
        (void)fail_agent(ctx, settings, agent, &err);
        _exit(CMD_SOFTWARE);
    }
    if (end == AGENT_CUT) {
        agent_abandon(agent);
        return end_by_signal();
    }
    agent_stop(agent);
    return CMD_OK;
}

int
cmd_run_run(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct settings settings = { .policy = CMD_POLICY };
    struct agent *agent = NULL;
    struct err err;
    bool left_clients;
    int status = read_settings(ctx, argc, argv, &settings);

    if (status != CMD_OK)
        return status;
    if (!loop_block_signals(&err))
        return fail(ctx, &err);
    settings.log =
        log_new(STDERR_FILENO, settings.log_level, clock_system(), &err);
    if (settings.log != NULL) {
        const struct agent_options options = {
            .policy = settings.policy,
            .name = settings.name,
            .findings = ctx->err,
            .clock = clock_system(),
            .log = settings.log,
        };

        if (service_has_journal())
            log_set_sink(settings.log, service_journal, NULL);
        agent = agent_new(&options, &err);
    }
    status = agent == NULL ? fail(ctx, &err) : run(ctx, &settings, agent);
    left_clients = agent != NULL && agent_left_clients(agent);
    agent_free(agent);
    if (!left_clients) /* which may write to it until the process has ended */
        log_free(settings.log);
    return status;
}
