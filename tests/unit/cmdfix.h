/* cmdfix.h - a command line as one text, and what a command says. */
#ifndef KEDGE_CMDFIX_H
#define KEDGE_CMDFIX_H

#include "cmd.h"

#include <stdlib.h>
#include <string.h>

#define CMDFIX_WORDS 16

struct cmdfix {
    struct cmd_ctx ctx;
    char line[512];
    char *argv[CMDFIX_WORDS + 1];
    int argc;
    char *out, *err; /* what was said, after cmdfix_done() */
    size_t out_len, err_len;
};

/* Words are apart by one space; an empty one is two spaces. */
static inline void
cmdfix_begin(struct cmdfix *fix, const char *line)
{
    char *at = fix->line;

    *fix = (struct cmdfix){ 0 };
    (void)snprintf(fix->line, sizeof fix->line, "%s", line);
    while (at != NULL && fix->argc < CMDFIX_WORDS)
        fix->argv[fix->argc++] = strsep(&at, " ");
    fix->ctx.out = open_memstream(&fix->out, &fix->out_len);
    fix->ctx.err = open_memstream(&fix->err, &fix->err_len);
    if (fix->ctx.out == NULL || fix->ctx.err == NULL)
        abort();
}

static inline void
cmdfix_done(struct cmdfix *fix)
{
    if (fclose(fix->ctx.out) != 0 || fclose(fix->ctx.err) != 0)
        abort();
}

static inline int
cmdfix_run(struct cmdfix *fix, cmd_fn *command, const char *line)
{
    int status;

    cmdfix_begin(fix, line);
    status = command(&fix->ctx, fix->argc, fix->argv);
    cmdfix_done(fix);
    return status;
}

static inline void
cmdfix_free(struct cmdfix *fix)
{
    free(fix->out);
    free(fix->err);
}

#endif
