#include "format.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    int64_t factor;
};

/* From the smallest to the largest that texts are made with. */
static const struct unit durations[] = {
    { "ms", 1 },
    { "s", 1000 },
    { "m", INT64_C(60) * 1000 },
    { "h", INT64_C(60) * 60 * 1000 },
    { "d", INT64_C(24) * 60 * 60 * 1000 },
};

static const struct unit sizes[] = {
    { "B", 1 },
    { "KiB", INT64_C(1) << 10 },
    { "MiB", INT64_C(1) << 20 },
    { "GiB", INT64_C(1) << 30 },
};

static const struct unit thousands[] = {
    { "kB", 1000 },
    { "MB", INT64_C(1000) * 1000 },
    { "GB", INT64_C(1000) * 1000 * 1000 },
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Digits from *at on; moves *at behind them.  False without any, or when they
 * are too many. */
static bool
take_digits(const char **at, int64_t *number)
{
    const char *start = *at;
    int64_t sum = 0;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (sum > (INT64_MAX - 9) / 10)
            return false;
        sum = sum * 10 + (**at - '0');
    }
    *number = sum;
    return *at > start;
}

static bool
take_unit(const char *name, const struct unit *units, size_t n, int64_t *number)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, units[i].name) != 0)
            continue;
        if (*number > INT64_MAX / units[i].factor)
            return false;
        *number *= units[i].factor;
        return true;
    }
    return false;
}

enum format_result
format_duration(const char *text, int64_t *ms)
{
    if (!take_digits(&text, ms))
        return FORMAT_BAD;
    if (*text == '\0')
        return FORMAT_NO_UNIT;
    return take_unit(text, durations, COUNT(durations), ms) ? FORMAT_FITS
                                                            : FORMAT_BAD;
}

enum format_result
format_bytes(const char *text, int64_t *bytes)
{
    if (!take_digits(&text, bytes))
        return FORMAT_BAD;
    if (*text == '\0')
        return FORMAT_NO_UNIT;
    if (take_unit(text, sizes, COUNT(sizes), bytes) ||
        take_unit(text, thousands, COUNT(thousands), bytes))
        return FORMAT_FITS;
    return FORMAT_BAD;
}

enum format_result
format_int(const char *text, int64_t *number)
{
    bool minus = *text == '-';

    if (minus)
        text++;
    if (!take_digits(&text, number) || *text != '\0')
        return FORMAT_BAD;
    if (minus)
        *number = -*number;
    return FORMAT_FITS;
}

static void
unit_text(char *text, size_t size, int64_t number, const struct unit *units,
    size_t n)
{
    size_t best = 0;

    for (size_t i = 0; number != 0 && i < n; i++)
        if (number % units[i].factor == 0)
            best = i;
    snprintf(text, size, "%lld%s", (long long)(number / units[best].factor),
        units[best].name);
}

void
format_duration_text(char *text, size_t size, int64_t ms)
{
    unit_text(text, size, ms, durations, COUNT(durations));
}

void
format_bytes_text(char *text, size_t size, int64_t bytes)
{
    unit_text(text, size, bytes, sizes, COUNT(sizes));
}

/* How far from the middle of min..max, as the square of a ratio. */
static double
distance(double number, int64_t min, int64_t max)
{
    double ratio = number * number / ((double)min * (double)max);

    return ratio < 1 ? 1 / ratio : ratio;
}

struct scale {
    const struct unit *units, *usual;
    size_t n;
};

/* "hours", "Min", "MB/s": the unit whose first letter that is. */
static const struct unit *
begins_so(const struct scale *scale, const char *word)
{
    bool ms =
        strncasecmp(word, "ms", 2) == 0 || strncasecmp(word, "mil", 3) == 0;

    for (size_t i = 0; *word != '\0' && i < scale->n; i++) {
        const char *name = scale->units[i].name;

        if (strcmp(name, "ms") == 0 ? ms
                                    : !ms && strncasecmp(word, name, 1) == 0)
            return &scale->units[i];
    }
    return NULL;
}

static bool
guess(char *text, size_t size, const char *number, const struct scale *scale,
    int64_t min, int64_t max)
{
    const struct unit *best = max == 0 ? scale->usual : NULL;
    const char *end = number;
    int64_t bare = 0;

    text[0] = '\0';
    if (!take_digits(&end, &bare))
        return false;
    if (*end != '\0') {
        best = begins_so(scale, end + strspn(end, " "));
        min = max = 0;
    }
    if (min < 1)
        min = 1;
    for (size_t i = 0; max > 0 && i < scale->n; i++) {
        const struct unit *unit = &scale->units[i];
        double scaled = (double)bare * (double)unit->factor;

        if (scaled < (double)min || scaled > (double)max)
            continue;
        if (best == NULL ||
            distance(scaled, min, max) <
                distance((double)bare * (double)best->factor, min, max))
            best = unit;
    }
    if (best != NULL)
        snprintf(text, size, "%lld%s", (long long)bare, best->name);
    return best != NULL;
}

bool
format_duration_guess(char *text, size_t size, const char *number, int64_t min,
    int64_t max)
{
    static const struct scale scale = { durations, &durations[1],
        COUNT(durations) };

    return guess(text, size, number, &scale, min, max);
}

bool
format_bytes_guess(char *text, size_t size, const char *number, int64_t min,
    int64_t max)
{
    static const struct scale scale = { sizes, &sizes[2], COUNT(sizes) };

    return guess(text, size, number, &scale, min, max);
}

bool
format_is_name(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return len >= 1 && len <= 40 && text[len] == '\0';
}

bool
format_split_address(const char *text, char *host, size_t size, int *port)
{
    const char *colon = strrchr(text, ':');
    const char *at = colon == NULL ? NULL : colon + 1;
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    int64_t number = 0;

    if (at == NULL || !take_digits(&at, &number) || *at != '\0' || number < 1 ||
        number > 65535)
        return false;
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    } else if (memchr(text, ':', len) != NULL) {
        return false; /* which colon is meant? */
    }
    if (len == 0 || len >= size)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    *port = (int)number;
    return true;
}

bool
format_is_address(const char *text)
{
    unsigned char bytes[16];
    char host[256];
    int port = 0;

    if (!format_split_address(text, host, sizeof host, &port))
        return false;
    if (text[0] == '[')
        return inet_pton(AF_INET6, host, bytes) == 1;
    return host[0] != '.' && host[0] != '-' &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-._") == strlen(host);
}

bool
format_is_network(const char *text)
{
    const char *slash = strchr(text, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - text);
    const char *at = slash == NULL ? NULL : slash + 1;
    unsigned char bytes[16];
    char host[INET6_ADDRSTRLEN];
    int64_t bits = 0;

    if (len == 0 || len >= sizeof host || !take_digits(&at, &bits) ||
        *at != '\0')
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    if (inet_pton(AF_INET, host, bytes) == 1)
        return bits <= 32;
    return inet_pton(AF_INET6, host, bytes) == 1 && bits <= 128;
}

bool
format_is_path(const char *text)
{
    return text[0] == '/' && text[1] != '\0';
}

/* ---- times -------------------------------------------------------------- */

/* Exactly `n` digits, and then the character behind them (0: none is asked). */
static bool
take_part(const char **at, int n, char behind, int64_t *number)
{
    *number = 0;
    for (int i = 0; i < n; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *number = *number * 10 + (**at - '0');
    }
    if (behind != '\0' && *(*at)++ != behind)
        return false;
    return true;
}

static bool
take_date(const char **at, int64_t *days)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30,
        31 };
    int64_t year = 0, month = 0, day = 0;
    bool leap = false;

    if (!take_part(at, 4, '-', &year) || !take_part(at, 2, '-', &month) ||
        !take_part(at, 2, '\0', &day))
        return false;
    leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (leap && month == 2))
        return false;
    *days = 365 * (year - 1970) + (year - 1969) / 4 - (year - 1901) / 100 +
            (year - 1601) / 400 + day - 1;
    for (int64_t m = 1; m < month; m++)
        *days += lengths[m - 1] + (leap && m == 2);
    return true;
}

/* Z, or +hh:mm; the offset in minutes. */
static bool
take_zone(const char **at, int64_t *minutes)
{
    int64_t hour = 0, minute = 0;
    char sign = *(*at)++;

    *minutes = 0;
    if (sign == 'Z')
        return true;
    if ((sign != '+' && sign != '-') || !take_part(at, 2, ':', &hour) ||
        !take_part(at, 2, '\0', &minute) || hour > 23 || minute > 59)
        return false;
    *minutes = (hour * 60 + minute) * (sign == '-' ? -1 : 1);
    return true;
}

static int64_t
take_fraction(const char **at)
{
    int64_t ms = 0, weight = 100;

    if (**at != '.')
        return 0;
    for ((*at)++; **at >= '0' && **at <= '9'; (*at)++, weight /= 10)
        ms += weight * (**at - '0');
    return ms;
}

bool
format_time(const char *text, int64_t *wall_ms)
{
    int64_t days = 0, hour = 0, minute = 0, second = 0, zone = 0;

    if (!take_date(&text, &days))
        return false;
    *wall_ms = days * 24 * 60 * 60 * 1000;
    if (*text == '\0')
        return true;
    if ((*text != 'T' && *text != ' ') || *text++ == '\0' ||
        !take_part(&text, 2, ':', &hour) ||
        !take_part(&text, 2, ':', &minute) ||
        !take_part(&text, 2, '\0', &second) || hour > 23 || minute > 59 ||
        second > 59)
        return false;
    *wall_ms += ((hour * 60 + minute) * 60 + second) * 1000;
    *wall_ms += take_fraction(&text);
    if (!take_zone(&text, &zone) || *text != '\0')
        return false;
    *wall_ms -= zone * 60 * 1000;
    return *wall_ms >= 0;
}

bool
format_is_date(const char *text)
{
    int64_t days = 0;

    return take_date(&text, &days) && *text == '\0';
}

bool
format_is_ratio(const char *text)
{
    int64_t whole = 0, part = 0;

    if (!take_digits(&text, &whole))
        return false;
    if (*text == '.' && (++text, !take_digits(&text, &part)))
        return false;
    return *text == '\0' && (whole > 0 || part > 0);
}
