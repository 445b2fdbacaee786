/* sheet.h - the text of a file, before anything tries to understand it.
 *
 * Some characters are read differently by people, editors and parsers: tabs,
 * control and invisible characters, bytes that are not UTF-8.  A sheet refuses
 * them by name and place, so that whatever reads it afterwards need not think
 * of them, and it knows where in bytes a line and a character stand.
 *
 * Thread: one owner.
 * Memory: sheet_read() copies, sheet_drop() frees; the struct is the caller's.
 * Cost:   one pass. */
#ifndef KEDGE_SHEET_H
#define KEDGE_SHEET_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

struct sheet {
    char *text; /* NUL-terminated; tabs are spaces */
    size_t len;
    size_t *lines; /* where each line starts, in bytes */
    size_t n_lines;
};

/* False when a finding says why the text cannot be used.  A tab behind the
 * first word of a line is a finding, too, but the text can be read on. */
bool sheet_read(struct sheet *sheet, const char *text, size_t len,
    struct findings *found);
void sheet_drop(struct sheet *sheet); /* also after a failed sheet_read() */

/* From here to there, lines and characters counted from 0, as a place in
 * bytes counted from 1; at least one byte, and never beyond the first line. */
struct span sheet_span(const struct sheet *sheet, size_t line, size_t column,
    size_t end_line, size_t end_column);

#endif
