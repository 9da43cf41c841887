#include "kernel/cpu/contract.h"
#include "kernel/walk.h"

/* Channels of one group. */
typedef struct conv {
    iso_conv_param_t param;
    int64_t images;
    int64_t in_channels;
    int64_t out_channels;
    int64_t taps;
    iso_geometry_t geometry;
} conv_t;

static iso_status_t conv_of(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output, conv_t *conv)
{
    const iso_tensor_t *x = inputs[0];
    const iso_tensor_t *weights = inputs[1];
    const int n_spatial = x->rank - 2;

    ISO_TRY(
        iso_conv_param_of(node, n_spatial, &weights->dims[2], &conv->param));
    conv->images = x->dims[0];
    conv->in_channels = x->dims[1] / conv->param.groups;
    conv->out_channels = output->dims[1] / conv->param.groups;
    conv->geometry =
        node->op == ISO_OP_CONV
            ? iso__geometry_of_conv(&conv->param.window, &x->dims[2],
                                    &output->dims[2])
            : iso__geometry_of_transpose(&conv->param.window, &x->dims[2],
                                         &output->dims[2]);
    conv->geometry.image_step = x->dims[1] * conv->geometry.plane;
    conv->taps = iso__geometry_taps(&conv->geometry);
    return ISO_OK;
}

/* A convolution keeps its weights as (out, in, taps), a transposed one as
 * (in, out, taps); out is of one group in both. Where a channel has one
 * product, the next product is the next channel's. */
static void set_weights(const conv_t *conv, bool is_transposed,
                        const iso_tensor_t *weights, iso_contraction_t *c)
{
    const int64_t in = conv->in_channels;
    const int64_t out = conv->out_channels;
    const int64_t channel_step = is_transposed ? out * conv->taps : conv->taps;

    c->narrow = (iso_operand_t){
        .data = weights->data,
        .lane_step = is_transposed ? conv->taps : in * conv->taps,
        .channel_step = channel_step,
        .k_step = conv->taps == 1 ? channel_step : 1,
    };
}

static void set_groups(const conv_t *conv, iso_contraction_t *c)
{
    const int64_t in = conv->in_channels;
    const int64_t out = conv->out_channels;

    if (conv->param.groups == 1) {
        return;
    }
    c->batch.rank = 1;
    c->batch.dims[0] = conv->param.groups;
    c->batch.narrow[0] = in * out * conv->taps;
    c->batch.wide[0] = in * conv->geometry.plane;
    c->batch.addend[0] = out;
    c->batch.out[0] = out * c->image_columns;
}

/* Does the window take each image whole? */
static bool is_whole(const iso_geometry_t *g)
{
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        if (g->kernel[i] != g->in[i] || g->out[i] != 1 || g->shift[i] != 0 ||
            g->divide[i] != 1 || (g->kernel[i] > 1 && g->tap_step[i] != 1)) {
            return false;
        }
    }
    return true;
}

iso_status_t iso__cpu_conv(const iso_cpu_t *cpu, const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    conv_t conv;

    ISO_TRY(conv_of(node, inputs, output, &conv));

    const int64_t positions = iso__geometry_columns(&conv.geometry);
    iso_contraction_t c = {
        .blocks = iso_blocks_of_conv(conv.in_channels, conv.taps),
        .rows = conv.out_channels,
        .columns = conv.images * positions,
        .image_columns = positions,
        .wide = {.data = inputs[0]->data},
        .geometry = &conv.geometry,
        .addend_row = 1,
        .out = output->data,
        .out_row = positions,
        .out_column = 1,
        .out_image = output->dims[1] * positions,
    };

    iso__set_activation(cpu, &conv.param.activation, &c.finish);
    if (node->n_inputs > 2 && inputs[2] != NULL) {
        c.addend = inputs[2]->data;
    }
    set_weights(&conv, node->op == ISO_OP_CONV_TRANSPOSE, inputs[1], &c);
    set_groups(&conv, &c);
    if (!is_whole(&conv.geometry)) {
        iso__contract(cpu, &c);
        return ISO_OK;
    }
    /* Images are the columns of a plain matrix. */
    c.geometry = NULL;
    c.image_columns = c.columns;
    c.out_column = c.out_image;
    c.wide.lane_step = conv.geometry.image_step;
    c.wide.channel_step = conv.taps;
    c.wide.k_step = 1;
    iso__contract_plain(cpu, &c);
    return ISO_OK;
}
