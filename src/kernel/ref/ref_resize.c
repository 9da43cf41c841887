#include "kernel/ref/ref_impl.h"

#include <math.h>

iso__ref_place_t iso__ref_resize_place(const iso_resize_param_t *param,
                                       int axis, int64_t input, int64_t output,
                                       int64_t i)
{
    const double scale = param->scales[axis] > 0.0
                             ? param->scales[axis]
                             : (double)output / (double)input;
    const double most = (double)(input - 1);
    double x = (double)i / scale;

    switch (param->coordinates) {
    case ISO_RESIZE_HALF_PIXEL:
        x = ((double)i + 0.5) / scale - 0.5;
        break;
    case ISO_RESIZE_PYTORCH_HALF_PIXEL:
        x = output > 1 ? ((double)i + 0.5) / scale - 0.5 : 0.0;
        break;
    case ISO_RESIZE_ALIGN_CORNERS:
        x = output > 1 ? (double)i * most / (double)(output - 1) : 0.0;
        break;
    case ISO_RESIZE_ASYMMETRIC:
        break;
    }

    const float at = (float)(x > 0.0 ? x : 0.0);
    const float below = floorf(at);

    if ((double)below >= most) {
        return (iso__ref_place_t){.below = input - 1};
    }
    return (iso__ref_place_t){.below = (int64_t)below, .rest = at - below};
}

static int64_t nearest(iso_resize_nearest_t rule, iso__ref_place_t place)
{
    bool up = false;

    switch (rule) {
    case ISO_RESIZE_ROUND_PREFER_FLOOR:
        up = place.rest > 0.5F;
        break;
    case ISO_RESIZE_ROUND_PREFER_CEIL:
        up = place.rest >= 0.5F;
        break;
    case ISO_RESIZE_FLOOR:
        break;
    case ISO_RESIZE_CEIL:
        up = place.rest > 0.0F;
        break;
    }
    return place.below + (up ? 1 : 0);
}

static iso_status_t resize_nearest(const iso_resize_param_t *param,
                                   const iso_tensor_t *x,
                                   const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        int64_t offset = 0;

        for (int axis = 0; axis < x->rank; axis++) {
            const iso__ref_place_t place =
                iso__ref_resize_place(param, axis, x->dims[axis],
                                      output->dims[axis], walk.index[axis]);

            offset = offset * x->dims[axis] + nearest(param->nearest, place);
        }
        iso__ref_move(output, i, x, offset);
    }
    return ISO_OK;
}

iso_status_t iso__ref_resize(const iso_node_t *node,
                             const iso_tensor_t *const *inputs,
                             const iso_tensor_t *output)
{
    iso_resize_param_t param;

    ISO_TRY(iso_resize_param_of(node, output->rank, &param));
    if (param.mode == ISO_RESIZE_NEAREST) {
        return resize_nearest(&param, inputs[0], output);
    }
    return output->dtype == ISO_DTYPE_F64
               ? iso__ref_resize_linear_f64(node, inputs, output)
               : iso__ref_resize_linear_f32(node, inputs, output);
}
