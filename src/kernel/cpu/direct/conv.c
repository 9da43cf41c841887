/* Convolutions by packed weights. */
#include "kernel/cpu/direct/direct.h"
#include "kernel/walk.h"

static int64_t positions_of(const iso_tensor_t *tensor)
{
    return iso__dims_product(tensor->dims, 2, tensor->rank);
}

/* Elements of an image. */
static int64_t image_of(const iso_tensor_t *tensor, iso_format_t format)
{
    const int64_t channels = format == ISO_FORMAT_BLOCKED
                                 ? iso_blocked_channels(tensor->dims[1])
                                 : tensor->dims[1];

    return channels * positions_of(tensor);
}

static void set_output(const iso_cpu_step_t *step, iso_direct_t *direct)
{
    const iso_tensor_t *output = step->output;
    const int64_t positions = positions_of(output);

    direct->out = output->data;
    direct->out_image = image_of(output, step->format);
    direct->out_group = output->dims[1] / direct->groups * positions;
    if (step->format == ISO_FORMAT_BLOCKED) {
        direct->out_pixel = ISO_BLOCK_CHANNELS;
        direct->out_channel = ISO_BLOCK_CHANNELS * positions;
    } else {
        direct->out_pixel = 1;
        direct->out_channel = positions;
        direct->is_spread = true;
    }
    if (step->addend != NULL) {
        direct->addend = step->addend->data;
    }
}

iso_status_t iso__direct_conv(const iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    const iso_tensor_t *x = step->inputs[0];
    const iso_tensor_t *weights = step->inputs[1];
    const iso_format_t format =
        step->formats == NULL ? ISO_FORMAT_PLAIN : step->formats[0];
    iso_conv_param_t param;

    ISO_TRY(
        iso_conv_param_of(step->node, x->rank - 2, &weights->dims[2], &param));

    iso_direct_t direct = {
        .panels = step->panels,
        .channels = x->dims[1] / param.groups,
        .geometry = iso__geometry_of_conv(&param.window, &x->dims[2],
                                          &step->output->dims[2]),
        .images = x->dims[0],
        .groups = param.groups,
        .source = format == ISO_FORMAT_BLOCKED ? ISO_SOURCE_BLOCKED
                                               : ISO_SOURCE_PLAIN,
        .in = x->data,
        .in_image = image_of(x, format),
    };

    direct.blocks = iso_blocks_of_conv(direct.channels,
                                       iso__geometry_taps(&direct.geometry));
    direct.in_group = direct.channels * direct.geometry.plane;
    set_output(step, &direct);
    if (step->node->n_inputs > 2 && step->inputs[2] != NULL) {
        direct.bias = step->inputs[2]->data;
    }
    iso__direct_set_activations(cpu, &param.activation, step, &direct);
    iso__direct_run(cpu, &direct);
    return ISO_OK;
}
