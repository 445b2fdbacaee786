#include "ktext.h"

#include <stdlib.h>
#include <string.h>

char *
ktext_keep(const char **const *texts, size_t n, struct err *err)
{
    size_t size = 1;
    char *block = NULL;
    char *place = NULL;

    for (size_t i = 0; i < n; i++)
        size += *texts[i] != NULL ? strlen(*texts[i]) + 1 : 0;
    if ((place = block = malloc(size)) == NULL) {
        err_set(err, ERR_MEMORY, "options");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (*texts[i] == NULL)
            continue;
        char *next = stpcpy(place, *texts[i]) + 1;

        *texts[i] = place;
        place = next;
    }
    return block;
}
