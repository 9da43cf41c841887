/* Operators that make, read or change shapes. */
#include "isotome/error.h"

#include "base/mem.h"
#include "model/onnx/onnx_impl.h"

#include <math.h>
#include <string.h>

/* Fills of more than this are refused: no file holds their bytes. */
#define MOST_FILL_BYTES (INT64_C(1) << 34)

/* -- constants -- */

/* Elements of an attribute that is a number or a list of numbers. */
static iso_status_t tensor_of_values(iso_dtype_t dtype, int rank,
                                     const void *values, size_t count,
                                     iso_tensor_t *tensor_out)
{
    size_t bytes = count * iso_dtype_bytes(dtype);

    *tensor_out =
        (iso_tensor_t){.dtype = dtype, .rank = rank, .dims = {(int64_t)count}};
    tensor_out->data = iso_alloc(bytes);
    if (tensor_out->data == NULL) {
        return ISO_NOMEM;
    }
    if (bytes > 0) {
        memcpy(tensor_out->data, values, bytes);
    }
    return ISO_OK;
}

static iso_status_t constant_of(iso__onnx_op_t *op,
                                const Onnx__AttributeProto *attr,
                                iso_tensor_t *tensor_out)
{
    switch (attr->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        if (attr->t != NULL) {
            return iso__onnx_tensor_load(op->import->path, attr->t, tensor_out);
        }
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        return tensor_of_values(ISO_DTYPE_F32, 0, &attr->f, 1, tensor_out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        return tensor_of_values(ISO_DTYPE_I64, 0, &attr->i, 1, tensor_out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        return tensor_of_values(ISO_DTYPE_F32, 1, attr->floats, attr->n_floats,
                                tensor_out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        return tensor_of_values(ISO_DTYPE_I64, 1, attr->ints, attr->n_ints,
                                tensor_out);
    default:
        break;
    }
    return iso_fail(ISO_UNSUPPORTED,
                    "attribute '%s' of type %d, expected a tensor or numbers",
                    attr->name != NULL ? attr->name : "", (int)attr->type);
}

static iso_status_t convert_constant(iso__onnx_op_t *op)
{
    iso_tensor_t tensor;

    if (op->proto->n_attribute != 1) {
        return iso_fail(ISO_INPUT, "%zu attributes, expected 1",
                        op->proto->n_attribute);
    }
    op->seen_attrs = 1;
    ISO_TRY(constant_of(op, op->proto->attribute[0], &tensor));
    return iso__onnx_bind_tensor(op, &tensor);
}

/* The one element that fills; a float 0 when it is not given. *fill_out has
 * no dims and its data is the caller's. */
static iso_status_t fill_value(iso__onnx_op_t *op, iso_tensor_t *fill_out)
{
    static const float zero = 0.0F;
    const Onnx__AttributeProto *attr;

    ISO_TRY(iso__onnx_attr(
        op, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, &attr));
    if (attr == NULL || attr->t == NULL) {
        return tensor_of_values(ISO_DTYPE_F32, 0, &zero, 1, fill_out);
    }
    ISO_TRY(iso__onnx_tensor_load(op->import->path, attr->t, fill_out));
    if (iso_tensor_count(fill_out) != 1) {
        int64_t count = iso_tensor_count(fill_out);

        iso_free(fill_out->data);
        return iso_fail(ISO_INPUT, "value has %lld elements, expected 1",
                        (long long)count);
    }
    fill_out->rank = 0;
    return ISO_OK;
}

static iso_status_t fill_static(iso__onnx_op_t *op, const iso_tensor_t *fill,
                                const iso_shape_t *shape)
{
    size_t size = iso_dtype_bytes(fill->dtype);
    iso_tensor_t tensor;
    size_t bytes;

    ISO_TRY(iso_tensor_bytes_of(fill->dtype, shape, &bytes));
    if (bytes > (size_t)MOST_FILL_BYTES) {
        return iso_fail(ISO_UNSUPPORTED,
                        "a fill of %zu bytes, expected at "
                        "most %lld",
                        bytes, (long long)MOST_FILL_BYTES);
    }
    ISO_TRY(iso_tensor_view(fill->dtype, shape, NULL, &tensor));
    tensor.data = iso_alloc(bytes);
    if (tensor.data == NULL) {
        return ISO_NOMEM;
    }
    /* What is filled so far is copied behind itself. */
    for (size_t done = 0; done < bytes;) {
        const void *from = done == 0 ? fill->data : tensor.data;
        size_t run = done == 0 ? size : done;

        run = run < bytes - done ? run : bytes - done;
        memcpy((char *)tensor.data + done, from, run);
        done += run;
    }
    return iso__onnx_bind_tensor(op, &tensor);
}

static iso_status_t fill_symbolic(iso__onnx_op_t *op, const iso_tensor_t *fill,
                                  const iso_shape_t *shape)
{
    const char *name =
        iso__onnx_name(op->import, op->proto->output[0], "element");
    iso__draft_t draft;
    iso_node_id_t element;

    ISO_TRY(name == NULL ? ISO_NOMEM
                         : iso_graph_add_constant(op->import->graph, name, fill,
                                                  &element));
    iso__draft_begin(&draft, ISO_OP_EXPAND, 1, &element);
    iso__draft_dims(&draft, "shape", shape->dim, shape->rank);
    return iso__onnx_finish(op, &draft);
}

/* A shape from known integers. */
static iso_status_t shape_of_ints(const iso_ints_t *ints,
                                  iso_shape_t *shape_out)
{
    if (ints->count > ISO_MAX_RANK) {
        return iso_fail(ISO_UNSUPPORTED,
                        "a shape of %lld dims, expected at "
                        "most %d",
                        (long long)ints->count, (int)ISO_MAX_RANK);
    }
    *shape_out = (iso_shape_t){.rank = (int)ints->count};
    for (int i = 0; i < shape_out->rank; i++) {
        shape_out->dim[i] = ints->values[i];
    }
    return ISO_OK;
}

static iso_status_t check_sizes(const iso_shape_t *shape)
{
    for (int i = 0; i < shape->rank; i++) {
        if (iso_dim_is_static(shape->dim[i]) && shape->dim[i].size < 0) {
            return iso_fail(ISO_SHAPE,
                            "dim %d of the shape is %lld, expected "
                            "at least 0",
                            i, (long long)shape->dim[i].size);
        }
    }
    return ISO_OK;
}

static iso_status_t convert_constant_of_shape(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso_shape_t shape;
    iso_tensor_t fill;
    iso_status_t status;

    ISO_TRY(iso__onnx_need_ints(op, 0, "shape", &ints));
    ISO_TRY(shape_of_ints(ints, &shape));
    ISO_TRY(check_sizes(&shape));
    ISO_TRY(fill_value(op, &fill));
    status = iso_shape_is_static(&shape) ? fill_static(op, &fill, &shape)
                                         : fill_symbolic(op, &fill, &shape);
    iso_free(fill.data);
    return status;
}

/* -- reading shapes -- */

static int64_t clamp_axis(int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    axis = axis < 0 ? 0 : axis;
    return axis > rank ? rank : axis;
}

static iso_status_t convert_shape(iso__onnx_op_t *op)
{
    iso_shape_t shape;
    iso_shape_t part = {.rank = 0};
    iso_ints_t ints;
    int64_t start;
    int64_t end;

    ISO_TRY(iso__onnx_shape_of(op, 0, &shape));
    ISO_TRY(iso__onnx_attr_int(op, "start", 0, &start));
    ISO_TRY(iso__onnx_attr_int(op, "end", shape.rank, &end));
    end = clamp_axis(end, shape.rank);
    for (int64_t i = clamp_axis(start, shape.rank); i < end; i++) {
        part.dim[part.rank++] = shape.dim[i];
    }
    ISO_TRY(iso_ints_of_shape(op->import->arena, &part, &ints));
    return iso__onnx_bind_ints(op, 0, &ints);
}

static iso_status_t convert_size(iso__onnx_op_t *op)
{
    iso_shape_t shape;
    iso_shape_t product = {.rank = 1};
    iso_ints_t ints;

    ISO_TRY(iso__onnx_shape_of(op, 0, &shape));
    ISO_TRY(iso_shape_elements(&shape, &product.dim[0]));
    ISO_TRY(iso_ints_of_shape(op->import->arena, &product, &ints));
    ints.rank = 0;
    return iso__onnx_bind_ints(op, 0, &ints);
}

/* -- changing shapes -- */

/* Output 0 is input 0 in another shape, as integers while it is these. */
static iso_status_t finish_shape(iso__onnx_op_t *op, const iso_shape_t *shape)
{
    const iso_ints_t *ints = NULL;
    iso_node_id_t x;

    ISO_TRY(iso__onnx_symbolic(op, 0, &ints));
    if (ints != NULL && iso_shape_is_static(shape)) {
        int64_t dims[ISO_MAX_RANK] = {0};
        iso_ints_t result;

        for (int i = 0; i < shape->rank; i++) {
            dims[i] = shape->dim[i].size;
        }
        ISO_TRY(iso_ints_reshape(ints, shape->rank, dims, &result));
        return iso__onnx_bind_ints(op, 0, &result);
    }
    ISO_TRY(iso__onnx_data(op, 0, &x));
    return iso__onnx_finish_reshape(op, x, shape);
}

/* Zeros become the operand's dims; *inferred_out is the place of -1 or -1. */
static iso_status_t resolve_zeros(const iso_shape_t *x, bool allow_zero,
                                  iso_shape_t *target, int *inferred_out)
{
    *inferred_out = -1;
    for (int i = 0; i < target->rank; i++) {
        iso_dim_t *dim = &target->dim[i];

        if (!iso_dim_is_static(*dim) || dim->size > 0) {
            continue;
        }
        if (dim->size == 0 && !allow_zero && i < x->rank) {
            *dim = x->dim[i];
        } else if (dim->size == -1 && *inferred_out < 0) {
            *inferred_out = i;
            *dim = iso_dim_of(1);
        } else if (dim->size != 0 || !allow_zero) {
            return iso_fail(ISO_SHAPE, "dim %d of its shape is %lld", i,
                            (long long)dim->size);
        }
    }
    return ISO_OK;
}

/*
 * A model exported for one sample says 1 where it means the batch. When the
 * batch is made free, a leading 1 takes the batch of the operand if the other
 * dims make up one sample.
 */
static iso_status_t free_leading(const iso__import_t *import,
                                 const iso_shape_t *x, bool has_inferred,
                                 iso_shape_t *target)
{
    iso_shape_t sample = *target;
    iso_dim_t elements;
    iso_dim_t rest;
    iso_dim_t quotient;
    bool exact = false;

    if (!import->options->free_batch || x->rank == 0 || target->rank == 0 ||
        !iso_dim_equal(x->dim[0], import->batch) ||
        !iso_dim_equal(target->dim[0], iso_dim_of(1))) {
        return ISO_OK;
    }
    sample.dim[0] = import->batch;
    ISO_TRY(iso_shape_elements(x, &elements));
    ISO_TRY(iso_shape_elements(&sample, &rest));
    if (!iso_dim_equal(rest, iso_dim_of(0))) {
        ISO_TRY(iso_dim_div(elements, rest, &quotient, &exact));
    }
    if (exact && (has_inferred || iso_dim_equal(quotient, iso_dim_of(1)))) {
        target->dim[0] = import->batch;
    }
    return ISO_OK;
}

static iso_status_t resolve_inferred(const iso_shape_t *x, iso_shape_t *target,
                                     int inferred)
{
    iso_dim_t elements;
    iso_dim_t rest;
    bool exact = false;

    ISO_TRY(iso_shape_elements(x, &elements));
    ISO_TRY(iso_shape_elements(target, &rest));
    if (!iso_dim_equal(rest, iso_dim_of(0))) {
        ISO_TRY(iso_dim_div(elements, rest, &target->dim[inferred], &exact));
    }
    if (!exact) {
        char from[ISO_SHAPE_TEXT_BYTES];
        char to[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_SHAPE, "%s does not fit %s with a whole dim %d",
                        iso_shape_text(x, from), iso_shape_text(target, to),
                        inferred);
    }
    return ISO_OK;
}

/* The shape that a reshape of x to these integers gives. */
static iso_status_t resolve_target(const iso__import_t *import,
                                   const iso_shape_t *x, bool allow_zero,
                                   iso_shape_t *target)
{
    int inferred;

    ISO_TRY(resolve_zeros(x, allow_zero, target, &inferred));
    if (inferred != 0) {
        ISO_TRY(free_leading(import, x, inferred > 0, target));
    }
    return inferred >= 0 ? resolve_inferred(x, target, inferred) : ISO_OK;
}

static iso_status_t convert_reshape(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso_shape_t target;
    iso_shape_t x;
    int64_t allow_zero;

    ISO_TRY(iso__onnx_attr_int(op, "allowzero", 0, &allow_zero));
    ISO_TRY(iso__onnx_shape_of(op, 0, &x));
    ISO_TRY(iso__onnx_need_ints(op, 1, "shape", &ints));
    ISO_TRY(shape_of_ints(ints, &target));
    ISO_TRY(resolve_target(op->import, &x, allow_zero != 0, &target));
    return finish_shape(op, &target);
}

static iso_status_t convert_flatten(iso__onnx_op_t *op)
{
    iso_shape_t flat = {.rank = 2};
    iso_shape_t part;
    iso_shape_t x;
    int64_t axis;

    ISO_TRY(iso__onnx_shape_of(op, 0, &x));
    ISO_TRY(iso__onnx_attr_int(op, "axis", 1, &axis));
    if (axis < -x.rank || axis > x.rank) {
        return iso_fail(ISO_SHAPE, "axis %lld of %d dims", (long long)axis,
                        x.rank);
    }
    axis = axis < 0 ? axis + x.rank : axis;
    part = x;
    part.rank = (int)axis;
    ISO_TRY(iso_shape_elements(&part, &flat.dim[0]));
    part.rank = x.rank - (int)axis;
    memmove(part.dim, &x.dim[axis], (size_t)part.rank * sizeof part.dim[0]);
    ISO_TRY(iso_shape_elements(&part, &flat.dim[1]));
    return finish_shape(op, &flat);
}

static iso_status_t convert_squeeze(iso__onnx_op_t *op)
{
    bool dropped[ISO_MAX_RANK] = {false};
    iso_shape_t shape = {.rank = 0};
    iso__numbers_t axes;
    iso_shape_t x;

    ISO_TRY(iso__onnx_shape_of(op, 0, &x));
    ISO_TRY(iso__onnx_attr_or_input(op, "axes", 13, 1, &axes));
    ISO_TRY(iso__onnx_axes_resolve(&axes, x.rank));
    for (int i = 0; i < axes.count; i++) {
        dropped[axes.value[i]] = true;
    }
    for (int i = 0; i < x.rank; i++) {
        bool is_one = iso_dim_equal(x.dim[i], iso_dim_of(1));

        if (dropped[i] && !is_one) {
            char text[ISO_DIM_TEXT_BYTES];

            return iso_fail(ISO_SHAPE, "dim %d is %s, expected 1", i,
                            iso_dim_text(x.dim[i], text));
        }
        if (axes.is_given ? !dropped[i] : !is_one) {
            shape.dim[shape.rank++] = x.dim[i];
        }
    }
    return finish_shape(op, &shape);
}

static iso_status_t convert_unsqueeze(iso__onnx_op_t *op)
{
    bool added[ISO__MOST_NUMBERS] = {false};
    iso_shape_t shape = {.rank = 0};
    iso__numbers_t axes;
    iso_shape_t x;
    int rank;
    int from = 0;

    ISO_TRY(iso__onnx_shape_of(op, 0, &x));
    ISO_TRY(iso__onnx_attr_or_input(op, "axes", 13, 1, &axes));
    rank = x.rank + axes.count;
    if (!axes.is_given || rank > ISO_MAX_RANK) {
        return iso_fail(ISO_UNSUPPORTED,
                        "%d axes on %d dims, expected at most "
                        "%d dims together",
                        axes.count, x.rank, (int)ISO_MAX_RANK);
    }
    ISO_TRY(iso__onnx_axes_resolve(&axes, rank));
    for (int i = 0; i < axes.count; i++) {
        added[axes.value[i]] = true;
    }
    while (shape.rank < rank) {
        iso_dim_t dim = added[shape.rank] ? iso_dim_of(1) : x.dim[from++];

        shape.dim[shape.rank++] = dim;
    }
    return finish_shape(op, &shape);
}

#define ENTRY(type, least, convert)                         \
    {                                                       \
        type, least, ISO__MOST_OPSET, convert, ISO_OP_COUNT \
    }

const iso__onnx_entry_t iso__onnx_shape[] = {
    ENTRY("Constant", 1, convert_constant),
    ENTRY("ConstantOfShape", 9, convert_constant_of_shape),
    ENTRY("Shape", 1, convert_shape),
    ENTRY("Size", 1, convert_size),
    ENTRY("Reshape", 5, convert_reshape),
    ENTRY("Flatten", 1, convert_flatten),
    ENTRY("Squeeze", 1, convert_squeeze),
    ENTRY("Unsqueeze", 1, convert_unsqueeze),
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
