#include "kernel/ref/real_dot.h"

/*
 * A convolution as contractions: for each output position and group, the
 * values under the kernel are laid out channel by channel, taps in row-major
 * order, and multiplied by the weights of each output channel.
 */
typedef struct conv {
    iso_conv_param_t param;
    int n_spatial;
    int64_t batch;
    int64_t in_channels;    /* of one group */
    int64_t out_channels;   /* of one group */
    int64_t in_positions;   /* product of in_dims */
    int64_t out_positions;  /* product of out_dims */
    int64_t taps;           /* product of the kernel */
    const int64_t *in_dims; /* (n_spatial), spatial */
    const int64_t *out_dims;
    const real_t *x; /* (batch, groups, in_channels, in_positions) */
    const real_t *weights;
    const real_t *bias; /* (groups, out_channels), or NULL */
    real_t *y;          /* (batch, groups, out_channels, out_positions) */
    bool transposed;
} conv_t;

static iso_status_t conv_of(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output, conv_t *conv)
{
    const iso_tensor_t *bias = iso__ref_input(node, inputs, 2);
    const int rank = output->rank;

    *conv = (conv_t){
        .n_spatial = rank - 2,
        .batch = output->dims[0],
        .in_positions = iso__dims_product(inputs[0]->dims, 2, rank),
        .out_positions = iso__dims_product(output->dims, 2, rank),
        .taps = iso__dims_product(inputs[1]->dims, 2, rank),
        .in_dims = &inputs[0]->dims[2],
        .out_dims = &output->dims[2],
        .x = inputs[0]->data,
        .weights = inputs[1]->data,
        .bias = bias != NULL ? bias->data : NULL,
        .y = output->data,
        .transposed = node->op == ISO_OP_CONV_TRANSPOSE,
    };
    ISO_TRY(
        iso_conv_param_of(node, rank - 2, &inputs[1]->dims[2], &conv->param));
    conv->in_channels = inputs[0]->dims[1] / conv->param.groups;
    conv->out_channels = output->dims[1] / conv->param.groups;
    return ISO_OK;
}

/* Input index that a tap of the kernel reads on one axis; -1: the padding,
 * or (transposed) between the strides. */
static int64_t source_of(const conv_t *conv, int axis, int64_t out, int64_t tap)
{
    const iso_window_t *window = &conv->param.window;
    const int64_t reach = tap * window->dilations[axis];
    int64_t in = out * window->strides[axis] + reach - window->pads_begin[axis];

    if (conv->transposed) {
        in = out + window->pads_begin[axis] - reach;
        if (in % window->strides[axis] != 0) {
            return -1;
        }
        in /= window->strides[axis];
    }
    return in >= 0 && in < conv->in_dims[axis] ? in : -1;
}

/* Offset that a tap reads inside a channel, -1: reads +0. */
static int64_t offset_of(const conv_t *conv, const int64_t *out,
                         const int64_t *tap)
{
    int64_t offset = 0;

    for (int axis = 0; axis < conv->n_spatial; axis++) {
        const int64_t in = source_of(conv, axis, out[axis], tap[axis]);

        if (in < 0) {
            return -1;
        }
        offset = offset * conv->in_dims[axis] + in;
    }
    return offset;
}

/* window (in_channels, taps) of one output position. */
static void lay_out_window(const conv_t *conv, const real_t *x,
                           const int64_t *out, real_t *window)
{
    iso__walk_t taps;

    iso__walk_begin(&taps, conv->n_spatial, conv->param.window.kernel);
    for (int64_t t = 0; t < conv->taps; t++, iso__walk_next(&taps)) {
        const int64_t offset = offset_of(conv, out, taps.index);

        for (int64_t c = 0; c < conv->in_channels; c++) {
            window[c * conv->taps + t] =
                offset < 0 ? 0 : x[c * conv->in_positions + offset];
        }
    }
}

/* Weights (in_channels, taps) of output channel m of a group. A transposed
 * convolution keeps them as (in channel, out channel, taps). */
static const real_t *weights_of(const conv_t *conv, int64_t group, int64_t m,
                                real_t *space)
{
    const int64_t of_group =
        group * conv->in_channels * conv->out_channels * conv->taps;
    const real_t *weights = conv->weights + of_group;

    if (!conv->transposed) {
        return weights + m * conv->in_channels * conv->taps;
    }
    for (int64_t c = 0; c < conv->in_channels; c++) {
        memcpy(space + c * conv->taps,
               weights + (c * conv->out_channels + m) * conv->taps,
               (size_t)conv->taps * sizeof *space);
    }
    return space;
}

static void run_position(const conv_t *conv, const real_dot_t *dot,
                         int64_t image, const iso__walk_t *out)
{
    const int64_t groups = conv->param.groups;
    const int64_t position = out->offset[0];
    iso__coeff_t coeff;
    const iso_op_t op = iso__activation_op(&conv->param.activation, &coeff);

    for (int64_t g = 0; g < groups; g++) {
        const int64_t group = image * groups + g;

        lay_out_window(conv,
                       conv->x + group * conv->in_channels * conv->in_positions,
                       out->index, dot->a);
        for (int64_t m = 0; m < conv->out_channels; m++) {
            const int64_t channel = group * conv->out_channels + m;
            real_t sum = real_dot(dot, dot->a, weights_of(conv, g, m, dot->b));

            if (conv->bias != NULL) {
                sum += conv->bias[g * conv->out_channels + m];
            }
            conv->y[channel * conv->out_positions + position] =
                REAL(iso__ref_apply)(op, &coeff, sum);
        }
    }
}

iso_status_t REAL(iso__ref_conv)(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output)
{
    conv_t conv;
    real_dot_t dot;
    iso__walk_t out;
    int64_t strides[ISO_MAX_SPATIAL];

    ISO_TRY(conv_of(node, inputs, output, &conv));
    ISO_TRY(
        real_dot_begin(&dot, iso_blocks_of_conv(conv.in_channels, conv.taps)));
    iso__walk_begin(&out, conv.n_spatial, conv.out_dims);
    iso__strides_of(conv.n_spatial, conv.out_dims, strides);
    (void)iso__walk_add(&out, 0, strides);
    for (int64_t image = 0; image < conv.batch; image++) {
        for (int64_t i = 0; i < conv.out_positions; i++) {
            run_position(&conv, &dot, image, &out);
            iso__walk_next(&out);
        }
    }
    real_dot_end(&dot);
    return ISO_OK;
}

iso_status_t REAL(iso__ref_conv_transpose)(const iso_node_t *node,
                                           const iso_tensor_t *const *inputs,
                                           const iso_tensor_t *output)
{
    return REAL(iso__ref_conv)(node, inputs, output);
}
