#include "log.h"

#include "clock.h"
#include "seldom.h"
#include "utf8.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room kept for what ends a line that was cut: ..." and a line break. */
#define LINE_END 5
#define SELDOM_MS 30000

/* fixed: all but the level, which is shared. */
struct log {
    int fd;
    const struct clock *clock;
    log_sink_fn *sink;
    void *sink_ctx;
    atomic_int level;
    struct seldom *seldom; /* locks itself */
};

struct line {
    size_t len;
    bool cut;    /* something did not fit: nothing more is added */
    bool quoted; /* a quote is open */
    char text[LOG_LINE_MAX];
};

struct log *
log_new(int fd, enum log_level level, const struct clock *clock,
    struct err *err)
{
    struct log *log = calloc(1, sizeof *log);

    if (log == NULL) {
        err_set(err, ERR_MEMORY, "log");
        return NULL;
    }
    if ((log->seldom = seldom_new(SELDOM_MS, err)) == NULL) {
        free(log);
        return NULL;
    }
    log->fd = fd;
    log->clock = clock;
    atomic_init(&log->level, (int)level);
    return log;
}

void
log_free(struct log *log)
{
    if (log != NULL)
        seldom_free(log->seldom);
    free(log);
}

bool
log_seldom(struct log *log, const char *what, const char *of,
    int64_t *held_back)
{
    *held_back = 0;
    return log != NULL && seldom_may(log->seldom, what, of,
                              clock_mono_ms(log->clock), held_back);
}

void
log_set_level(struct log *log, enum log_level level)
{
    if (log != NULL)
        atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

void
log_set_sink(struct log *log, log_sink_fn *sink, void *ctx)
{
    if (log == NULL)
        return;
    log->sink = sink;
    log->sink_ctx = ctx;
}

/* All of it or nothing: an escape is never cut in two. */
static void
append(struct line *line, const char *text, size_t len)
{
    if (line->cut || line->len + len > sizeof line->text - LINE_END) {
        line->cut = true;
        return;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

/* Long ones, too: within quotes a part of a text can be kept. */
static bool
needs_quotes(const char *text)
{
    size_t len = 0;

    for (; text[len] != '\0'; len++) {
        unsigned char c = (unsigned char)text[len];

        if (c <= ' ' || c >= 0x7F || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return len == 0 || len > 256;
}

static void
append_quoted(struct line *line, const char *text)
{
    size_t len = strlen(text);

    append(line, "\"", 1);
    if (line->cut)
        return; /* by this field or by one before it */
    line->quoted = true;
    for (size_t at = 0; at < len && !line->cut;) {
        uint32_t point = 0;
        size_t n = utf8_next(text + at, len - at, &point);
        size_t bytes = n == 0 ? 1 : n;
        char out[17];

        if (n == 0 || !utf8_is_safe(point))
            utf8_hex(out, text + at, bytes);
        else
            snprintf(out, sizeof out, "%s%.*s",
                point == '"' || point == '\\' ? "\\" : "", (int)bytes,
                text + at);
        append(line, out, strlen(out));
        at += bytes;
    }
    if (!line->cut) {
        line->text[line->len++] = '"'; /* LINE_END keeps room for it */
        line->quoted = false;
    }
}

static void
append_field(struct line *line, const struct kv *field)
{
    const char *text = field->text != NULL ? field->text : "-";
    char number[24];

    append(line, " ", 1);
    append(line, field->key, strlen(field->key));
    append(line, "=", 1);
    if (field->is_number) {
        snprintf(number, sizeof number, "%lld", (long long)field->number);
        append(line, number, strlen(number));
    } else if (needs_quotes(text)) {
        append_quoted(line, text);
    } else {
        append(line, text, strlen(text));
    }
}

static void
end_line(struct line *line)
{
    const char *end = !line->cut ? "\n" : line->quoted ? "...\"\n" : "...\n";

    memcpy(line->text + line->len, end, strlen(end));
    line->len += strlen(end);
}

static void
write_line(const struct log *log, enum log_level level, const char *event,
    const struct kv *fields)
{
    struct line line;
    char time[CLOCK_TEXT_SIZE];
    struct kv head[] = {
        kv_str("level", log_level_name(level)),
        kv_str("event", event),
    };

    line.len = 0;
    line.cut = line.quoted = false;
    clock_text(time, sizeof time, clock_wall_ms(log->clock));
    append(&line, "time=", 5);
    append(&line, time, strlen(time));
    append_field(&line, &head[0]);
    append_field(&line, &head[1]);
    for (; fields->key != NULL; fields++)
        append_field(&line, fields);
    end_line(&line);
    while (write(log->fd, line.text, line.len) == -1 && errno == EINTR)
        continue; /* any other failure: there is nobody to tell */
}

void
log_write(struct log *log, enum log_level level, const char *event,
    const struct kv *fields)
{
    int most;

    if (log == NULL)
        return;
    most = atomic_load_explicit(&log->level, memory_order_relaxed);
    if ((int)level > most)
        return;
    if (log->sink != NULL)
        log->sink(log->sink_ctx, level, event, fields);
    else
        write_line(log, level, event, fields);
}

const char *
log_level_name(enum log_level level)
{
    switch (level) {
    case LEVEL_ERROR:
        return "error";
    case LEVEL_WARN:
        return "warn";
    case LEVEL_INFO:
        return "info";
    case LEVEL_DEBUG:
        return "debug";
    }
    return "unknown";
}
