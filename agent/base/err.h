/* err.h - why an operation failed, as a value.
 *
 * A function that can fail gives bool (true: it happened) or a pointer (NULL:
 * it did not) and takes `struct err *` last.  The kind says who has to act,
 * `retry` whether the same call may work later, the text is one clause that a
 * person can read.  Whoever knows more puts it in front with err_wrap().
 * Nobody below agent.c and cmd.c logs an error and returns it as well.
 *
 * Thread: a plain value; no state.   Memory: none. */
#ifndef KEDGE_ERR_H
#define KEDGE_ERR_H

#include <stdbool.h>

#define MUST_CHECK __attribute__((warn_unused_result))

enum err_kind {
    ERR_NONE = 0,
    ERR_CONFIG,  /* an operator has to change a file */
    ERR_MISSING, /* a file that the policy names is not there */
    ERR_POLICY,  /* the policy forbids it: never retried */
    ERR_DENIED,  /* a signature or a permission was refused */
    ERR_LOGIN,   /* the other side does not let us in: user or password */
    ERR_CERT,    /* a key or certificate is missing, wrong or expired */
    ERR_NET,     /* the other side cannot be reached */
    ERR_KAFKA,   /* a broker answered with an error */
    ERR_IO,      /* this machine's files or sockets */
    ERR_MEMORY,
};

struct err {
    enum err_kind kind;
    bool retry;     /* the same call may succeed later */
    char text[256]; /* one line, NUL-terminated, never a secret */
};

/* Fills err and returns false, so a failing function is one line (retry false;
 * a text too long is cut, controls and what is not UTF-8 become \xNN; err's own
 * text may be among the arguments):
 * return err_set(err, ERR_CERT, "%s: ended on %s", path, date); */
bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set(), for what may pass by itself: retry is true. */
bool err_set_retry(struct err *err, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set(), with ": " and the words for errno behind the text. */
bool err_sys(struct err *err, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the text already there; returns false. */
bool err_wrap(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
