/* format.h - what an operator writes into one value, as a number or a verdict.
 *
 * Durations and sizes carry units, so that nobody has to guess whether 30 is
 * seconds; addresses, networks, paths and times have one form each.
 *
 * Thread: any; no state.   Memory: none. */
#ifndef KEDGE_FORMAT_H
#define KEDGE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format_result {
    FORMAT_FITS,
    FORMAT_NO_UNIT, /* a bare number */
    FORMAT_BAD,
};

/* 250ms 30s 10m 72h 7d.  More than INT64_MAX ms is bad. */
enum format_result format_duration(const char *text, int64_t *ms);

/* 512B 64KiB 20MiB 1GiB, and kB MB GB for thousands. */
enum format_result format_bytes(const char *text, int64_t *bytes);

/* Digits, with a '-' in front or not; FORMAT_NO_UNIT never. */
enum format_result format_int(const char *text, int64_t *number);

/* The shortest text in whole units that reads back as the same. */
#define FORMAT_TEXT_SIZE 32
void format_duration_text(char *text, size_t size, int64_t ms);
void format_bytes_text(char *text, size_t size, int64_t bytes);

/* A number with the unit that was most likely meant.  Behind a bare one: within
 * min..max, the one that is nearest to its middle (as a ratio); without limits
 * (max 0) s or MiB.  Behind "64 M", "10 min" and the like: the one that begins
 * so.  False with an empty text: no unit makes it fit. */
bool format_duration_guess(char *text, size_t size, const char *number,
    int64_t min, int64_t max);
bool format_bytes_guess(char *text, size_t size, const char *number,
    int64_t min, int64_t max);

/* Each true when the text is one. */
bool format_is_name(const char *text);    /* [a-z0-9-]{1,40} */
bool format_is_address(const char *text); /* host:port, [::1]:port */
bool format_is_network(const char *text); /* 192.0.2.0/24, 2001:db8::/32 */
bool format_is_path(const char *text);    /* absolute */

/* RFC 3339 in UTC ("2026-11-30T21:56:12Z", with a fraction or not, or with an
 * offset), or the date alone; since 1970. */
bool format_time(const char *text, int64_t *wall_ms);
bool format_is_date(const char *text);  /* 2026-11-30 */
bool format_is_ratio(const char *text); /* 1.8, 2; above 0 */

/* Splits host and port; the host without brackets into `host`. */
bool format_split_address(const char *text, char *host, size_t size, int *port);

#endif
