#include "utf8.h"

#include <assert.h>
#include <string.h>

static bool
is_tail(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return false;
    }
    return true;
}

size_t
utf8_next(const char *text, size_t left, uint32_t *point)
{
    const uint8_t *b = (const uint8_t *)text;
    size_t n;
    uint32_t c;

    if (left == 0)
        return 0;
    if (b[0] < 0x80) {
        *point = b[0];
        return 1;
    }
    n = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || n > left || !is_tail(b + 1, n - 1))
        return 0;
    c = b[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (b[i] & 0x3Fu);
    if ((n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10FFFF)) ||
        (c >= 0xD800 && c <= 0xDFFF))
        return 0; /* longer than need be, too high, or half a pair */
    *point = c;
    return n;
}

struct range {
    uint32_t first, last;
};

static bool
is_in(const struct range *ranges, size_t n, uint32_t point)
{
    for (size_t i = 0; i < n; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    }
    return false;
}

bool
utf8_is_safe(uint32_t point)
{
    static const struct range unsafe[] = {
        { 0, 0x1F },        /* controls */
        { 0x7F, 0x9F },     /* DEL and more controls */
        { 0x61C, 0x61C },   /* direction of writing */
        { 0x200E, 0x200F }, /* the same */
        { 0x2028, 0x202E }, /* separators, direction of writing */
        { 0x2066, 0x2069 }, /* direction of writing */
        { 0xFEFF, 0xFEFF }, /* byte order mark */
    };

    return !is_in(unsafe, sizeof unsafe / sizeof unsafe[0], point);
}

size_t
utf8_width(uint32_t point)
{
    static const struct range none[] = {
        { 0x300, 0x36F },
        { 0x200B, 0x200D },
        { 0x20D0, 0x20FF },
        { 0xFE00, 0xFE0F },
    };
    static const struct range wide[] = {
        { 0x1100, 0x115F },
        { 0x2E80, 0xA4CF },
        { 0xAC00, 0xD7A3 },
        { 0xF900, 0xFAFF },
        { 0xFE30, 0xFE6F },
        { 0xFF00, 0xFF60 },
        { 0xFFE0, 0xFFE6 },
        { 0x1F300, 0x1FAFF },
        { 0x20000, 0x3FFFD },
    };

    if (is_in(none, sizeof none / sizeof none[0], point))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], point) ? 2 : 1;
}

void
utf8_hex(char *out, const char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    assert(n <= 4);
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)bytes[i];

        *out++ = '\\';
        *out++ = 'x';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 0xF];
    }
    *out = '\0';
}

size_t
utf8_escape(char *out, size_t size, const char *text, size_t len)
{
    size_t used = 0;

    assert(size > 0);
    for (size_t at = 0; at < len;) {
        uint32_t point = 0;
        size_t n = utf8_next(text + at, len - at, &point);
        bool plain = n != 0 && utf8_is_safe(point);
        size_t bytes = n == 0 ? 1 : n;
        size_t room = plain ? bytes : 4 * bytes;

        if (room >= size - used)
            break;
        if (plain)
            memcpy(out + used, text + at, bytes);
        else
            utf8_hex(out + used, text + at, bytes);
        used += room;
        at += bytes;
    }
    out[used] = '\0';
    return used;
}
