#include "exec/rows.h"

#include "isotome/error.h"

static iso_status_t bound(iso_dtype_t dtype, const iso_shape_t *shape,
                          const char *batch, int64_t samples,
                          iso_tensor_t *tensor_out)
{
    iso_binding_t binding = {.name = batch, .size = samples};
    iso_shape_t numbers;

    ISO_TRY(iso_shape_bind(shape, &binding, batch != NULL ? 1 : 0, &numbers));
    return iso_tensor_view(dtype, &numbers, NULL, tensor_out);
}

iso_status_t iso_rows_of(const char *what, iso_dtype_t dtype,
                         const iso_shape_t *shape, const char *batch,
                         iso_rows_t *rows_out)
{
    char text[ISO_SHAPE_TEXT_BYTES];
    iso_tensor_t two;
    iso_tensor_t three;

    ISO_TRY(bound(dtype, shape, batch, 1, &rows_out->one));
    rows_out->per_sample = 0;
    if (shape->rank == 0) {
        return ISO_OK;
    }
    if (batch == NULL) {
        rows_out->per_sample = rows_out->one.dims[0];
        return ISO_OK;
    }
    ISO_TRY(bound(dtype, shape, batch, 2, &two));
    ISO_TRY(bound(dtype, shape, batch, 3, &three));
    for (int axis = 1; axis < shape->rank; axis++) {
        if (two.dims[axis] != rows_out->one.dims[axis]) {
            return iso_fail(ISO_UNSUPPORTED,
                            "'%s' has shape %s: the batch '%s' may only be "
                            "its first dim",
                            what, iso_shape_text(shape, text), batch);
        }
    }
    if (two.dims[0] == rows_out->one.dims[0] &&
        three.dims[0] == rows_out->one.dims[0]) {
        return ISO_OK;
    }
    if (two.dims[0] != 2 * rows_out->one.dims[0] ||
        three.dims[0] != 3 * rows_out->one.dims[0]) {
        return iso_fail(ISO_UNSUPPORTED,
                        "'%s' has shape %s: its first dim is not a multiple "
                        "of the batch '%s'",
                        what, iso_shape_text(shape, text), batch);
    }
    rows_out->per_sample = rows_out->one.dims[0];
    return ISO_OK;
}

iso_tensor_t iso_rows_tensor(const iso_rows_t *rows, int64_t samples)
{
    iso_tensor_t tensor = rows->one;

    if (rows->per_sample > 0) {
        tensor.dims[0] = samples * rows->per_sample;
    }
    return tensor;
}
