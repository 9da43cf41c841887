#include "kernel/ref/pool.h"
#include "kernel/ref/real.h"

/* What a window holds so far. */
typedef struct window_sum {
    real_t value;
    int64_t inside; /* taps in the operand */
    int64_t padded; /* taps in the operand or its padding */
} window_sum_t;

static real_t pool_window(const iso__pool_t *pool, bool is_max, const real_t *x,
                          const int64_t *out, iso__walk_t *taps)
{
    const int64_t count = iso__walk_count(taps);
    window_sum_t sum = {.value = is_max ? -(real_t)INFINITY : 0};

    for (int64_t t = 0; t < count; t++, iso__walk_next(taps)) {
        const int64_t offset = iso__pool_offset(pool, out, taps->index);

        sum.padded += offset >= ISO__POOL_PADDING;
        if (offset >= 0) {
            sum.inside++;
            sum.value =
                is_max ? real_max(sum.value, x[offset]) : sum.value + x[offset];
        }
    }
    if (is_max) {
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
    const bool is_max = node->op == ISO_OP_MAX_POOL;
    iso__pool_t pool;
    iso__walk_t out;
    iso__walk_t taps;

    ISO_TRY(iso__pool_of(node, inputs[0], &pool));
    iso__walk_begin(&out, rank - 2, &output->dims[2]);
    iso__walk_begin(&taps, rank - 2, pool.param.window.kernel);
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t i = 0; i < out_plane; i++, iso__walk_next(&out)) {
            y[plane * out_plane + i] = real_canonical(pool_window(
                &pool, is_max, x + plane * in_plane, out.index, &taps));
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
