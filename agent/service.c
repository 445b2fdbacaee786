#include "service.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

/* Each socket goes to the place for its kind; a second one has none. */
static bool
place_socket(struct service_sockets *sockets, int fd, struct err *err)
{
    int *place = NULL;

    if (sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) > 0)
        place = &sockets->admin;
    else if (sd_is_socket(fd, AF_INET, SOCK_STREAM, 1) > 0 ||
             sd_is_socket(fd, AF_INET6, SOCK_STREAM, 1) > 0)
        place = &sockets->metrics;
    if (place == NULL)
        return err_set(err, ERR_CONFIG,
            "the service manager handed in something else than a listening "
            "stream socket (descriptor %d)",
            fd);
    if (*place != -1)
        return err_set(err, ERR_CONFIG,
            "the service manager handed in two sockets of a kind");
    *place = fd;
    return true;
}

bool
service_sockets_take(struct service_sockets *sockets, struct err *err)
{
    int n = sd_listen_fds(1);

    *sockets = (struct service_sockets){ .admin = -1, .metrics = -1 };
    if (n < 0) {
        errno = -n;
        return err_sys(err, ERR_CONFIG, "sockets of the service manager");
    }
    for (int i = 0; i < n; i++) {
        if (!place_socket(sockets, SD_LISTEN_FDS_START + i, err))
            return false;
    }
    return true;
}

void
service_status(const char *text)
{
    (void)sd_notifyf(0, "STATUS=%.200s", text);
}

void
service_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

void
service_reloading(int64_t now_ms)
{
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
        (long long)now_ms * 1000);
}

void
service_stopping(int64_t extend_ms)
{
    (void)sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld",
        (long long)extend_ms * 1000);
}

int64_t
service_watchdog_ms(void)
{
    uint64_t usec = 0;

    if (sd_watchdog_enabled(0, &usec) <= 0)
        return 0;
    return (int64_t)(usec / 1000);
}

void
service_alive(void)
{
    (void)sd_notify(0, "WATCHDOG=1");
}

bool
service_has_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char ours[64];
    struct stat st;

    if (stream == NULL || fstat(STDERR_FILENO, &st) == -1)
        return false;
    (void)snprintf(ours, sizeof ours, "%llu:%llu",
        (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    return strcmp(stream, ours) == 0;
}

/* A text that grows in a buffer; what does not fit marks it. */
struct page {
    char *at;
    size_t left;
    bool full;
};

static void
put(struct page *page, const char *text, size_t len)
{
    if (page->full || len > page->left) {
        page->full = true;
        return;
    }
    memcpy(page->at, text, len);
    page->at += len;
    page->left -= len;
}

static void
put_text(struct page *page, const char *text)
{
    put(page, text, strlen(text));
}

/* flow -> KEDGE_FLOW: the journal takes capitals, digits and underscores. */
static void
put_name(struct page *page, const char *key)
{
    put_text(page, "KEDGE_");
    for (; *key != '\0'; key++) {
        char c = isalnum((unsigned char)*key) ? *key : '_';

        c = (char)toupper((unsigned char)c);
        put(page, &c, 1);
    }
    put_text(page, "=");
}

/* The journal's own fields may hold any byte; MESSAGE is one line. */
static void
put_value(struct page *page, const struct kv *kv, bool one_line)
{
    const char *text = kv->text == NULL ? "" : kv->text;
    char digits[32];

    if (kv->is_number) {
        (void)snprintf(digits, sizeof digits, "%lld", (long long)kv->number);
        text = digits;
    }
    for (; *text != '\0'; text++) {
        bool plain = !one_line || (unsigned char)*text >= ' ';

        put(page, plain ? text : " ", 1);
    }
}

static void
put_message(struct page *page, const struct service_line *line)
{
    put_text(page, "MESSAGE=");
    put_text(page, line->event);
    for (const struct kv *kv = line->fields; kv->key != NULL; kv++) {
        put_text(page, " ");
        put_text(page, kv->key);
        put_text(page, "=");
        put_value(page, kv, true);
    }
}

/* syslog's numbers: err 3, warning 4, info 6, debug 7. */
static void
put_priority(struct page *page, enum log_level level)
{
    static const char *const priorities[] = {
        [LEVEL_ERROR] = "3",
        [LEVEL_WARN] = "4",
        [LEVEL_INFO] = "6",
        [LEVEL_DEBUG] = "7",
    };

    put_text(page, "PRIORITY=");
    put_text(page, priorities[level]);
}

/* The field that begins at `begin`, if all of it found room. */
static size_t
end_field(struct iovec *field, struct page *page, char *begin)
{
    if (page->full) {
        page->left += (size_t)(page->at - begin);
        page->at = begin;
        page->full = false;
        return 0;
    }
    *field = (struct iovec){ .iov_base = begin,
        .iov_len = (size_t)(page->at - begin) };
    return 1;
}

size_t
service_journal_fields(struct iovec *fields, char *text, size_t size,
    const struct service_line *line)
{
    struct page page = { .at = text, .left = size };
    char *begin = text;
    size_t n = 0;

    put_priority(&page, line->level);
    n += end_field(&fields[n], &page, begin);
    begin = page.at;
    put_message(&page, line);
    n += end_field(&fields[n], &page, begin);
    begin = page.at;
    put_text(&page, "KEDGE_EVENT=");
    put_text(&page, line->event);
    n += end_field(&fields[n], &page, begin);
    for (const struct kv *kv = line->fields;
         kv->key != NULL && n < SERVICE_FIELDS_MAX; kv++) {
        begin = page.at;
        put_name(&page, kv->key);
        put_value(&page, kv, false);
        n += end_field(&fields[n], &page, begin);
    }
    return n;
}

void
service_journal(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    const struct service_line line = { level, event, fields };
    struct iovec parts[SERVICE_FIELDS_MAX];
    char text[2 * LOG_LINE_MAX];
    size_t n = service_journal_fields(parts, text, sizeof text, &line);

    (void)ctx;
    (void)sd_journal_sendv(parts, (int)n);
}
