/* kworker.h - a thread for the calls that block, and what to do when one does
 * not come back.
 *
 * A flow's thread may not wait, but joining a transaction, committing, asking
 * a broker and destroying a client do.  Such a call is a job: it is pushed to
 * a worker, runs there, and is taken back with its result in it.  A job says
 * how long its calls may take by their own time-outs.  One that is still
 * running KWORKER_GRACE_MS after that is overdue: the worker is abandoned with
 * everything it holds, which is leaked knowingly, since nobody may free what a
 * stuck thread sits in.  If the call does come back, its result is dropped and
 * the worker tidies up after itself.
 *
 * Thread: one owner for all of it, except that job->run() and what the worker
 *         holds belong to the worker's thread, and kwatch may be shared.
 * Memory: bounded: KWORKER_JOBS jobs wait at most.
 * Errors: jobs carry their own. */
#ifndef KEDGE_KWORKER_H
#define KEDGE_KWORKER_H

#include "err.h"

#include <stdint.h>

struct clock;
struct wake;

#define KWORKER_GRACE_MS 5000
#define KWORKER_JOBS 16
#define KWORKER_ABANDONED_EXIT 70 /* EX_SOFTWARE */

struct kworker;

/* Counts abandonments: each leaks threads, sockets and memory, so that the
 * third within an hour calls `tired`, which is to end the process (status 70;
 * every crash is safe).  `tired` is called on an owner's thread. */
struct kwatch;

typedef void kwatch_tired_fn(void *ctx);

/* `tired` NULL: _exit(KWORKER_ABANDONED_EXIT). */
struct kwatch *kworker_watch_new(kwatch_tired_fn *tired, void *ctx,
    struct err *err) MUST_CHECK;
/* Was a worker ever abandoned?  Then what was lent to its owner stays lent:
 * the call may come back at any time.  From any thread. */
bool kworker_watch_leaked(struct kwatch *watch);
/* One more holder, each of whom drops it once; gives `watch`.  Workers hold
 * it themselves. */
struct kwatch *kworker_watch_hold(struct kwatch *watch);
void kworker_watch_drop(struct kwatch *watch); /* NULL is fine */

/* The first member of a struct of the caller's. */
struct kjob {
    void (*run)(struct kjob *job, void *held); /* on the worker's thread */
    void (*free)(struct kjob *job);            /* on any */
    int64_t timeout_ms;     /* what the calls in run() take at most */
    struct kworker *worker; /* set by kworker_push() */
    uint64_t number;        /* the same */
};

/* For run(), between its calls: is nobody interested in this job any more? */
bool kworker_cancelled(const struct kjob *job);

/* For run(), when it gets on: its time begins anew. */
void kworker_progress(const struct kjob *job);

struct kworker_options {
    const char *name; /* of the thread, up to 15 characters; copied */
    /* Given to every run(); ended on the worker's thread after the last job,
     * which may take end_timeout_ms. */
    void *held;
    void (*end)(void *held);
    int64_t end_timeout_ms;
    const struct wake *wake;   /* signalled when a job is done; NULL: none.
                                * Not touched after kworker_stop() */
    const struct clock *clock; /* borrowed for good */
    struct kwatch *watch;      /* held, not taken */
};

/* Takes `held` if it succeeds. */
struct kworker *kworker_start(const struct kworker_options *options,
    struct err *err) MUST_CHECK;

/* Takes *job.  False when KWORKER_JOBS are waiting. */
bool kworker_push(struct kworker *worker, struct kjob **job) MUST_CHECK;

/* Gives a job that has run, in the order of pushing; NULL: none now. */
struct kjob *kworker_take(struct kworker *worker);

/* What was pushed so far may end early, with whatever result. */
void kworker_cancel(struct kworker *worker);

/* Is a job running longer than it may?  Then kworker_stop() is due, and waits
 * for nothing, though the call should come back meanwhile. */
bool kworker_overdue(struct kworker *worker);

/* Ends it: jobs that wait are freed without having run, the running one is
 * waited for as long as it may take, results not taken are freed.  False when
 * it was overdue, and has been abandoned and counted.  NULL is fine. */
bool kworker_stop(struct kworker *worker);

#endif
