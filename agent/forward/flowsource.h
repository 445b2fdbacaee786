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

/* Asks for ends when that is due. */
void flowsource_tick(struct flow *flow, int64_t now_ms);

/* A partition that the source does not read (any more), and a person has to
 * act: `why` is said in the log, too. */
void flowsource_hold(struct flow *flow, struct part *part, const char *why);

/* Tells the source where a successor would begin, of all partitions of a lane
 * that is owned or being finished; of another lane nothing is told. */
void flowsource_tell(struct flow *flow, int32_t lane);

/* As lanes_ops wants it; `ctx` is the flow.  Without memory it is tried again
 * at the next tick. */
void flowsource_resolve(void *ctx, struct part *part, enum start start,
    int64_t wall_ms);

#endif
