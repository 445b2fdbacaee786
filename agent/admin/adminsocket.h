/* adminsocket.h - the sockets that the admin plane listens on.
 *
 * A Unix socket of the owner's and the group's alone, and a TCP one that
 * cannot be reached from elsewhere.
 *
 * Thread: before the second one: making a Unix socket changes the umask.
 * Memory: gives a descriptor, the caller closes it.
 * Errors: -1 with ERR_CONFIG, ERR_DENIED or ERR_IO. */
#ifndef KEDGE_ADMINSOCKET_H
#define KEDGE_ADMINSOCKET_H

#include "err.h"

/* Listening at `path` with mode 0660.  The folder is made (0750) if only its
 * last part is missing.  A socket that nobody answers on is removed; one where
 * somebody does, or another kind of file, is an error. */
int adminsocket_unix(const char *path, struct err *err) MUST_CHECK;

/* Connected to the agent at `path`, not blocking.  ERR_NET when there is none,
 * with `retry` when there is and it does not take us now; ERR_DENIED when we
 * may not; ERR_CONFIG when what is there is no agent's. */
int adminsocket_connect(const char *path, struct err *err) MUST_CHECK;

/* Listening at an address as loopback.h takes it; any other is ERR_CONFIG. */
int adminsocket_loopback(const char *address, struct err *err) MUST_CHECK;

#endif
