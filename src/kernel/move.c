#include "kernel/move.h"

#include "base/log.h"
#include "graph/param.h"

static iso_status_t transpose_walk(const iso_node_t *node,
                                   const iso_tensor_t *x,
                                   const iso_tensor_t *output,
                                   iso__walk_t *walk_out)
{
    int64_t strides[ISO_MAX_RANK];
    int64_t step[ISO_MAX_RANK];
    int perm[ISO_MAX_RANK];

    ISO_TRY(iso_perm_of(node, x->rank, perm));
    iso__strides_of(x->rank, x->dims, strides);
    for (int axis = 0; axis < x->rank; axis++) {
        step[axis] = strides[perm[axis]];
    }
    iso__walk_begin(walk_out, output->rank, output->dims);
    (void)iso__walk_add(walk_out, 0, step);
    return ISO_OK;
}

static iso_status_t slice_walk(const iso_node_t *node, const iso_tensor_t *x,
                               const iso_tensor_t *output,
                               iso__walk_t *walk_out)
{
    int64_t strides[ISO_MAX_RANK];
    int64_t step[ISO_MAX_RANK];
    int64_t first = 0;
    iso_slice_param_t param;

    ISO_TRY(iso_slice_param_of(node, x, &param));
    iso__strides_of(x->rank, x->dims, strides);
    for (int axis = 0; axis < x->rank; axis++) {
        first += param.start[axis] * strides[axis];
        step[axis] = param.step[axis] * strides[axis];
    }
    iso__walk_begin(walk_out, output->rank, output->dims);
    (void)iso__walk_add(walk_out, first, step);
    return ISO_OK;
}

/* Each axis is two, the repeat and the index; those of one are left out so
 * that the axes are no more than the rank allows. */
static iso_status_t tile_walk(const iso_tensor_t *x, const iso_tensor_t *output,
                              iso__walk_t *walk_out)
{
    int64_t strides[ISO_MAX_RANK];
    int64_t dims[2 * ISO_MAX_RANK];
    int64_t step[2 * ISO_MAX_RANK];
    int rank = 0;

    iso__strides_of(x->rank, x->dims, strides);
    for (int axis = 0; axis < x->rank; axis++) {
        if (output->dims[axis] != x->dims[axis]) {
            dims[rank] = output->dims[axis] / x->dims[axis];
            step[rank++] = 0;
        }
        if (x->dims[axis] != 1) {
            dims[rank] = x->dims[axis];
            step[rank++] = strides[axis];
        }
    }
    if (rank > ISO_MAX_RANK) {
        return ISO_UNSUPPORTED;
    }
    iso__walk_begin(walk_out, rank, dims);
    (void)iso__walk_add(walk_out, 0, step);
    return ISO_OK;
}

/* y (n, c, h, row, w, col) of depth x (n, row, col, c, h, w), or with crd of
 * depth (n, c, row, col, h, w). */
static iso_status_t depth_to_space_walk(const iso_node_t *node,
                                        const iso_tensor_t *x,
                                        const iso_tensor_t *output,
                                        iso__walk_t *walk_out)
{
    const int64_t *in = x->dims;
    const int64_t plane = in[2] * in[3];
    const int64_t channels = output->dims[1];
    iso_block_param_t param;

    ISO_TRY(iso_block_param_of(node, &param));

    const int64_t b = param.block;
    const int64_t depth = param.crd ? b * b * plane : plane;
    const int64_t col = param.crd ? plane : channels * plane;
    const int64_t dims[] = {in[0], channels, in[2], b, in[3], b};
    const int64_t step[] = {in[1] * plane, depth, in[3], b * col, 1, col};

    iso__walk_begin(walk_out, 6, dims);
    (void)iso__walk_add(walk_out, 0, step);
    return ISO_OK;
}

/* y (n, row, col, c, h, w) of x (n, c, h, row, w, col). */
static iso_status_t space_to_depth_walk(const iso_node_t *node,
                                        const iso_tensor_t *x,
                                        const iso_tensor_t *output,
                                        iso__walk_t *walk_out)
{
    const int64_t *in = x->dims;
    const int64_t *out = output->dims;
    const int64_t plane = in[2] * in[3];
    iso_block_param_t param;

    ISO_TRY(iso_block_param_of(node, &param));

    const int64_t b = param.block;
    const int64_t dims[] = {in[0], b, b, in[1], out[2], out[3]};
    const int64_t step[] = {in[1] * plane, in[3], 1, plane, b * in[3], b};

    iso__walk_begin(walk_out, 6, dims);
    (void)iso__walk_add(walk_out, 0, step);
    return ISO_OK;
}

iso_status_t iso__move_walk_of(const iso_node_t *node, const iso_tensor_t *x,
                               const iso_tensor_t *output,
                               iso__walk_t *walk_out)
{
    switch (node->op) {
    case ISO_OP_TRANSPOSE:
        return transpose_walk(node, x, output, walk_out);
    case ISO_OP_SLICE:
        return slice_walk(node, x, output, walk_out);
    case ISO_OP_TILE:
        return tile_walk(x, output, walk_out);
    case ISO_OP_DEPTH_TO_SPACE:
        return depth_to_space_walk(node, x, output, walk_out);
    case ISO_OP_SPACE_TO_DEPTH:
        return space_to_depth_walk(node, x, output, walk_out);
    default:
        ISO_ASSERT(node->op == ISO_OP_EXPAND);
        iso__walk_begin(walk_out, output->rank, output->dims);
        (void)iso__walk_add_broadcast(walk_out, x);
        return ISO_OK;
    }
}
