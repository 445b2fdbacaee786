#include "cmd.h"

#include "kflow.h"
#include "scrape.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

static cmd_fn help, version;

#define POLICY "  POLICY             the file; without it, " CMD_POLICY "\n"
#define SOCKET                                                     \
    "  --socket PATH      the agent's admin socket; without it,\n" \
    "                     " CMD_SOCKET "\n"

/* `min` and `max` count the words behind the name, options and their values
 * included; a command judges its own options. */
static const struct command {
    const char *name;
    cmd_fn *run;
    int min, max;
    const char *args, *help;
    const char *more; /* its options, one a line */
} commands[] = {
    { "run", cmd_run_run, 0, 5, "[POLICY] [--name NAME] [--log-level LEVEL]",
        "Forward records, as the policy says.",
        POLICY
        "  --name NAME        of this agent in logs and status, at most 64 "
        "bytes; without\n                     it, the host's\n"
        "  --log-level LEVEL  error, warn, info (without it) or debug\n\n"
        "SIGHUP loads the policy anew.  SIGTERM or Ctrl-C drains, at most 25 "
        "seconds; a\nsecond one ends at once.  See kedge-agent(8).\n" },
    { "check", cmd_check_run, 0, 3, "[POLICY] [--json | --format human|json]",
        "Say everything that is wrong with a policy; opens no connection.",
        POLICY
        "  --json             the findings as one JSON object, as --format "
        "json\n" },
    { "explain", cmd_check_explain, 0, 2, "[CODE | --schema markdown|mdoc]",
        "Say what the code of a finding means and what mends it.",
        "  CODE               as KP045; without one, all of them are listed\n"
        "  --schema FORMAT    every setting of the policy, as markdown or "
        "mdoc\n" },
    { "policy", cmd_check_policy, 1, 4, "show [POLICY] [--json]",
        "Show the policy in force, and where each value comes from.",
        POLICY "  --json             as JSON\n" },
    { "status", cmd_status_run, 0, 3, "[--json] [--socket PATH]",
        "Show every flow of the running agent, its lag and its age.",
        SOCKET
        "  --json             everything the agent knows, each partition\n" },
    { "flow", cmd_status_flow, 2, 4,
        "pause|resume|restart FLOW [--socket PATH]",
        "Stop a flow, let it go on, or let what is held try again.", SOCKET },
    { "demo", cmd_demo_run, 0, 3, "[--keep] [--records N]",
        "Two clusters, a link that is cut, and what arrives: on this "
        "machine.",
        "  --keep             leave all of it running at the end, to look at, "
        "until Ctrl-C\n"
        "  --records N        1000 to 250000; without it, 100000\n" },
    { "version", version, 0, 0, "",
        "Say which kedge this is and what it was built with.", "" },
    { "help", help, 0, 1, "[COMMAND|metrics]", "Say how a command is called.",
        "" },
};

static const struct command *
find(const char *name)
{
    for (size_t i = 0; i < N(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* What people try first, as commands. */
static const char *
alias(const char *word)
{
    static const char *const aliases[][2] = {
        { "--check", "check" },
        { "--version", "version" },
        { "-V", "version" },
        { "--help", "help" },
        { "-h", "help" },
    };

    for (size_t i = 0; i < N(aliases); i++) {
        if (strcmp(aliases[i][0], word) == 0)
            return aliases[i][1];
    }
    return word;
}

static void
print_commands(FILE *out)
{
    (void)fputs("usage: kedge COMMAND [...]\n\n", out);
    for (size_t i = 0; i < N(commands); i++)
        (void)fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    (void)fputs("\n'kedge help COMMAND' says more about one, 'kedge help "
                "metrics' lists the\nmetrics.  The manuals are kedge(1), "
                "kedge-agent(8) and kedge.policy(5).\n",
        out);
}

static int
help(struct cmd_ctx *ctx, int argc, char **argv)
{
    const struct command *command;

    if (argc < 2) {
        print_commands(ctx->out);
        return CMD_OK;
    }
    if (strcmp(argv[1], "metrics") == 0) {
        scrape_document(ctx->out);
        return CMD_OK;
    }
    command = find(alias(argv[1]));
    if (command == NULL)
        return cmd_usage(ctx, NULL, "there is no such command");
    (void)fprintf(ctx->out, "usage: kedge %s%s%s\n\n%s\n%s%s", command->name,
        command->args[0] == '\0' ? "" : " ", command->args, command->help,
        command->more[0] == '\0' ? "" : "\n", command->more);
    return CMD_OK;
}

static int
version(struct cmd_ctx *ctx, int argc, char **argv)
{
    struct err err;

    (void)argc;
    (void)argv;
    (void)fprintf(ctx->out, "kedge %s\n", KEDGE_VERSION);
    (void)fprintf(ctx->out, "librdkafka %s%s\n", kflow_library_version(),
        kflow_library_patched() ? ", patched" : ", not patched");
    (void)fprintf(ctx->out, "OpenSSL %s\n", KEDGE_OPENSSL_VERSION);
    (void)fputs("TLS, SASL PLAIN, SASL SCRAM-SHA-256 and -512; "
                "gzip, snappy, lz4, zstd\n",
        ctx->out);
    if (!kflow_library_check(&err))
        return cmd_fail(ctx, &err);
    return CMD_OK;
}

static int
run(struct cmd_ctx *ctx, int argc, char **argv)
{
    const struct command *command = find(alias(argv[0]));
    char text[128];

    if (command == NULL) {
        (void)snprintf(text, sizeof text, "there is no command '%.60s'",
            argv[0]);
        return cmd_usage(ctx, NULL, text);
    }
    if (argc == 2 &&
        (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        char *words[] = { NULL, NULL };

        words[0] = argv[1];
        words[1] = argv[0];
        return help(ctx, 2, words);
    }
    if (argc - 1 < command->min || argc - 1 > command->max) {
        (void)snprintf(text, sizeof text, "%s: kedge %s%s%s",
            argc - 1 < command->min ? "a word is missing"
                                    : "there are too many words",
            command->name, command->args[0] == '\0' ? "" : " ", command->args);
        return cmd_usage(ctx, command->name, text);
    }
    return command->run(ctx, argc, argv);
}

/* A descriptor that is closed when we start would be given to the next thing
 * that is opened: lines for people would go into a connection.  What takes its
 * place refuses each write as a closed one does. */
static bool
occupy_standard(struct err *err)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return err_sys(err, ERR_IO, "/dev/null");
    return true;
}

int
cmd_main(int argc, char **argv)
{
    struct cmd_ctx ctx = { .out = stdout, .err = stderr };
    struct err err;
    int status;

    (void)signal(SIGXFSZ, SIG_IGN); /* a write says it, as on a full disk */
    if (!occupy_standard(&err))
        return cmd_fail(&ctx, &err);
    if (argc < 2) {
        print_commands(stderr);
        return CMD_USAGE;
    }
    status = run(&ctx, argc - 1, argv + 1);
    /* What could not be written was not said: a full disk, a closed pipe. */
    if (fflush(stdout) != 0 && status == CMD_OK) {
        err_sys(&err, ERR_IO, "standard output");
        return cmd_fail(&ctx, &err);
    }
    return status;
}

int
cmd_status(const struct err *err)
{
    static const int statuses[] = {
        [ERR_NONE] = CMD_SOFTWARE,
        [ERR_CONFIG] = CMD_CONFIG,
        [ERR_MISSING] = CMD_NO_INPUT,
        [ERR_POLICY] = CMD_CONFIG,
        [ERR_DENIED] = CMD_NO_PERMISSION,
        [ERR_LOGIN] = CMD_NO_PERMISSION,
        [ERR_CERT] = CMD_CONFIG,
        [ERR_NET] = CMD_UNAVAILABLE,
        [ERR_KAFKA] = CMD_UNAVAILABLE,
        [ERR_IO] = CMD_SOFTWARE,
        [ERR_MEMORY] = CMD_SOFTWARE,
    };

    if (err->kind == ERR_NET && err->retry)
        return CMD_TRY_LATER;
    return statuses[err->kind];
}

int
cmd_fail(struct cmd_ctx *ctx, const struct err *err)
{
    (void)fprintf(ctx->err, "kedge: %s\n", err->text);
    return cmd_status(err);
}

int
cmd_no_policy(struct cmd_ctx *ctx, const char *path, const struct err *err)
{
    int status = cmd_fail(ctx, err);

    if (err->kind == ERR_MISSING && access(path, F_OK) == -1)
        (void)fputs("kedge.policy(5) says how a policy is written\n", ctx->err);
    return status;
}

int
cmd_usage(struct cmd_ctx *ctx, const char *name, const char *text)
{
    (void)fprintf(ctx->err, "kedge: %s\nsee 'kedge help%s%s'\n", text,
        name == NULL ? "" : " ", name == NULL ? "" : name);
    return CMD_USAGE;
}
