#include "kernel/ref/pool.h"

iso_status_t iso__pool_of(const iso_node_t *node, const iso_tensor_t *x,
                          iso__pool_t *pool_out)
{
    pool_out->in_dims = &x->dims[2];
    return iso_pool_param_of(node, &pool_out->param);
}

int64_t iso__pool_offset(const iso__pool_t *pool, const int64_t *out,
                         const int64_t *tap)
{
    const iso_window_t *window = &pool->param.window;
    int64_t offset = 0;

    for (int axis = 0; axis < window->n_spatial; axis++) {
        const int64_t in = out[axis] * window->strides[axis] +
                           tap[axis] * window->dilations[axis] -
                           window->pads_begin[axis];

        if (in >= pool->in_dims[axis] + window->pads_end[axis]) {
            return ISO__POOL_BEYOND;
        }
        if (in < 0 || in >= pool->in_dims[axis]) {
            offset = ISO__POOL_PADDING;
        } else if (offset >= 0) {
            offset = offset * pool->in_dims[axis] + in;
        }
    }
    return offset;
}
