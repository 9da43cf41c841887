#include "isotome/error.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_text[ISO_ERROR_TEXT_BYTES];

/* A text may quote a file: it stays one line, and cannot command a terminal. */
static void drop_controls(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            *text = '?';
        }
    }
}

/*
 * Make text the record. It comes from a buffer of the caller because the
 * arguments of a message may point into the record that it replaces.
 */
static void record(const char *text, int length)
{
    if (length < 0) {
        text = "(the text of this error cannot be printed)";
        length = (int)strlen(text);
    }
    if (length < ISO_ERROR_TEXT_BYTES) {
        memcpy(error_text, text, (size_t)length + 1);
    } else {
        memcpy(error_text, text, ISO_ERROR_TEXT_BYTES - 4);
        memcpy(error_text + ISO_ERROR_TEXT_BYTES - 4, "...", 4);
    }
    drop_controls(error_text);
}

void iso__fail(iso_status_t status, const char *format, ...)
{
    char text[ISO_ERROR_TEXT_BYTES];
    va_list args;

    ISO_ASSERT(status != ISO_OK);
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    record(text, length);
}

void iso__fail_context(iso_status_t status, const char *format, ...)
{
    char context[ISO_ERROR_TEXT_BYTES];
    va_list args;

    ISO_ASSERT(status != ISO_OK);
    va_start(args, format);
    int length = vsnprintf(context, sizeof context, format, args);
    va_end(args);
    if (length >= 0) {
        char text[ISO_ERROR_TEXT_BYTES];
        length = snprintf(text, sizeof text, "%s: %s", context, error_text);
        record(text, length);
    }
}

const char *iso_error_text(void)
{
    return error_text;
}

void iso_error_clear(void)
{
    error_text[0] = '\0';
}
