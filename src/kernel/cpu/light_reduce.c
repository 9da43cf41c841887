#include "kernel/arith.h"
#include "kernel/cpu/light_impl.h"
#include "kernel/ref/ref_impl.h"

#include <math.h>

/* An operand as (outer, rows, inner), reduced or normalised over rows. */
typedef struct task {
    const iso__light_isa_t *isa;
    iso_op_t op;
    int64_t outer;
    int64_t rows;
    int64_t inner;
    int64_t blocks; /* of columns */
    const float *x;
    float *y;
} task_t;

enum { BLOCK = 256 }; /* columns that one thread takes at a time */

static void set_view(task_t *task, const iso_tensor_t *x, int first, int end)
{
    task->outer = iso__dims_product(x->dims, 0, first);
    task->rows = iso__dims_product(x->dims, first, end);
    task->inner = iso__dims_product(x->dims, end, x->rank);
    task->blocks = (task->inner + BLOCK - 1) / BLOCK;
    task->x = x->data;
}

/* Columns of block number index % blocks. */
static iso__columns_t columns_of(const task_t *task, int64_t index,
                                 int64_t *first_out)
{
    const int64_t first = index % task->blocks * BLOCK;
    const int64_t left = task->inner - first;

    *first_out = first;
    return (iso__columns_t){.rows = task->rows,
                            .step = task->inner,
                            .n = left < BLOCK ? left : BLOCK};
}

/* ---- Reductions ---- */

/* First and last reduced axis, where no kept axis lies between; an axis of
 * one index may be either. */
static bool reduced_range(const iso_reduce_param_t *param,
                          const iso_tensor_t *x, int *first_out, int *end_out)
{
    int first = -1;
    int end = 0;

    for (int axis = 0; axis < x->rank; axis++) {
        if (param->reduced[axis] && x->dims[axis] != 1) {
            first = first < 0 ? axis : first;
            end = axis + 1;
        }
    }
    first = first < 0 ? 0 : first;
    for (int axis = first; axis < end; axis++) {
        if (!param->reduced[axis] && x->dims[axis] != 1) {
            return false;
        }
    }
    *first_out = first;
    *end_out = end;
    return true;
}

static void reduce_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    const float count = (float)task->rows;

    for (int64_t i = begin; i < end; i++) {
        const int64_t o = i / task->blocks;
        const float *x = task->x + o * task->rows * task->inner;
        int64_t first;
        const iso__columns_t columns = columns_of(task, i, &first);
        float *y = task->y + o * task->inner + first;

        if (task->inner == 1) {
            *y = task->isa->reduce_row(task->op, x, task->rows);
        } else {
            task->isa->reduce_columns(task->op, x + first, &columns, y);
        }
        if (task->op == ISO_OP_REDUCE_MEAN) {
            task->isa->binary(ISO_OP_DIV, y, 1, &count, 0, y, columns.n);
        }
    }
}

bool iso__light_reduce(const iso__light_t *light, const iso_node_t *node,
                       const iso_tensor_t *const *inputs,
                       const iso_tensor_t *output)
{
    task_t task = {.isa = light->isa, .op = node->op, .y = output->data};
    iso_reduce_param_t param;
    int first;
    int end;

    if (iso_reduce_param_of(node, inputs[0]->rank, &param) != ISO_OK ||
        !reduced_range(&param, inputs[0], &first, &end)) {
        return false;
    }
    set_view(&task, inputs[0], first, end);
    iso__light_split(light, task.outer * task.blocks,
                     iso_tensor_bytes(inputs[0]), reduce_part, &task);
    return true;
}

/* ---- softmax, log_softmax ---- */

static void softmax_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    const bool is_log = task->op == ISO_OP_LOG_SOFTMAX;

    for (int64_t i = begin; i < end; i++) {
        const int64_t o = i / task->blocks;
        int64_t first;
        const iso__columns_t columns = columns_of(task, i, &first);
        const int64_t at = o * task->rows * task->inner + first;

        if (task->inner == 1) {
            const iso__plane_t row = {.data = task->x + at, .step = 1};

            task->isa->softmax_rows(is_log, &row, task->y + at, 1, task->rows);
        } else {
            task->isa->softmax_columns(is_log, task->x + at, &columns,
                                       task->y + at);
        }
    }
}

bool iso__light_softmax(const iso__light_t *light, const iso_node_t *node,
                        const iso_tensor_t *const *inputs,
                        const iso_tensor_t *output)
{
    task_t task = {.isa = light->isa, .op = node->op, .y = output->data};
    int axis;

    if (iso_axis_of(node, output->rank, -1, &axis) != ISO_OK) {
        return false;
    }
    set_view(&task, inputs[0], axis, axis + 1);
    iso__light_split(light, task.outer * task.blocks, iso_tensor_bytes(output),
                     softmax_part, &task);
    return true;
}
