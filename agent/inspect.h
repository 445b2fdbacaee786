/* inspect.h - a policy and every file that it names, judged in one call.
 *
 * `kedge check`, the start of `kedge run` and a reload have to come to the
 * same judgement, so they all ask here: the policy by its rules, then whether
 * the files it names are there and kept from others, then what is in the
 * certificates and keys.  Everything that is wrong is a finding, and one
 * function says how grave all of them are together.
 *
 * Thread: one owner; reads files, opens no connection.
 * Memory: inspect_open() gives, inspect_close() frees; after a false
 *         inspect_open() there is nothing to free.
 * Errors: the policy file cannot be read: those of file.h; ERR_MEMORY. */
#ifndef KEDGE_INSPECT_H
#define KEDGE_INSPECT_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define INSPECT_DIGEST_SIZE 65 /* SHA-256 in hexadecimal and its NUL */

struct findings;
struct policy;

struct inspect {
    const char *path; /* borrowed */
    char *text;       /* of the file, its secrets covered: may be shown; NULL
                       * when it is too long */
    size_t len;
    char digest[INSPECT_DIGEST_SIZE]; /* of the file as it is */
    struct findings *found;
    struct policy *policy; /* NULL: its own words are refused.  Whoever takes
                            * it sets it to NULL */
};

/* Reads and judges; `files` false: the policy's own words alone.  True also
 * when it is refused. */
bool inspect_open(struct inspect *inspect, const char *path, bool files,
    int64_t now_wall_ms, struct err *err) MUST_CHECK;
void inspect_close(struct inspect *inspect);

/* ERR_NONE: it passes.  ERR_MISSING: nothing but files that are not there
 * refuse it.  ERR_POLICY: it is refused. */
enum err_kind inspect_verdict(const struct inspect *inspect);

/* For one that does not pass: the verdict with a line that says so, how many
 * findings there are, and the first; returns false. */
bool inspect_err(const struct inspect *inspect, struct err *err);

#endif
