/* loaded.h - a policy and all the files it names, read at one moment.
 *
 * What a start and a reload do first: judge the file and all that it names by
 * the call that `kedge check` makes (inspect.h), and read every key,
 * certificate and password, completely, before any of it is used.  Flows that stay over a reload go on with the one they were
 * started with, so it is shared and counted.
 *
 * Thread: the main thread; what is in it may be read from any.
 * Memory: loaded_read() gives one reference, loaded_drop() takes one.
 * Errors: ERR_POLICY when it is refused, ERR_MISSING when nothing but missing
 *         files refuse it; those of reach.h for a file that changed since. */
#ifndef KEDGE_LOADED_H
#define KEDGE_LOADED_H

#include "err.h"

#include <stdint.h>

#define LOADED_DIGEST_SIZE 65 /* SHA-256 in hexadecimal and its NUL */

struct findings;
struct kcluster;
struct loaded;
struct policy;
struct policy_flow;

/* Called with everything that was found, warnings too, when there is any;
 * `text` is the file without its secrets. */
typedef void loaded_found_fn(void *ctx, const char *path,
    const struct findings *found, const char *text);

struct loaded_options {
    const char *path;
    int64_t now_wall_ms;
    loaded_found_fn *found;
    void *ctx;
};

struct loaded *loaded_read(const struct loaded_options *options,
    struct err *err) MUST_CHECK;
struct loaded *loaded_keep(struct loaded *loaded); /* one reference more */
void loaded_drop(struct loaded *loaded);           /* one less; NULL is fine */

const struct policy *loaded_policy(const struct loaded *loaded);
const char *loaded_digest(const struct loaded *loaded); /* of the file */

/* Of what is in the file now; "" when it cannot be read. */
void loaded_file_digest(const char *path, char digest[LOADED_DIGEST_SIZE]);

/* The flow of this name, or NULL. */
const struct policy_flow *loaded_flow(const struct loaded *loaded,
    const char *name);

/* How a flow's cluster is reached; borrowed with the reference. */
const struct kcluster *loaded_source(const struct loaded *loaded,
    const struct policy_flow *flow);
const struct kcluster *loaded_target(const struct loaded *loaded,
    const struct policy_flow *flow);

/* Another number when the flow would have to be started anew. */
uint64_t loaded_signature(const struct loaded *loaded,
    const struct policy_flow *flow);

/* The highest TLS version that a cluster asks for as its lowest; NULL when
 * none uses TLS. */
const char *loaded_tls_floor(const struct loaded *loaded);

#endif
