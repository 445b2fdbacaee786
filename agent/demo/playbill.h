/* playbill.h - what the demo prints: the policy, a line while it works, and
 * the page of what was proven and what was not.
 *
 * On a terminal the line is written over; elsewhere each is a line.
 *
 * Thread: any.   Memory: none; everything is borrowed for the call. */
#ifndef KEDGE_PLAYBILL_H
#define KEDGE_PLAYBILL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct load_plan;
struct proof;
struct stage;

struct playbill_line {
    int64_t produced, arrived, per_s, lag;
    int64_t in_flight; /* -1: not known */
    bool cut;
};

struct playbill {
    int64_t all_ms, cut_ms, catch_ms;
    int64_t peak_kib; /* of the agent; 0: not known */
    int64_t peak_lag;
    bool keep; /* the folder stays until Ctrl-C */
};

/* What is about to happen: the policy, where it lies, how many records. */
void playbill_opening(FILE *out, const struct stage *stage,
    const struct load_plan *plan);

/* How often a line is worth it. */
int playbill_interval_ms(FILE *out);

/* How it stands, `since_ms` after the start. */
void playbill_progress(FILE *out, const struct playbill_line *line,
    int64_t since_ms);

/* A line of its own, whatever stood there. */
void playbill_say(FILE *out, const char *text);

/* What was proven, by figures; or the faults, one line for each kind.  And
 * what this does not prove. */
void playbill_proof(FILE *out, const struct stage *stage, struct proof *proof,
    const struct playbill *bill);

/* What to try now; and after a failure, where to look. */
void playbill_keep(FILE *out, const struct stage *stage);
void playbill_failed(FILE *out, const struct stage *stage);

/* "100 000" into `text`, 32 bytes. */
const char *playbill_number(char text[32], int64_t number);

#endif
