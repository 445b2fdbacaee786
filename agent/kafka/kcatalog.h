/* kcatalog.h - what the catalog's orders take: the calls that block.
 *
 * Thread: one worker.
 * Memory: a client for each cluster from the first order on, and for a minute
 *         the limits of the target topics that were asked for.
 * Errors: in the events. */
#ifndef KEDGE_KCATALOG_H
#define KEDGE_KCATALOG_H

#include "catalog.h"

#include <stdatomic.h>

struct kcatalog;
struct kjob;
struct ktopics_options;

/* `options` is borrowed for the life. */
struct kcatalog *kcatalog_new(const struct ktopics_options *options,
    struct err *err) MUST_CHECK;
void kcatalog_free(void *catalog); /* a struct kcatalog; NULL is fine */

/* CATALOG_TOPICS or CATALOG_DOWN.  *at_target becomes true when the source has
 * answered: for those who give up on this call. */
void kcatalog_refresh(struct kcatalog *catalog, const struct kjob *job,
    struct catalog_event *event, atomic_bool *at_target);

/* CATALOG_TARGET or CATALOG_WAIT, an event for each want. */
void kcatalog_ensure(struct kcatalog *catalog, const struct kjob *job,
    const struct catalog_want *wants, struct catalog_event *events, size_t n);

/* CATALOG_LEDGER or CATALOG_LEDGER_WAIT; `event` names it. */
void kcatalog_ledger(struct kcatalog *catalog, const struct kjob *job,
    int32_t lanes, struct catalog_event *event);

/* Fills in where the event's `ends` end; where a leader did not say, leaders
 * are asked for once more and then it stays unknown. */
void kcatalog_ends(struct kcatalog *catalog, const struct kjob *job,
    struct catalog_event *event);

#endif
