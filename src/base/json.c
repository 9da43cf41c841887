#include "base/json.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_LIMIT_BYTES = 256 << 20,
    SHOWN_DEPTH = 64, /* places deeper than this are cut at the front */
};

/* jansson's parser says of a lack of memory that the text is wrong, or loses a
 * character, so that its allocations are watched while it parses. */
static json_malloc_t parser_malloc;
static bool parser_starved;

static void *watched_malloc(size_t bytes)
{
    void *block = parser_malloc(bytes);

    parser_starved = parser_starved || block == NULL;
    return block;
}

static json_t *parse(const char *text, size_t length, json_error_t *error)
{
    json_free_t parser_free = NULL;

    parser_starved = false;
    json_get_alloc_funcs(&parser_malloc, &parser_free);
    json_set_alloc_funcs(watched_malloc, parser_free);
    json_t *value = json_loadb(text, length,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, error);
    json_set_alloc_funcs(parser_malloc, parser_free);
    return value;
}

iso_status_t iso_json_parse(const char *text, size_t length, const char *what,
                            iso_json_t *root_out)
{
    json_error_t error;
    json_t *value = parse(text, length, &error);

    if (parser_starved) {
        json_decref(value);
        return iso_fail(ISO_NOMEM, "out of memory: cannot read %s", what);
    }
    if (value == NULL) {
        return iso_fail(ISO_INPUT, "%s: line %d, column %d: %s", what,
                        error.line, error.column, error.text);
    }
    *root_out = (iso_json_t){.value = value, .key = what};
    return ISO_OK;
}

/* Read the rest of file, at most size bytes, into buffer. */
static iso_status_t read_all(int file, const char *path, char *buffer,
                             size_t size, size_t *length_out)
{
    size_t length = 0;

    while (length < size) {
        ssize_t got = read(file, buffer + length, size - length);
        if (got == 0) {
            break;
        }
        if (got > 0) {
            length += (size_t)got;
        } else if (errno != EINTR) {
            return iso_fail(ISO_INPUT, "cannot read '%s': %s", path,
                            strerror(errno));
        }
    }
    *length_out = length;
    return ISO_OK;
}

static iso_status_t read_open_file(int file, const char *path,
                                   iso_json_t *file_out)
{
    struct stat info;
    size_t length = 0;

    if (fstat(file, &info) != 0) {
        return iso_fail(ISO_INPUT, "cannot read '%s': %s", path,
                        strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return iso_fail(ISO_INPUT, "'%s' is not a regular file", path);
    }
    if (info.st_size > FILE_LIMIT_BYTES) {
        return iso_fail(ISO_INPUT,
                        "'%s' has %lld bytes, too many for a JSON file (at "
                        "most %d)",
                        path, (long long)info.st_size, (int)FILE_LIMIT_BYTES);
    }
    char *text = iso_alloc((size_t)info.st_size);
    if (text == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status =
        read_all(file, path, text, (size_t)info.st_size, &length);
    if (status == ISO_OK) {
        status = iso_json_parse(text, length, path, file_out);
    }
    iso_free(text);
    return status;
}

iso_status_t iso_json_read(const char *path, iso_json_t *file_out)
{
    /* O_NONBLOCK: a named pipe must be refused, not waited for. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (file < 0) {
        return iso_fail(ISO_INPUT, "cannot open '%s': %s", path,
                        strerror(errno));
    }
    iso_status_t status = read_open_file(file, path, file_out);
    (void)close(file);
    return status;
}

/* Print the place of a value: "plan.json: stages[3].first". */
static void print_place(const iso_json_t *in, iso_text_t *text)
{
    const iso_json_t *chain[SHOWN_DEPTH];
    int depth = 0;

    for (; in->parent != NULL; in = in->parent) {
        if (depth < SHOWN_DEPTH) {
            chain[depth++] = in;
        }
    }
    iso_text_add(text, "%s", in->key);
    for (int i = depth - 1; i >= 0; i--) {
        bool first = i == depth - 1;
        iso_text_add(text, "%s", first ? ": " : "");
        if (chain[i]->key == NULL) {
            iso_text_add(text, "[%zu]", chain[i]->index);
        } else {
            iso_text_add(text, "%s%s", first ? "" : ".", chain[i]->key);
        }
    }
}

iso_status_t iso_json_fail(const iso_json_t *in, const char *format, ...)
{
    char what[ISO_ERROR_TEXT_BYTES];
    iso_text_t place = {0};
    va_list args;

    va_start(args, format);
    int length = vsnprintf(what, sizeof what, format, args);
    va_end(args);
    print_place(in, &place);
    iso_status_t status = place.status;
    if (status == ISO_OK) {
        status = ISO_INPUT;
        (void)iso_fail(status, "%s: %s", place.data,
                       length < 0 ? "cannot be used" : what);
    }
    iso_text_free(&place);
    return status;
}

static const char *type_name(const json_t *value)
{
    if (value == NULL) {
        return "nothing";
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "real number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "unknown type";
}

static iso_status_t wrong_type(const iso_json_t *in, const char *expected)
{
    return iso_json_fail(in, "expected %s, found %s", expected,
                         type_name(in->value));
}

static iso_status_t find_member(const iso_json_t *in, const char *key,
                                iso_json_t *out)
{
    if (!json_is_object(in->value)) {
        return wrong_type(in, "object");
    }
    json_t *value = json_object_get(in->value, key);
    if (value == NULL) {
        return iso_json_fail(in, "member '%s' is missing", key);
    }
    *out = (iso_json_t){.value = value, .parent = in, .key = key};
    return ISO_OK;
}

iso_status_t iso_json_object(const iso_json_t *in, const char *key,
                             iso_json_t *out)
{
    iso_json_t member = {0};

    ISO_TRY(find_member(in, key, &member));
    if (!json_is_object(member.value)) {
        return wrong_type(&member, "object");
    }
    *out = member;
    return ISO_OK;
}

iso_status_t iso_json_array(const iso_json_t *in, const char *key,
                            iso_json_t *out)
{
    iso_json_t member = {0};

    ISO_TRY(find_member(in, key, &member));
    if (!json_is_array(member.value)) {
        return wrong_type(&member, "array");
    }
    *out = member;
    return ISO_OK;
}

iso_status_t iso_json_text(const iso_json_t *in, const char *key,
                           const char **out)
{
    iso_json_t member = {0};

    ISO_TRY(find_member(in, key, &member));
    return iso_json_as_text(&member, out);
}

iso_status_t iso_json_int(const iso_json_t *in, const char *key, int64_t least,
                          int64_t most, int64_t *out)
{
    iso_json_t member = {0};

    ISO_TRY(find_member(in, key, &member));
    return iso_json_as_int(&member, least, most, out);
}

iso_status_t iso_json_double(const iso_json_t *in, const char *key, double *out)
{
    iso_json_t member = {0};

    ISO_TRY(find_member(in, key, &member));
    if (!json_is_number(member.value)) {
        return wrong_type(&member, "number");
    }
    *out = json_number_value(member.value);
    return ISO_OK;
}

iso_status_t iso_json_bool(const iso_json_t *in, const char *key, bool *out)
{
    iso_json_t member = {0};

    ISO_TRY(find_member(in, key, &member));
    if (!json_is_boolean(member.value)) {
        return wrong_type(&member, "boolean");
    }
    *out = json_is_true(member.value);
    return ISO_OK;
}

bool iso_json_has(const iso_json_t *in, const char *key)
{
    return json_object_get(in->value, key) != NULL;
}

size_t iso_json_size(const iso_json_t *array)
{
    return json_array_size(array->value);
}

iso_json_t iso_json_at(const iso_json_t *array, size_t index)
{
    return (iso_json_t){
        .value = json_array_get(array->value, index),
        .parent = array,
        .index = index,
    };
}

iso_status_t iso_json_as_int(const iso_json_t *in, int64_t least, int64_t most,
                             int64_t *out)
{
    if (!json_is_integer(in->value)) {
        return wrong_type(in, "integer");
    }
    long long value = json_integer_value(in->value);
    if (value < least || value > most) {
        return iso_json_fail(in, "expected %lld to %lld, found %lld",
                             (long long)least, (long long)most, value);
    }
    *out = value;
    return ISO_OK;
}

iso_status_t iso_json_as_text(const iso_json_t *in, const char **out)
{
    if (!json_is_string(in->value)) {
        return wrong_type(in, "string");
    }
    *out = json_string_value(in->value);
    return ISO_OK;
}

iso_status_t iso_json_only(const iso_json_t *in, const char *const *keys)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(in->value)) {
        return wrong_type(in, "object");
    }
    json_object_foreach(in->value, key, value)
    {
        const char *const *known = keys;
        while (*known != NULL && strcmp(*known, key) != 0) {
            known++;
        }
        if (*known == NULL) {
            const char *near = iso_text_nearest(key, keys);
            return iso_json_fail(in, "unknown member '%s'%s%s%s", key,
                                 near == NULL ? "" : "; did you mean '",
                                 near == NULL ? "" : near,
                                 near == NULL ? "" : "'?");
        }
    }
    return ISO_OK;
}

iso_status_t iso_json_print(const json_t *value, int indent, char **text_out)
{
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(17);

    flags |= indent > 0 ? JSON_INDENT((size_t)indent) : JSON_COMPACT;
    char *text = json_dumps(value, flags);
    if (text == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot print JSON");
    }
    *text_out = text;
    return ISO_OK;
}

static iso_status_t write_all(int file, const char *path, const char *text,
                              size_t length)
{
    while (length > 0) {
        ssize_t put = write(file, text, length);
        if (put >= 0) {
            text += put;
            length -= (size_t)put;
        } else if (errno != EINTR) {
            return iso_fail(ISO_IO, "cannot write '%s': %s", path,
                            strerror(errno));
        }
    }
    return ISO_OK;
}

/* A new file: what somebody else has put there, a link perhaps, is not
 * written to. What a process of the same number has left is removed. */
static int create_file(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int file = open(path, flags, 0666);

    if (file < 0 && errno == EEXIST && unlink(path) == 0) {
        file = open(path, flags, 0666);
    }
    return file;
}

/* Write text and a newline to path and flush them to disk. */
static iso_status_t write_file(const char *path, const char *text)
{
    int file = create_file(path);

    if (file < 0) {
        return iso_fail(ISO_IO, "cannot create '%s': %s", path,
                        strerror(errno));
    }
    iso_status_t status = write_all(file, path, text, strlen(text));
    if (status == ISO_OK) {
        status = write_all(file, path, "\n", 1);
    }
    if (status == ISO_OK && fsync(file) != 0) {
        status = iso_fail(ISO_IO, "cannot flush '%s' to disk: %s", path,
                          strerror(errno));
    }
    if (close(file) != 0 && status == ISO_OK) {
        status =
            iso_fail(ISO_IO, "cannot close '%s': %s", path, strerror(errno));
    }
    return status;
}

iso_status_t iso_json_write(const json_t *value, const char *path)
{
    char *text = NULL;
    iso_text_t temporary = {0};
    struct stat info;

    /* A rename would put a file in the place of /dev/null and its like. */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return iso_fail(ISO_IO, "cannot write '%s': not a regular file", path);
    }
    iso_text_add(&temporary, "%s.%ld.tmp", path, (long)getpid());
    iso_status_t status = temporary.status;
    if (status != ISO_OK) {
        goto free_name;
    }
    status = iso_json_print(value, 2, &text);
    if (status != ISO_OK) {
        goto free_name;
    }
    status = write_file(temporary.data, text);
    if (status == ISO_OK && rename(temporary.data, path) != 0) {
        status = iso_fail(ISO_IO, "cannot rename '%s' to '%s': %s",
                          temporary.data, path, strerror(errno));
    }
    if (status != ISO_OK) {
        (void)unlink(temporary.data);
    }
    free(text);
free_name:
    iso_text_free(&temporary);
    return status;
}
