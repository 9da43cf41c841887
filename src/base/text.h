/*
 * Text: a growing string, numbers as people read them, and strict parsing.
 */
#ifndef ISO_TEXT_H
#define ISO_TEXT_H

#include "isotome/status.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A growing text. A failed allocation is remembered in status, so that a
 * printer checks once at its end. Start with {0}.
 */
typedef struct iso_text {
    char *data; /* ends with a zero; NULL while empty */
    size_t length;
    size_t capacity;
    iso_status_t status;
} iso_text_t;

void iso_text_add(iso_text_t *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void iso_text_free(iso_text_t *text);

/* "12.3 MiB", "532 B"; "4.09 G" for counts; "1.2 ms" for seconds. buffer has
 * ISO_TEXT_NUMBER_BYTES bytes; returns buffer. */
enum { ISO_TEXT_NUMBER_BYTES = 32 };
const char *iso_text_bytes(size_t bytes, char *buffer);
const char *iso_text_count(double count, char *buffer);
const char *iso_text_seconds(double seconds, char *buffer);

/*
 * Parse a whole text as a decimal integer in [least, most]: no sign "+", no
 * blank, no trailing rest.
 *
 * what  [in]  names the thing in the error, for example "--micro-batch"
 * Errors: ISO_INVAL naming what, the text and the range.
 */
iso_status_t iso_text_parse_int(const char *text, const char *what,
                                int64_t least, int64_t most,
                                int64_t *value_out);

/* As above for a finite number; accepts what strtod accepts but "inf", "nan"
 * and hexadecimal. */
iso_status_t iso_text_parse_double(const char *text, const char *what,
                                   double *value_out);

/*
 * Parse "0.485,0.456,.406" into an allocated array.
 *
 * values_out  [out]  owned by the caller, iso_free()
 */
iso_status_t iso_text_parse_doubles(const char *text, const char *what,
                                    double **values_out, int *count_out);

/* The name nearest to text by edit distance, for "did you mean"; NULL when
 * none is near. Names end with NULL. */
const char *iso_text_nearest(const char *text, const char *const *names);

#endif
