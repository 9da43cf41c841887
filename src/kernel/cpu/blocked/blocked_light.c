#include "graph/param.h"
#include "kernel/cpu/blocked/blocked.h"
#include "kernel/cpu/blocked/blocked_impl.h"
#include "kernel/cpu/light_impl.h"

#include <string.h>

enum {
    BLOCK = ISO_BLOCK_CHANNELS,
    /* Elements of a row that repeats what belongs to one channel block. */
    REPEATED = 64 * BLOCK,
};

int64_t iso__blocked_blocks(const iso_tensor_t *tensor)
{
    return (tensor->dims[1] + BLOCK - 1) / BLOCK;
}

int64_t iso__blocked_plane(const iso_tensor_t *tensor)
{
    return iso__dims_product(tensor->dims, 2, tensor->rank);
}

static iso_format_t format_of(const iso_cpu_step_t *step, int input)
{
    return step->formats == NULL ? ISO_FORMAT_PLAIN : step->formats[input];
}

static bool is_same_shape(const iso_tensor_t *a, const iso_tensor_t *b)
{
    return a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* A blocked value as a list of all its lanes. */
static iso_tensor_t flat(const iso_tensor_t *tensor)
{
    return (iso_tensor_t){
        .dtype = tensor->dtype,
        .rank = 1,
        .dims = {tensor->dims[0] * iso__blocked_blocks(tensor) *
                 iso__blocked_plane(tensor) * BLOCK},
        .data = tensor->data,
    };
}

/* ---- Elementwise ---- */

static bool run_unary(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const iso_tensor_t x = flat(step->inputs[0]);
    const iso_tensor_t y = flat(step->output);
    const iso_tensor_t *inputs[] = {&x};

    return format_of(step, 0) == ISO_FORMAT_BLOCKED &&
           step->node->op != ISO_OP_CAST &&
           iso__light_run(light, step->node, inputs, &y);
}

/* An operand that has one element for each channel, or for each channel of
 * each image, or one for all. */
typedef struct by_channel {
    const iso__light_isa_t *isa;
    iso_op_t op;
    bool is_second; /* the operand of the op */
    const float *operand;
    int64_t image_step;
    int64_t channel_step;
    int64_t channels;
    int64_t blocks;
    int64_t plane;
    const float *x; /* the other operand, blocked */
    float *y;
} by_channel_t;

/* False when the operand has another form. */
static bool set_operand(by_channel_t *task, const iso_tensor_t *operand,
                        const iso_tensor_t *output)
{
    const int missing = output->rank - operand->rank;
    int64_t step = 1;

    for (int axis = output->rank - 1; axis >= 0; axis--) {
        const int64_t dim = axis < missing ? 1 : operand->dims[axis - missing];

        if (dim != 1 && axis >= 2) {
            return false;
        }
        if (dim != 1 && axis == 1) {
            task->channel_step = step;
        } else if (dim != 1) {
            task->image_step = step;
        }
        step *= dim;
    }
    task->operand = operand->data;
    return true;
}

/* A row of n elements, at most REPEATED, of the operand of a channel block. */
static void repeat_operand(const by_channel_t *task, int64_t index, int64_t n,
                           float *row)
{
    const int64_t first = index % task->blocks * BLOCK;
    const float *from = task->operand +
                        index / task->blocks * task->image_step +
                        first * task->channel_step;

    for (int64_t c = 0; c < BLOCK; c++) {
        row[c] = first + c < task->channels ? from[c * task->channel_step] : 1;
    }
    for (int64_t i = BLOCK; i < n; i++) {
        row[i] = row[i - BLOCK];
    }
}

static void by_channel_part(const void *arg, int64_t begin, int64_t end)
{
    const by_channel_t *task = arg;
    const int64_t all = task->plane * BLOCK;
    const int64_t most = all < REPEATED ? all : REPEATED;
    float row[REPEATED];

    for (int64_t b = begin; b < end; b++) {
        repeat_operand(task, b, most, row);
        for (int64_t i = 0; i < all; i += most) {
            const int64_t n = all - i < most ? all - i : most;
            const float *x = task->x + b * all + i;
            float *y = task->y + b * all + i;

            if (task->is_second) {
                task->isa->binary(task->op, x, 1, row, 1, y, n);
            } else {
                task->isa->binary(task->op, row, 1, x, 1, y, n);
            }
        }
    }
}

static bool run_by_channel(const iso__light_t *light,
                           const iso_cpu_step_t *step, int operand)
{
    const iso_tensor_t *output = step->output;
    by_channel_t task = {
        .isa = light->isa,
        .op = step->node->op,
        .is_second = operand == 1,
        .channels = output->dims[1],
        .blocks = iso__blocked_blocks(output),
        .plane = iso__blocked_plane(output),
        .x = step->inputs[1 - operand]->data,
        .y = output->data,
    };

    if (format_of(step, operand) != ISO_FORMAT_PLAIN ||
        !is_same_shape(step->inputs[1 - operand], output) ||
        !set_operand(&task, step->inputs[operand], output)) {
        return false;
    }
    iso__light_split(light, output->dims[0] * task.blocks,
                     iso_tensor_bytes(output), by_channel_part, &task);
    return true;
}

static bool run_binary(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const bool is_blocked[] = {format_of(step, 0) == ISO_FORMAT_BLOCKED,
                               format_of(step, 1) == ISO_FORMAT_BLOCKED};

    if (step->node->op == ISO_OP_MOD) {
        return false;
    }
    if (is_blocked[0] && is_blocked[1]) {
        const iso_tensor_t x = flat(step->inputs[0]);
        const iso_tensor_t y = flat(step->inputs[1]);
        const iso_tensor_t z = flat(step->output);
        const iso_tensor_t *inputs[] = {&x, &y};

        return is_same_shape(step->inputs[0], step->inputs[1]) &&
               iso__light_run(light, step->node, inputs, &z);
    }
    return (is_blocked[0] && run_by_channel(light, step, 1)) ||
           (is_blocked[1] && run_by_channel(light, step, 0));
}

/* ---- concat of whole channel blocks ---- */

typedef struct concat {
    const iso_cpu_step_t *step;
    int64_t blocks;
    int64_t plane;
} concat_t;

static void concat_part(const void *arg, int64_t begin, int64_t end)
{
    const concat_t *task = arg;
    const int64_t n = task->plane * BLOCK;
    float *y = task->step->output->data;

    for (int64_t b = begin; b < end; b++) {
        int64_t block = b % task->blocks;
        int i = 0;

        while (block >= iso__blocked_blocks(task->step->inputs[i])) {
            block -= iso__blocked_blocks(task->step->inputs[i++]);
        }

        const iso_tensor_t *input = task->step->inputs[i];
        const int64_t from =
            b / task->blocks * iso__blocked_blocks(input) + block;

        memcpy(y + b * n, (const float *)input->data + from * n,
               (size_t)n * sizeof *y);
    }
}

static bool run_concat(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const iso_tensor_t *output = step->output;
    const concat_t task = {step, iso__blocked_blocks(output),
                           iso__blocked_plane(output)};
    const int last = step->node->n_inputs - 1;
    int axis;

    if (iso_axis_of(step->node, output->rank, 0, &axis) != ISO_OK ||
        axis != 1) {
        return false;
    }
    for (int i = 0; i <= last; i++) {
        if (format_of(step, i) != ISO_FORMAT_BLOCKED ||
            (i < last && step->inputs[i]->dims[1] % BLOCK != 0)) {
            return false;
        }
    }
    iso__light_split(light, output->dims[0] * task.blocks,
                     iso_tensor_bytes(output), concat_part, &task);
    return true;
}

/* ---- All ---- */

static bool run_op(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const iso_op_t op = step->node->op;

    switch (op) {
    case ISO_OP_BATCH_NORM:
        return format_of(step, 0) == ISO_FORMAT_BLOCKED &&
               iso__blocked_batch_norm(light, step);
    case ISO_OP_MAX_POOL:
    case ISO_OP_AVG_POOL:
        return format_of(step, 0) == ISO_FORMAT_BLOCKED &&
               iso__blocked_pool(light, step);
    case ISO_OP_CONCAT:
        return run_concat(light, step);
    default:
        break;
    }
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return run_unary(light, step);
    case ISO_OP_CLASS_BINARY:
        return run_binary(light, step);
    default:
        return false;
    }
}

bool iso__blocked_run(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const iso_tensor_t *output = step->output;

    if (step->node->n_inputs == 0 || output->dtype != ISO_DTYPE_F32) {
        return false;
    }
    if (step->node->op == ISO_OP_REDUCE_MEAN) {
        return format_of(step, 0) == ISO_FORMAT_BLOCKED &&
               iso__blocked_mean(light, step);
    }
    return step->format == ISO_FORMAT_BLOCKED && run_op(light, step);
}
