/*
 * The text that goes with a status.
 *
 * The first function that knows what went wrong records one line: the thing,
 * the value found, the value expected, what to do. Nothing is printed until
 * the program (or, in a parallel job, iso_par_agree) knows who must print.
 *
 *     if (stat(path, &info) != 0) {
 *         return iso_fail(ISO_INPUT, "cannot open '%s': %s", path,
 *                         strerror(errno));
 *     }
 *
 * The record is one for each thread; a later failure replaces an earlier one.
 */
#ifndef ISO_ERROR_H
#define ISO_ERROR_H

#include "isotome/status.h"

/* Longest text kept, with its ending zero; longer ones are cut with "...". */
enum { ISO_ERROR_TEXT_BYTES = 4096 };

/*
 * Record a failure and give its status.
 *
 * Not collective.
 * status  [in]  must not be ISO_OK
 * ...     [in]  printf format and values: one line, no ending newline, no
 *               "isotome:" in front
 *
 * Macros, so that a compiler sees that a function which ends in
 * iso_fail(ISO_INVAL, ...) does not give ISO_OK.
 */
#define iso_fail(status, ...) (iso__fail((status), __VA_ARGS__), (status))

/*
 * Put "context: " in front of the recorded text, for a caller that knows
 * which file or node the failure belongs to. Gives status, so that it can end
 * a function.
 */
#define iso_fail_context(status, ...) \
    (iso__fail_context((status), __VA_ARGS__), (status))

void iso__fail(iso_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void iso__fail_context(iso_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Text of this thread's latest failure; "" when there is none. Borrowed. */
const char *iso_error_text(void);

/* Forget this thread's latest failure. */
void iso_error_clear(void);

#endif
