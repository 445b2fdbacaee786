/* match.h - topic patterns, with a limit on the work one may cause.
 *
 * People bring regular expressions from Java, so they are PCRE2's, and match
 * the whole name; what is excluded wins.  A pattern that backtracks without
 * end is stopped after MATCH_STEPS steps and answers "undecided": never yes,
 * never no.  So does all that is asked until match_settle() once it has taken
 * MATCH_WORK steps together: a policy is judged in a bounded time.  There is no
 * just-in-time compiler: the agent runs without memory that is both writable
 * and executable.
 *
 * Thread: one until match_settle(), any behind it.
 * Memory: match_new()/match_free(); asking allocates a few hundred bytes. */
#ifndef KEDGE_MATCH_H
#define KEDGE_MATCH_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>

#define MATCH_STEPS 20000
#define MATCH_WORK 500000
#define MATCH_PATTERN_MAX 512
#define MATCH_NAME_MAX 249 /* Kafka's limit for a topic */

enum match_answer {
    MATCH_NO, /* nothing includes it */
    MATCH_YES,
    MATCH_EXCLUDED,
    MATCH_UNDECIDED, /* a pattern took too much work, or there is no memory */
};

struct match;

struct match *match_new(struct err *err) MUST_CHECK;
void match_free(struct match *match); /* NULL is fine */

/* Compiles one more pattern.  False with err, and with *at as the byte of the
 * pattern where it is wrong. */
bool match_add(struct match *match, const char *pattern, bool exclude,
    size_t *at, struct err *err) MUST_CHECK;

/* Nothing is left of MATCH_WORK. */
bool match_is_spent(const struct match *match);
void match_settle(struct match *match);

enum match_answer match_topic(const struct match *match, const char *topic);

/* With what does every name begin that the pattern matches?  Writes that stem;
 * true when the stem is the one name that it matches.  A stem may be shorter
 * than it could be, and never longer. */
bool match_stem(const char *pattern, char *stem, size_t size);

/* The '*', '+' or '?' that repeats one letter, digit, '-' or '_', as in a
 * pattern for a shell; in a class, a group or behind \Q it is meant.  NULL:
 * there is none. */
const char *match_glob(const char *pattern);

/* The same for what every name ends with; "" where it cannot be told. */
void match_tail(const char *pattern, char *tail, size_t size);

/* The branches of "a|b", those that are not in brackets, one after another:
 * copies the one that *at stands on and moves it to the next.  False at the
 * end, or when one is too long. */
bool match_branch(const char **at, char *branch, size_t size);

/* True when its only metacharacters are dots: "plant.orders" also matches
 * "plantXorders". */
bool match_is_loose(const char *pattern);

#endif
