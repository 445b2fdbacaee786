/* loopback.h - an address that nobody but this machine reaches.
 *
 * `kedge check` judges one and `kedge run` listens there: both ask here.
 *
 * Thread: any; no state.   Memory: none. */
#ifndef KEDGE_LOOPBACK_H
#define KEDGE_LOOPBACK_H

#include <sys/socket.h>

/* "127.0.0.1:9464" and the rest of 127.0.0.0/8, "[::1]:9464" and
 * "localhost:9464", which is 127.0.0.1.  Gives the address's length; 0 for
 * everything else.  No name is looked up. */
socklen_t loopback_parse(const char *text, struct sockaddr_storage *address);

#endif
