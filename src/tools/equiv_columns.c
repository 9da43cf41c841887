/*
 * A dataset for each column, with an element (of texts a row of characters,
 * filled up with zeros) for each line.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "io/array_out.h"
#include "io/place.h"
#include "tools/equiv_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIGEST_BYTES = 16 };

/* X(NAME, text, dtype) */
#define COLUMN_MAP(X)            \
    X(NET, "net", U8)            \
    X(OP, "op", U8)              \
    X(SHAPES, "shapes", U8)      \
    X(AXIS, "axis", U8)          \
    X(DIGEST, "digest", U8)      \
    X(PIECES, "pieces", I64)     \
    X(THREADS, "threads", I64)   \
    X(ELEMENTS, "elements", I64) \
    X(EQUAL, "equal", I64)       \
    X(MAX_ULP, "max_ulp", I64)   \
    X(MAX_ABS, "max_abs", F64)

typedef enum column {
#define X(name, text, dtype) COLUMN_##name,
    COLUMN_MAP(X)
#undef X
        COLUMN_COUNT
} column_t;

static const struct {
    const char *name;
    iso_dtype_t dtype;
} kinds[] = {
#define X(name, text, dtype) {(text), ISO_DTYPE_##dtype},
    COLUMN_MAP(X)
#undef X
};

struct iso_equiv_columns {
    iso_array_out_t *out;
    iso_tensor_t header[COLUMN_COUNT];
    int index[COLUMN_COUNT];
};

/* -- cells -- */

/* buffer [in] (DIGEST_BYTES + 1) */
static const char *text_of(const iso_equiv_line_t *line, column_t column,
                           char *buffer)
{
    switch (column) {
    case COLUMN_NET:
        return line->net;
    case COLUMN_OP:
        return line->op;
    case COLUMN_SHAPES:
        return line->shape;
    case COLUMN_AXIS:
        return line->axis;
    default:
        (void)snprintf(buffer, DIGEST_BYTES + 1, "%016" PRIx64, line->digest);
        return buffer;
    }
}

static int64_t number_of(const iso_equiv_line_t *line, column_t column)
{
    switch (column) {
    case COLUMN_PIECES:
        return line->pieces;
    case COLUMN_THREADS:
        return line->threads;
    case COLUMN_ELEMENTS:
        return line->difference.elements;
    case COLUMN_EQUAL:
        return line->difference.equal;
    default:
        return line->difference.max_ulp;
    }
}

/* Characters of the longest text. */
static int64_t width_of(const iso_equiv_table_t *table, column_t column)
{
    char buffer[DIGEST_BYTES + 1];
    size_t width = 1;

    for (int i = 0; i < table->n_lines; i++) {
        const size_t length = strlen(text_of(&table->lines[i], column, buffer));

        width = length > width ? length : width;
    }
    return (int64_t)width;
}

/* data [out] of a column, zeros before */
static void fill(const iso_equiv_table_t *table, column_t column,
                 const iso_tensor_t *header, void *data)
{
    for (int i = 0; i < table->n_lines; i++) {
        const iso_equiv_line_t *line = &table->lines[i];

        if (header->dtype == ISO_DTYPE_F64) {
            ((double *)data)[i] = line->difference.max_abs;
        } else if (header->dtype == ISO_DTYPE_I64) {
            ((int64_t *)data)[i] = number_of(line, column);
        } else {
            char buffer[DIGEST_BYTES + 1];
            const char *text = text_of(line, column, buffer);

            memcpy((char *)data + i * header->dims[1], text, strlen(text));
        }
    }
}

/* -- the file -- */

/* "FILE.h5:/x" and "FILE.h5:/GROUP/x" are the places of a dataset x. */
static iso_status_t add_place(const char *place, const char *name,
                              iso_text_t *text)
{
    const bool has_group = strstr(place, ":/") != NULL;
    iso_place_t parsed = {0};

    iso_text_add(text, "%s%s/%s", place, has_group ? "" : ":", name);
    ISO_TRY(text->status);
    if (iso_place_parse(text->data, &parsed) != ISO_OK) {
        return iso_fail(ISO_INVAL,
                        "--output: '%s', expected FILE.h5 or FILE.h5:/GROUP",
                        place);
    }
    iso_place_free(&parsed);
    return ISO_OK;
}

static iso_status_t add_column(const char *place,
                               const iso_equiv_table_t *table, column_t column,
                               iso_equiv_columns_t *columns)
{
    const iso_dtype_t dtype = kinds[column].dtype;
    const bool is_text = dtype == ISO_DTYPE_U8;
    iso_tensor_t *header = &columns->header[column];
    iso_text_t text = {0};

    *header = (iso_tensor_t){
        .dtype = dtype, .rank = is_text ? 2 : 1, .dims = {table->n_lines}};
    if (is_text) {
        header->dims[1] = width_of(table, column);
    }
    iso_status_t status = add_place(place, kinds[column].name, &text);

    if (status == ISO_OK) {
        status = iso_array_out_add(columns->out, text.data, header,
                                   &columns->index[column]);
    }
    iso_text_free(&text);
    return status;
}

iso_status_t iso_equiv_columns_begin(const char *place, bool force,
                                     const iso_equiv_table_t *table,
                                     iso_equiv_columns_t **columns_out)
{
    iso_equiv_columns_t *columns = iso_alloc_zeroed(1, sizeof *columns);

    if (columns == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = iso_array_out_begin(force, false, &columns->out);

    for (int i = 0; i < COLUMN_COUNT && status == ISO_OK; i++) {
        status = add_column(place, table, (column_t)i, columns);
    }
    if (status == ISO_OK) {
        status = iso_array_out_start(columns->out);
    }
    if (status != ISO_OK) {
        iso_equiv_columns_abandon(&columns);
    }
    *columns_out = columns;
    return status;
}

static iso_status_t write_column(const iso_equiv_table_t *table,
                                 column_t column,
                                 const iso_equiv_columns_t *columns)
{
    const iso_tensor_t *header = &columns->header[column];
    void *data = iso_alloc_zeroed(iso_tensor_bytes(header), 1);

    if (data == NULL) {
        return ISO_NOMEM;
    }
    fill(table, column, header, data);
    iso_status_t status = iso_array_out_write(
        columns->out, columns->index[column], 0, table->n_lines, data);

    iso_free(data);
    return status;
}

iso_status_t iso_equiv_columns_end(const iso_equiv_table_t *table,
                                   iso_equiv_columns_t **columns)
{
    iso_status_t status = ISO_OK;

    for (int i = 0; i < COLUMN_COUNT && status == ISO_OK; i++) {
        status = write_column(table, (column_t)i, *columns);
    }
    if (status == ISO_OK) {
        status = iso_array_out_commit(&(*columns)->out);
    }
    iso_equiv_columns_abandon(columns);
    return status;
}

void iso_equiv_columns_abandon(iso_equiv_columns_t **columns)
{
    if (*columns == NULL) {
        return;
    }
    if ((*columns)->out != NULL) {
        iso_array_out_abandon(&(*columns)->out);
    }
    iso_free(*columns);
    *columns = NULL;
}
