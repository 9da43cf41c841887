/* Reductions, and those that are made of others. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <float.h>

/* What is reduced, and whether its dims stay as ones. */
typedef struct reduction {
    iso_node_id_t x;
    iso__numbers_t axes; /* none: all */
    bool keep_dims;
    bool is_noop;
} reduction_t;

/* ReduceSum has its axes as an input since opset 13, the others do not. */
static iso_status_t reduction_of(iso__onnx_op_t *op, bool is_sum,
                                 reduction_t *out)
{
    int64_t keep_dims;
    int64_t noop = 0;

    ISO_TRY(iso__onnx_data(op, 0, &out->x));
    ISO_TRY(iso__onnx_attr_int(op, "keepdims", 1, &keep_dims));
    ISO_TRY(iso__onnx_attr_or_input(
        op, "axes", is_sum ? 13 : ISO__MOST_OPSET + 1, 1, &out->axes));
    ISO_TRY(iso__onnx_axes_resolve(&out->axes,
                                   iso__onnx_node(op, out->x)->shape.rank));
    if (is_sum && iso__onnx_opset(op) >= 13) {
        ISO_TRY(iso__onnx_attr_int(op, "noop_with_empty_axes", 0, &noop));
    }
    out->keep_dims = keep_dims != 0;
    out->is_noop = noop != 0 && out->axes.count == 0;
    return ISO_OK;
}

static void draft_reduction(iso__draft_t *draft, iso_op_t kind,
                            const reduction_t *reduction, bool keep_dims)
{
    iso__draft_begin(draft, kind, 1, &reduction->x);
    if (reduction->axes.count > 0) {
        iso__draft_ints(draft, "axes", reduction->axes.value,
                        reduction->axes.count);
    }
    iso__draft_int(draft, "keep_dims", keep_dims);
}

/* Dims multiplied by an exporter. */
static iso_status_t product_of_dims(iso__onnx_op_t *op, bool *done_out)
{
    const iso_ints_t *ints = NULL;
    iso_ints_t product;
    int64_t keep_dims;

    ISO_TRY(iso__onnx_symbolic(op, 0, &ints));
    *done_out = ints != NULL && ints->rank == 1;
    if (!*done_out) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_attr_int(op, "keepdims", 1, &keep_dims));
    ISO_TRY(iso_ints_product(op->import->arena, ints, &product));
    product.rank = keep_dims != 0 ? 1 : 0;
    product.dims[0] = 1;
    op->seen_attrs = UINT64_MAX; /* axes can only be this one */
    return iso__onnx_bind_ints(op, 0, &product);
}

static iso_status_t convert_reduce(iso__onnx_op_t *op)
{
    reduction_t reduction;
    iso__draft_t draft;
    bool done = false;

    if (op->entry->op == ISO_OP_REDUCE_PROD) {
        ISO_TRY(product_of_dims(op, &done));
    }
    if (done) {
        return ISO_OK;
    }
    ISO_TRY(reduction_of(op, op->entry->op == ISO_OP_REDUCE_SUM, &reduction));
    if (reduction.is_noop) {
        return iso__onnx_bind(op, 0, reduction.x);
    }
    draft_reduction(&draft, op->entry->op, &reduction, reduction.keep_dims);
    return iso__onnx_finish(op, &draft);
}

/* -- made of others -- */

static iso_status_t convert_l1(iso__onnx_op_t *op)
{
    reduction_t reduction;
    iso__draft_t draft;

    ISO_TRY(reduction_of(op, false, &reduction));
    ISO_TRY(
        iso__onnx_step_unary(op, "abs", ISO_OP_ABS, reduction.x, &reduction.x));
    draft_reduction(&draft, ISO_OP_REDUCE_SUM, &reduction, reduction.keep_dims);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_log_sum(iso__onnx_op_t *op)
{
    reduction_t reduction;
    iso__draft_t draft;
    iso_node_id_t sum;

    ISO_TRY(reduction_of(op, false, &reduction));
    draft_reduction(&draft, ISO_OP_REDUCE_SUM, &reduction, reduction.keep_dims);
    ISO_TRY(iso__onnx_step(op, "sum", &draft, &sum));
    return iso__onnx_finish_unary(op, ISO_OP_LOG, sum);
}

static iso_status_t convert_sum_square(iso__onnx_op_t *op)
{
    reduction_t reduction;
    iso__draft_t draft;
    iso_node_id_t sum;

    ISO_TRY(reduction_of(op, false, &reduction));
    ISO_TRY(iso__onnx_step_binary(op, "square", ISO_OP_MUL, reduction.x,
                                  reduction.x, &reduction.x));
    draft_reduction(&draft, ISO_OP_REDUCE_SUM, &reduction, reduction.keep_dims);
    if (op->entry->op != ISO_OP_SQRT) {
        return iso__onnx_finish(op, &draft);
    }
    ISO_TRY(iso__onnx_step(op, "sum", &draft, &sum));
    return iso__onnx_finish_unary(op, ISO_OP_SQRT, sum);
}

/* Largest x, as a finite number: an infinity minus itself would be a NaN. */
static iso_status_t finite_max(iso__onnx_op_t *op, const reduction_t *reduction,
                               bool keep_dims, const char *part,
                               iso_node_id_t *node_out)
{
    const iso_dtype_t dtype = iso__onnx_node(op, reduction->x)->dtype;
    const double most = dtype == ISO_DTYPE_F64 ? DBL_MAX : (double)FLT_MAX;
    iso__draft_t draft;
    iso_node_id_t max;

    draft_reduction(&draft, ISO_OP_REDUCE_MAX, reduction, keep_dims);
    ISO_TRY(iso__onnx_step(op, "max", &draft, &max));
    iso__draft_begin(&draft, ISO_OP_CLIP, 1, &max);
    iso__draft_float(&draft, "min", -most);
    iso__draft_float(&draft, "max", most);
    return iso__onnx_step(op, part, &draft, node_out);
}

/* log sum exp(x) = m + log sum exp(x - m) with m the largest x, which does
 * not overflow. */
static iso_status_t convert_log_sum_exp(iso__onnx_op_t *op)
{
    reduction_t reduction;
    iso__draft_t draft;
    iso_node_id_t most;
    iso_node_id_t shift;

    ISO_TRY(reduction_of(op, false, &reduction));
    ISO_TRY(finite_max(op, &reduction, true, "shift", &shift));
    ISO_TRY(finite_max(op, &reduction, reduction.keep_dims, "most", &most));
    ISO_TRY(iso__onnx_step_binary(op, "shifted", ISO_OP_SUB, reduction.x, shift,
                                  &reduction.x));
    ISO_TRY(
        iso__onnx_step_unary(op, "exp", ISO_OP_EXP, reduction.x, &reduction.x));
    draft_reduction(&draft, ISO_OP_REDUCE_SUM, &reduction, reduction.keep_dims);
    ISO_TRY(iso__onnx_step(op, "sum", &draft, &reduction.x));
    ISO_TRY(
        iso__onnx_step_unary(op, "log", ISO_OP_LOG, reduction.x, &reduction.x));
    return iso__onnx_finish_binary(op, ISO_OP_ADD, reduction.x, most);
}

/* -- places -- */

static iso_status_t convert_arg(iso__onnx_op_t *op)
{
    iso__draft_t draft;
    iso_node_id_t x;
    int64_t axis;
    int64_t keep_dims;
    int64_t select_last;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_int(op, "axis", 0, &axis));
    ISO_TRY(iso__onnx_attr_int(op, "keepdims", 1, &keep_dims));
    ISO_TRY(iso__onnx_attr_int(op, "select_last_index", 0, &select_last));
    if (select_last != 0) {
        return iso_fail(ISO_UNSUPPORTED,
                        "select_last_index is 1, expected 0 (the first of "
                        "equal elements)");
    }
    iso__draft_begin(&draft, op->entry->op, 1, &x);
    iso__draft_int(&draft, "axis", axis);
    iso__draft_int(&draft, "keep_dims", keep_dims != 0);
    return iso__onnx_finish(op, &draft);
}

#define REDUCE(type, op)                                             \
    {                                                                \
        type, 1, ISO__MOST_OPSET, convert_reduce, ISO_OP_REDUCE_##op \
    }

const iso__onnx_entry_t iso__onnx_reduce[] = {
    REDUCE("ReduceSum", SUM),
    REDUCE("ReduceMean", MEAN),
    REDUCE("ReduceMax", MAX),
    REDUCE("ReduceMin", MIN),
    REDUCE("ReduceProd", PROD),
    {"ReduceL1", 1, ISO__MOST_OPSET, convert_l1, ISO_OP_ABS},
    {"ReduceL2", 1, ISO__MOST_OPSET, convert_sum_square, ISO_OP_SQRT},
    {"ReduceSumSquare", 1, ISO__MOST_OPSET, convert_sum_square, ISO_OP_MUL},
    {"ReduceLogSum", 1, ISO__MOST_OPSET, convert_log_sum, ISO_OP_LOG},
    {"ReduceLogSumExp", 1, ISO__MOST_OPSET, convert_log_sum_exp, ISO_OP_LOG},
    {"ArgMax", 1, ISO__MOST_OPSET, convert_arg, ISO_OP_ARG_MAX},
    {"ArgMin", 1, ISO__MOST_OPSET, convert_arg, ISO_OP_ARG_MIN},
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
