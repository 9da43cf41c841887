/* Cuts of ops that reduce inside: along the axes that they do not reduce. */
#include "plan/shard/cut_impl.h"

iso_status_t iso__cut_reduce(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const int rank = iso__cut_shape(in, 0)->rank;
    iso_reduce_param_t param;
    int axis_out = -1; /* of the value */

    ISO_TRY(iso_reduce_param_of(in->node, rank, &param));
    for (int axis = 0; axis < rank && axis_out < in->axis; axis++) {
        if (!param.reduced[axis] || param.keep_dims) {
            axis_out++;
            link->axis = axis;
        }
    }
    if (param.reduced[link->axis]) {
        link->unit = 0;
    }
    return ISO_OK;
}

/* Operands after x are one number for each channel. */
static void cut_channel_vectors(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    if (in->operand == 0) {
        link->axis = in->axis;
    } else if (in->axis == 1) {
        link->axis = 0;
    }
}

iso_status_t iso__cut_norm(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    iso_norm_param_t param;
    bool reduced = false;

    ISO_TRY(iso_norm_param_of(in->node, in->node->shape.rank, &param));
    switch (in->node->op) {
    case ISO_OP_BATCH_NORM:
        cut_channel_vectors(in, link);
        return ISO_OK;
    case ISO_OP_INSTANCE_NORM:
        cut_channel_vectors(in, link);
        reduced = in->axis > 1;
        break;
    case ISO_OP_LRN:
        link->axis = in->axis;
        reduced = in->axis == 1;
        break;
    case ISO_OP_LAYER_NORM:
        link->axis = in->operand == 0 ? in->axis : ISO_AXIS_WHOLE;
        reduced = in->axis >= param.axis;
        break;
    default: /* softmax, log_softmax */
        link->axis = in->axis;
        reduced = in->axis == param.axis;
        break;
    }
    if (reduced) {
        link->unit = 0;
    }
    return ISO_OK;
}
