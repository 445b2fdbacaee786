/* flows.h - all the flows of the policy in force.
 *
 * Starts them, hands out their reports, drains them; and over a reload brings
 * what runs to what the policy says: a flow that changed is drained and
 * started anew, one that is gone is drained, a new one is started, and the
 * others do not notice.
 *
 * Thread: the main thread.
 * Memory: flows_new() gives, flows_free() takes; keeps references to the
 *         loaded policies that its flows were started with.
 * Errors: those of runner.h; after the start, a flow that cannot be started is
 *         logged and tried again every FLOWS_RETRY_MS. */
#ifndef KEDGE_FLOWS_H
#define KEDGE_FLOWS_H

#include "err.h"
#include "flow.h"
#include "view.h"

#include <stdint.h>

#define FLOWS_RETRY_MS 10000

struct flows;
struct kwatch;
struct loaded;

struct flows_options {
    const char *agent; /* borrowed, as the rest */
    int64_t drain_ms;
    const struct clock *clock;
    struct log *log;
    struct kwatch *watch; /* of the process, see kflow.h */
};

struct flows *flows_new(const struct flows_options *options,
    struct err *err) MUST_CHECK;
void flows_free(struct flows *flows); /* NULL is fine; of stopped ones */

/* All or none. */
bool flows_start(struct flows *flows, struct loaded *loaded,
    struct err *err) MUST_CHECK;

/* Another policy is in force. */
void flows_change(struct flows *flows, struct loaded *loaded, int64_t now_ms);

/* Takes reports, ends what has drained, starts what is to follow. */
void flows_tick(struct flows *flows, int64_t now_ms);

void flows_drain(struct flows *flows); /* all; nothing is started any more */

/* Have all ended?  `drained`: and wrote everything down, those that a reload
 * ended before too. */
bool flows_stopped(const struct flows *flows, bool *drained);

/* Drains, waits, and frees each one. */
void flows_stop(struct flows *flows);

/* Do the threads of all turn?  `which` (may be NULL): one that does not. */
bool flows_live(const struct flows *flows, int64_t now_ms, const char **which);

enum flows_done { FLOWS_ORDERED, FLOWS_NONE, FLOWS_BUSY };
enum flows_done flows_order(struct flows *flows, const char *name,
    enum flow_order order);

/* One for each flow, by name; gives how many.  Borrowed until the next
 * flows_tick() or flows_change().  NULL without memory. */
struct view_flow *flows_view(struct flows *flows, int64_t now_ms, size_t *n);

#endif
