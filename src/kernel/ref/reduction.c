#include "kernel/ref/reduction.h"

iso_status_t iso__reduction_of(const iso_node_t *node, const iso_tensor_t *x,
                               iso__reduction_t *reduction_out)
{
    iso_reduce_param_t param;
    int64_t strides[ISO_MAX_RANK];
    int64_t dims[2][ISO_MAX_RANK];
    int64_t steps[2][ISO_MAX_RANK];
    int rank[2] = {0, 0};

    ISO_TRY(iso_reduce_param_of(node, x->rank, &param));
    iso__strides_of(x->rank, x->dims, strides);
    for (int axis = 0; axis < x->rank; axis++) {
        const int side = param.reduced[axis] ? 1 : 0;

        dims[side][rank[side]] = x->dims[axis];
        steps[side][rank[side]++] = strides[axis];
    }
    iso__walk_begin(&reduction_out->kept, rank[0], dims[0]);
    (void)iso__walk_add(&reduction_out->kept, 0, steps[0]);
    iso__walk_begin(&reduction_out->reduced, rank[1], dims[1]);
    (void)iso__walk_add(&reduction_out->reduced, 0, steps[1]);
    return ISO_OK;
}
