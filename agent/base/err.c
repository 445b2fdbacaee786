#include "err.h"

#include "utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The text of what goes in may be err's own: it is made aside.  `behind` is
 * kept whole, and what stands in front is cut when both do not fit. */
__attribute__((format(printf, 2, 0))) static void
fill(struct err *err, const char *fmt, va_list args, const char *behind)
{
    char raw[sizeof err->text];
    char text[sizeof err->text];
    size_t tail = strnlen(behind, sizeof text / 2);
    size_t len;

    if (vsnprintf(raw, sizeof raw, fmt, args) < 0)
        raw[0] = '\0';
    len = utf8_escape(text, sizeof text - tail, raw, strlen(raw));
    memcpy(text + len, behind, tail);
    text[len + tail] = '\0';
    memcpy(err->text, text, len + tail + 1);
}

bool
err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, fmt, args, "");
    va_end(args);
    err->kind = kind;
    err->retry = false;
    return false;
}

bool
err_set_retry(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, fmt, args, "");
    va_end(args);
    err->kind = kind;
    err->retry = true;
    return false;
}

bool
err_sys(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    int error = errno;
    char words[96], behind[100];
    va_list args;

    snprintf(behind, sizeof behind, ": %s",
        strerror_r(error, words, sizeof words));
    va_start(args, fmt);
    fill(err, fmt, args, behind);
    va_end(args);
    err->kind = kind;
    err->retry = false;
    return false;
}

bool
err_wrap(struct err *err, const char *fmt, ...)
{
    char old[sizeof err->text];
    size_t len, room;
    va_list args;

    memcpy(old, err->text, sizeof old);
    va_start(args, fmt);
    fill(err, fmt, args, ": ");
    va_end(args);
    len = strlen(err->text);
    room = sizeof err->text - len;
    utf8_escape(err->text + len, room, old, strnlen(old, sizeof old));
    return false;
}
