/* file.h - read with a limit, check that a file is private, replace atomically.
 *
 * Owner and mode are judged on the open descriptor, so that nobody can swap
 * the file between the check and the read.
 *
 * Thread: any; no state.   Memory: file_read() gives bytes, the caller frees. */
#ifndef KEDGE_FILE_H
#define KEDGE_FILE_H

#include "err.h"

#include <stddef.h>

/* A regular file, open for reading; -1 on failure.  Absent: ERR_MISSING.  Not
 * permitted: ERR_DENIED.  A folder, a pipe, a socket or a device is ERR_CONFIG,
 * and is not waited for. */
int file_open(const char *path, struct err *err) MUST_CHECK;

/* All bytes of a regular file, NUL behind them and not counted.  More than
 * `max`: ERR_CONFIG, and *len says so (it is 0 on every other failure); else as
 * file_open().  NULL on failure. */
char *file_read(const char *path, size_t max, size_t *len,
    struct err *err) MUST_CHECK;

/* As file_read(), and the file must pass file_check_private(). */
char *file_read_private(const char *path, size_t max, size_t *len,
    struct err *err) MUST_CHECK;

/* Regular, owned by root or by us, nothing for others; the group may read it
 * when root owns it (root:kedge 0640, as the packages install). */
bool file_check_private(int fd, const char *path, struct err *err) MUST_CHECK;

/* `name` in the open directory `dir` holds either the old bytes or all the new
 * ones, whatever happens in between (mode 0600). */
bool file_replace(int dir, const char *name, const void *bytes, size_t len,
    struct err *err) MUST_CHECK;

#endif
