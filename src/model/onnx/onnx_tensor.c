/* Elements of a TensorProto, in whichever of its fields they lie. */
#include "isotome/error.h"

#include "base/mem.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

static const char *name_of(const Onnx__TensorProto *proto)
{
    return proto->name != NULL ? proto->name : "";
}

/* -- head -- */

iso_status_t iso__onnx_tensor_head(const Onnx__TensorProto *proto,
                                   iso_tensor_t *tensor_out, size_t *bytes_out)
{
    const char *name = name_of(proto);
    iso_dtype_t dtype = iso_dtype_from_onnx(proto->data_type);
    iso_shape_t shape = {.rank = (int)proto->n_dims};

    if (dtype == ISO_DTYPE_COUNT) {
        return iso_fail(ISO_UNSUPPORTED,
                        "tensor '%s': element type %d is not supported", name,
                        (int)proto->data_type);
    }
    if (proto->n_dims > ISO_MAX_RANK) {
        return iso_fail(ISO_UNSUPPORTED,
                        "tensor '%s': %zu dims, expected at most %d", name,
                        proto->n_dims, (int)ISO_MAX_RANK);
    }
    for (int i = 0; i < shape.rank; i++) {
        if (proto->dims[i] < 0) {
            return iso_fail(ISO_INPUT,
                            "tensor '%s': dim %d is %lld, expected at least 0",
                            name, i, (long long)proto->dims[i]);
        }
        shape.dim[i] = iso_dim_of(proto->dims[i]);
    }
    if (iso_tensor_bytes_of(dtype, &shape, bytes_out) != ISO_OK) {
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_INPUT, "tensor '%s': dims %s are too large", name,
                        iso_shape_text(&shape, text));
    }
    return iso_tensor_view(dtype, &shape, NULL, tensor_out);
}

/* -- raw data -- */

/* Bytes that any program may have written as true. */
static void normalize_bools(const iso_tensor_t *tensor)
{
    uint8_t *values = tensor->data;
    int64_t count = iso_tensor_count(tensor);

    for (int64_t i = 0; tensor->dtype == ISO_DTYPE_BOOL && i < count; i++) {
        values[i] = values[i] != 0;
    }
}

/* The unpacked bytes are a block of counted memory: they change owner. */
static iso_status_t take_raw(Onnx__TensorProto *proto, size_t bytes,
                             iso_tensor_t *tensor)
{
    if (proto->raw_data.len != bytes) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': %zu bytes of data, expected %zu by its "
                        "dims and type",
                        name_of(proto), proto->raw_data.len, bytes);
    }
    if (bytes == 0) {
        tensor->data = iso_alloc(0);
        return tensor->data == NULL ? ISO_NOMEM : ISO_OK;
    }
    tensor->data = proto->raw_data.data;
    proto->raw_data.data = NULL;
    proto->raw_data.len = 0;
    proto->has_raw_data = 0;
    normalize_bools(tensor);
    return ISO_OK;
}

/* -- typed fields -- */

/* Field that holds this type, its elements and their size. */
typedef struct typed {
    const void *values;
    size_t count;
    size_t size;
} typed_t;

static typed_t typed_of(const Onnx__TensorProto *proto, iso_dtype_t dtype)
{
    switch (dtype) {
    case ISO_DTYPE_F32:
        return (typed_t){proto->float_data, proto->n_float_data,
                         sizeof *proto->float_data};
    case ISO_DTYPE_F64:
        return (typed_t){proto->double_data, proto->n_double_data,
                         sizeof *proto->double_data};
    case ISO_DTYPE_I64:
        return (typed_t){proto->int64_data, proto->n_int64_data,
                         sizeof *proto->int64_data};
    default: /* i32, and all that is smaller, one in each int32 */
        return (typed_t){proto->int32_data, proto->n_int32_data,
                         sizeof *proto->int32_data};
    }
}

/* One int32 to a smaller element; false when it does not fit. */
static bool narrow(iso_dtype_t dtype, int32_t value, void *element)
{
    int8_t i8 = (int8_t)value;
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;

    switch (dtype) {
    case ISO_DTYPE_I8:
        memcpy(element, &i8, sizeof i8);
        return i8 == value;
    case ISO_DTYPE_U8:
        memcpy(element, &u8, sizeof u8);
        return u8 == value;
    case ISO_DTYPE_BOOL:
        u8 = value != 0;
        memcpy(element, &u8, sizeof u8);
        return true;
    default: /* the bits of f16 and bf16 */
        memcpy(element, &u16, sizeof u16);
        return u16 == value;
    }
}

static iso_status_t copy_typed(const Onnx__TensorProto *proto,
                               const typed_t *typed, const iso_tensor_t *tensor,
                               size_t bytes)
{
    size_t element_bytes = iso_dtype_bytes(tensor->dtype);
    char *to = tensor->data;

    if (bytes == 0) {
        return ISO_OK;
    }
    if (typed->size == element_bytes) {
        memcpy(to, typed->values, bytes);
        return ISO_OK;
    }
    for (size_t i = 0; i < typed->count; i++) {
        int32_t value = proto->int32_data[i];

        if (!narrow(tensor->dtype, value, to + i * element_bytes)) {
            return iso_fail(ISO_INPUT,
                            "tensor '%s': element %zu is %d, which does not "
                            "fit in %s",
                            name_of(proto), i, (int)value,
                            iso_dtype_string(tensor->dtype));
        }
    }
    return ISO_OK;
}

static iso_status_t load_typed(const Onnx__TensorProto *proto, size_t bytes,
                               iso_tensor_t *tensor)
{
    typed_t typed = typed_of(proto, tensor->dtype);
    iso_status_t status;

    if (typed.count != bytes / iso_dtype_bytes(tensor->dtype)) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': %zu elements of data, expected %zu by "
                        "its dims",
                        name_of(proto), typed.count,
                        bytes / iso_dtype_bytes(tensor->dtype));
    }
    tensor->data = iso_alloc(bytes);
    if (tensor->data == NULL) {
        return ISO_NOMEM;
    }
    status = copy_typed(proto, &typed, tensor, bytes);
    if (status != ISO_OK) {
        iso_free(tensor->data);
        tensor->data = NULL;
    }
    return status;
}

/* -- external data -- */

static iso_status_t load_external(const char *model_path,
                                  const Onnx__TensorProto *proto, size_t bytes,
                                  iso_tensor_t *tensor)
{
    void *data = NULL;
    iso_status_t status =
        iso__onnx_external_load(model_path, proto, bytes, &data);

    tensor->data = data;
    if (status == ISO_OK) {
        normalize_bools(tensor);
    }
    return status;
}

iso_status_t iso__onnx_tensor_load(const char *model_path,
                                   Onnx__TensorProto *proto,
                                   iso_tensor_t *tensor_out)
{
    size_t bytes;

    ISO_TRY(iso__onnx_tensor_head(proto, tensor_out, &bytes));
    if (proto->segment != NULL) {
        return iso_fail(ISO_UNSUPPORTED,
                        "tensor '%s': data in segments is not supported",
                        name_of(proto));
    }
    if (proto->has_data_location &&
        proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        return load_external(model_path, proto, bytes, tensor_out);
    }
    if (proto->has_raw_data) {
        return take_raw(proto, bytes, tensor_out);
    }
    return load_typed(proto, bytes, tensor_out);
}
