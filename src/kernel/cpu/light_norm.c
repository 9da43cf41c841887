#include "kernel/arith.h"
#include "kernel/cpu/light_impl.h"
#include "kernel/ref/ref_impl.h"

#include <math.h>

/* A norm over rows of contiguous elements. */
typedef struct task {
    const iso__light_isa_t *isa;
    iso_norm_param_t param;
    bool by_element; /* layer_norm: scale and bias of each element */
    int64_t channels;
    int64_t length; /* of a row */
    const float *x;
    const float *scale;
    const float *bias;     /* or NULL */
    const float *mean;     /* batch_norm */
    const float *variance; /* batch_norm */
    float *y;
} task_t;

static const float *data_of(const iso_node_t *node,
                            const iso_tensor_t *const *inputs, int index)
{
    const iso_tensor_t *tensor = iso__ref_input(node, inputs, index);

    return tensor != NULL ? tensor->data : NULL;
}

static bool task_of(const iso__light_t *light, const iso_node_t *node,
                    const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output, task_t *task)
{
    *task = (task_t){
        .isa = light->isa,
        .by_element = node->op == ISO_OP_LAYER_NORM,
        .x = inputs[0]->data,
        .scale = data_of(node, inputs, 1),
        .bias = data_of(node, inputs, 2),
        .mean = data_of(node, inputs, 3),
        .variance = data_of(node, inputs, 4),
        .y = output->data,
    };
    return iso_norm_param_of(node, output->rank, &task->param) == ISO_OK;
}

/* Rows are the axes from `first` on. */
static void split_rows(const iso__light_t *light, const iso_tensor_t *output,
                       int first, iso__light_part_fn *part, task_t *task)
{
    const int64_t rows = iso__dims_product(output->dims, 0, first);

    task->length = iso__dims_product(output->dims, first, output->rank);
    task->channels = output->rank > 1 ? output->dims[1] : 1;
    iso__light_split(light, rows, iso_tensor_bytes(output), part, task);
}

/* ---- batch_norm ---- */

static void batch_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;

    for (int64_t r = begin; r < end; r++) {
        const int64_t c = r % task->channels;
        const iso__norm_row_t norm = {
            .mean = task->mean[c],
            .deviation = sqrtf(task->variance[c] + task->param.epsilon),
            .scale = task->scale + c,
            .bias = task->bias + c,
        };

        task->isa->norm_row(&norm, task->x + r * task->length,
                            task->y + r * task->length, task->length);
    }
}

bool iso__light_batch_norm(const iso__light_t *light, const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    task_t task;

    if (!task_of(light, node, inputs, output, &task)) {
        return false;
    }
    split_rows(light, output, 2, batch_part, &task);
    return true;
}

/* ---- layer_norm, instance_norm ---- */

static void row_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    const int64_t n = task->length;

    for (int64_t r = begin; r < end; r++) {
        const int64_t c = task->by_element ? 0 : r % task->channels;
        const float *x = task->x + r * n;
        const float mean =
            task->isa->reduce_row(ISO_OP_REDUCE_SUM, x, n) / (float)n;
        const float variance = task->isa->squares_row(x, mean, n) / (float)n;
        const iso__norm_row_t norm = {
            .mean = mean,
            .deviation = sqrtf(variance + task->param.epsilon),
            .scale = task->scale + c,
            .bias = task->bias != NULL ? task->bias + c : NULL,
            .step = task->by_element ? 1 : 0,
        };

        task->isa->norm_row(&norm, x, task->y + r * n, n);
    }
}

bool iso__light_row_norm(const iso__light_t *light, const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output)
{
    task_t task;

    if (!task_of(light, node, inputs, output, &task)) {
        return false;
    }
    split_rows(light, output, task.by_element ? task.param.axis : 2, row_part,
               &task);
    return true;
}

/* ---- lrn ---- */

static void lrn_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    const int64_t size = task->param.lrn_size;
    const int64_t before = (size - 1) / 2;
    const int64_t after = size - 1 - before;

    for (int64_t r = begin; r < end; r++) {
        const int64_t c = r % task->channels;
        const int64_t first = c > before ? c - before : 0;
        const int64_t last =
            task->channels - c > after ? c + after : task->channels - 1;
        const float *x = task->x + r * task->length;
        const iso__lrn_row_t lrn = {
            .first = x + (first - c) * task->length,
            .step = task->length,
            .count = last - first + 1,
            .alpha = task->param.lrn_alpha / (float)size,
            .beta = task->param.lrn_beta,
            .bias = task->param.lrn_bias,
        };

        task->isa->lrn_row(&lrn, x, task->y + r * task->length, task->length);
    }
}

bool iso__light_lrn(const iso__light_t *light, const iso_node_t *node,
                    const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output)
{
    task_t task;

    if (!task_of(light, node, inputs, output, &task)) {
        return false;
    }
    split_rows(light, output, 2, lrn_part, &task);
    return true;
}
