/* Reductions, norms and pools. */
#include "kernel/cuda/run.h"

/* ---- Reductions ---- */

iso_status_t iso__cuda_run_reduce(const iso_cuda_t *cuda,
                                  const iso_node_t *node,
                                  const iso_tensor_t *const *inputs,
                                  const iso_tensor_t *output,
                                  iso__cuda_error_t *error_out)
{
    const iso_tensor_t *x = inputs[0];
    const bool is_arg =
        node->op == ISO_OP_ARG_MAX || node->op == ISO_OP_ARG_MIN;
    iso__cuda_reduce_t reduce = {.x = x->data, .op = node->op};
    int64_t strides[ISO_MAX_RANK];
    int64_t dims[2][ISO_MAX_RANK];
    int64_t steps[2][ISO_MAX_RANK];
    int rank[2] = {0, 0};
    iso_reduce_param_t param;
    iso__walk_t walk;

    ISO_TRY(iso_reduce_param_of(node, x->rank, &param));
    iso__strides_of(x->rank, x->dims, strides);
    for (int axis = 0; axis < x->rank; axis++) {
        const int side = param.reduced[axis] ? 1 : 0;

        dims[side][rank[side]] = x->dims[axis];
        steps[side][rank[side]++] = strides[axis];
    }
    iso__walk_begin(&walk, rank[0], dims[0]);
    (void)iso__walk_add(&walk, 0, steps[0]);
    reduce.kept = iso__cuda_walk_of(&walk);
    iso__walk_begin(&walk, rank[1], dims[1]);
    (void)iso__walk_add(&walk, 0, steps[1]);
    reduce.reduced = iso__cuda_walk_of(&walk);
    if (is_arg) {
        *error_out = iso__cuda_arg(cuda->stream, &reduce, output->data);
    } else {
        reduce.y = output->data;
        *error_out = iso__cuda_reduce(cuda->stream, &reduce);
    }
    return ISO_OK;
}

/* ---- Norms ---- */

static iso_status_t run_softmax(const iso_cuda_t *cuda, const iso_node_t *node,
                                const iso_tensor_t *x,
                                const iso_tensor_t *output,
                                iso__cuda_error_t *error_out)
{
    int axis = 0;

    ISO_TRY(iso_axis_of(node, output->rank, -1, &axis));
    *error_out = iso__cuda_softmax(
        cuda->stream, node->op == ISO_OP_LOG_SOFTMAX, x->data, output->data,
        (int32_t)iso__dims_product(output->dims, 0, axis),
        (int32_t)output->dims[axis],
        (int32_t)iso__dims_product(output->dims, axis + 1, output->rank));
    return ISO_OK;
}

static iso_status_t run_batch_norm(const iso_cuda_t *cuda,
                                   const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output,
                                   iso__cuda_error_t *error_out)
{
    iso_norm_param_t param;

    ISO_TRY(iso_norm_param_of(node, output->rank, &param));

    const iso__cuda_batch_norm_t norm = {
        .x = inputs[0]->data,
        .scale = inputs[1]->data,
        .bias = inputs[2]->data,
        .mean = inputs[3]->data,
        .variance = inputs[4]->data,
        .y = output->data,
        .count = (int32_t)iso_tensor_count(output),
        .inner = iso__cuda_divisor_of(
            iso__dims_product(output->dims, 2, output->rank)),
        .channels = iso__cuda_divisor_of(output->dims[1]),
        .epsilon = param.epsilon,
    };

    *error_out = iso__cuda_batch_norm(cuda->stream, &norm);
    return ISO_OK;
}

static iso_status_t run_row_norm(const iso_cuda_t *cuda, const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output,
                                 iso__cuda_error_t *error_out)
{
    const bool by_element = node->op == ISO_OP_LAYER_NORM;
    const iso_tensor_t *bias = iso__cuda_input(node, inputs, 2);
    iso_norm_param_t param;

    ISO_TRY(iso_norm_param_of(node, output->rank, &param));

    const int first = by_element ? param.axis : 2;
    const iso__cuda_row_norm_t norm = {
        .x = inputs[0]->data,
        .scale = inputs[1]->data,
        .bias = bias != NULL ? bias->data : NULL,
        .y = output->data,
        .rows = (int32_t)iso__dims_product(output->dims, 0, first),
        .count = (int32_t)iso__dims_product(output->dims, first, output->rank),
        .channels = by_element ? 0 : (int32_t)output->dims[1],
        .epsilon = param.epsilon,
    };

    *error_out = iso__cuda_row_norm(cuda->stream, &norm);
    return ISO_OK;
}

iso_status_t iso__cuda_run_norm(const iso_cuda_t *cuda, const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output,
                                iso__cuda_error_t *error_out)
{
    switch (node->op) {
    case ISO_OP_SOFTMAX:
    case ISO_OP_LOG_SOFTMAX:
        return run_softmax(cuda, node, inputs[0], output, error_out);
    case ISO_OP_BATCH_NORM:
        return run_batch_norm(cuda, node, inputs, output, error_out);
    default:
        return run_row_norm(cuda, node, inputs, output, error_out);
    }
}

/* ---- Pools ---- */

iso_status_t iso__cuda_run_pool(const iso_cuda_t *cuda, const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output,
                                iso__cuda_error_t *error_out)
{
    const iso_tensor_t *x = inputs[0];
    iso__cuda_pool_t pool = {.x = x->data, .y = output->data};
    iso_pool_param_t param;

    ISO_TRY(iso_pool_param_of(node, &param));
    pool.count = (int32_t)iso_tensor_count(output);
    pool.in_plane = (int32_t)iso__dims_product(x->dims, 2, x->rank);
    pool.is_max = node->op == ISO_OP_MAX_POOL;
    pool.count_pad = param.count_pad;
    pool.window =
        iso__cuda_window_of(&param.window, &x->dims[2], &output->dims[2]);
    *error_out = iso__cuda_pool(cuda->stream, &pool);
    return ISO_OK;
}
