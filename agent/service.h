/* service.h - what the service manager is told and gives.
 *
 * Under systemd the agent says when it is ready, what it is doing and that it
 * is alive, gets its sockets handed in, so that it never has to bind one, and
 * writes its log with fields to the journal.  Started by hand, all of this is
 * silently nothing.  The only place that includes systemd's headers.
 *
 * Thread: the main thread; service_journal() from any that logs.
 * Memory: none kept. */
#ifndef KEDGE_SERVICE_H
#define KEDGE_SERVICE_H

#include "err.h"
#include "log.h"

#include <stddef.h>
#include <stdint.h>

struct iovec;

/* What the service manager handed in; -1: nothing.  They are the caller's. */
struct service_sockets {
    int admin;   /* a listening stream socket of the Unix kind */
    int metrics; /* the same of the internet kind */
};

/* False when something else was handed in, or two of a kind.  The variables
 * are taken out of the environment: the answer comes once. */
bool service_sockets_take(struct service_sockets *sockets,
    struct err *err) MUST_CHECK;

/* One line for `systemctl status`; cut at 200 bytes. */
void service_status(const char *text);
void service_ready(void); /* after the last part, and after a reload */
void service_reloading(int64_t now_ms);
void service_stopping(int64_t extend_ms); /* and how long it may take */

/* How often service_alive() is wanted at least; 0: nobody watches. */
int64_t service_watchdog_ms(void);
void service_alive(void);

/* Is standard error the journal (JOURNAL_STREAM)? */
bool service_has_journal(void);

/* A log_sink_fn: MESSAGE, PRIORITY, KEDGE_EVENT, and each field by its name in
 * capitals with KEDGE_ in front. */
void service_journal(void *ctx, enum log_level level, const char *event,
    const struct kv *fields);

/* What service_journal() sends, in `text` and `fields`: gives how many.  What
 * does not fit is left out. */
#define SERVICE_FIELDS_MAX 32
struct service_line {
    enum log_level level;
    const char *event;
    const struct kv *fields;
};
size_t service_journal_fields(struct iovec *fields, char *text, size_t size,
    const struct service_line *line);

#endif
