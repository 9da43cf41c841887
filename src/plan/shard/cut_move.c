/* Cuts of ops that only move elements. */
#include "plan/shard/cut_impl.h"

/* Both are cut alike where the op leaves the axis as it is. */
static void cut_if(bool kept, const iso__cut_in_t *in, iso__cut_link_t *link)
{
    iso__cut_same_axis(in, link);
    if (!kept) {
        link->unit = 0;
    }
}

/* ---- Reshape, transpose, concat ---- */

static int64_t product(const iso_shape_t *shape, int begin, int end)
{
    int64_t count = 1;

    for (int axis = begin; axis < end; axis++) {
        count *= shape->dim[axis].size;
    }
    return count;
}

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/*
 * An axis of x begins where the value's axis does when as many elements lie
 * outside of both. With s elements inside one index of the value's axis and t
 * inside one of x's, a piece of u indices is whole on both sides when t
 * divides u s: the least one is u = t / gcd(s, t), and s / gcd(s, t) of x.
 * Several axes of x begin there when some are 1; the last one is it.
 */
iso_status_t iso__cut_reshape(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const iso_shape_t *x = iso__cut_shape(in, 0);
    const iso_shape_t *value = &in->node->shape;
    const int64_t outside = product(value, 0, in->axis);
    const int64_t inside = product(value, in->axis + 1, value->rank);
    int64_t before = 1; /* elements outside of x's axis */

    link->unit = 0;
    for (int axis = 0; axis < x->rank && before <= outside; axis++) {
        if (before == outside) {
            const int64_t of_x = product(x, axis + 1, x->rank);
            const int64_t divisor = divisor_of(inside, of_x);

            /* After axes of 1 there is less inside, and the unit smaller. */
            link->unit = of_x / divisor;
            link->size = inside / divisor;
            link->axis = axis;
        }
        before *= x->dim[axis].size;
    }
    return ISO_OK;
}

iso_status_t iso__cut_transpose(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    int perm[ISO_MAX_RANK];

    ISO_TRY(iso_perm_of(in->node, in->node->shape.rank, perm));
    link->axis = perm[in->axis];
    return ISO_OK;
}

iso_status_t iso__cut_concat(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    int along = 0;

    ISO_TRY(iso_axis_of(in->node, in->node->shape.rank, 0, &along));
    cut_if(in->axis != along, in, link);
    return ISO_OK;
}

/* ---- Slice, pad, tile ---- */

/* A start and an end that take all of an axis take all of a piece, too: they
 * are clamped to it. */
iso_status_t iso__cut_slice(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const iso_shape_t *x = iso__cut_shape(in, 0);
    iso_slice_param_t param;
    iso_tensor_t view;

    ISO_TRY(iso_tensor_view(in->node->dtype, x, NULL, &view));
    ISO_TRY(iso_slice_param_of(in->node, &view, &param));
    cut_if(param.step[in->axis] == 1 &&
               param.count[in->axis] == x->dim[in->axis].size,
           in, link);
    return ISO_OK;
}

iso_status_t iso__cut_pad(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    iso_pad_param_t param;

    ISO_TRY(iso_pad_param_of(in->node, in->node->shape.rank, &param));
    cut_if(param.begin[in->axis] == 0 && param.end[in->axis] == 0, in, link);
    return ISO_OK;
}

iso_status_t iso__cut_tile(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    cut_if(iso__cut_shape(in, 0)->dim[in->axis].size ==
               in->node->shape.dim[in->axis].size,
           in, link);
    return ISO_OK;
}

/* ---- Gather ---- */

/* The value's axes are x's before `along`, the indices', x's after it. The
 * axis that the indices point into stays whole. */
iso_status_t iso__cut_gather(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const int indices = iso__cut_shape(in, 1)->rank;
    int along = 0;

    ISO_TRY(iso_axis_of(in->node, iso__cut_shape(in, 0)->rank, 0, &along));
    if (in->axis >= along && in->axis < along + indices) {
        link->axis = in->operand == 1 ? in->axis - along : ISO_AXIS_WHOLE;
    } else if (in->operand == 0) {
        link->axis = in->axis < along ? in->axis : in->axis - indices + 1;
    }
    return ISO_OK;
}

iso_status_t iso__cut_gather_elements(const iso__cut_in_t *in,
                                      iso__cut_link_t *link)
{
    int along = 0;

    ISO_TRY(iso_axis_of(in->node, in->node->shape.rank, 0, &along));
    if (in->operand == 1 || in->axis != along) {
        iso__cut_same_axis(in, link);
    }
    return ISO_OK;
}

/* ---- Blocks, resize ---- */

iso_status_t iso__cut_depth_to_space(const iso__cut_in_t *in,
                                     iso__cut_link_t *link)
{
    iso_block_param_t param;

    cut_if(in->axis != 1, in, link);
    ISO_TRY(iso_block_param_of(in->node, &param));
    if (in->axis > 1) {
        link->unit = param.block;
    }
    return ISO_OK;
}

iso_status_t iso__cut_space_to_depth(const iso__cut_in_t *in,
                                     iso__cut_link_t *link)
{
    iso_block_param_t param;

    cut_if(in->axis != 1, in, link);
    ISO_TRY(iso_block_param_of(in->node, &param));
    if (in->axis > 1) {
        link->size = param.block;
    }
    return ISO_OK;
}

/* Along an axis that keeps its size every place is its own index, as long as
 * f32, in which places are rounded, holds it; a scale of the model that is
 * not 1 may still move it. */
iso_status_t iso__cut_resize(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const int64_t most = INT64_C(1) << 24;
    const int64_t from = iso__cut_shape(in, 0)->dim[in->axis].size;
    const int64_t to = in->node->shape.dim[in->axis].size;
    iso_resize_param_t param;

    ISO_TRY(iso_resize_param_of(in->node, in->node->shape.rank, &param));

    const double scale = param.scales[in->axis];

    cut_if(from == to && to <= most && (scale == 0.0 || scale == 1.0), in,
           link);
    return ISO_OK;
}
