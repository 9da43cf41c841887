#include "kernel/cpu/light_impl.h"

#include <math.h>

/*
 * A pool by output rows: every tap of the window is added to (or compared
 * with) the whole row at once, in the order of the taps. Spatial dims are
 * three, the first ones 1 where there are fewer.
 */
typedef struct task {
    const iso__light_isa_t *isa;
    bool is_max;
    bool count_pad;
    int64_t in[ISO_MAX_SPATIAL];
    int64_t out[ISO_MAX_SPATIAL];
    int64_t kernel[ISO_MAX_SPATIAL];
    int64_t stride[ISO_MAX_SPATIAL];
    int64_t dilation[ISO_MAX_SPATIAL];
    int64_t pad_begin[ISO_MAX_SPATIAL];
    int64_t pad_end[ISO_MAX_SPATIAL];
    const float *x;
    float *y;
} task_t;

static void set_axes(task_t *task, const iso_window_t *window,
                     const int64_t *in_dims, const int64_t *out_dims)
{
    const int missing = ISO_MAX_SPATIAL - window->n_spatial;

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int from = i - missing;
        const bool is_given = from >= 0;

        task->in[i] = is_given ? in_dims[from] : 1;
        task->out[i] = is_given ? out_dims[from] : 1;
        task->kernel[i] = is_given ? window->kernel[from] : 1;
        task->stride[i] = is_given ? window->strides[from] : 1;
        task->dilation[i] = is_given ? window->dilations[from] : 1;
        task->pad_begin[i] = is_given ? window->pads_begin[from] : 0;
        task->pad_end[i] = is_given ? window->pads_end[from] : 0;
    }
}

/* Where a tap reads on an axis; outside [0, in) it is in the padding. */
static int64_t source_of(const task_t *task, int axis, int64_t out, int64_t tap)
{
    return out * task->stride[axis] + tap * task->dilation[axis] -
           task->pad_begin[axis];
}

/* Taps of one axis that count in a mean. */
static int64_t taps_of(const task_t *task, int axis, int64_t out)
{
    int64_t count = 0;

    for (int64_t tap = 0; tap < task->kernel[axis]; tap++) {
        const int64_t at = source_of(task, axis, out, tap);

        count += task->count_pad ? at < task->in[axis] + task->pad_end[axis]
                                 : at >= 0 && at < task->in[axis];
    }
    return count;
}

/* One tap of the last axis for a row; x is the input row. */
static void add_tap(const task_t *task, const float *x, int64_t tap, float *y)
{
    const int64_t stride = task->stride[2];
    const int64_t shift = source_of(task, 2, 0, tap);
    int64_t first = 0;
    int64_t end = task->out[2];

    if (shift < 0) {
        first = (-shift + stride - 1) / stride;
    }
    if (task->in[2] - shift <= 0) {
        return;
    }
    if ((task->in[2] - shift - 1) / stride + 1 < end) {
        end = (task->in[2] - shift - 1) / stride + 1;
    }
    if (first < end) {
        task->isa->pool_tap(task->is_max, x + first * stride + shift, stride,
                            y + first, end - first);
    }
}

static void add_taps(const task_t *task, const float *x, const int64_t *out,
                     float *y)
{
    for (int64_t i = 0; i < task->kernel[0]; i++) {
        const int64_t d = source_of(task, 0, out[0], i);

        if (d < 0 || d >= task->in[0]) {
            continue;
        }
        for (int64_t j = 0; j < task->kernel[1]; j++) {
            const int64_t h = source_of(task, 1, out[1], j);

            if (h < 0 || h >= task->in[1]) {
                continue;
            }

            const float *row = x + (d * task->in[1] + h) * task->in[2];

            for (int64_t k = 0; k < task->kernel[2]; k++) {
                add_tap(task, row, k, y);
            }
        }
    }
}

/* End of a run of elements of a row that have the same number of taps: once a
 * window lies inside, all do until the last one that ends inside. */
static int64_t run_end(const task_t *task, int64_t first)
{
    const int64_t kernel = task->kernel[2];
    const int64_t room =
        task->in[2] - 1 - source_of(task, 2, first, kernel - 1);
    int64_t end = first + 1;

    if (source_of(task, 2, first, 0) >= 0 && room >= 0) {
        end += room / task->stride[2];
    }
    return end < task->out[2] ? end : task->out[2];
}

static void divide_row(const task_t *task, const int64_t *out, float *y)
{
    const int64_t outer = taps_of(task, 0, out[0]) * taps_of(task, 1, out[1]);

    for (int64_t first = 0; first < task->out[2];) {
        const int64_t end = run_end(task, first);
        const float count = (float)(outer * taps_of(task, 2, first));

        task->isa->binary(ISO_OP_DIV, y + first, 1, &count, 0, y + first,
                          end - first);
        first = end;
    }
}

static void pool_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    const int64_t plane = task->in[0] * task->in[1] * task->in[2];
    const int64_t n = task->out[2];

    for (int64_t r = begin; r < end; r++) {
        const int64_t out[] = {r / task->out[1] % task->out[0],
                               r % task->out[1]};
        const float *x = task->x + r / (task->out[0] * task->out[1]) * plane;
        float *y = task->y + r * n;

        for (int64_t i = 0; i < n; i++) {
            y[i] = task->is_max ? -INFINITY : 0.0F;
        }
        add_taps(task, x, out, y);
        if (task->is_max) {
            /* A maximum with itself: makes a NaN the canonical one. */
            task->isa->binary(ISO_OP_MAX, y, 1, y, 1, y, n);
        } else {
            divide_row(task, out, y);
        }
    }
}

bool iso__light_pool(const iso__light_t *light, const iso_node_t *node,
                     const iso_tensor_t *const *inputs,
                     const iso_tensor_t *output)
{
    task_t task = {.isa = light->isa,
                   .is_max = node->op == ISO_OP_MAX_POOL,
                   .x = inputs[0]->data,
                   .y = output->data};
    iso_pool_param_t param;

    if (iso_pool_param_of(node, &param) != ISO_OK) {
        return false;
    }
    task.count_pad = param.count_pad;
    set_axes(&task, &param.window, &inputs[0]->dims[2], &output->dims[2]);
    iso__light_split(light, iso_tensor_count(output) / task.out[2],
                     iso_tensor_bytes(inputs[0]), pool_part, &task);
    return true;
}
