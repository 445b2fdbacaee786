/* cmd.h - the table of commands, and the exit statuses.
 *
 * `kedge run` is the daemon, everything else the tool; usage text, completion
 * and the synopsis of kedge.1 come from one table in cmd.c.  A command is a
 * function in a file of its own, cmd_NAME.c.
 *
 * Thread: the main thread.  Memory: none.
 * Errors: a command prints what went wrong to ctx->err, in one line that says
 *         who has to act, and gives the status. */
#ifndef KEDGE_CMD_H
#define KEDGE_CMD_H

#include "err.h"

#include <stdio.h>

/* sysexits.h; `kedge run` ends with 0, 64, 66, 70, 77 or 78 only. */
enum cmd_exit {
    CMD_OK = 0,
    CMD_USAGE = 64,       /* the words on the command line */
    CMD_NO_INPUT = 66,    /* a file is missing */
    CMD_UNAVAILABLE = 69, /* a cluster, or a running agent, is not reached */
    CMD_SOFTWARE = 70,    /* a bug */
    CMD_TRY_LATER = 75,
    CMD_NO_PERMISSION = 77, /* a signature or a permission refused */
    CMD_CONFIG = 78,        /* the policy is refused */
};

/* The policy, where none is named. */
#define CMD_POLICY "/etc/kedge/policy.yaml"

/* The admin socket of the agent, where none is named. */
#define CMD_SOCKET "/run/kedge/admin.sock"

struct cmd_ctx {
    FILE *out, *err;
};

/* argv[0] is the command's own name ("check"); options come behind it. */
typedef int cmd_fn(struct cmd_ctx *ctx, int argc, char **argv);

/* Finds the command in the table and runs it; main() is this. */
int cmd_main(int argc, char **argv);

/* The status that fits the kind. */
int cmd_status(const struct err *err);

/* Prints "kedge: TEXT" and gives the status that fits the kind. */
int cmd_fail(struct cmd_ctx *ctx, const struct err *err);

/* The same of a policy; says where one is described when none is at `path`. */
int cmd_no_policy(struct cmd_ctx *ctx, const char *path, const struct err *err);

/* "kedge: TEXT" and "see 'kedge help NAME'"; gives CMD_USAGE. */
int cmd_usage(struct cmd_ctx *ctx, const char *name, const char *text);

/* In files of their own. */
cmd_fn cmd_check_run;     /* cmd_check.c: check, --check */
cmd_fn cmd_check_explain; /* cmd_check.c: explain CODE */
cmd_fn cmd_check_policy;  /* cmd_check.c: policy show */
cmd_fn cmd_run_run;       /* cmd_run.c: the daemon */
cmd_fn cmd_status_run;    /* cmd_status.c: status */
cmd_fn cmd_status_flow;   /* cmd_status.c: flow pause|resume|restart */
cmd_fn cmd_demo_run;      /* cmd_demo.c: demo */

#endif
