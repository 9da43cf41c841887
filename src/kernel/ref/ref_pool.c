#include "kernel/ref/real.h"

typedef struct pool {
    iso_pool_param_t param;
    const int64_t *in_dims; /* (n_spatial) */
    bool is_max;
} pool_t;

/* What a window holds so far. */
typedef struct window_sum {
    real_t value;
    int64_t inside; /* taps in the operand */
    int64_t padded; /* taps in the operand or its padding */
} window_sum_t;

/*
 * Offset of a tap in the operand; -1: in the padding, -2: beyond it, where
 * the last window of ceil_mode may reach.
 */
static int64_t offset_of(const pool_t *pool, const int64_t *out,
                         const int64_t *tap)
{
    const iso_window_t *window = &pool->param.window;
    int64_t offset = 0;

    for (int axis = 0; axis < window->n_spatial; axis++) {
        const int64_t in = out[axis] * window->strides[axis] +
                           tap[axis] * window->dilations[axis] -
                           window->pads_begin[axis];

        if (in >= pool->in_dims[axis] + window->pads_end[axis]) {
            return -2;
        }
        if (in < 0 || in >= pool->in_dims[axis]) {
            offset = -1;
        } else if (offset >= 0) {
            offset = offset * pool->in_dims[axis] + in;
        }
    }
    return offset;
}

static real_t pool_window(const pool_t *pool, const real_t *x,
                          const int64_t *out, iso__walk_t *taps)
{
    const int64_t count = iso__walk_count(taps);
    window_sum_t sum = {.value = pool->is_max ? -(real_t)INFINITY : 0};

    for (int64_t t = 0; t < count; t++, iso__walk_next(taps)) {
        const int64_t offset = offset_of(pool, out, taps->index);

        sum.padded += offset >= -1;
        if (offset >= 0) {
            sum.inside++;
            sum.value = pool->is_max ? real_max(sum.value, x[offset])
                                     : sum.value + x[offset];
        }
    }
    if (pool->is_max) {
        return sum.value;
    }
    return sum.value /
           (real_t)(pool->param.count_pad ? sum.padded : sum.inside);
}

iso_status_t REAL(iso__ref_max_pool)(const iso_node_t *node,
                                     const iso_tensor_t *const *inputs,
                                     const iso_tensor_t *output)
{
    const int rank = output->rank;
    const real_t *x = inputs[0]->data;
    real_t *y = output->data;
    const int64_t planes = output->dims[0] * output->dims[1];
    const int64_t in_plane = iso__dims_product(inputs[0]->dims, 2, rank);
    const int64_t out_plane = iso__dims_product(output->dims, 2, rank);
    pool_t pool = {.in_dims = &inputs[0]->dims[2],
                   .is_max = node->op == ISO_OP_MAX_POOL};
    iso__walk_t out;
    iso__walk_t taps;

    ISO_TRY(iso_pool_param_of(node, &pool.param));
    iso__walk_begin(&out, rank - 2, &output->dims[2]);
    iso__walk_begin(&taps, rank - 2, pool.param.window.kernel);
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t i = 0; i < out_plane; i++, iso__walk_next(&out)) {
            y[plane * out_plane + i] = real_canonical(
                pool_window(&pool, x + plane * in_plane, out.index, &taps));
        }
    }
    return ISO_OK;
}

iso_status_t REAL(iso__ref_avg_pool)(const iso_node_t *node,
                                     const iso_tensor_t *const *inputs,
                                     const iso_tensor_t *output)
{
    return REAL(iso__ref_max_pool)(node, inputs, output);
}
