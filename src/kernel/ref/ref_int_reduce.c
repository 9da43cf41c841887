#include "kernel/ref/pool.h"
#include "kernel/ref/reduction.h"

/* Sums and products of i64 wrap, and wrap again when they are stored: the
 * bits are those of any order. */

/* ---- reduce_* ---- */

static int64_t neutral_of(iso_op_t op)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return 1;
    case ISO_OP_REDUCE_MAX:
        return INT64_MIN;
    case ISO_OP_REDUCE_MIN:
        return INT64_MAX;
    default:
        return 0;
    }
}

/* The op of two values that joins one more element. */
static iso_op_t joining_op(iso_op_t op)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return ISO_OP_MUL;
    case ISO_OP_REDUCE_MAX:
        return ISO_OP_MAX;
    case ISO_OP_REDUCE_MIN:
        return ISO_OP_MIN;
    default:
        return ISO_OP_ADD;
    }
}

static int64_t reduce_group(iso_op_t op, const iso_tensor_t *x, int64_t first,
                            iso__walk_t *reduced)
{
    const iso_op_t joining = joining_op(op);
    const int64_t count = iso__walk_count(reduced);
    int64_t all = neutral_of(op);

    for (int64_t i = 0; i < count; i++, iso__walk_next(reduced)) {
        all = iso__ref_int_apply2(
            joining, all, iso__ref_int_load(x, first + reduced->offset[0]));
    }
    return all;
}

iso_status_t iso__ref_int_reduce(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);
    iso__reduction_t reduction;

    ISO_TRY(iso__reduction_of(node, inputs[0], &reduction));
    for (int64_t i = 0; i < count; i++, iso__walk_next(&reduction.kept)) {
        iso__ref_int_store(output, i,
                           reduce_group(node->op, inputs[0],
                                        reduction.kept.offset[0],
                                        &reduction.reduced));
    }
    return ISO_OK;
}

/* ---- arg_max, arg_min: of equal ones the first ---- */

static int64_t arg_of_group(iso_op_t op, const iso_tensor_t *x, int64_t first,
                            iso__walk_t *reduced)
{
    const int64_t count = iso__walk_count(reduced);
    int64_t best = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < count; i++, iso__walk_next(reduced)) {
        const int64_t next = iso__ref_int_load(x, first + reduced->offset[0]);

        if (i == 0 || (op == ISO_OP_ARG_MAX ? next > best : next < best)) {
            best = next;
            at = i;
        }
    }
    return at;
}

iso_status_t iso__ref_int_arg(const iso_node_t *node,
                              const iso_tensor_t *const *inputs,
                              const iso_tensor_t *output)
{
    int64_t *y = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__reduction_t reduction;

    ISO_TRY(iso__reduction_of(node, inputs[0], &reduction));
    for (int64_t i = 0; i < count; i++, iso__walk_next(&reduction.kept)) {
        y[i] = arg_of_group(node->op, inputs[0], reduction.kept.offset[0],
                            &reduction.reduced);
    }
    return ISO_OK;
}

/* ---- max_pool ---- */

/* A window that holds nothing but padding is the least number of the type,
 * which the first operand of max must not exceed. */
static int64_t least_of(iso_dtype_t dtype)
{
    switch (dtype) {
    case ISO_DTYPE_I8:
        return INT8_MIN;
    case ISO_DTYPE_U8:
        return 0;
    case ISO_DTYPE_I32:
        return INT32_MIN;
    default:
        return INT64_MIN;
    }
}

static int64_t max_of_window(const iso__pool_t *pool, const iso_tensor_t *x,
                             int64_t plane, const int64_t *out,
                             iso__walk_t *taps)
{
    const int64_t count = iso__walk_count(taps);
    int64_t most = least_of(x->dtype);

    for (int64_t t = 0; t < count; t++, iso__walk_next(taps)) {
        const int64_t offset = iso__pool_offset(pool, out, taps->index);

        if (offset >= 0) {
            most = iso__ref_int_apply2(ISO_OP_MAX, most,
                                       iso__ref_int_load(x, plane + offset));
        }
    }
    return most;
}

iso_status_t iso__ref_int_max_pool(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    const int rank = output->rank;
    const int64_t planes = output->dims[0] * output->dims[1];
    const int64_t in_plane = iso__dims_product(x->dims, 2, rank);
    const int64_t out_plane = iso__dims_product(output->dims, 2, rank);
    iso__pool_t pool;
    iso__walk_t out;
    iso__walk_t taps;

    ISO_TRY(iso__pool_of(node, x, &pool));
    iso__walk_begin(&out, rank - 2, &output->dims[2]);
    iso__walk_begin(&taps, rank - 2, pool.param.window.kernel);
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t i = 0; i < out_plane; i++, iso__walk_next(&out)) {
            iso__ref_int_store(
                output, plane * out_plane + i,
                max_of_window(&pool, x, plane * in_plane, out.index, &taps));
        }
    }
    return ISO_OK;
}
