#include "adminc.h"

#include "adminsocket.h"
#include "clock.h"
#include "cursor.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_AGAIN_MS 20

/* The next line without its end, which is CR LF or LF; false behind the last
 * complete one. */
static bool
take_line(struct cursor *cursor, const char **line, size_t *len)
{
    const uint8_t *end =
        cursor->left == 0 ? NULL : memchr(cursor->at, '\n', cursor->left);
    size_t n = end == NULL ? 0 : (size_t)(end - cursor->at);

    if (end == NULL)
        return false;
    *line = (const char *)cursor_take(cursor, n + 1);
    if (n > 0 && (*line)[n - 1] == '\r')
        n--;
    *len = n;
    return true;
}

/* "HTTP/1.1 200 OK" */
static bool
parse_status(const char *line, size_t len, int *status)
{
    static const char begin[] = "HTTP/1.";
    const size_t at = sizeof begin - 1;

    if (len < at + 5 || memcmp(line, begin, at) != 0 ||
        !isdigit((unsigned char)line[at]) || line[at + 1] != ' ')
        return false;
    *status = 0;
    for (size_t i = at + 2; i < at + 5; i++) {
        if (!isdigit((unsigned char)line[i]))
            return false;
        *status = *status * 10 + (line[i] - '0');
    }
    return *status >= 100 && (len == at + 5 || line[at + 5] == ' ');
}

/* Is it this header?  Then its value, without white space around it. */
static bool
is_header(const char *line, size_t len, const char *name, const char **value,
    size_t *value_len)
{
    size_t n = strlen(name);

    if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
        return false;
    line += n + 1;
    len -= n + 1;
    while (len > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        len--;
    }
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    *value = line;
    *value_len = len;
    return true;
}

static bool
parse_length(const char *text, size_t len, size_t *number)
{
    *number = 0;
    if (len == 0 || len > 9)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        *number = *number * 10 + (size_t)(text[i] - '0');
    }
    return true;
}

/* Reads the headers up to the empty line.  Without a length, the body is what
 * comes until the end. */
static bool
parse_headers(struct cursor *cursor, size_t *body_len, struct err *err)
{
    bool known = false;
    const char *line, *value;
    size_t len, value_len, number;

    while (take_line(cursor, &line, &len)) {
        if (len == 0) {
            if (!known)
                *body_len = cursor->left;
            return true;
        }
        if (is_header(line, len, "Transfer-Encoding", &value, &value_len))
            return err_set(err, ERR_NET, "an answer in a form we do not read");
        if (!is_header(line, len, "Content-Length", &value, &value_len))
            continue;
        if (!parse_length(value, value_len, &number) ||
            (known && number != *body_len))
            return err_set(err, ERR_NET, "an answer of no sensible length");
        *body_len = number;
        known = true;
    }
    return err_set(err, ERR_NET, "the answer is cut in its headers");
}

bool
adminc_parse(const void *bytes, size_t len, struct adminc_reply *reply,
    struct err *err)
{
    struct cursor cursor = { .at = bytes, .left = len };
    size_t body_len = 0;
    const uint8_t *body;
    const char *line;
    size_t line_len;

    *reply = (struct adminc_reply){ 0 };
    do {
        if (!take_line(&cursor, &line, &line_len) ||
            !parse_status(line, line_len, &reply->status))
            return err_set(err, ERR_NET, "the answer is not HTTP");
        if (!parse_headers(&cursor, &body_len, err))
            return false;
        /* 100 Continue and its like come before the answer. */
    } while (reply->status < 200);
    if (reply->status == 204 || reply->status == 304)
        body_len = 0;
    body = cursor_take(&cursor, body_len);
    if (cursor.bad)
        return err_set(err, ERR_NET, "the answer is cut");
    reply->body = malloc(body_len + 1);
    if (reply->body == NULL)
        return err_set(err, ERR_MEMORY, "an answer of %zu bytes", body_len);
    if (body_len > 0)
        memcpy(reply->body, body, body_len);
    reply->body[body_len] = '\0';
    reply->len = body_len;
    return true;
}

void
adminc_reply_free(struct adminc_reply *reply)
{
    free(reply->body);
    *reply = (struct adminc_reply){ 0 };
}

/* A connection until its deadline, and what came of it. */
struct talk {
    int fd;
    const struct clock *clock;
    int64_t deadline_ms;
    char *bytes;
    size_t len, size;
};

static bool
wait_for(const struct talk *talk, short events, struct err *err)
{
    struct pollfd pollfd = { .fd = talk->fd, .events = events };
    int64_t left_ms = talk->deadline_ms - clock_mono_ms(talk->clock);
    int n = left_ms <= 0 ? 0 : poll(&pollfd, 1, (int)left_ms);

    if (n == -1 && errno != EINTR)
        return err_sys(err, ERR_IO, "poll");
    if (n == 0)
        return err_set_retry(err, ERR_NET,
            "the agent does not answer: it is busy, try again");
    return true;
}

static bool
send_all(const struct talk *talk, const char *text, size_t len, struct err *err)
{
    while (len > 0) {
        ssize_t n = send(talk->fd, text, len, MSG_NOSIGNAL);

        if (n == -1 && errno != EAGAIN && errno != EINTR)
            return err_sys(err, ERR_NET, "send");
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        } else if (!wait_for(talk, POLLOUT, err)) {
            return false;
        }
    }
    return true;
}

/* Makes room for at least one more byte. */
static bool
grow(struct talk *talk, struct err *err)
{
    size_t size = talk->size == 0 ? 65536 : talk->size * 2;
    char *bytes;

    if (talk->len < talk->size)
        return true;
    if (talk->size >= ADMINC_BYTES_MAX)
        return err_set(err, ERR_NET, "the answer is longer than %u bytes",
            ADMINC_BYTES_MAX);
    bytes = realloc(talk->bytes, size);
    if (bytes == NULL)
        return err_set(err, ERR_MEMORY, "an answer of %zu bytes", size);
    talk->bytes = bytes;
    talk->size = size;
    return true;
}

static bool
receive_all(struct talk *talk, struct err *err)
{
    for (;;) {
        ssize_t n;

        if (!grow(talk, err))
            return false;
        n = recv(talk->fd, talk->bytes + talk->len, talk->size - talk->len, 0);
        if (n == 0)
            return true;
        if (n > 0)
            talk->len += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR)
            return err_sys(err, ERR_NET, "receive");
        else if (!wait_for(talk, POLLIN, err))
            return false;
    }
}

/* There may be too many in front of us: they are answered, or given up. */
static bool
connect_to(struct talk *talk, const char *socket, struct err *err)
{
    do {
        talk->fd = adminsocket_connect(socket, err);
        if (talk->fd != -1)
            return true;
    } while (err->retry && poll(NULL, 0, CONNECT_AGAIN_MS) == 0 &&
             clock_mono_ms(talk->clock) < talk->deadline_ms);
    return false;
}

bool
adminc_call(const struct adminc_request *request, const struct clock *clock,
    struct adminc_reply *reply, struct err *err)
{
    struct talk talk = { .fd = -1,
        .clock = clock,
        .deadline_ms = clock_mono_ms(clock) + ADMINC_DEADLINE_MS };
    char head[1024];
    bool ok = false;
    int len;

    *reply = (struct adminc_reply){ 0 };
    len = snprintf(head, sizeof head,
        "%s %s HTTP/1.1\r\nHost: kedge\r\nAccept: %s\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n",
        request->method, request->path,
        request->accept == NULL ? "*/*" : request->accept);
    if (len < 0 || (size_t)len >= sizeof head)
        return err_set(err, ERR_CONFIG, "the request is too long");
    if (!connect_to(&talk, request->socket, err))
        return false;
    if (send_all(&talk, head, (size_t)len, err) && receive_all(&talk, err))
        ok = adminc_parse(talk.bytes, talk.len, reply, err);
    if (!ok)
        err_wrap(err, "%s", request->socket);
    free(talk.bytes);
    close(talk.fd);
    return ok;
}
