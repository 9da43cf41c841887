/* Numbers in equal steps. */
#include "isotome/error.h"

#include "base/mem.h"
#include "model/onnx/onnx_impl.h"

#include <math.h>

/* Most elements of a range that is computed here. */
#define MOST_RANGE INT64_C(1000000000)

/* A tensor for count elements; its data is the caller's. */
static iso_status_t range_tensor(iso_dtype_t dtype, int64_t count,
                                 iso_tensor_t *tensor_out)
{
    *tensor_out = (iso_tensor_t){.dtype = dtype, .rank = 1, .dims = {count}};
    tensor_out->data = iso_alloc(iso_tensor_bytes(tensor_out));
    return tensor_out->data == NULL ? ISO_NOMEM : ISO_OK;
}

/* start + i step in floating point. */
static iso_status_t range_of_numbers(iso__onnx_op_t *op, const double *limits,
                                     iso_dtype_t dtype)
{
    double exact = ceil((limits[1] - limits[0]) / limits[2]);
    int64_t count =
        exact > 0.0 && exact <= (double)MOST_RANGE ? (int64_t)exact : 0;
    size_t size = iso_dtype_bytes(dtype);
    iso_tensor_t tensor;

    if (!(limits[2] < 0.0 || limits[2] > 0.0) ||
        !(exact <= (double)MOST_RANGE)) {
        return iso_fail(ISO_INPUT, "a range from %g to %g in steps of %g",
                        limits[0], limits[1], limits[2]);
    }
    ISO_TRY(range_tensor(dtype, count, &tensor));
    for (int64_t i = 0; i < count; i++) {
        iso__onnx_store(dtype, limits[0] + (double)i * limits[2],
                        (char *)tensor.data + (size_t)i * size);
    }
    return iso__onnx_bind_tensor(op, &tensor);
}

/* Elements of a range of integers; 0 for a step of 0. Distances of any two
 * fit in 64 bits without a sign. */
static uint64_t range_count(int64_t start, int64_t end, int64_t step)
{
    if (step > 0 && end > start) {
        return ((uint64_t)end - (uint64_t)start - 1) / (uint64_t)step + 1;
    }
    if (step < 0 && end < start) {
        return ((uint64_t)start - (uint64_t)end - 1) / (0 - (uint64_t)step) + 1;
    }
    return 0;
}

/* start + i step in i32 or i64. */
static iso_status_t range_of_ints(iso__onnx_op_t *op, const iso_dim_t *limits,
                                  iso_dtype_t dtype)
{
    const int64_t start = limits[0].size;
    const int64_t step = limits[2].size;
    const uint64_t count = range_count(start, limits[1].size, step);
    iso_tensor_t tensor;

    if (step == 0 || count > (uint64_t)MOST_RANGE || dtype == ISO_DTYPE_BOOL) {
        return iso_fail(ISO_INPUT,
                        "a range of %s from %lld to %lld in steps of %lld",
                        iso_dtype_string(dtype), (long long)start,
                        (long long)limits[1].size, (long long)step);
    }
    ISO_TRY(range_tensor(dtype, (int64_t)count, &tensor));
    for (uint64_t i = 0; i < count; i++) {
        /* i step alone may wrap, the sum is between start and end. */
        const int64_t element = (int64_t)((uint64_t)start + i * (uint64_t)step);

        if (dtype == ISO_DTYPE_I64) {
            ((int64_t *)tensor.data)[i] = element;
        } else {
            ((int32_t *)tensor.data)[i] = (int32_t)element;
        }
    }
    return iso__onnx_bind_tensor(op, &tensor);
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
    if (all_ints) {
        const iso_dim_t limits[] = {operands[0].dim, operands[1].dim,
                                    operands[2].dim};

        return symbolic ? range_of_dims(op, limits, operands[0].dtype)
                        : range_of_ints(op, limits, operands[0].dtype);
    }
    const double limits[] = {operands[0].number, operands[1].number,
                             operands[2].number};

    return range_of_numbers(op, limits, operands[0].dtype);
}

const iso__onnx_entry_t iso__onnx_range[] = {
    {"Range", 11, ISO__MOST_OPSET, convert_range, ISO_OP_COUNT},
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
