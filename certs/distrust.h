/* distrust.h - what is wrong with a certificate that OpenSSL did not take.
 *
 * A library that makes the handshake says that it failed, and at best a number
 * of OpenSSL's.  Here the number and the certificate become a clause: what is
 * wrong, with the date or the names that show it, and who has to act.  Nothing
 * is judged here: that was done.
 *
 * Thread: any; no state.   Memory: none is kept.
 * Errors: none; a certificate that cannot be read is told without details. */
#ifndef KEDGE_DISTRUST_H
#define KEDGE_DISTRUST_H

#include <stddef.h>

struct distrust_seen {
    const char *cluster; /* what the policy calls it */
    const char *server;  /* host:port as it was dialled */
    int error;           /* X509_V_ERR_..., not 0 */
    int depth;           /* of the certificate; 0: the server's own */
    const void *der;     /* the certificate, `len` bytes */
    size_t len;
};

/* Fills `text`, cut at `size`; printable ASCII. */
void distrust_explain(const struct distrust_seen *seen, char *text,
    size_t size);

#endif
