#include "kernel/ref/real.h"
#include "kernel/ref/reduction.h"

static real_t neutral_of(iso_op_t op)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return 1;
    case ISO_OP_REDUCE_MAX:
        return -(real_t)INFINITY;
    case ISO_OP_REDUCE_MIN:
        return (real_t)INFINITY;
    default:
        return 0;
    }
}

static real_t joined(iso_op_t op, real_t x, real_t y)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return x * y;
    case ISO_OP_REDUCE_MAX:
        return real_max(x, y);
    case ISO_OP_REDUCE_MIN:
        return real_min(x, y);
    default:
        return x + y;
    }
}

/* The fold of the lanes; any order serves max and min. */
static real_t folded(iso_op_t op, real_lanes_t *lanes)
{
    for (int width = ISO_LANES / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) {
            lanes->lane[i] = joined(op, lanes->lane[i], lanes->lane[i + width]);
        }
    }
    return lanes->lane[0];
}

static real_t reduce_group(iso_op_t op, const real_t *x, iso__walk_t *reduced)
{
    const int64_t count = iso__walk_count(reduced);
    real_lanes_t lanes;

    real_lanes_begin(&lanes, neutral_of(op));
    for (int64_t i = 0; i < count; i++, iso__walk_next(reduced)) {
        real_t *lane = real_lanes_next(&lanes);

        *lane = joined(op, *lane, x[reduced->offset[0]]);
    }

    const real_t sum = folded(op, &lanes);

    return real_canonical(op == ISO_OP_REDUCE_MEAN ? sum / (real_t)count : sum);
}

iso_status_t REAL(iso__ref_reduce)(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    real_t *y = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__reduction_t reduction;

    ISO_TRY(iso__reduction_of(node, inputs[0], &reduction));
    for (int64_t i = 0; i < count; i++, iso__walk_next(&reduction.kept)) {
        y[i] = reduce_group(node->op, x + reduction.kept.offset[0],
                            &reduction.reduced);
    }
    return ISO_OK;
}

/* ---- arg_max, arg_min ---- */

/* Does x take the place of the best so far? The first NaN beats everything;
 * of equal ones the first stays. */
static bool beats(iso_op_t op, real_t x, real_t best)
{
    if (best != best || x != x) {
        return best == best;
    }
    return op == ISO_OP_ARG_MAX ? x > best : x < best;
}

static int64_t arg_of_group(iso_op_t op, const real_t *x, iso__walk_t *reduced)
{
    const int64_t count = iso__walk_count(reduced);
    real_t best = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < count; i++, iso__walk_next(reduced)) {
        const real_t next = x[reduced->offset[0]];

        if (i == 0 || beats(op, next, best)) {
            best = next;
            at = i;
        }
    }
    return at;
}

iso_status_t REAL(iso__ref_arg)(const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    int64_t *y = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__reduction_t reduction;

    ISO_TRY(iso__reduction_of(node, inputs[0], &reduction));
    for (int64_t i = 0; i < count; i++, iso__walk_next(&reduction.kept)) {
        y[i] = arg_of_group(node->op, x + reduction.kept.offset[0],
                            &reduction.reduced);
    }
    return ISO_OK;
}
