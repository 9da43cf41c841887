#include "graph/param.h"
#include "kernel/cpu/blocked/blocked_impl.h"
#include "kernel/cpu/light_impl.h"

#include <math.h>
#include <string.h>

enum { BLOCK = ISO_BLOCK_CHANNELS };

/* ---- batch_norm ---- */

typedef struct batch_norm {
    const iso_blocked_isa_t *isa;
    float epsilon;
    int64_t channels;
    int64_t blocks;
    int64_t plane;
    const float *x;
    const float *scale; /* (channels), as the next three */
    const float *bias;
    const float *mean;
    const float *variance;
    float *y;
} batch_norm_t;

static void norm_part(const void *arg, int64_t begin, int64_t end)
{
    const batch_norm_t *task = arg;

    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b % task->blocks * BLOCK;
        const int64_t at = b * task->plane * BLOCK;
        iso_blocked_norm_t norm = {.deviation = {0}};

        for (int64_t c = first; c < first + BLOCK && c < task->channels; c++) {
            norm.mean[c - first] = task->mean[c];
            norm.deviation[c - first] =
                sqrtf(task->variance[c] + task->epsilon);
            norm.scale[c - first] = task->scale[c];
            norm.bias[c - first] = task->bias[c];
        }
        task->isa->norm(&norm, task->x + at, task->y + at, task->plane);
    }
}

bool iso__blocked_batch_norm(const iso__light_t *light,
                             const iso_cpu_step_t *step)
{
    const iso_tensor_t *const *inputs = step->inputs;
    const iso_tensor_t *output = step->output;
    iso_norm_param_t param;

    if (iso_norm_param_of(step->node, output->rank, &param) != ISO_OK) {
        return false;
    }

    const batch_norm_t task = {
        .isa = iso__blocked_isa_of(light),
        .epsilon = param.epsilon,
        .channels = output->dims[1],
        .blocks = iso__blocked_blocks(output),
        .plane = iso__blocked_plane(output),
        .x = inputs[0]->data,
        .scale = inputs[1]->data,
        .bias = inputs[2]->data,
        .mean = inputs[3]->data,
        .variance = inputs[4]->data,
        .y = output->data,
    };

    iso__light_split(light, output->dims[0] * task.blocks,
                     iso_tensor_bytes(output), norm_part, &task);
    return true;
}

/* ---- reduce_mean over all positions, to a plain value ---- */

typedef struct mean {
    const iso_blocked_isa_t *isa;
    int64_t channels;
    int64_t blocks;
    int64_t plane;
    const float *x;
    float *y; /* (images, channels) */
} mean_t;

static void mean_part(const void *arg, int64_t begin, int64_t end)
{
    const mean_t *task = arg;

    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b % task->blocks * BLOCK;
        const int64_t left = task->channels - first;
        float all[BLOCK];

        task->isa->mean(task->x + b * task->plane * BLOCK, task->plane, all);
        memcpy(task->y + b / task->blocks * task->channels + first, all,
               (size_t)(left < BLOCK ? left : BLOCK) * sizeof *all);
    }
}

bool iso__blocked_mean(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const iso_tensor_t *x = step->inputs[0];
    const mean_t task = {
        .isa = iso__blocked_isa_of(light),
        .channels = x->dims[1],
        .blocks = iso__blocked_blocks(x),
        .plane = iso__blocked_plane(x),
        .x = x->data,
        .y = step->output->data,
    };
    iso_reduce_param_t param;

    if (step->format != ISO_FORMAT_PLAIN ||
        iso_reduce_param_of(step->node, x->rank, &param) != ISO_OK) {
        return false;
    }
    for (int axis = 0; axis < x->rank; axis++) {
        if (param.reduced[axis] != (axis >= 2)) {
            return false;
        }
    }
    iso__light_split(light, x->dims[0] * task.blocks, iso_tensor_bytes(x),
                     mean_part, &task);
    return true;
}
