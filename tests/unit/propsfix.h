/* propsfix.h - what the table of kprops.h gives for a property: shared by the
 * tests of the table and of the clients that are made of it. */
#ifndef KEDGE_PROPSFIX_H
#define KEDGE_PROPSFIX_H

#include "kprops.h"

#include <string.h>

/* The value for that client, in `buffer` of KPROPS_VALUE_MAX or not; NULL: it
 * is not set. */
static inline const char *
propsfix_value(const struct kconf_options *options, const char *name,
    char *buffer)
{
    size_t n;
    const struct kprops *rows = kprops_rows(&n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0 &&
            (rows[i].clients & (1U << options->client)) != 0)
            return kprops_value(&rows[i], options, buffer, KPROPS_VALUE_MAX);
    return NULL;
}

#endif
