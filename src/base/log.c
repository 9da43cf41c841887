#include "base/log.h"

#include "isotome/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Holds an error text of full length and what goes before it. */
enum { LINE_BYTES = ISO_ERROR_TEXT_BYTES + 128 };

/* 0 while this process is alone or the first. */
static atomic_int shown_rank;
static atomic_bool quiet_notes;

void iso_log_set_rank(int rank, int size)
{
    atomic_store(&shown_rank, size > 1 ? rank : 0);
}

void iso_log_set_quiet(bool quiet)
{
    atomic_store(&quiet_notes, quiet);
}

/* Write what goes before each message; returns its length. */
static size_t print_prefix(char *line, iso_log_level_t level)
{
    const char *kind = level == ISO_LOG_WARNING ? "warning: " : "";
    int rank = atomic_load(&shown_rank);
    int length = 0;

    if (rank != 0) {
        length = snprintf(line, LINE_BYTES, "isotome: rank %d: %s", rank, kind);
    } else {
        length = snprintf(line, LINE_BYTES, "isotome: %s", kind);
    }
    return length > 0 ? (size_t)length : 0;
}

void iso_log(iso_log_level_t level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    if (level == ISO_LOG_NOTE && atomic_load(&quiet_notes)) {
        return;
    }
    size_t start = print_prefix(line, level);
    size_t room = sizeof line - start - 1; /* one byte stays for the newline */
    va_start(args, format);
    int length = vsnprintf(line + start, room, format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    size_t end = start + (size_t)length;
    if ((size_t)length >= room) {
        end = start + room - 1;
        memcpy(line + end - 3, "...", 4);
    }
    line[end++] = '\n';
    /* One write for each line, so that lines of several ranks stay whole. */
    (void)fwrite(line, 1, end, stderr);
}

_Noreturn void iso__assert_failed(const char *file, int line, const char *expr)
{
    iso_log(ISO_LOG_ERROR,
            "%s:%d: internal error: '%s' does not hold; please report it", file,
            line, expr);
    abort();
}
