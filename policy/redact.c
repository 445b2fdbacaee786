#include "redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Parts of keys whose values are not to be seen; misspelt ones as well. */
static const char *const sounds[] = { "pass", "pasw", "psw", "pwd", "secr",
    "scret", "token", "jaas", "credential", "sealed", "bearer", "auth" };

/* api_key, private.key, ssl.key.pem; 'key' itself has a path behind it. */
static bool
ends_in_key(const char *key, size_t len)
{
    return len > 3 && (strncasecmp(key + len - 3, "key", 3) == 0 ||
                          strncasecmp(key + len - 3, "pem", 3) == 0);
}

bool
redact_is_secret(const char *key, size_t len)
{
    if (ends_in_key(key, len))
        return true;
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

/* {file: /PATH} says where a secret is, and may be seen: nothing else is in
 * there. */
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
    if (at >= end || text[at] != '/')
        return false;
    while (at < end && strchr("},", text[at]) == NULL)
        at++;
    return at < end && text[at] == '}';
}

static bool
is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

/* 'sasl' with anything but a map behind it: the user and the password. */
static bool
is_login(const char *key, size_t len, const char *value)
{
    return is_word(key, len, "sasl") && *value != '{';
}

/* 'key' with the key itself behind it, and no file: base64 has no dots. */
static bool
is_bare_key(const char *key, size_t len, const char *value, size_t left)
{
    size_t n = 0;

    if (!is_word(key, len, "key"))
        return false;
    if (left > 0 && strchr("'\"", *value) != NULL) {
        value++;
        left--;
    }
    if (left > 0 && strchr("/-", *value) != NULL)
        return false; /* a path, or what redact_pem() has covered */
    while (n < left && strchr(" ,}'\"", value[n]) == NULL && value[n] != '.')
        n++;
    return n == left || value[n] != '.';
}

/* What stands behind the other keys of 'sasl' may be anything. */
static bool
is_of_sasl(const char *key, size_t len)
{
    static const char *const words[] = { "sasl", "mechanism", "username",
        "password", "file" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(key, len, words[i]))
            return true;
    return false;
}

static bool
is_mechanism(const char *word, size_t len)
{
    static const char *const words[] = { "PLAIN", "SCRAM-SHA-256",
        "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(word, len, words[i]))
            return true;
    return false;
}

/* The key in front of the ':' at `at`, without quotes and blanks. */
static const char *
key_of(const char *text, size_t start, size_t at, size_t *len)
{
    size_t end = at;

    while (end > start && strchr(" \t'\"", text[end - 1]) != NULL)
        end--;
    at = end;
    while (at > start && strchr(" \t'\"{,[", text[at - 1]) == NULL)
        at--;
    *len = end - at;
    return text + at;
}

/* One line, and whether what stands there is of 'sasl'. */
struct line {
    char *text;
    size_t end;
    bool of_sasl;
    int depth, sasl_depth; /* of brackets; 0: we are not in a 'sasl' of it */
    size_t sasl_from;      /* `end`: none is open */
};

/* Words of 'sasl' that may be seen, and no others: a secret may stand where
 * none belongs, as a key, in a list or by itself. */
static void
redact_words(const struct line *line, size_t from, size_t to)
{
    static const char apart[] = " {}[],:'\"\r";
    char *text = line->text;
    const char *before = ""; /* the word in front of this one */
    size_t before_len = 0;

    while (from < to) {
        size_t len = 0;

        while (from < to && strchr(apart, text[from]) != NULL)
            from++;
        while (from + len < to && strchr(apart, text[from + len]) == NULL)
            len++;
        if (!is_of_sasl(text + from, len) && !is_mechanism(text + from, len) &&
            !is_word(before, before_len, "username") &&
            (text[from] != '/' || !is_word(before, before_len, "file")))
            cover(text, from, from + len);
        before = text + from;
        before_len = len;
        from += len;
    }
}

/* What is of 'sasl' goes on to what is next in the map around it; by itself,
 * to the end of the line: a word behind its brackets may be the secret. */
static void
count_bracket(struct line *line, size_t at)
{
    char c = line->text[at];

    line->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (line->sasl_depth > 1 && line->depth < line->sasl_depth &&
        (c == ',' || line->depth + 1 < line->sasl_depth)) {
        redact_words(line, line->sasl_from, at);
        line->sasl_depth = 0;
        line->sasl_from = line->end;
    }
}

static bool
is_hidden(const struct line *line, const char *key, size_t len, size_t at)
{
    const char *text = line->text;
    bool of_sasl = line->of_sasl || line->sasl_depth > 0;

    return redact_is_secret(key, len) || is_login(key, len, text + at) ||
           is_bare_key(key, len, text + at, line->end - at) ||
           (of_sasl && !is_of_sasl(key, len));
}

/* True when something is covered up to the end of the line and not in quotes:
 * it may go on below. */
static bool
redact_keys(struct line *line, size_t start)
{
    char *text = line->text;

    for (size_t i = start; i < line->end; i++) {
        size_t at = i + 1, len = 0, end = 0;
        const char *key = NULL;
        bool closed = false;

        count_bracket(line, i);
        if (text[i] != ':' && text[i] != '=')
            continue;
        key = key_of(text, start, i, &len);
        while (at < line->end && (text[at] == ' ' || text[at] == '\t'))
            at++;
        if (at >= line->end || is_place(text, at, line->end))
            continue;
        if (is_hidden(line, key, len, at)) {
            end = value_end(text, at, line->end);
            closed = end > at + 1 && strchr("'\"", text[at]) != NULL &&
                     text[end - 1] == text[at];
            cover(text, at, end);
            if (end == line->end)
                return !closed;
            i = end - 1;
        } else if (is_word(key, len, "sasl") && line->sasl_depth == 0) {
            line->sasl_depth = line->depth + 1;
            line->sasl_from = at;
        }
    }
    return false;
}

/* scheme://user:password@host, and user:password@host */
static void
redact_url(char *text, size_t start, size_t end)
{
    for (size_t at = start; at < end; at++) {
        size_t from = at;
        bool colon = false;

        if (text[at] != '@')
            continue;
        while (from > start && !isspace((unsigned char)text[from - 1]) &&
               strchr("\"'[{,", text[from - 1]) == NULL &&
               (from < start + 3 || memcmp(text + from - 3, "://", 3) != 0))
            colon = text[--from] == ':' || colon;
        if (colon ||
            (from >= start + 3 && memcmp(text + from - 3, "://", 3) == 0))
            cover(text, from, at);
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
opens_below(const char *text, size_t start, size_t end)
{
    while (end > start && strchr(" \r", text[end - 1]) != NULL)
        end--;
    return end > start && text[end - 1] == ':' &&
           (redact_is_secret(text + start, end - 1 - start) ||
               is_word(text + start, end - 1 - start, "key"));
}

/* Below such a key: all but the word 'file', and its path. */
static void
redact_below(char *text, size_t at, size_t end)
{
    static const char word[] = "file:";
    size_t value = at + sizeof word - 1;

    if (end - at > sizeof word &&
        memcmp(text + at, word, sizeof word - 1) == 0) {
        while (value < end && strchr(" '\"", text[value]) != NULL)
            value++;
        if (value < end && text[value] == '/' &&
            memchr(text + value, ',', end - value) == NULL)
            return;
        at += sizeof word - 1;
    }
    cover(text, at, end);
}

static bool
has_sasl(const char *text, size_t at, size_t end)
{
    static const char word[] = "sasl";

    for (; at + sizeof word - 1 < end; at++) {
        size_t behind = at + sizeof word - 1;

        while (behind < end && strchr(" \t'\"", text[behind]) != NULL)
            behind++;
        if (behind < end && text[behind] == ':' &&
            is_word(text + at, sizeof word - 1, word))
            return true;
    }
    return false;
}

static int
count_open(const char *text, size_t at, size_t end)
{
    int n = 0;

    for (; at < end; at++)
        n += (text[at] == '{' || text[at] == '[') -
             (text[at] == '}' || text[at] == ']');
    return n;
}

/* How far in the line stands that opened it; at the end of the text: nothing
 * is open. */
struct open {
    size_t below, sasl;
    int brackets; /* of 'sasl', which hold where lines do not stand further in */
};

/* One line, from `at` to `end`, of a text that has `len` bytes. */
static void
redact_line(char *text, size_t at, size_t end, size_t len, struct open *open)
{
    struct line line = { .text = text, .end = end, .sasl_from = end };
    size_t in = at;

    while (in < end && text[in] == ' ')
        in++;
    if (in < end && in - at <= open->below)
        open->below = len;
    if (in < end && in - at <= open->sasl && open->brackets <= 0) {
        open->sasl = has_sasl(text, in, end) ? in - at : len;
        open->brackets = 0;
    } else {
        line.of_sasl = open->sasl < len;
    }
    if (open->sasl < len)
        open->brackets += count_open(text, in, end);
    if (open->below < len)
        redact_below(text, in, end);
    else if (redact_keys(&line, in) || opens_below(text, in, end))
        open->below = in - at;
    redact_words(&line, line.of_sasl ? in : line.sasl_from, end);
    redact_url(text, at, end);
}

void
redact_source(char *text, size_t len)
{
    struct open open = { len, len, 0 };

    redact_pem(text, len);
    for (size_t at = 0; at < len;) {
        const char *line_end = memchr(text + at, '\n', len - at);
        size_t end = line_end == NULL ? len : (size_t)(line_end - text);

        redact_line(text, at, end, len, &open);
        at = end + 1;
    }
}
