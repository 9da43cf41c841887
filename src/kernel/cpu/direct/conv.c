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

/* out: the dims of an image of the output. */
static void set_output(const iso_cpu_step_t *step, const int64_t *out,
                       iso_direct_t *direct)
{
    const iso_tensor_t *output = step->output;
    const bool is_blocked = step->format == ISO_FORMAT_BLOCKED;
    const int64_t pixel = is_blocked ? ISO_BLOCK_CHANNELS : 1;

    direct->out = output->data;
    direct->out_image = image_of(output, step->format);
    direct->out_step[0] = out[1] * out[2] * pixel;
    direct->out_step[1] = out[2] * pixel;
    direct->out_step[2] = pixel;
    direct->out_channel = positions_of(output) * pixel;
    direct->is_spread = !is_blocked;
    if (step->addend != NULL) {
        direct->addend = step->addend->data;
    }
}

/* All but the geometry. */
static iso_direct_t direct_of(const iso_cpu_t *cpu, const iso_cpu_step_t *step,
                              const iso_conv_param_t *param)
{
    const iso_tensor_t *x = step->inputs[0];
    const iso_tensor_t *weights = step->inputs[1];
    const iso_format_t format =
        step->formats == NULL ? ISO_FORMAT_PLAIN : step->formats[0];
    iso_direct_t direct = {
        .panels = step->panels,
        .channels = x->dims[1] / param->groups,
        .images = x->dims[0],
        .groups = param->groups,
        .source = format == ISO_FORMAT_BLOCKED ? ISO_SOURCE_BLOCKED
                                               : ISO_SOURCE_PLAIN,
        .in = x->data,
        .in_image = image_of(x, format),
    };

    direct.blocks = iso_blocks_of_conv(direct.channels, positions_of(weights));
    if (step->node->n_inputs > 2 && step->inputs[2] != NULL) {
        direct.bias = step->inputs[2]->data;
    }
    iso__direct_set_activations(cpu, &param->activation, step, &direct);
    return direct;
}

iso_status_t iso__direct_conv(const iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    const iso_tensor_t *x = step->inputs[0];
    iso_conv_param_t param;

    ISO_TRY(iso_conv_param_of(step->node, x->rank - 2,
                              &step->inputs[1]->dims[2], &param));

    iso_direct_t direct = direct_of(cpu, step, &param);

    direct.geometry = iso__geometry_of_conv(&param.window, &x->dims[2],
                                            &step->output->dims[2]);
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        direct.taps[i] = (iso_tap_line_t){direct.geometry.kernel[i], 0, 1};
    }
    set_output(step, direct.geometry.out, &direct);
    iso__direct_run(cpu, &direct);
    return ISO_OK;
}

/* ---- Transposed ---- */

/*
 * Output o, tap t reads (o + pad - t dilation) / stride where that is a
 * number. So outputs of one remainder by the stride are an ordinary
 * convolution of stride 1 by the taps of one remainder, from the last one to
 * the first: a run for each remainder.
 */

enum { NEAR_ELEMENTS = 96 * 1024 /* of a second-level cache */ };

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t remainder_of(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

/* The outputs first, first + stride, ... of an axis of the whole geometry. */
static void set_axis(const iso_geometry_t *whole, int axis, int64_t first,
                     iso_direct_t *direct)
{
    const int64_t stride = whole->divide[axis];
    const int64_t taps = whole->kernel[axis];
    const int64_t dilation = -whole->tap_step[axis];
    const int64_t at = first + whole->shift[axis];
    iso_geometry_t *g = &direct->geometry;
    int64_t last = taps - 1;
    int64_t apart = 1; /* taps of one remainder */

    while (last >= 0 && remainder_of(at - last * dilation, stride) != 0) {
        last--;
    }
    while (apart * dilation % stride != 0) {
        apart++;
    }
    g->out[axis] = (whole->out[axis] - first + stride - 1) / stride;
    g->step[axis] = 1;
    g->divide[axis] = 1;
    if (last < 0) { /* every tap lies between the strides */
        g->kernel[axis] = 1;
        g->shift[axis] = 0;
        g->tap_step[axis] = 1;
        direct->taps[axis] = (iso_tap_line_t){taps, -1, 1};
        return;
    }
    g->kernel[axis] = last / apart + 1;
    g->shift[axis] = (at - last * dilation) / stride;
    g->tap_step[axis] = apart * dilation / stride;
    direct->taps[axis] = (iso_tap_line_t){taps, last, -apart};
}

/* Rows [row, row + rows) of the outputs of some remainders. */
static void run_outputs(const iso_cpu_t *cpu, const iso_geometry_t *whole,
                        const int64_t *first, int64_t row, int64_t rows,
                        const iso_direct_t *all)
{
    iso_direct_t direct = *all;
    int64_t out = 0;
    bool is_empty = false;

    direct.geometry = *whole;
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        set_axis(whole, i, first[i], &direct);
        is_empty = is_empty || direct.taps[i].first < 0;
        out += first[i] * direct.out_step[i];
        direct.out_step[i] *= whole->divide[i];
    }
    direct.geometry.out[1] = min64(rows, direct.geometry.out[1] - row);
    direct.geometry.shift[1] += row;
    out += row * direct.out_step[1];
    direct.out += out;
    if (direct.addend != NULL) {
        direct.addend += out;
    }
    if (is_empty &&
        direct.panels->is_finite) { /* sums of nothing: one will do */
        direct.channels = 1;
        direct.blocks = iso_blocks_of_conv(1, all->blocks.taps);
    }
    if (direct.geometry.out[1] > 0) {
        iso__direct_run(cpu, &direct);
    }
}

/* Rows that the runs of all remainders do one after the other: what they read
 * stays near, unless the weights are more than that. */
static int64_t rows_at_once(const iso_cpu_t *cpu, const iso_direct_t *direct,
                            const iso_geometry_t *whole)
{
    const iso_panels_spec_t *spec = &direct->panels->spec;
    const int64_t row = direct->groups * direct->channels * whole->in[2];
    const int64_t weights = direct->groups * spec->lanes * spec->length;
    const int64_t rows = NEAR_ELEMENTS * (int64_t)cpu->threads / row;

    return weights > row * whole->in[1] ? INT64_MAX : rows < 1 ? 1 : rows;
}

static void run_rows(const iso_cpu_t *cpu, const iso_geometry_t *whole,
                     int64_t row, int64_t rows, const iso_direct_t *direct)
{
    iso__walk_t first;

    iso__walk_begin(&first, ISO_MAX_SPATIAL, whole->divide);

    const int64_t count = iso__walk_count(&first);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&first)) {
        run_outputs(cpu, whole, first.index, row, rows, direct);
    }
}

iso_status_t iso__direct_transposed(const iso_cpu_t *cpu,
                                    const iso_cpu_step_t *step)
{
    const iso_tensor_t *x = step->inputs[0];
    iso_conv_param_t param;

    ISO_TRY(iso_conv_param_of(step->node, x->rank - 2,
                              &step->inputs[1]->dims[2], &param));

    const iso_geometry_t whole = iso__geometry_of_transpose(
        &param.window, &x->dims[2], &step->output->dims[2]);
    iso_direct_t direct = direct_of(cpu, step, &param);

    set_output(step, whole.out, &direct);

    const int64_t all = (whole.out[1] - 1) / whole.divide[1] + 1;
    const int64_t rows = min64(rows_at_once(cpu, &direct, &whole), all);

    direct.images = rows < all ? 1 : x->dims[0];
    for (int64_t image = 0; image < x->dims[0]; image += direct.images) {
        for (int64_t row = 0; row < all; row += rows) {
            run_rows(cpu, &whole, row, rows, &direct);
        }
        direct.in += direct.images * direct.in_image;
        direct.out += direct.images * direct.out_image;
        if (direct.addend != NULL) {
            direct.addend += direct.images * direct.out_image;
        }
    }
    return ISO_OK;
}
