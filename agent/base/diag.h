/* diag.h - findings about something an operator wrote.
 *
 * An err says why an operation failed, and there is one.  A judgement is a
 * list of findings: all of them in one run, each root cause once, each with a
 * code that never changes, a place, what was found, what is needed, and where
 * there is one a remedy that can be pasted.  They are printed for people (with
 * the source line and a caret) or for tools (JSON).
 *
 * Thread: one owner.
 * Memory: findings_new()/findings_free(); texts are copied.  At most
 *         FINDINGS_MAX are kept, the rest is counted and said. */
#ifndef KEDGE_DIAG_H
#define KEDGE_DIAG_H

#include "err.h"

#include <stddef.h>
#include <stdio.h>

#define FINDINGS_MAX 200

enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_REFUSE };

struct span {
    int line, column, length; /* from 1, in bytes; length 0: the whole line */
};

struct finding {
    const char *code; /* "KP030": for ever; documented and tested */
    enum severity severity;
    struct span at;     /* line 0: no place in the file */
    const char *text;   /* what was found, what is needed; one line */
    const char *remedy; /* lines to paste, or a command; NULL: none */
};

struct log;
struct findings; /* printed in the order of the file */

struct findings *findings_new(void); /* NULL without memory */
void findings_free(struct findings *found);

void findings_add(struct findings *found, const char *code,
    enum severity severity, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Gives the newest finding a remedy; may have several lines. */
void findings_remedy(struct findings *found, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

size_t findings_count(const struct findings *found);
const struct finding *findings_at(const struct findings *found, size_t i);

/* How many more there were than are kept. */
size_t findings_dropped(const struct findings *found);

/* True when at least one refuses, kept or not. */
bool findings_refuse(const struct findings *found);

/* For people: file:line:column, the source line, a caret range, the code.
 * `source` is the file's text (NULL: no lines are shown). */
void findings_print(const struct findings *found, FILE *out, const char *path,
    const char *source, size_t source_len);

/* For tools: one JSON object, {"file":..,"refused":..,"findings":[..]}. */
void findings_print_json(const struct findings *found, FILE *out,
    const char *path);

/* For a log: one event `policy.finding` for each, with its place, code, text
 * and remedy, and one more for those that are not kept. */
void findings_log(const struct findings *found, struct log *log,
    const char *path);

#endif
