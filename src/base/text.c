#include "base/text.h"

#include "isotome/error.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for length more bytes and the ending zero. */
static iso_status_t reserve(iso_text_t *text, size_t length)
{
    size_t needed = text->length + length + 1;
    size_t capacity = text->capacity * 2;

    if (needed <= text->capacity) {
        return ISO_OK;
    }
    if (capacity < needed) {
        capacity = needed < 256 ? 256 : needed;
    }
    char *data = iso_realloc(text->data, capacity);
    if (data == NULL) {
        return ISO_NOMEM;
    }
    text->data = data;
    text->capacity = capacity;
    return ISO_OK;
}

void iso_text_add(iso_text_t *text, const char *format, ...)
{
    va_list args;

    if (text->status != ISO_OK) {
        return;
    }
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        text->status = iso_fail(ISO_INTERNAL,
                                "cannot print a text in the form '%s'", format);
        return;
    }
    text->status = reserve(text, (size_t)length);
    if (text->status == ISO_OK) {
        va_start(args, format);
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format,
                        args);
        va_end(args);
        text->length += (size_t)length;
    }
}

void iso_text_free(iso_text_t *text)
{
    iso_free(text->data);
    *text = (iso_text_t){0};
}

/*
 * Three digits and a unit. Units go up by step; a value that would be
 * printed as a full step (999.7 of 1000) takes the next unit.
 */
static const char *print_scaled(double value, double step,
                                const char *const *units, char *buffer)
{
    while (units[1] != NULL && value >= step - 0.5) {
        value /= step;
        units++;
    }
    const char *blank = units[0][0] == '\0' ? "" : " ";
    if (value >= 999.5 && value < 1e15) {
        (void)snprintf(buffer, ISO_TEXT_NUMBER_BYTES, "%.0f%s%s", value, blank,
                       units[0]);
    } else {
        (void)snprintf(buffer, ISO_TEXT_NUMBER_BYTES, "%.3g%s%s", value, blank,
                       units[0]);
    }
    return buffer;
}

const char *iso_text_bytes(size_t bytes, char *buffer)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB", NULL};

    return print_scaled((double)bytes, 1024.0, units, buffer);
}

const char *iso_text_count(double count, char *buffer)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};

    return print_scaled(count, 1000.0, units, buffer);
}

const char *iso_text_seconds(double seconds, char *buffer)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};

    if (seconds < 59.95) {
        return print_scaled(seconds * 1e9, 1000.0, units, buffer);
    }
    if (seconds < 3599.5) {
        int whole = (int)(seconds + 0.5);
        (void)snprintf(buffer, ISO_TEXT_NUMBER_BYTES, "%d min %d s", whole / 60,
                       whole % 60);
    } else if (seconds < 1e9) {
        int minutes = (int)(seconds / 60.0 + 0.5);
        (void)snprintf(buffer, ISO_TEXT_NUMBER_BYTES, "%d h %d min",
                       minutes / 60, minutes % 60);
    } else {
        (void)snprintf(buffer, ISO_TEXT_NUMBER_BYTES, "%.3g s", seconds);
    }
    return buffer;
}

static bool only_chars(const char *text, const char *allowed)
{
    return text[0] != '\0' && text[strspn(text, allowed)] == '\0';
}

iso_status_t iso_text_parse_int(const char *text, const char *what,
                                int64_t least, int64_t most, int64_t *value_out)
{
    const char *digits = text[0] == '-' ? text + 1 : text;

    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (!only_chars(digits, "0123456789") || errno == ERANGE || value < least ||
        value > most) {
        return iso_fail(ISO_INVAL,
                        "%s: '%s' is not a whole number from %lld to %lld",
                        what, text, (long long)least, (long long)most);
    }
    *value_out = value;
    return ISO_OK;
}

iso_status_t iso_text_parse_double(const char *text, const char *what,
                                   double *value_out)
{
    char *end = NULL;
    double value = strtod(text, &end);

    /* The allowed letters leave out blanks, inf, nan and 0x. */
    if (!only_chars(text, "0123456789+-.eE") || *end != '\0' ||
        !isfinite(value)) {
        return iso_fail(ISO_INVAL, "%s: '%s' is not a finite number", what,
                        text);
    }
    *value_out = value;
    return ISO_OK;
}

/* Parse list, in which a zero now ends each of count numbers. */
static iso_status_t parse_pieces(const char *list, int count, const char *what,
                                 double *values)
{
    for (int i = 0; i < count; i++) {
        ISO_TRY(iso_text_parse_double(list, what, &values[i]));
        list += strlen(list) + 1;
    }
    return ISO_OK;
}

iso_status_t iso_text_parse_doubles(const char *text, const char *what,
                                    double **values_out, int *count_out)
{
    int count = 1;
    iso_status_t status = ISO_NOMEM;
    double *values = NULL;
    char *list = iso_text_copy(text);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    for (char *comma = strchr(list, ','); comma != NULL;
         comma = strchr(comma + 1, ',')) {
        *comma = '\0';
        count++;
    }
    values = iso_alloc_zeroed((size_t)count, sizeof *values);
    if (values == NULL) {
        goto free_list;
    }
    status = parse_pieces(list, count, what, values);
    if (status != ISO_OK) {
        (void)iso_fail_context(status, "in the list '%s'", text);
        goto free_values;
    }
    *values_out = values;
    *count_out = count;
    goto free_list;

free_values:
    iso_free(values);
free_list:
    iso_free(list);
    return status;
}

enum { NEAREST_LONGEST = 63 };

/* Levenshtein's distance, one row of the table at a time. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NEAREST_LONGEST + 1];
    size_t length = strlen(b);

    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t best = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            best = best < diagonal + 1 ? best : diagonal + 1;
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[length];
}

const char *iso_text_nearest(const char *text, const char *const *names)
{
    const char *nearest = NULL;
    size_t length = strlen(text);
    size_t limit = (length + 1) / 3; /* more changes are another word */

    if (length > NEAREST_LONGEST) {
        return NULL;
    }
    for (; *names != NULL; names++) {
        if (strlen(*names) > NEAREST_LONGEST) {
            continue;
        }
        size_t distance = edit_distance(text, *names);
        if (distance < limit || (distance == limit && nearest == NULL)) {
            limit = distance;
            nearest = *names;
        }
    }
    return nearest;
}
