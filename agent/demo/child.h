/* child.h - the agent of the demo: a process of its own, that never outlives
 * us.
 *
 * It is killed when the thread that started it ends, however that happens;
 * it has a process group of its own, so that Ctrl-C is ours to pass on.
 *
 * Thread: one, which stays until child_free().
 * Memory: child_start() gives; child_free() takes, and kills what still runs.
 * Errors: ERR_IO. */
#ifndef KEDGE_CHILD_H
#define KEDGE_CHILD_H

#include "err.h"

#include <stdint.h>
#include <sys/types.h>

struct child;

/* Both of its outputs are appended to `log`.  argv[0] is only its name; the
 * program is `path`, or this very one when that is NULL. */
struct child *child_start(const char *path, char *const *argv, const char *log,
    struct err *err) MUST_CHECK;
void child_free(struct child *child); /* NULL is fine */

pid_t child_pid(const struct child *child);

/* False once it has ended; then child_words() says how. */
bool child_runs(struct child *child);

/* "ended with status 78", "was ended by signal 9", with the last line of its
 * log behind it.  Borrowed until the next call. */
const char *child_words(struct child *child);

/* The most memory it ever had, in KiB, as far as was seen; 0: not known. */
int64_t child_peak_kib(struct child *child);

/* Asks it to end (SIGTERM) and waits.  False when it did not end in time, and
 * was killed, or ended with anything but 0. */
bool child_stop(struct child *child, int timeout_ms,
    struct err *err) MUST_CHECK;

#endif
