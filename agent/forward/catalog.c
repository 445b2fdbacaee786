#include "catalog.h"

#include <stdlib.h>

void
catalog_list_free(struct catalog_list *list)
{
    if (list != NULL)
        free(list->returns);
    free(list);
}
