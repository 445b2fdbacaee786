#include "ktrust.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BROKER_MAX 300

struct ktrust {
    /* fixed */
    kcert_explain_fn *explain;
    /* shared, under the lock */
    pthread_mutex_t lock;
    char broker[BROKER_MAX]; /* who was refused; empty: nobody */
    int64_t refused_ms;
    struct err why;
};

struct ktrust *
ktrust_new(kcert_explain_fn *explain, struct err *err)
{
    struct ktrust *trust = calloc(1, sizeof *trust);

    if (trust == NULL) {
        err_set(err, ERR_MEMORY, "certificates of a client");
        return NULL;
    }
    trust->explain = explain;
    (void)pthread_mutex_init(&trust->lock, NULL);
    return trust;
}

void
ktrust_free(struct ktrust *trust)
{
    if (trust == NULL)
        return;
    (void)pthread_mutex_destroy(&trust->lock);
    free(trust);
}

static void
refuse(struct ktrust *trust, const struct kcert *cert, int64_t now_ms,
    char *why, size_t size)
{
    struct err err;

    if (trust->explain != NULL)
        trust->explain(cert, why, size);
    else
        (void)snprintf(why, size,
            "the certificate of %.100s was refused (X.509 error %d): look at "
            "the certificates of both sides",
            cert->broker, cert->error);
    err_set_retry(&err, ERR_CERT, "%s", why);
    (void)pthread_mutex_lock(&trust->lock);
    (void)snprintf(trust->broker, sizeof trust->broker, "%s", cert->broker);
    trust->refused_ms = now_ms;
    trust->why = err;
    (void)pthread_mutex_unlock(&trust->lock);
}

void
ktrust_note(struct ktrust *trust, const struct kcert *cert, int64_t now_ms,
    char *why, size_t size)
{
    if (cert->error != 0) {
        refuse(trust, cert, now_ms, why, size);
        return;
    }
    if (cert->depth > 0)
        return; /* an issuer; the broker's own comes last */
    (void)pthread_mutex_lock(&trust->lock);
    if (strncmp(trust->broker, cert->broker, sizeof trust->broker - 1) == 0)
        trust->broker[0] = '\0';
    (void)pthread_mutex_unlock(&trust->lock);
}

bool
ktrust_refused(struct ktrust *trust, int64_t now_ms, struct err *err)
{
    bool refused;

    (void)pthread_mutex_lock(&trust->lock);
    refused =
        trust->broker[0] != '\0' && now_ms - trust->refused_ms < KTRUST_KEEP_MS;
    if (refused)
        *err = trust->why;
    (void)pthread_mutex_unlock(&trust->lock);
    return refused;
}
