#include "graph/param.h"
#include "kernel/cpu/blocked/blocked_impl.h"
#include "kernel/cpu/light_impl.h"
#include "kernel/cpu/window.h"

enum { BLOCK = ISO_BLOCK_CHANNELS };

typedef struct task {
    const iso_blocked_isa_t *isa;
    bool is_max;
    bool count_pad;
    iso_geometry_t g; /* axis 2 runs along the rows */
    int64_t pad_end[ISO_MAX_SPATIAL];
    int64_t step[ISO_MAX_SPATIAL]; /* elements between neighbours */
    const float *x;
    float *y;
} task_t;

/* Taps of one axis that an output index has. */
typedef struct taps {
    int64_t count; /* inside */
    int64_t at;    /* index that the first one reads */
    int64_t mean;  /* that count in a mean */
} taps_t;

static taps_t taps_of(const task_t *task, int axis, int64_t out)
{
    const iso_geometry_t *g = &task->g;
    taps_t taps = {0};

    for (int64_t t = 0; t < g->kernel[axis]; t++) {
        const int64_t at =
            out * g->step[axis] + g->shift[axis] + t * g->tap_step[axis];

        if (at >= 0 && at < g->in[axis]) {
            taps.at = taps.count == 0 ? at : taps.at;
            taps.count++;
        }
        taps.mean += at < g->in[axis] + task->pad_end[axis] ? 1 : 0;
    }
    if (!task->count_pad) {
        taps.mean = taps.count;
    }
    return taps;
}

/* End of the positions from `first` on that have as many taps: once a window
 * lies inside, all do until the last one that ends inside. */
static int64_t run_end(const task_t *task, int64_t first)
{
    const iso_geometry_t *g = &task->g;
    const int64_t begin = first * g->step[2] + g->shift[2];
    const int64_t room =
        g->in[2] - 1 - begin - (g->kernel[2] - 1) * g->tap_step[2];
    const int64_t end =
        first + 1 + (begin >= 0 && room >= 0 ? room / g->step[2] : 0);

    return end < g->out[2] ? end : g->out[2];
}

/* The part of a row that begins at first; returns its end. */
static int64_t run_part(const task_t *task, const taps_t *deep,
                        const taps_t *high, int64_t first, const float *x,
                        float *y)
{
    const taps_t wide = taps_of(task, 2, first);
    const int64_t end = run_end(task, first);
    const taps_t *taps[] = {deep, high, &wide};
    iso_blocked_pool_t pool = {
        .is_max = task->is_max,
        .in = x,
        .count = end - first,
        .pixel_step = task->g.step[2] * BLOCK,
        .divisor = (float)(deep->mean * high->mean * wide.mean),
    };

    pool.out = y + first * BLOCK;
    for (int axis = 0; axis < ISO_MAX_SPATIAL; axis++) {
        pool.in += taps[axis]->at * task->step[axis];
        pool.taps[axis] = taps[axis]->count;
        pool.step[axis] = task->g.tap_step[axis] * task->step[axis];
    }
    task->isa->pool(&pool);
    return end;
}

/* Output rows of all channel blocks of all images. */
static void pool_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    const iso_geometry_t *g = &task->g;

    for (int64_t r = begin; r < end; r++) {
        const taps_t deep = taps_of(task, 0, r / g->out[1] % g->out[0]);
        const taps_t high = taps_of(task, 1, r % g->out[1]);
        const float *x =
            task->x + r / (g->out[0] * g->out[1]) * g->plane * BLOCK;
        float *y = task->y + r * g->out[2] * BLOCK;

        for (int64_t first = 0; first < g->out[2];) {
            first = run_part(task, &deep, &high, first, x, y);
        }
    }
}

bool iso__blocked_pool(const iso__light_t *light, const iso_cpu_step_t *step)
{
    const iso_tensor_t *x = step->inputs[0];
    const iso_tensor_t *y = step->output;
    task_t task = {
        .isa = iso__blocked_isa_of(light),
        .is_max = step->node->op == ISO_OP_MAX_POOL,
        .x = x->data,
        .y = y->data,
    };
    iso_pool_param_t param;

    if (iso_pool_param_of(step->node, &param) != ISO_OK) {
        return false;
    }

    const int missing = ISO_MAX_SPATIAL - param.window.n_spatial;

    task.count_pad = param.count_pad;
    task.g = iso__geometry_of_conv(&param.window, &x->dims[2], &y->dims[2]);
    task.step[2] = BLOCK;
    task.step[1] = task.step[2] * task.g.in[2];
    task.step[0] = task.step[1] * task.g.in[1];
    for (int i = 0; i < param.window.n_spatial; i++) {
        task.pad_end[missing + i] = param.window.pads_end[i];
    }
    iso__light_split(light,
                     y->dims[0] * iso__blocked_blocks(y) * task.g.out[0] *
                         task.g.out[1],
                     iso_tensor_bytes(x), pool_part, &task);
    return true;
}
