#include "kernel/ref/real_dot.h"

/*
 * A convolution as contractions: for each output position and group, the
 * values under the kernel are laid out channel by channel, taps in row-major
 * order, and multiplied by the weights of each output channel. Neighbouring
 * positions are the columns of one contraction.
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

/* Where a tap reads inside a channel for n output positions from `first` on:
 * offsets (n), -1 where it reads +0. */
static void find_offsets(const conv_t *conv, const int64_t *tap, int64_t first,
                         int64_t n, int64_t *offsets)
{
    iso__walk_t out;

    iso__walk_begin(&out, conv->n_spatial, conv->out_dims);
    iso__walk_seek(&out, first);
    for (int64_t i = 0; i < n; i++, iso__walk_next(&out)) {
        offsets[i] = offset_of(conv, out.index, tap);
    }
}

/* columns (in_channels, taps, n): the windows of n output positions. */
static void lay_out_windows(const conv_t *conv, const real_t *x, int64_t first,
                            int64_t n, real_t *columns)
{
    int64_t offsets[REAL_DOT_COLUMNS];
    iso__walk_t taps;

    iso__walk_begin(&taps, conv->n_spatial, conv->param.window.kernel);
    for (int64_t t = 0; t < conv->taps; t++, iso__walk_next(&taps)) {
        find_offsets(conv, taps.index, first, n, offsets);
        for (int64_t c = 0; c < conv->in_channels; c++) {
            const real_t *channel = x + c * conv->in_positions;
            real_t *to = columns + (c * conv->taps + t) * n;

            for (int64_t i = 0; i < n; i++) {
                to[i] = offsets[i] < 0 ? 0 : channel[offsets[i]];
            }
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

/* y (n): what follows the sums of output channel m of a group. */
static void finish(const conv_t *conv, int64_t group, int64_t m,
                   const real_t *sum, int64_t n, real_t *y)
{
    const real_t *bias = conv->bias;
    iso__coeff_t coeff;
    const iso_op_t op = iso__activation_op(&conv->param.activation, &coeff);

    for (int64_t i = 0; i < n; i++) {
        const real_t all = bias != NULL
                               ? sum[i] + bias[group * conv->out_channels + m]
                               : sum[i];

        y[i] = REAL(iso__ref_apply)(op, &coeff, all);
    }
}

/* n output positions from `first` on, of one group of an image. */
static void run_positions(const conv_t *conv, const real_dot_t *dot,
                          int64_t image, int64_t group, int64_t first,
                          int64_t n)
{
    const int64_t at = image * conv->param.groups + group;
    real_t sum[REAL_DOT_COLUMNS];

    lay_out_windows(conv, conv->x + at * conv->in_channels * conv->in_positions,
                    first, n, dot->columns);
    for (int64_t m = 0; m < conv->out_channels; m++) {
        const int64_t channel = at * conv->out_channels + m;

        REAL(iso__ref_dot)(dot, weights_of(conv, group, m, dot->row), n, sum);
        finish(conv, group, m, sum, n,
               conv->y + channel * conv->out_positions + first);
    }
}

iso_status_t REAL(iso__ref_conv)(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output)
{
    conv_t conv;
    real_dot_t dot;

    ISO_TRY(conv_of(node, inputs, output, &conv));
    ISO_TRY(REAL(iso__ref_dot_begin)(
        iso_blocks_of_conv(conv.in_channels, conv.taps), &dot));
    for (int64_t image = 0; image < conv.batch; image++) {
        for (int64_t group = 0; group < conv.param.groups; group++) {
            for (int64_t i = 0; i < conv.out_positions; i += dot.most) {
                const int64_t rest = conv.out_positions - i;

                run_positions(&conv, &dot, image, group, i,
                              rest < dot.most ? rest : dot.most);
            }
        }
    }
    REAL(iso__ref_dot_end)(&dot);
    return ISO_OK;
}

iso_status_t REAL(iso__ref_conv_transpose)(const iso_node_t *node,
                                           const iso_tensor_t *const *inputs,
                                           const iso_tensor_t *output)
{
    return REAL(iso__ref_conv)(node, inputs, output);
}
