/* option.h - the words behind a command into its settings.
 *
 * Options are `--name VALUE`, `--name=VALUE` or `--name`; `--` ends them;
 * everything else is a plain word, in any order.
 *
 * Thread: the main thread.   Memory: borrows argv. */
#ifndef KEDGE_OPTION_H
#define KEDGE_OPTION_H

#include "cmd.h"

#include <stdbool.h>
#include <stddef.h>

struct option_row {
    const char *name;   /* "--json" */
    const char **value; /* takes a value, put here; or NULL and a flag: */
    bool *flag;
};

struct option_words {
    const struct option_row *rows;
    size_t n_rows;
    const char **plain; /* room for max_plain words */
    size_t min_plain, max_plain;
    size_t n_plain; /* how many there were */
};

/* CMD_OK, or CMD_USAGE and it was said. */
int option_parse(struct cmd_ctx *ctx, int argc, char **argv,
    struct option_words *words);

#endif
