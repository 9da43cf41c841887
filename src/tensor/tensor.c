#include "isotome/tensor.h"

#include "isotome/error.h"

iso_status_t iso_tensor_view(iso_dtype_t dtype, const iso_shape_t *shape,
                             void *data, iso_tensor_t *tensor_out)
{
    size_t bytes = 0;
    iso_tensor_t tensor = {.dtype = dtype, .rank = shape->rank, .data = data};

    ISO_TRY(iso_tensor_bytes_of(dtype, shape, &bytes));
    for (int i = 0; i < shape->rank; i++) {
        tensor.dims[i] = shape->dim[i].size;
    }
    *tensor_out = tensor;
    return ISO_OK;
}

int64_t iso_tensor_count(const iso_tensor_t *tensor)
{
    iso_shape_t shape = iso_tensor_shape(tensor);

    return iso_shape_count(&shape);
}

size_t iso_tensor_bytes(const iso_tensor_t *tensor)
{
    return (size_t)iso_tensor_count(tensor) * iso_dtype_bytes(tensor->dtype);
}

iso_status_t iso_tensor_bytes_of(iso_dtype_t dtype, const iso_shape_t *shape,
                                 size_t *bytes_out)
{
    const int64_t limit = INT64_C(1) << 62;
    char text[ISO_SHAPE_TEXT_BYTES];
    int64_t element_bytes = (int64_t)iso_dtype_bytes(dtype);
    int64_t count = iso_shape_count(shape);

    if (!iso_shape_is_static(shape)) {
        return iso_fail(ISO_SHAPE,
                        "shape %s still has names; bind them to numbers first",
                        iso_shape_text(shape, text));
    }
    if (element_bytes == 0) {
        return iso_fail(ISO_SHAPE, "a tensor %s of unknown type has no size",
                        iso_shape_text(shape, text));
    }
    if (count < 0 || count > limit / element_bytes) {
        return iso_fail(ISO_SHAPE,
                        "a %s tensor %s has a negative dim or more than 2^62 "
                        "bytes",
                        iso_dtype_string(dtype), iso_shape_text(shape, text));
    }
    *bytes_out = (size_t)(count * element_bytes);
    return ISO_OK;
}

iso_shape_t iso_tensor_shape(const iso_tensor_t *tensor)
{
    return iso_shape_of(tensor->rank, tensor->dims);
}
