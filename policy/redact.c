#include "redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Parts of keys whose values are not to be seen; misspelt ones as well. */
static const char *const sounds[] = { "pass", "pasw", "psw", "pwd", "secr",
    "scret", "token", "jaas", "credential", "sealed" };

static bool
sounds_secret(const char *key, size_t len)
{
    for (size_t i = 0; i < sizeof sounds / sizeof sounds[0]; i++) {
        size_t n = strlen(sounds[i]);

        for (size_t at = 0; at + n <= len; at++)
            if (strncasecmp(key + at, sounds[i], n) == 0)
                return true;
    }
    return false;
}

static void
cover(char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (text[i] != ' ' && text[i] != '\r')
            text[i] = '*';
}

/* Where the value of a key ends: at the end of the line, or of a flow map. */
static size_t
value_end(const char *text, size_t at, size_t end)
{
    char quote = text[at];

    if (quote == '"' || quote == '\'') {
        for (size_t i = at + 1; i < end; i++)
            if (text[i] == quote)
                return i + 1;
        return end;
    }
    return end;
}

/* {file: /PATH} says where a secret is, and may be seen. */
static bool
is_place(const char *text, size_t at, size_t end)
{
    static const char word[] = "file:";

    if (text[at] != '{')
        return false;
    for (at++; at < end && text[at] == ' ';)
        at++;
    if (end - at < sizeof word || memcmp(text + at, word, sizeof word - 1) != 0)
        return false;
    for (at += sizeof word - 1; at < end && strchr(" '\"", text[at]) != NULL;)
        at++;
    return at < end && text[at] == '/';
}

/* 'sasl' with anything but a map behind it: the user and the password. */
static bool
is_login(const char *key, size_t len, const char *value)
{
    return len == 4 && strncasecmp(key, "sasl", 4) == 0 && *value != '{';
}

static void
redact_keys(char *text, size_t start, size_t end)
{
    size_t key = start;

    for (size_t i = start; i < end; i++) {
        size_t at = i + 1;

        if (strchr("{,[ ", text[i]) != NULL)
            key = i + 1;
        if (text[i] != ':' && text[i] != '=')
            continue;
        while (at < end && (text[at] == ' ' || text[at] == '\t'))
            at++;
        if (at >= end || is_place(text, at, end))
            continue;
        if (!sounds_secret(text + key, i - key) &&
            !is_login(text + key, i - key, text + at))
            continue;
        cover(text, at, value_end(text, at, end));
        i = at;
    }
}

/* scheme://user:password@host */
static void
redact_url(char *text, size_t start, size_t end)
{
    for (size_t i = start; i + 3 <= end; i++) {
        size_t at = i + 3;

        if (memcmp(text + i, "://", 3) != 0)
            continue;
        while (at < end && !isspace((unsigned char)text[at]) &&
               strchr("@\"'/", text[at]) == NULL)
            at++;
        if (at < end && text[at] == '@')
            cover(text, i + 3, at);
    }
}

/* A key or certificate pasted in, from its first line to its last. */
static void
redact_pem(char *text, size_t len)
{
    static const char first[] = "-----BEGIN", last[] = "-----END";
    const size_t first_len = sizeof first - 1, last_len = sizeof last - 1;
    bool in = false;

    for (size_t at = 0; at < len; at++) {
        if (!in && len - at >= first_len &&
            memcmp(text + at, first, first_len) == 0) {
            in = true;
            at += first_len;
        } else if (in && len - at >= last_len &&
                   memcmp(text + at, last, last_len) == 0) {
            in = false;
        }
        if (in && at < len && text[at] != '\n')
            cover(text, at, at + 1);
    }
}

/* A line that ends with such a key has its value below, further in. */
static bool
opens_secret(const char *text, size_t start, size_t end)
{
    while (end > start && strchr(" \r", text[end - 1]) != NULL)
        end--;
    return end > start && text[end - 1] == ':' &&
           sounds_secret(text + start, end - 1 - start);
}

/* Below such a key: all but keys, and paths of files. */
static void
redact_below(char *text, size_t at, size_t end)
{
    const char *colon = memchr(text + at, ':', end - at);

    if (colon != NULL)
        for (at = (size_t)(colon - text) + 1; at < end && text[at] == ' ';)
            at++;
    if (colon == NULL || at >= end || text[at] != '/')
        cover(text, at, end);
}

void
redact_source(char *text, size_t len)
{
    size_t below = len; /* how far in the key stands; len: there is none */

    redact_pem(text, len);
    for (size_t at = 0; at < len;) {
        const char *line_end = memchr(text + at, '\n', len - at);
        size_t end = line_end == NULL ? len : (size_t)(line_end - text);
        size_t in = at;

        while (in < end && text[in] == ' ')
            in++;
        if (in < end && in - at <= below)
            below = len;
        if (below < len)
            redact_below(text, in, end);
        else if (opens_secret(text, in, end))
            below = in - at;
        redact_keys(text, at, end);
        redact_url(text, at, end);
        at = end + 1;
    }
}
