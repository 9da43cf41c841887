/* Operators that make, read or change shapes. */
#include "isotome/error.h"

#include "base/mem.h"
#include "model/onnx/onnx_impl.h"

#include <math.h>
#include <string.h>

/* Fills of more than this are refused: no file holds their bytes. */
#define MOST_FILL_BYTES (INT64_C(1) << 34)

/* -- constants -- */

static iso_status_t bind_tensor(iso__onnx_op_t *op, iso_tensor_t *tensor)
{
    iso__value_t *value = iso__onnx_value(op->import, op->proto->output[0]);
    iso_node_id_t node;

    ISO_TRY(iso__onnx_add_tensor(op->import, value, tensor, &node));
    return iso__onnx_bind(op, 0, node);
}

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
    return bind_tensor(op, &tensor);
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
    return bind_tensor(op, &tensor);
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

/* -- range -- */

/* start + i step, computed as numbers. */
static iso_status_t range_of_numbers(iso__onnx_op_t *op, const double *limits,
                                     iso_dtype_t dtype)
{
    double exact = ceil((limits[1] - limits[0]) / limits[2]);
    int64_t count = exact > 0.0 && exact <= 1e9 ? (int64_t)exact : 0;
    size_t size = iso_dtype_bytes(dtype);
    iso_tensor_t tensor = {.dtype = dtype, .rank = 1, .dims = {count}};

    if (!(limits[2] < 0.0 || limits[2] > 0.0) || !(exact <= 1e9)) {
        return iso_fail(ISO_INPUT, "a range from %g to %g in steps of %g",
                        limits[0], limits[1], limits[2]);
    }
    tensor.data = iso_alloc((size_t)count * size);
    if (tensor.data == NULL) {
        return ISO_NOMEM;
    }
    for (int64_t i = 0; i < count; i++) {
        iso__onnx_store(dtype, limits[0] + (double)i * limits[2],
                        (char *)tensor.data + (size_t)i * size);
    }
    return bind_tensor(op, &tensor);
}

/* Limits with free sizes: the number of elements must be an expression. */
static iso_status_t range_of_dims(iso__onnx_op_t *op, const iso_dim_t *limits,
                                  iso_dtype_t dtype)
{
    iso__draft_t draft;
    iso_node_id_t node;
    iso_dim_t count;
    bool exact = false;

    ISO_TRY(iso_dim_sub(limits[1], limits[0], &count));
    if (iso_dim_is_static(limits[2])) {
        ISO_TRY(iso_dim_div(count, limits[2], &count, &exact));
    }
    if (!exact) {
        return iso_fail(ISO_UNSUPPORTED,
                        "the number of elements of this range "
                        "is not an expression of the free sizes");
    }
    iso__draft_begin(&draft, ISO_OP_IOTA, 0, NULL);
    iso__draft_dims(&draft, "start", &limits[0], 1);
    iso__draft_int(&draft, "step", limits[2].size);
    iso__draft_dims(&draft, "n", &count, 1);
    if (dtype == ISO_DTYPE_I64) {
        return iso__onnx_finish(op, &draft);
    }
    ISO_TRY(iso__onnx_step(op, "iota", &draft, &node));
    ISO_TRY(iso__onnx_step_cast(op, "typed", node, dtype, &node));
    return iso__onnx_bind(op, 0, node);
}

/* Start, limit or step: a dim when it is an integer, else a number. */
typedef struct range_operand {
    bool is_int;
    iso_dim_t dim;
    double number;
    iso_dtype_t dtype;
} range_operand_t;

static iso_status_t range_operand_of(iso__onnx_op_t *op, int index,
                                     range_operand_t *out)
{
    const iso_ints_t *ints = NULL;
    iso_node_id_t node;
    bool known = false;

    *out = (range_operand_t){.is_int = false};
    ISO_TRY(iso__onnx_ints(op, index, &ints));
    if (ints != NULL && ints->count == 1) {
        *out = (range_operand_t){true, ints->values[0],
                                 (double)ints->values[0].size, ints->dtype};
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_scalar(op, index, &out->number, &known));
    if (!known) {
        return iso_fail(ISO_UNSUPPORTED,
                        "input %d depends on the model's inputs, expected a "
                        "constant or dims",
                        index);
    }
    ISO_TRY(iso__onnx_data(op, index, &node));
    out->dtype = iso__onnx_node(op, node)->dtype;
    return ISO_OK;
}

static iso_status_t convert_range(iso__onnx_op_t *op)
{
    range_operand_t operands[3];
    bool all_ints = true;
    bool symbolic = false;

    for (int i = 0; i < 3; i++) {
        ISO_TRY(range_operand_of(op, i, &operands[i]));
        all_ints = all_ints && operands[i].is_int;
        symbolic = symbolic || !iso_dim_is_static(operands[i].dim);
        if (operands[i].dtype != operands[0].dtype) {
            return iso_fail(ISO_INPUT, "input %d is %s, expected %s", i,
                            iso_dtype_string(operands[i].dtype),
                            iso_dtype_string(operands[0].dtype));
        }
    }
    if (symbolic && all_ints) {
        const iso_dim_t limits[] = {operands[0].dim, operands[1].dim,
                                    operands[2].dim};

        return range_of_dims(op, limits, operands[0].dtype);
    }
    const double limits[] = {operands[0].number, operands[1].number,
                             operands[2].number};

    return range_of_numbers(op, limits, operands[0].dtype);
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
    ENTRY("Range", 11, convert_range),
    ENTRY("Shape", 1, convert_shape),
    ENTRY("Size", 1, convert_size),
    ENTRY("Reshape", 5, convert_reshape),
    ENTRY("Flatten", 1, convert_flatten),
    ENTRY("Squeeze", 1, convert_squeeze),
    ENTRY("Unsqueeze", 1, convert_unsqueeze),
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
