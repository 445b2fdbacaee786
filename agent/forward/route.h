/* route.h - a source topic to its name at the target.
 *
 * MirrorMaker 2's rules (KIP-382, KIP-1074): with `prefix` the source
 * cluster's alias and the separator go in front; with `identity` nothing
 * changes.  Internal topics are never forwarded, and neither is a topic that
 * came from the target: one whose name says so under `prefix`.
 *
 * Thread: any; immutable.   Memory: a plain value, borrows its texts. */
#ifndef KEDGE_ROUTE_H
#define KEDGE_ROUTE_H

#include "err.h"
#include "ledger.h"

#include <stddef.h>

enum rename { RENAME_PREFIX, RENAME_IDENTITY };

struct route {
    enum rename rename;
    const char *separator; /* "." */
    const char *from, *to; /* aliases of the clusters */
};

/* The name at the target into `target` (LEDGER_NAME_MAX bytes).  False with
 * the reason as a clause when the topic must not be forwarded: internal (of
 * Kafka, MirrorMaker 2 or kedge), a cycle, or a name longer than Kafka's 249
 * characters at the target. */
bool route_topic(const struct route *route, const char *topic, char *target,
    struct err *err) MUST_CHECK;

/* The source topic whose name at the target this is, a part of `target`; NULL
 * when no topic of ours has that name there. */
const char *route_origin(const struct route *route, const char *target);

/* "prefix:." or "identity", for the ledger's header. */
void route_describe(const struct route *route, char *text, size_t size);

#endif
