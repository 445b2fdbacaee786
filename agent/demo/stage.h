/* stage.h - everything the demo plays on: a folder, two clusters, the TLS end
 * in front of one, certificates, the policy, and the agent.
 *
 * The agent's files are in the folder, which only we may enter: policy.yaml,
 * the CA, its certificate and key, its log, its admin socket.
 *
 * Thread: the main thread; the agent ends with it.
 * Memory: stage_open() gives; stage_close() ends all of it, in reverse.
 * Errors: ERR_IO, ERR_KAFKA, ERR_CERT, ERR_MEMORY. */
#ifndef KEDGE_STAGE_H
#define KEDGE_STAGE_H

#include "err.h"

#include <limits.h>

#define STAGE_FLOW "telemetry"
#define STAGE_PREFIX "plant." /* of topics in the cloud */

struct child;
struct cluster;
struct selfsigned;
struct tlsend;

struct stage {
    char folder[PATH_MAX - 64]; /* room for a name behind it */
    char policy[PATH_MAX], log[PATH_MAX], socket[PATH_MAX];
    char *policy_text;
    struct cluster *plant, *cloud;
    struct selfsigned *ca, *server, *client;
    struct tlsend *tlsend;
    struct child *agent; /* NULL until stage_start_agent() */
};

/* All of it but the agent; the clusters have their topics, the ledger's too,
 * since they make none by request. */
struct stage *stage_open(struct err *err) MUST_CHECK;

/* NULL is fine.  With `keep`, the folder stays. */
void stage_close(struct stage *stage, bool keep);

/* `kedge run POLICY`, its log beside the policy; `program` NULL: this one. */
bool stage_start_agent(struct stage *stage, const char *program,
    struct err *err) MUST_CHECK;

#endif
