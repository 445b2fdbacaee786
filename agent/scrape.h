/* scrape.h - a running agent as the metrics page.
 *
 * The counters of metric.h for each flow, and what exists once for each flow
 * or partition: states, the three lags, age.  A value that is not known is
 * absent.  The rows, with their help, are also docs/metrics.md.
 *
 * Thread: the main thread.   Memory: none kept.
 * Cost: about 700 bytes of page for each partition of our lanes. */
#ifndef KEDGE_SCRAPE_H
#define KEDGE_SCRAPE_H

#include <stdio.h>

struct view_agent;

/* Prometheus' text format 0.0.4. */
void scrape_render(FILE *out, const struct view_agent *agent);

/* docs/metrics.md; `kedge help metrics` prints it. */
void scrape_document(FILE *out);

#endif
