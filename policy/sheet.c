#include "sheet.h"

#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One finding, then the text is of no use: false. */
static bool
refuse(struct findings *found, const char *code, struct span at,
    const char *text, const char *remedy)
{
    findings_add(found, code, SEVERITY_REFUSE, at, "%s", text);
    findings_remedy(found, "%s", remedy);
    return false;
}

/* A tab in front of the first word: what it was to mean is anybody's guess. */
static bool
take_tab(struct sheet *sheet, size_t i, struct span at, bool *said,
    struct findings *found)
{
    const char *start = sheet->text + i - (size_t)(at.column - 1);
    bool indents = strspn(start, " ") >= (size_t)(at.column - 1);

    if (!*said)
        refuse(found, "KP006", at,
            "a tab: how far it moves is not the same everywhere", "use spaces");
    *said = true;
    sheet->text[i] = ' ';
    return !indents;
}

static bool
scan_line(struct sheet *sheet, size_t from, size_t to, bool *tab_said,
    struct findings *found)
{
    struct span at = { (int)sheet->n_lines, 0, 1 };
    uint32_t point = 0;
    size_t n = 0;

    for (size_t i = from; i < to; i += n) {
        at.column = (int)(i - from) + 1;
        n = utf8_next(sheet->text + i, to - i, &point);
        at.length = n == 0 ? 1 : (int)n;
        if (n == 0)
            return refuse(found, "KP008", at, "this byte is not UTF-8",
                "save the file as UTF-8");
        if (point == '\t') {
            if (!take_tab(sheet, i, at, tab_said, found))
                return false;
        } else if (!utf8_is_safe(point)) {
            return refuse(found, "KP008", at,
                "a control or invisible character stands here",
                "take the character out");
        }
    }
    return true;
}

/* What some editors put in front of a text, or write instead of UTF-8. */
static bool
check_encoding(const struct sheet *sheet, struct findings *found)
{
    static const char mark[] = "\xef\xbb\xbf";
    const struct span at = { 1, 1, 1 };
    const unsigned char *bytes = (const unsigned char *)sheet->text;
    size_t len = sheet->len;

    if (len >= 3 && memcmp(bytes, mark, 3) == 0)
        return refuse(found, "KP008", at,
            "a byte order mark (BOM) stands in front of the text",
            "save the file as UTF-8 without a BOM, or\n"
            "sed -i '1s/^\\xEF\\xBB\\xBF//' FILE");
    if (len >= 2 &&
        ((bytes[0] == 0xff && bytes[1] == 0xfe) ||
            (bytes[0] == 0xfe && bytes[1] == 0xff) ||
            (bytes[0] == '\0' && bytes[1] >= ' ' && bytes[1] < 0x7f) ||
            (bytes[1] == '\0' && bytes[0] >= ' ' && bytes[0] < 0x7f)))
        return refuse(found, "KP008", at, "the file is UTF-16, not UTF-8",
            "save the file as UTF-8, or\n"
            "iconv -f UTF-16 -t UTF-8 FILE >NEW");
    return true;
}

static bool
scan(struct sheet *sheet, struct findings *found)
{
    bool tab_said = false;

    for (size_t at = 0; at <= sheet->len;) {
        const char *end = memchr(sheet->text + at, '\n', sheet->len - at);
        size_t to = end == NULL ? sheet->len : (size_t)(end - sheet->text);

        sheet->lines[sheet->n_lines++] = at;
        at = to + 1;
        if (end != NULL && to > sheet->lines[sheet->n_lines - 1] &&
            sheet->text[to - 1] == '\r')
            to--;
        if (!scan_line(sheet, sheet->lines[sheet->n_lines - 1], to, &tab_said,
                found))
            return false;
    }
    return true;
}

bool
sheet_read(struct sheet *sheet, const char *text, size_t len,
    struct findings *found)
{
    memset(sheet, 0, sizeof *sheet);
    sheet->len = len;
    sheet->text = malloc(len + 1);
    sheet->lines = calloc(len + 2, sizeof *sheet->lines);
    if (sheet->text == NULL || sheet->lines == NULL)
        return refuse(found, "KP001", (struct span){ 0 },
            "there is no memory to read it", "free some memory");
    if (len > 0)
        memcpy(sheet->text, text, len);
    sheet->text[len] = '\0';
    return check_encoding(sheet, found) && scan(sheet, found);
}

void
sheet_drop(struct sheet *sheet)
{
    free(sheet->text);
    free(sheet->lines);
    memset(sheet, 0, sizeof *sheet);
}

static size_t
byte_of(const struct sheet *sheet, size_t line, size_t column)
{
    size_t at = sheet->lines[line];

    for (size_t i = 0; i < column && at < sheet->len; i++)
        do
            at++;
        while (at < sheet->len && (sheet->text[at] & 0xc0) == 0x80);
    return at;
}

struct span
sheet_span(const struct sheet *sheet, size_t line, size_t column,
    size_t end_line, size_t end_column)
{
    size_t here = line < sheet->n_lines ? line : sheet->n_lines - 1;
    size_t from = byte_of(sheet, here, column);
    size_t to = end_line == line ? byte_of(sheet, here, end_column) : from;

    return (struct span){ (int)here + 1, (int)(from - sheet->lines[here]) + 1,
        to > from ? (int)(to - from) : 1 };
}
