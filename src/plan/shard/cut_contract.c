/* Cuts of contractions along axes of their value. */
#include "plan/shard/cut_impl.h"

/* ---- Convolutions ---- */

iso_status_t iso__cut_conv_param(const iso__cut_in_t *in,
                                 iso_conv_param_t *param_out)
{
    const iso_shape_t *weights = iso__cut_shape(in, 1);
    int64_t kernel[ISO_MAX_RANK] = {0};

    for (int axis = 2; axis < weights->rank; axis++) {
        kernel[axis - 2] = weights->dim[axis].size;
    }
    return iso_conv_param_of(in->node, weights->rank - 2, kernel, param_out);
}

/* Output channels; where there are groups, by whole groups. */
static void cut_channels(const iso__cut_in_t *in, int64_t groups,
                         iso__cut_link_t *link)
{
    const bool transposed = in->node->op == ISO_OP_CONV_TRANSPOSE;
    const int64_t of_x = iso__cut_shape(in, 0)->dim[1].size / groups;

    if (groups > 1) {
        link->unit = in->node->shape.dim[1].size / groups;
        link->size = link->unit;
        if (in->operand == 0) {
            link->axis = 1;
        }
        if (in->operand == 0 || (in->operand == 1 && transposed)) {
            link->size = of_x;
        }
    }
    if (in->operand > 0) {
        /* Transposed weights are (in, out / groups, ...): the groups lie
         * along the first axis, the channels of one along the second. */
        link->axis = in->operand == 1 && transposed && groups == 1 ? 1 : 0;
    }
}

iso_status_t iso__cut_conv(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    iso_conv_param_t param;

    if (in->axis == 0) {
        link->axis = in->operand == 0 ? 0 : ISO_AXIS_WHOLE;
        return ISO_OK;
    }
    if (in->axis == 1) {
        ISO_TRY(iso__cut_conv_param(in, &param));
        cut_channels(in, param.groups, link);
        return ISO_OK;
    }
    if (in->node->op == ISO_OP_CONV_TRANSPOSE) {
        link->unit = 0;
    } else if (in->operand == 0) {
        link->axis = in->axis;
        link->window = true;
    }
    return ISO_OK;
}

/* ---- Matrices ---- */

iso_status_t iso__cut_matmul(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const int rank = in->node->shape.rank;
    const iso_shape_t *shape = iso__cut_shape(in, in->operand);

    if (iso__cut_shape(in, 0)->rank < 2 || iso__cut_shape(in, 1)->rank < 2) {
        link->unit = 0;
    } else if (in->axis < rank - 2) {
        return in->operand < 2 ? iso__cut_broadcast(in, link) : ISO_OK;
    } else if (in->axis == rank - 2) {
        link->axis = in->operand == 0 ? shape->rank - 2 : ISO_AXIS_WHOLE;
    } else {
        link->axis = in->operand > 0 ? shape->rank - 1 : ISO_AXIS_WHOLE;
    }
    return ISO_OK;
}

iso_status_t iso__cut_gemm(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    iso_gemm_param_t param;

    if (in->operand == 2) {
        return iso__cut_broadcast(in, link);
    }
    ISO_TRY(iso_gemm_param_of(in->node, &param));
    if (in->operand == in->axis) {
        const bool turned = in->operand == 0 ? param.trans_a : param.trans_b;

        link->axis = turned ? 1 - in->axis : in->axis;
    }
    return ISO_OK;
}
