/* flowsource.h - what a flow asks its source and tells it, and what it makes of
 * what the source says.
 *
 * Part of the flow (flowset.h), with the lanes and topics beside it.  A
 * partition that the source cannot give any more is held, with the reason and
 * who has to act; where a successor would begin is told to the source, for
 * those who look there.
 *
 * Thread: the flow's.   Memory: none of its own. */
#ifndef KEDGE_FLOWSOURCE_H
#define KEDGE_FLOWSOURCE_H

#include "parts.h"

struct flow;

/* Takes in what the source has to say; gives whether it was anything. */
bool flowsource_events(struct flow *flow, int64_t now_ms);

/* Asks for ends when that is due, and says which partitions' leaders have not
 * told where to begin. */
void flowsource_tick(struct flow *flow, int64_t now_ms);

/* A partition that the source does not read (any more), and a person has to
 * act: `why` is said in the log, too. */
void flowsource_hold(struct flow *flow, struct part *part, const char *why);

/* Tells the source where a successor would begin, of all partitions of a lane
 * that is owned or being finished; of another lane nothing is told. */
void flowsource_tell(struct flow *flow, int32_t lane);

/* Is what is read the topic that the ledger means, or was that deleted and made
 * anew?  The source's client learns the id of a topic when it first looks for
 * it, and stays with it; that may be later than the newest list.  So the first
 * record of a topic only shows that an id was learned: nothing is sent from a
 * position in it before a list that began after that record has the id of the
 * ledger (flowtopics.c compares).  Each topic once in the life of a flow; one
 * list for all those of a second, and it asks nothing of the target's topics.
 *
 * The first: a record came; true: it waits at the source for that list.  The
 * second: a list has the topic, and reading goes on if it was that one. */
bool flowsource_doubts(struct flow *flow, struct part *part);
void flowsource_sure(struct flow *flow, struct topic *topic);

/* As lanes_ops wants it; `ctx` is the flow.  Without memory it is tried again
 * at the next tick. */
void flowsource_resolve(void *ctx, struct part *part, enum start start,
    int64_t wall_ms);

#endif
