/* Windows: pieces of spatial axes of conv and pools, with their halo. */
#include "plan/shard/cut_impl.h"

static iso_status_t window_of(const iso__cut_in_t *in, iso_window_t *window_out)
{
    iso_conv_param_t conv;
    iso_pool_param_t pool;

    if (in->node->op == ISO_OP_CONV) {
        ISO_TRY(iso__cut_conv_param(in, &conv));
        *window_out = conv.window;
        return ISO_OK;
    }
    ISO_TRY(iso_pool_param_of(in->node, &pool));
    *window_out = pool.window;
    return ISO_OK;
}

/*
 * Places that windows [begin, end) of the axis reach, from the first tap of
 * the first to the last tap of the last; place 0 is x's first element.
 */
static iso_range_t reach_of(const iso_window_t *window, int spatial,
                            iso_range_t range)
{
    const int64_t stride = window->strides[spatial];
    const int64_t span =
        (window->kernel[spatial] - 1) * window->dilations[spatial] + 1;
    const int64_t first = range.begin * stride - window->pads_begin[spatial];

    return (iso_range_t){
        .begin = first,
        .end = first + (iso_range_length(range) - 1) * stride + span,
    };
}

static int64_t clamp(int64_t value, int64_t most)
{
    if (value < 0) {
        return 0;
    }
    return value > most ? most : value;
}

static iso__window_part_t part_of(const iso_window_t *window, int spatial,
                                  int64_t length, iso_range_t range)
{
    const iso_range_t reach = reach_of(window, spatial, range);
    iso__window_part_t part = {
        .range = {clamp(reach.begin, length), clamp(reach.end, length)},
    };

    if (iso_range_length(part.range) == 0) {
        /* All padding; which side of x it lies on does not matter. */
        part.pad_begin = iso_range_length(reach);
        return part;
    }
    part.pad_begin = part.range.begin - reach.begin;
    part.pad_end = reach.end - part.range.end;
    return part;
}

iso_status_t iso__cut_window_part(const iso__cut_in_t *in, iso_range_t range,
                                  iso__window_part_t *part_out)
{
    const int64_t length = iso__cut_shape(in, 0)->dim[in->axis].size;
    iso_window_t window;

    ISO_TRY(window_of(in, &window));
    *part_out = part_of(&window, in->axis - 2, length, range);
    return ISO_OK;
}

iso_status_t iso__cut_window_pads(const iso__cut_in_t *in, iso_range_t range,
                                  int64_t *pads_out, int *count_out)
{
    const int64_t length = iso__cut_shape(in, 0)->dim[in->axis].size;
    const int spatial = in->axis - 2;
    iso_window_t window;

    ISO_TRY(window_of(in, &window));

    const int n = window.n_spatial;
    const iso__window_part_t part = part_of(&window, spatial, length, range);

    for (int i = 0; i < n; i++) {
        pads_out[i] = i == spatial ? part.pad_begin : window.pads_begin[i];
        pads_out[n + i] = i == spatial ? part.pad_end : window.pads_end[i];
    }
    *count_out = 2 * n;
    return ISO_OK;
}

/*
 * With ceil_mode the last window may stick out of the padded operand. A mean
 * that counts the padding does not count what lies beyond it, which a piece
 * could not tell apart: its padding reaches as far as its windows do. All
 * else is the same inside the padding and beyond.
 */
static bool counts_beyond(const iso__cut_in_t *in,
                          const iso_pool_param_t *param)
{
    const int spatial = in->axis - 2;
    const int64_t windows = in->node->shape.dim[in->axis].size;
    const int64_t length = iso__cut_shape(in, 0)->dim[in->axis].size;
    const iso_range_t reach =
        reach_of(&param->window, spatial, (iso_range_t){0, windows});

    return in->node->op == ISO_OP_AVG_POOL && param->count_pad &&
           reach.end > length + param->window.pads_end[spatial];
}

iso_status_t iso__cut_pool(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    iso_pool_param_t param;

    iso__cut_same_axis(in, link);
    if (in->axis < 2) {
        return ISO_OK;
    }
    ISO_TRY(iso_pool_param_of(in->node, &param));
    link->window = true;
    if (counts_beyond(in, &param)) {
        link->unit = 0;
    }
    return ISO_OK;
}
