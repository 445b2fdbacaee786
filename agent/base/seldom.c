#include "seldom.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX 96

struct kind {
    char name[NAME_MAX]; /* empty: free */
    int64_t said_ms, held_back;
};

struct seldom {
    /* fixed */
    int64_t every_ms;
    /* shared, under the lock */
    pthread_mutex_t lock;
    struct kind kinds[SELDOM_KINDS];
};

struct seldom *
seldom_new(int64_t every_ms, struct err *err)
{
    struct seldom *seldom = calloc(1, sizeof *seldom);

    if (seldom == NULL) {
        err_set(err, ERR_MEMORY, "kinds of log lines");
        return NULL;
    }
    seldom->every_ms = every_ms;
    (void)pthread_mutex_init(&seldom->lock, NULL);
    return seldom;
}

void
seldom_free(struct seldom *seldom)
{
    if (seldom == NULL)
        return;
    (void)pthread_mutex_destroy(&seldom->lock);
    free(seldom);
}

static struct kind *
find(struct seldom *seldom, const char *name)
{
    size_t i = 0;

    while (i < SELDOM_KINDS - 1 && seldom->kinds[i].name[0] != '\0' &&
           strcmp(seldom->kinds[i].name, name) != 0)
        i++; /* the last place is everybody's */
    return &seldom->kinds[i];
}

bool
seldom_may(struct seldom *seldom, const char *what, const char *of,
    int64_t now_ms, int64_t *held_back)
{
    char name[NAME_MAX];
    struct kind *kind;
    bool may;

    (void)snprintf(name, sizeof name, "%.30s %.60s", what, of);
    (void)pthread_mutex_lock(&seldom->lock);
    kind = find(seldom, name);
    may = kind->name[0] == '\0' || now_ms - kind->said_ms >= seldom->every_ms;
    *held_back = may ? kind->held_back : 0;
    if (may)
        *kind = (struct kind){ .said_ms = now_ms };
    else
        kind->held_back++;
    (void)snprintf(kind->name, sizeof kind->name, "%s", name);
    (void)pthread_mutex_unlock(&seldom->lock);
    return may;
}
