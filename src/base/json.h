/*
 * JSON with errors that name the place. Files of this project (plan, machine,
 * graph, report) are read and written through here with jansson.
 *
 * A getter that fails records "<file>: <path>: expected <type>, found
 * <type>" and returns ISO_INPUT. Doubles are written with 17 digits, so that
 * they read back equal.
 */
#ifndef ISO_JSON_H
#define ISO_JSON_H

#include "isotome/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A value and how it was reached, for messages. A value type; borrowed. */
typedef struct iso_json {
    json_t *value;
    const struct iso_json *parent; /* NULL at the root */
    const char *key;               /* name of the file at the root */
    size_t index;                  /* place in the parent array when !key */
} iso_json_t;

/*
 * Read a whole file (at most 256 MiB) or text. file_out->value is owned:
 * json_decref() it. Errors: ISO_INPUT with line and column.
 */
iso_status_t iso_json_read(const char *path, iso_json_t *file_out);
iso_status_t iso_json_parse(const char *text, size_t length, const char *what,
                            iso_json_t *root_out);

/* Member of an object; each fails when it is missing or of another type. */
iso_status_t iso_json_object(const iso_json_t *in, const char *key,
                             iso_json_t *out);
iso_status_t iso_json_array(const iso_json_t *in, const char *key,
                            iso_json_t *out);
iso_status_t iso_json_text(const iso_json_t *in, const char *key,
                           const char **out);
iso_status_t iso_json_int(const iso_json_t *in, const char *key, int64_t least,
                          int64_t most, int64_t *out);
iso_status_t iso_json_double(const iso_json_t *in, const char *key,
                             double *out);
iso_status_t iso_json_bool(const iso_json_t *in, const char *key, bool *out);
bool iso_json_has(const iso_json_t *in, const char *key);

/* Elements of an array. */
size_t iso_json_size(const iso_json_t *array);
iso_json_t iso_json_at(const iso_json_t *array, size_t index);
iso_status_t iso_json_as_int(const iso_json_t *in, int64_t least, int64_t most,
                             int64_t *out);
iso_status_t iso_json_as_text(const iso_json_t *in, const char **out);

/* Refuse members that are not in the list (ends with NULL), by name. */
iso_status_t iso_json_only(const iso_json_t *in, const char *const *keys);

/* Record a failure at this place. */
iso_status_t iso_json_fail(const iso_json_t *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print compact (indent 0) or indented. *text_out is owned: free() it. */
iso_status_t iso_json_print(const json_t *value, int indent, char **text_out);

/* Write to a temporary name beside path, fsync, rename. */
iso_status_t iso_json_write(const json_t *value, const char *path);

#endif
