#include "option.h"

#include <string.h>

/* The row of the option, and what stands behind its '=' (or NULL). */
static const struct option_row *
find(const struct option_words *words, const char *word, const char **value)
{
    size_t len = strcspn(word, "=");

    for (size_t i = 0; i < words->n_rows; i++) {
        const struct option_row *row = &words->rows[i];

        if (strlen(row->name) == len && memcmp(row->name, word, len) == 0) {
            *value = word[len] == '=' ? word + len + 1 : NULL;
            return row;
        }
    }
    return NULL;
}

static int
usage(struct cmd_ctx *ctx, char **argv, const char *what, const char *word)
{
    char text[256];

    (void)snprintf(text, sizeof text, "%s: %s%s%s", argv[0], what,
        word == NULL ? "" : " ", word == NULL ? "" : word);
    return cmd_usage(ctx, argv[0], text);
}

int
option_parse(struct cmd_ctx *ctx, int argc, char **argv,
    struct option_words *words)
{
    bool options = true;

    words->n_plain = 0;
    for (int i = 1; i < argc; i++) {
        const struct option_row *row;
        const char *value = NULL;

        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
            continue;
        }
        if (!options || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (words->n_plain == words->max_plain)
                return usage(ctx, argv, "one word too many:", argv[i]);
            words->plain[words->n_plain++] = argv[i];
            continue;
        }
        row = find(words, argv[i], &value);
        if (row == NULL)
            return usage(ctx, argv, "no such option:", argv[i]);
        if (row->value == NULL && value != NULL)
            return usage(ctx, argv, "no value belongs to", row->name);
        if (row->value == NULL) {
            *row->flag = true;
            continue;
        }
        if (value == NULL && i + 1 == argc)
            return usage(ctx, argv, "a value is missing behind", row->name);
        *row->value = value != NULL ? value : argv[++i];
    }
    if (words->n_plain < words->min_plain)
        return usage(ctx, argv, "a word is missing", NULL);
    return CMD_OK;
}
