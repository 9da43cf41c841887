#include "kernel/cpu/depthwise/depthwise.h"

#include "kernel/cpu/depthwise/depthwise_impl.h"
#include "kernel/ref/ref_impl.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    BLOCK = ISO_BLOCK_CHANNELS,
    /* Elements that a box copies, from the operand and to the result: some
     * of a second-level cache. */
    COPIED = 64 * 1024,
    TASKS = 4,        /* wanted for each thread */
    TASK_LEAST = 512, /* output positions */
    /* Elements of the channel blocks of a box, operand and result, where they
     * are not copied. */
    READ = 16 * 1024,
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

const iso_depthwise_isa_t *iso__depthwise_isa_of(iso_family_t family)
{
    switch (family) {
    case ISO_FAMILY_SCALAR:
        return &iso__depthwise_portable;
    case ISO_FAMILY_SKX:
        return &iso__depthwise_avx512;
    default:
        return &iso__depthwise_avx2;
    }
}

/* ---- Cutting into boxes ---- */

/* Elements of space that a box may take. */
static int64_t space_of_box(const iso_depthwise_t *conv)
{
    const iso_geometry_t *g = &conv->g;
    const int64_t out[ISO_MAX_SPATIAL] = {1, conv->rows, conv->columns};
    int64_t in = 1;
    int64_t all = 0;

    for (int axis = 0; axis < ISO_MAX_SPATIAL; axis++) {
        in *= min64(g->in[axis], (out[axis] - 1) * g->step[axis] +
                                     (g->kernel[axis] - 1) * g->tap_step[axis] +
                                     1);
    }
    all += conv->in_is_plain ? in : 0;
    all += conv->out_is_plain ? conv->rows * conv->columns : 0;
    return all * BLOCK;
}

static int64_t boxes_of_block(const iso_depthwise_t *conv)
{
    return conv->g.out[0] * ceil_div(conv->g.out[1], conv->rows) *
           ceil_div(conv->g.out[2], conv->columns);
}

/* Are there too few boxes for the threads? */
static bool is_too_large(const iso_depthwise_t *conv, int64_t wanted)
{
    return boxes_of_block(conv) < wanted &&
           conv->rows * conv->columns > 2 * (int64_t)TASK_LEAST;
}

/* Channel blocks of a box that is not copied and has whole planes. */
static int64_t blocks_of_box(const iso_depthwise_t *conv, int64_t images)
{
    const int threads = conv->cpu->threads;
    int64_t most = READ / ((conv->in_plane + conv->out_plane) * BLOCK);

    if (threads > 1) {
        most = min64(most, images * conv->blocks / ((int64_t)TASKS * threads));
    }
    return conv->in_is_plain || conv->out_is_plain || !conv->is_finite ||
                   most < 1
               ? 1
               : min64(most, conv->blocks);
}

static void cut(iso_depthwise_t *conv, int64_t images)
{
    const int threads = conv->cpu->threads;
    const int64_t wanted =
        threads > 1 ? ceil_div((int64_t)TASKS * threads, images * conv->blocks)
                    : 1;

    conv->rows = conv->g.out[1];
    conv->columns = conv->g.out[2];
    while (conv->rows > 1 &&
           (space_of_box(conv) > COPIED || is_too_large(conv, wanted))) {
        conv->rows = ceil_div(conv->rows, 2);
    }
    while (conv->columns > 1 && (space_of_box(conv) > ISO_SPACE_PARTIALS ||
                                 is_too_large(conv, wanted))) {
        conv->columns = ceil_div(conv->columns, 2);
    }
    conv->box_blocks =
        boxes_of_block(conv) == 1 ? blocks_of_box(conv, images) : 1;
    conv->is_slow = !conv->is_finite || space_of_box(conv) > ISO_SPACE_PARTIALS;
}

static iso_depthwise_box_t box_of(const iso_depthwise_t *conv, int64_t number)
{
    const int64_t column_boxes = ceil_div(conv->g.out[2], conv->columns);
    const int64_t row_boxes = ceil_div(conv->g.out[1], conv->rows);
    const int64_t block_boxes = ceil_div(conv->blocks, conv->box_blocks);
    iso_depthwise_box_t box;

    box.column = number % column_boxes * conv->columns;
    box.columns = min64(conv->columns, conv->g.out[2] - box.column);
    number /= column_boxes;
    box.row = number % row_boxes * conv->rows;
    box.rows = min64(conv->rows, conv->g.out[1] - box.row);
    number /= row_boxes;
    box.deep = number % conv->g.out[0];
    number /= conv->g.out[0];
    box.block = number % block_boxes * conv->box_blocks;
    box.blocks = min64(conv->box_blocks, conv->blocks - box.block);
    box.image = number / block_boxes;
    return box;
}

/* By one thread. */
static void run_boxes(const iso_depthwise_t *conv, int64_t begin, int64_t end)
{
    float *space = conv->cpu->space[omp_get_thread_num()].partials;

    for (int64_t i = begin; i < end; i++) {
        const iso_depthwise_box_t box = box_of(conv, i);

        iso__depthwise_box(conv, &box, space);
    }
}

/* ---- The step ---- */

/* The tiles do a relu or a clip that comes first. Where the most is 0, a tie
 * of zeros would have to be decided by their signs. */
static bool is_tiles_own(const iso_depthwise_pass_t *pass)
{
    const float least = (float)pass->coeff.a;
    const float most = (float)pass->coeff.b;

    return pass->op == ISO_OP_RELU ||
           (pass->op == ISO_OP_CLIP && !isnan(least) && !isnan(most) &&
            most != 0);
}

static bool set_passes(iso_depthwise_t *conv, const iso_cpu_step_t *step,
                       const iso_activation_param_t *activation)
{
    iso_depthwise_pass_t *pass = conv->passes;

    pass->op = iso__activation_op(activation, &pass->coeff);
    pass += pass->op != ISO_OP_COUNT ? 1 : 0;
    if (step->addend != NULL) {
        conv->addend = step->addend->data;
        *pass++ = (iso_depthwise_pass_t){.op = ISO_OP_ADD};
    }
    if (step->activated != NULL) {
        if (iso__coeff_of(step->activated, &pass->coeff) != ISO_OK) {
            return false;
        }
        (pass++)->op = step->activated->op;
    }
    conv->n_passes = (int)(pass - conv->passes);
    pass = conv->passes;
    if (conv->n_passes > 0 && is_tiles_own(pass)) {
        conv->finish = (iso_depthwise_finish_t){
            .is_clipped = true,
            .has_most = pass->op == ISO_OP_CLIP,
            .least = pass->op == ISO_OP_CLIP ? (float)pass->coeff.a : 0.0F,
            .most = pass->op == ISO_OP_CLIP ? (float)pass->coeff.b : 0.0F,
        };
        conv->n_passes--;
        memmove(pass, pass + 1, (size_t)conv->n_passes * sizeof *pass);
    }
    return true;
}

static bool conv_of(const iso_cpu_t *cpu, const iso_cpu_step_t *step,
                    iso_depthwise_t *conv)
{
    const iso_node_t *node = step->node;
    const iso_tensor_t *x = step->inputs[0];
    const iso_tensor_t *weights = step->inputs[1];
    const iso_tensor_t *bias = iso__ref_input(node, step->inputs, 2);
    const iso_tensor_t *y = step->output;
    iso_conv_param_t param;

    *conv = (iso_depthwise_t){
        .cpu = cpu,
        .isa = iso__depthwise_isa_of(cpu->family),
        .blocked = iso__blocked_isa_of(&cpu->light),
        .channels = y->dims[1],
        .depth = weights->dims[1],
        .blocks = ceil_div(y->dims[1], BLOCK),
        .in_is_plain =
            step->formats == NULL || step->formats[0] == ISO_FORMAT_PLAIN,
        .out_is_plain = step->format == ISO_FORMAT_PLAIN,
        .is_finite = step->panels->is_finite,
        .x = x->data,
        .weights = step->panels->data,
        .bias = bias != NULL ? bias->data : NULL,
        .y = y->data,
    };
    if (x->dims[1] != y->dims[1] ||
        iso_conv_param_of(node, x->rank - 2, &weights->dims[2], &param) !=
            ISO_OK) {
        return false;
    }
    conv->g = iso__geometry_of_conv(&param.window, &x->dims[2], &y->dims[2]);
    conv->taps = iso__geometry_taps(&conv->g);
    conv->in_plane = iso__dims_product(x->dims, 2, x->rank);
    conv->out_plane = iso__dims_product(y->dims, 2, y->rank);
    return conv->depth * conv->taps == step->panels->spec.length &&
           conv->depth * conv->taps <= ISO_BLOCK_MOST &&
           set_passes(conv, step, &param.activation);
}

bool iso__depthwise_run(const iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    iso_depthwise_t conv;

    if (step->node->op != ISO_OP_CONV || step->panels == NULL ||
        step->panels->spec.kind != ISO_PANELS_DEPTHWISE ||
        !conv_of(cpu, step, &conv)) {
        return false;
    }
    if (iso_tensor_count(step->output) == 0) {
        return true;
    }
    cut(&conv, step->output->dims[0]);

    const int64_t boxes = step->output->dims[0] *
                          ceil_div(conv.blocks, conv.box_blocks) *
                          boxes_of_block(&conv);

    if (cpu->threads == 1) {
        run_boxes(&conv, 0, boxes);
        return true;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(cpu->threads)
    for (int64_t i = 0; i < boxes; i++) {
        run_boxes(&conv, i, i + 1);
    }
    return true;
}
