/* page.h - a running agent for people: what `kedge status` prints, and the
 * page that a browser gets.
 *
 * One line a flow, and below it what a person has to look at: why it is not
 * ready, what is held with its remedy.  The page has no scripts, and nothing
 * in it comes from elsewhere.
 *
 * Thread: the main thread.
 * Memory: none kept.  Texts of brokers and topics are printed without control
 *         characters, and escaped in HTML. */
#ifndef KEDGE_PAGE_H
#define KEDGE_PAGE_H

#include <stdio.h>

struct view_agent;

void page_text(FILE *out, const struct view_agent *agent);
void page_html(FILE *out, const struct view_agent *agent);

#endif
