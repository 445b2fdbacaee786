#include "kgroupq.h"

#include <stdlib.h>

#define ROOM 32

struct kgroupq {
    struct group_event *ring;
    size_t room, first, n;
};

struct kgroupq *
kgroupq_new(struct err *err)
{
    struct kgroupq *queue = calloc(1, sizeof *queue);

    if (queue == NULL)
        err_set(err, ERR_MEMORY, "group events");
    return queue;
}

void
kgroupq_free(struct kgroupq *queue)
{
    if (queue != NULL)
        free(queue->ring);
    free(queue);
}

static void
grow(struct kgroupq *queue)
{
    size_t room = queue->room == 0 ? ROOM : queue->room * 2;
    struct group_event *ring = calloc(room, sizeof *ring);

    if (ring == NULL)
        abort(); /* see the header */
    for (size_t i = 0; i < queue->n; i++)
        ring[i] = queue->ring[(queue->first + i) % queue->room];
    free(queue->ring);
    queue->ring = ring;
    queue->room = room;
    queue->first = 0;
}

void
kgroupq_put(struct kgroupq *queue, const struct group_event *event)
{
    if (queue->n == queue->room)
        grow(queue);
    queue->ring[(queue->first + queue->n++) % queue->room] = *event;
}

bool
kgroupq_take(struct kgroupq *queue, struct group_event *event)
{
    if (queue->n == 0)
        return false;
    *event = queue->ring[queue->first];
    queue->first = (queue->first + 1) % queue->room;
    queue->n--;
    return true;
}

void
kgroupq_void(struct kgroupq *queue)
{
    struct group_event event;

    for (size_t i = queue->n; i > 0 && kgroupq_take(queue, &event); i--) {
        if (event.kind == GROUP_PROVED)
            event.kind = GROUP_REFUSED;
        if (event.kind == GROUP_REFUSED || event.kind == GROUP_UNSURE)
            kgroupq_put(queue, &event);
    }
}
