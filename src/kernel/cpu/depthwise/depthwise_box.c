#include "kernel/cpu/depthwise/depthwise_impl.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/ref/ref_impl.h"

#include <math.h>
#include <string.h>

enum { BLOCK = ISO_BLOCK_CHANNELS };

/* Indices [begin, end) of an axis. */
typedef struct range {
    int64_t begin;
    int64_t end;
} range_t;

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Where a tap reads on an axis; outside of [0, in) is the padding. */
static int64_t source_of(const iso_depthwise_t *conv, int axis, int64_t out,
                         int64_t tap)
{
    const iso_geometry_t *g = &conv->g;

    return out * g->step[axis] + g->shift[axis] + tap * g->tap_step[axis];
}

static bool is_inside(const iso_depthwise_t *conv, int axis, int64_t at)
{
    return at >= 0 && at < conv->g.in[axis];
}

/* What count output indices from `first` on read of an axis. */
static range_t range_of(const iso_depthwise_t *conv, int axis, int64_t first,
                        int64_t count)
{
    const int64_t begin = source_of(conv, axis, first, 0);
    const int64_t last =
        source_of(conv, axis, first + count - 1, conv->g.kernel[axis] - 1);
    range_t range = {max64(begin, 0), min64(last + 1, conv->g.in[axis])};

    range.begin = min64(range.begin, conv->g.in[axis]);
    range.end = max64(range.end, range.begin);
    return range;
}

static int64_t channels_of(const iso_depthwise_t *conv,
                           const iso_depthwise_box_t *box)
{
    return min64(BLOCK, conv->channels - box->block * BLOCK);
}

static const float *weights_of(const iso_depthwise_t *conv,
                               const iso_depthwise_box_t *box)
{
    return conv->weights + box->block * conv->depth * conv->taps * BLOCK;
}

/* First element of a channel block of an image. */
static int64_t block_at(const iso_depthwise_t *conv,
                        const iso_depthwise_box_t *box, int64_t plane,
                        bool is_plain)
{
    const int64_t channels =
        is_plain ? conv->channels : conv->blocks * (int64_t)BLOCK;

    return (box->image * channels + box->block * BLOCK) * plane;
}

/* ---- Passes over what is stored ---- */

static void run_passes(const iso_depthwise_t *conv, int64_t at, int64_t n)
{
    const iso__light_isa_t *light = conv->cpu->light.isa;
    float *y = conv->y + at;

    for (int i = 0; i < conv->n_passes; i++) {
        const iso_depthwise_pass_t *pass = &conv->passes[i];

        if (pass->op == ISO_OP_ADD) {
            light->binary(ISO_OP_ADD, y, 1, conv->addend + at, 1, y, n);
        } else {
            light->unary(pass->op, &pass->coeff, y, y, n);
        }
    }
}

static void pass_box(const iso_depthwise_t *conv,
                     const iso_depthwise_box_t *box)
{
    const int64_t first =
        block_at(conv, box, conv->out_plane, conv->out_is_plain);
    const int64_t lists =
        conv->out_is_plain ? channels_of(conv, box) : box->blocks;
    const int64_t lanes = conv->out_is_plain ? 1 : BLOCK;

    for (int64_t i = 0; i < lists * box->rows; i++) {
        const int64_t row =
            box->deep * conv->g.out[1] + box->row + i % box->rows;
        const int64_t at = i / box->rows * conv->out_plane +
                           row * conv->g.out[2] + box->column;

        run_passes(conv, first + at * lanes, box->columns * lanes);
    }
}

/* ---- Position by position ---- */

/* A sum, and the products of one channel. Every tap is multiplied, also in the
 * padding. */
static float add_channel(const iso_depthwise_t *conv, const float *x,
                         int64_t x_step, const float *weights,
                         const int64_t out[ISO_MAX_SPATIAL], float sum)
{
    const iso_geometry_t *g = &conv->g;

    for (int64_t t = 0; t < conv->taps; t++) {
        const int64_t d =
            source_of(conv, 0, out[0], t / (g->kernel[1] * g->kernel[2]));
        const int64_t h =
            source_of(conv, 1, out[1], t / g->kernel[2] % g->kernel[1]);
        const int64_t w = source_of(conv, 2, out[2], t % g->kernel[2]);
        float value = 0;

        if (is_inside(conv, 0, d) && is_inside(conv, 1, h) &&
            is_inside(conv, 2, w)) {
            value = x[((d * g->in[1] + h) * g->in[2] + w) * x_step];
        }
        sum = fmaf(value, weights[t * BLOCK], sum);
    }
    return sum;
}

/* x: the first channel of the group. */
static float sum_of(const iso_depthwise_t *conv, const float *x,
                    const float *weights, const int64_t out[ISO_MAX_SPATIAL])
{
    const int64_t x_step = conv->in_is_plain ? 1 : BLOCK;
    const int64_t x_next = conv->in_is_plain ? conv->in_plane : 1;
    float sum = 0;

    for (int64_t c = 0; c < conv->depth; c++) {
        sum = add_channel(conv, x + c * x_next, x_step,
                          weights + c * conv->taps * BLOCK, out, sum);
    }
    return sum + 0.0F;
}

static float finished(const iso_depthwise_t *conv, float value)
{
    const iso_depthwise_finish_t *finish = &conv->finish;
    const iso__coeff_t coeff = {finish->least,
                                finish->has_most ? finish->most : INFINITY};

    return iso__ref_apply_f32(finish->is_clipped ? ISO_OP_CLIP : ISO_OP_COUNT,
                              &coeff, value);
}

/* A row of one channel; y and weights begin at the channel, x at the first one
 * of its group. */
static void slow_row(const iso_depthwise_t *conv,
                     const iso_depthwise_box_t *box, int64_t row,
                     const float *x, const float *weights, float bias, float *y)
{
    const int64_t y_step = conv->out_is_plain ? 1 : BLOCK;
    int64_t out[ISO_MAX_SPATIAL] = {box->deep, row, 0};

    y += (box->deep * conv->g.out[1] + row) * conv->g.out[2] * y_step;
    for (int64_t i = 0; i < box->columns; i++) {
        out[2] = box->column + i;
        y[out[2] * y_step] =
            finished(conv, sum_of(conv, x, weights, out) + bias);
    }
}

static void slow_box(const iso_depthwise_t *conv,
                     const iso_depthwise_box_t *box)
{
    const float *x =
        conv->x + block_at(conv, box, conv->in_plane, conv->in_is_plain);
    float *y =
        conv->y + block_at(conv, box, conv->out_plane, conv->out_is_plain);
    const int64_t x_next = conv->in_is_plain ? conv->in_plane : 1;
    const int64_t y_next = conv->out_is_plain ? conv->out_plane : 1;
    const float *bias =
        conv->bias != NULL ? conv->bias + box->block * BLOCK : NULL;

    for (int64_t r = box->row; r < box->row + box->rows; r++) {
        for (int64_t c = 0; c < channels_of(conv, box); c++) {
            slow_row(conv, box, r, x + c / conv->depth * conv->depth * x_next,
                     weights_of(conv, box) + c, bias != NULL ? bias[c] : 0,
                     y + c * y_next);
        }
    }
}

/* ---- Box by box ---- */

/* The part of a channel block that a box reads, in blocks: axis 2 of it
 * fastest, then the channels. */
typedef struct source {
    const float *data;
    range_t range[ISO_MAX_SPATIAL];
} source_t;

static int64_t length_of(const range_t *range)
{
    return range->end - range->begin;
}

/* Copy what the box reads into blocks; returns the elements. */
static int64_t copy_source(const iso_depthwise_t *conv,
                           const iso_depthwise_box_t *box, source_t *source,
                           float *to)
{
    const iso_geometry_t *g = &conv->g;
    const range_t *range = source->range;
    const float *x = conv->x + block_at(conv, box, conv->in_plane, true);
    const bool is_whole = length_of(&range[2]) == g->in[2];
    const int64_t rows = is_whole ? 1 : length_of(&range[1]);
    const int64_t n =
        length_of(&range[2]) * (is_whole ? length_of(&range[1]) : 1);
    const float *begin = to;

    source->data = to;
    for (int64_t d = range[0].begin; d < range[0].end; d++) {
        for (int64_t r = 0; r < rows; r++) {
            const int64_t row = d * g->in[1] + range[1].begin + r;

            conv->blocked->from_plain(x + row * g->in[2] + range[2].begin,
                                      conv->in_plane,
                                      (int)channels_of(conv, box), n, to);
            to += n * BLOCK;
        }
    }
    return to - begin;
}

/* What the box reads; returns the elements of space that it took. */
static int64_t source_of_box(const iso_depthwise_t *conv,
                             const iso_depthwise_box_t *box, source_t *source,
                             float *space)
{
    if (conv->in_is_plain) {
        source->range[0] = range_of(conv, 0, box->deep, 1);
        source->range[1] = range_of(conv, 1, box->row, box->rows);
        source->range[2] = range_of(conv, 2, box->column, box->columns);
        return copy_source(conv, box, source, space);
    }
    source->data = conv->x + block_at(conv, box, conv->in_plane, false);
    for (int axis = 0; axis < ISO_MAX_SPATIAL; axis++) {
        source->range[axis] = (range_t){0, conv->g.in[axis]};
    }
    return 0;
}

static iso_depthwise_axis_t axis_of(const iso_depthwise_t *conv, int axis,
                                    const source_t *source, int64_t first,
                                    int64_t count)
{
    const range_t *range = &source->range[axis];

    return (iso_depthwise_axis_t){
        .in = length_of(range),
        .out = count,
        .taps = conv->g.kernel[axis],
        .stride = conv->g.step[axis],
        .dilation = conv->g.tap_step[axis],
        .shift = source_of(conv, axis, first, 0) - range->begin,
    };
}

/* Every output row of the box to out, rows out_row elements apart. */
static void run_rows(const iso_depthwise_t *conv,
                     const iso_depthwise_box_t *box, const source_t *source,
                     float *out, int64_t out_row)
{
    const iso_geometry_t *g = &conv->g;
    iso_depthwise_run_t run = {
        .depth = conv->depth,
        .weights = weights_of(conv, box),
        .weights_channel = conv->taps * BLOCK,
        .rows = axis_of(conv, 1, source, box->row, box->rows),
        .columns = axis_of(conv, 2, source, box->column, box->columns),
        .bias = conv->bias != NULL ? conv->bias + box->block * BLOCK : NULL,
        .finish = conv->finish,
        .out_row = out_row,
        .channels = conv->channels - box->block * BLOCK,
        .n_blocks = box->blocks,
        .in_block = conv->in_plane * BLOCK,
        .weights_block = conv->depth * conv->taps * BLOCK,
        .out_block = conv->out_plane * BLOCK,
    };
    int64_t d = source_of(conv, 0, box->deep, 0);
    int64_t tap = 0;

    run.out = out;
    while (tap < g->kernel[0] && d < 0) {
        d += g->tap_step[0];
        tap++;
    }
    run.in_row = run.columns.in * BLOCK;
    run.in_plane = g->tap_step[0] * run.rows.in * run.in_row;
    run.in =
        source->data + (d - source->range[0].begin) * run.rows.in * run.in_row;
    run.weights += tap * g->kernel[1] * g->kernel[2] * BLOCK;
    while (tap + run.n_planes < g->kernel[0] && d < g->in[0]) {
        d += g->tap_step[0];
        run.n_planes++;
    }
    conv->isa->run(&run);
}

/* What run_rows made, to the plain output. */
static void copy_result(const iso_depthwise_t *conv,
                        const iso_depthwise_box_t *box, const float *from)
{
    const bool is_whole = box->columns == conv->g.out[2];
    const int64_t rows = is_whole ? 1 : box->rows;
    const int64_t n = box->columns * (is_whole ? box->rows : 1);
    float *y = conv->y + block_at(conv, box, conv->out_plane, true) +
               (box->deep * conv->g.out[1] + box->row) * conv->g.out[2] +
               box->column;

    for (int64_t r = 0; r < rows; r++) {
        conv->blocked->to_plain(from + r * n * BLOCK, n, conv->out_plane,
                                (int)channels_of(conv, box),
                                y + r * conv->g.out[2]);
    }
}

static void fast_box(const iso_depthwise_t *conv,
                     const iso_depthwise_box_t *box, float *space)
{
    const int64_t row = box->deep * conv->g.out[1] + box->row;
    source_t source;

    space += source_of_box(conv, box, &source, space);
    if (conv->out_is_plain) {
        run_rows(conv, box, &source, space, box->columns * BLOCK);
        copy_result(conv, box, space);
    } else {
        run_rows(conv, box, &source,
                 conv->y + block_at(conv, box, conv->out_plane, false) +
                     (row * conv->g.out[2] + box->column) * BLOCK,
                 conv->g.out[2] * BLOCK);
    }
}

void iso__depthwise_box(const iso_depthwise_t *conv,
                        const iso_depthwise_box_t *box, float *space)
{
    if (conv->is_slow) {
        slow_box(conv, box);
    } else {
        fast_box(conv, box, space);
    }
    if (conv->n_passes > 0) {
        pass_box(conv, box);
    }
}
