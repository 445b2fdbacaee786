/* kprops.h - the table of every property of the Kafka library that we set.
 *
 * One row a property and a value, with the clients that get it and the reason.
 * kconf sets them; a property that is not in here has the
 * library's default.
 *
 * Thread: any; constants.
 * Memory: none, but a caller's buffer for a value that is made.
 * Errors: none here; a value that the library refuses is kconf's to tell, with
 *         the property's name and never with a secret. */
#ifndef KEDGE_KPROPS_H
#define KEDGE_KPROPS_H

#include "kconf.h"

#include <stddef.h>
#include <stdio.h>

/* Where a value comes from: the row itself, or what the policy says of the
 * cluster, the flow or the lane, from struct kconf_options. */
enum kprops_from {
    KPROPS_FIXED,
    KPROPS_BOOTSTRAP,
    KPROPS_CLIENT_ID,
    KPROPS_PROTOCOL,
    KPROPS_CA,
    KPROPS_CERT,
    KPROPS_KEY,
    KPROPS_MECHANISM,
    KPROPS_USERNAME,
    KPROPS_PASSWORD,
    KPROPS_GROUP,
    KPROPS_TRANSACTIONAL_ID,
    KPROPS_TRANSACTION_TIMEOUT,
    KPROPS_COMPRESSION,
    KPROPS_LINGER,
    KPROPS_BATCH,
    KPROPS_MESSAGE_MAX,
    KPROPS_PREFETCH,
    KPROPS_PREFETCH_RECORDS,
    KPROPS_FETCH,
    KPROPS_FETCH_LEAST,
};

/* A property may have several rows, for different clients; of two rows for the
 * same client the later one would count. */
struct kprops {
    const char *name; /* as the library calls it */
    unsigned clients; /* one bit for each enum kconf_client */
    enum kprops_from from;
    const char *fixed; /* KPROPS_FIXED: the value; else NULL */
    const char *why;   /* one sentence for a reader of the docs */
};

/* Enough for any value that is made and not borrowed: numbers, and client.id,
 * which is cut there. */
#define KPROPS_VALUE_MAX 256

/* Gives the table, in the order in which it is set and printed. */
const struct kprops *kprops_rows(size_t *n);

/* The value as text, borrowed from the options or in `buffer`; NULL: the
 * options do not ask for it. */
const char *kprops_value(const struct kprops *row,
    const struct kconf_options *options, char *buffer, size_t size);

/* The table as Markdown, for docs. */
void kprops_document(FILE *out);

#endif
