/* kdial.h - plaintext goes to private addresses, and to networks that an
 * operator named.
 *
 * A cluster without TLS is meant to stand in the agent's own site.  Brokers
 * advertise addresses, so a wrong advertised listener, or a name that resolves
 * somewhere else today, would carry records and passwords over the internet in
 * the clear.  This is judged at the one place that sees every address: where
 * the library's sockets are connected.
 *
 * Private are loopback, RFC 1918, RFC 4193 (fc00::/7) and link-local; an IPv4
 * address written as IPv6 counts as the IPv4 address, in named networks too.
 *
 * Thread: kdial_connect() on the library's threads, under its broker lock:
 *         it never blocks.  The rest from any thread.
 * Memory: what kdial_new() takes, and the networks; the last KDIAL_SAID
 *         addresses that were logged are remembered, so that each is said
 *         once. */
#ifndef KEDGE_KDIAL_H
#define KEDGE_KDIAL_H

#include "err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define KDIAL_SAID 64

struct kdial;
struct log;

/* `cluster` is its alias, for the log, copied; the log is borrowed. */
struct kdial *kdial_new(const char *cluster, struct log *log,
    struct err *err) MUST_CHECK;
void kdial_free(struct kdial *kdial); /* NULL is fine */

/* Before the first kdial_connect(): a network that counts as the site's own,
 * "192.0.2.0/24" or "2001:db8::/32".  ERR_CONFIG when it is not one. */
bool kdial_allow(struct kdial *kdial, const char *network,
    struct err *err) MUST_CHECK;

bool kdial_private(const struct sockaddr *addr);

/* Begins to connect `fd` (non-blocking) to a private or allowed address.  0,
 * or an errno: EACCES for any other, which is logged once. */
int kdial_connect(struct kdial *kdial, int fd, const struct sockaddr *addr,
    socklen_t addr_len, const char *broker);

#endif
