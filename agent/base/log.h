/* log.h - one event, one line, key=value.
 *
 * The event name is a constant in area.what form that can be searched and
 * alerted on; everything variable is a field.  Values are quoted and escaped,
 * so a topic name with a line break cannot forge a line.  Levels: error, a
 * person has to act; warn, the agent acts and somebody may want to know; info,
 * state changes; debug, off in production.  What could appear for every record
 * is a metric instead.  Never a payload, never a secret.
 *
 * Thread: log_write() from any; a line is written by one write(2).
 * Memory: log_new() takes three pages; a line is at most LOG_LINE_MAX bytes, cut
 *         with "..." beyond that. */
#ifndef KEDGE_LOG_H
#define KEDGE_LOG_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 4096

enum log_level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_DEBUG };

struct kv {
    const char *key; /* NULL ends the list */
    const char *text;
    int64_t number;
    bool is_number;
};

static inline struct kv
kv_str(const char *key, const char *text)
{
    return (struct kv){ .key = key, .text = text };
}

static inline struct kv
kv_int(const char *key, int64_t number)
{
    return (struct kv){ .key = key, .number = number, .is_number = true };
}

struct log;
struct clock;

/* Another place for lines, the journal for instance.  Called on the thread
 * that logs, after the level was judged; borrows everything. */
typedef void log_sink_fn(void *ctx, enum log_level level, const char *event,
    const struct kv *fields);

/* Lines go to `fd` (not closed by log_free()) as
 * time=... level=... event=... key=value ... */
struct log *log_new(int fd, enum log_level level, const struct clock *clock,
    struct err *err) MUST_CHECK;
void log_free(struct log *log);
void log_set_level(struct log *log, enum log_level level);

/* For lines that many may write at once: true if there was none of `what` of
 * `of` for half a minute; *held_back: so many were not written (seldom.h). */
bool log_seldom(struct log *log, const char *what, const char *of,
    int64_t *held_back);

/* Before the second thread starts.  `sink` is then used instead of the fd. */
void log_set_sink(struct log *log, log_sink_fn *sink, void *ctx);

void log_write(struct log *log, enum log_level level, const char *event,
    const struct kv *fields);

const char *log_level_name(enum log_level level);

/* NULL as the log is fine: nothing is written. */
#define LOG(log, level, event, ...)    \
    log_write((log), (level), (event), \
        (const struct kv[]){ __VA_ARGS__, { 0 } })

#endif
