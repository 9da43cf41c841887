#include "isotome/error.h"

#include "npy_header_impl.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    MAGIC_BYTES = 6,
    HEADER_LIMIT_BYTES = 1 << 20,
    DESCR_BYTES = 16,
    DATA_ALIGNMENT = 64,
};

static const char magic[] = "\x93NUMPY";

iso_status_t iso__npy_parse_start(const unsigned char *start, size_t size,
                                  size_t *offset_out, size_t *length_out)
{
    size_t offset = 10;

    if (size < MAGIC_BYTES || memcmp(start, magic, MAGIC_BYTES) != 0) {
        return iso_fail(ISO_INPUT, "%s",
                        size == 0 ? "the file is empty"
                                  : "not a NumPy .npy file");
    }
    if (size > MAGIC_BYTES) {
        int version = start[MAGIC_BYTES];
        if (version < 1 || version > 3) {
            return iso_fail(ISO_INPUT,
                            ".npy version %d is not known (expected 1 to 3)",
                            version);
        }
        offset = version == 1 ? 10 : 12;
    }
    if (size < offset) {
        return iso_fail(ISO_INPUT, "truncated: only %zu bytes", size);
    }
    size_t length = start[8] + ((size_t)start[9] << 8);
    if (offset == 12) {
        length += ((size_t)start[10] << 16) + ((size_t)start[11] << 24);
    }
    if (length > HEADER_LIMIT_BYTES) {
        return iso_fail(ISO_INPUT,
                        "the header has %zu bytes, expected at most %d", length,
                        (int)HEADER_LIMIT_BYTES);
    }
    *offset_out = offset;
    *length_out = length;
    return ISO_OK;
}

/* What was read so far; at moves over a text that ends with a zero. */
typedef struct parser {
    const char *at;
    bool has_descr;
    bool has_order;
    bool has_shape;
    iso_tensor_t header;
} parser_t;

static void skip_blanks(parser_t *parser)
{
    parser->at += strspn(parser->at, " \t\r\n");
}

/* Skip blanks and then c, if it is there. */
static bool accept_char(parser_t *parser, char c)
{
    skip_blanks(parser);
    bool found = *parser->at == c;
    if (found) {
        parser->at++;
    }
    return found;
}

static iso_status_t expect_char(parser_t *parser, char c)
{
    if (!accept_char(parser, c)) {
        return iso_fail(ISO_INPUT, "damaged header: expected '%c' at '%.20s'",
                        c, parser->at);
    }
    return ISO_OK;
}

/* Read a quoted text without escapes into buffer. */
static iso_status_t parse_quoted(parser_t *parser, char *buffer, size_t size)
{
    skip_blanks(parser);
    const char quote = *parser->at;
    const char *start = parser->at + 1;
    const char *end =
        quote == '\'' || quote == '"' ? strchr(start, quote) : NULL;

    if (end == NULL || (size_t)(end - start) >= size) {
        return iso_fail(ISO_INPUT,
                        "damaged header: expected a short quoted text at "
                        "'%.20s'",
                        parser->at);
    }
    memcpy(buffer, start, (size_t)(end - start));
    buffer[end - start] = '\0';
    parser->at = end + 1;
    return ISO_OK;
}

static iso_status_t parse_descr(parser_t *parser)
{
    char descr[DESCR_BYTES] = "";

    skip_blanks(parser);
    if (*parser->at == '[') {
        return iso_fail(ISO_INPUT,
                        "elements are records; expected a plain number type");
    }
    ISO_TRY(parse_quoted(parser, descr, sizeof descr));
    if (descr[0] == '>') {
        return iso_fail(ISO_INPUT,
                        "elements of type '%s' are big-endian; convert them "
                        "with numpy's astype('<%s')",
                        descr, descr + 1);
    }
    parser->header.dtype = iso_dtype_from_npy(descr);
    if (parser->header.dtype == ISO_DTYPE_COUNT) {
        return iso_fail(ISO_INPUT,
                        "elements of type '%s' are not supported (expected "
                        "f4, f2, f8, i1, u1, i4, i8 or b1)",
                        descr);
    }
    return ISO_OK;
}

static iso_status_t parse_order(parser_t *parser)
{
    static const char no[] = "False";
    static const char yes[] = "True";

    skip_blanks(parser);
    if (strncmp(parser->at, yes, sizeof yes - 1) == 0) {
        return iso_fail(ISO_INPUT, "the array is in Fortran order; save it "
                                   "through numpy.ascontiguousarray");
    }
    if (strncmp(parser->at, no, sizeof no - 1) != 0) {
        return iso_fail(ISO_INPUT,
                        "damaged header: expected True or False at '%.20s'",
                        parser->at);
    }
    parser->at += sizeof no - 1;
    return ISO_OK;
}

static iso_status_t parse_size(parser_t *parser, int64_t *size_out)
{
    int64_t size = 0;
    const char *start = parser->at;

    for (; *parser->at >= '0' && *parser->at <= '9'; parser->at++) {
        int digit = *parser->at - '0';
        if (size > (INT64_MAX - digit) / 10) {
            return iso_fail(ISO_INPUT, "a dimension is over 2^63: '%.25s'",
                            start);
        }
        size = size * 10 + digit;
    }
    if (parser->at == start) {
        return iso_fail(ISO_INPUT,
                        "damaged header: expected a dimension at '%.20s'",
                        start);
    }
    *size_out = size;
    return ISO_OK;
}

/* Read "()", "(3,)" or "(3, 4)". */
static iso_status_t parse_shape(parser_t *parser)
{
    iso_tensor_t *header = &parser->header;
    bool comma = true;

    ISO_TRY(expect_char(parser, '('));
    while (!accept_char(parser, ')')) {
        if (!comma) {
            return expect_char(parser, ',');
        }
        if (header->rank == ISO_MAX_RANK) {
            return iso_fail(ISO_INPUT, "the array has more than %d dimensions",
                            ISO_MAX_RANK);
        }
        ISO_TRY(parse_size(parser, &header->dims[header->rank]));
        header->rank++;
        comma = accept_char(parser, ',');
    }
    if (header->rank == 1 && !comma) {
        return iso_fail(ISO_INPUT,
                        "damaged header: a shape of one dimension needs a "
                        "comma");
    }
    return ISO_OK;
}

typedef iso_status_t parse_value_t(parser_t *parser);

/* Read one "key: value". */
static iso_status_t parse_item(parser_t *parser)
{
    char key[DESCR_BYTES] = "";
    bool *seen = NULL;
    parse_value_t *parse_value = NULL;

    ISO_TRY(parse_quoted(parser, key, sizeof key));
    if (strcmp(key, "descr") == 0) {
        seen = &parser->has_descr;
        parse_value = parse_descr;
    } else if (strcmp(key, "fortran_order") == 0) {
        seen = &parser->has_order;
        parse_value = parse_order;
    } else if (strcmp(key, "shape") == 0) {
        seen = &parser->has_shape;
        parse_value = parse_shape;
    } else {
        return iso_fail(ISO_INPUT, "damaged header: unknown key '%s'", key);
    }
    if (*seen) {
        return iso_fail(ISO_INPUT, "damaged header: key '%s' is there twice",
                        key);
    }
    *seen = true;
    ISO_TRY(expect_char(parser, ':'));
    return parse_value(parser);
}

iso_status_t iso__npy_parse_header(const char *text, size_t length,
                                   iso_tensor_t *header_out)
{
    parser_t parser = {.at = text};
    bool comma = true;

    ISO_TRY(expect_char(&parser, '{'));
    while (!accept_char(&parser, '}')) {
        if (!comma) {
            return expect_char(&parser, ',');
        }
        ISO_TRY(parse_item(&parser));
        comma = accept_char(&parser, ',');
    }
    skip_blanks(&parser);
    if (parser.at != text + length) {
        return iso_fail(ISO_INPUT, "damaged header: '%.20s' after its end",
                        parser.at);
    }
    if (!parser.has_descr || !parser.has_order || !parser.has_shape) {
        return iso_fail(ISO_INPUT, "damaged header: '%s' is missing",
                        !parser.has_descr   ? "descr"
                        : !parser.has_order ? "fortran_order"
                                            : "shape");
    }
    *header_out = parser.header;
    return ISO_OK;
}

/* Write "(3, 4)" and its like; a header of full rank fits by far. */
static void print_shape(const iso_tensor_t *header, char *buffer, size_t size)
{
    int length = snprintf(buffer, size, "(");

    for (int i = 0; i < header->rank; i++) {
        length += snprintf(buffer + length, size - (size_t)length, "%s%lld",
                           i == 0 ? "" : ", ", (long long)header->dims[i]);
    }
    (void)snprintf(buffer + length, size - (size_t)length, "%s)",
                   header->rank == 1 ? "," : "");
}

iso_status_t iso__npy_print_header(const iso_tensor_t *header, char *buffer,
                                   size_t *size_out)
{
    char shape[ISO_NPY_HEADER_BYTES / 2];
    const char *descr = iso_dtype_npy(header->dtype);

    if (descr == NULL) {
        return iso_fail(ISO_INVAL, "NumPy has no %s; write f32 instead",
                        iso_dtype_string(header->dtype));
    }
    print_shape(header, shape, sizeof shape);
    int length = snprintf(
        buffer + 10, ISO_NPY_HEADER_BYTES - 10,
        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    /* Blanks up to the newline, which ends at a multiple of the alignment. */
    size_t used = 10 + (size_t)length + 1;
    size_t size = (used + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    memset(buffer + used - 1, ' ', size - used);
    buffer[size - 1] = '\n';
    memcpy(buffer, magic, MAGIC_BYTES);
    buffer[6] = 1;
    buffer[7] = 0;
    buffer[8] = (char)((size - 10) & 0xffU);
    buffer[9] = (char)((size - 10) >> 8);
    *size_out = size;
    return ISO_OK;
}
