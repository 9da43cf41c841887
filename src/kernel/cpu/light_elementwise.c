#include "kernel/cpu/light_impl.h"

/* An elementwise op cut into pieces; what each thread works on. */
typedef struct task {
    const iso__light_isa_t *isa;
    iso_op_t op;
    iso__coeff_t coeff;
    const iso__rows_t *rows;
    const iso_tensor_t *inputs[3];
    const iso_tensor_t *output;
} task_t;

/* Rows of the output with the operands broadcast to it. */
static void rows_of_operands(int n_inputs, const iso_tensor_t *const *inputs,
                             const iso_tensor_t *output, iso__rows_t *rows_out)
{
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);
    for (int i = 0; i < n_inputs; i++) {
        (void)iso__walk_add_broadcast(&walk, inputs[i]);
    }
    iso__rows_of(&walk, rows_out);
}

static task_t task_of(const iso__light_t *light, const iso_node_t *node,
                      const iso_tensor_t *const *inputs,
                      const iso_tensor_t *output, const iso__rows_t *rows)
{
    task_t task = {
        .isa = light->isa, .op = node->op, .rows = rows, .output = output};

    for (int i = 0; i < node->n_inputs && i < 3; i++) {
        task.inputs[i] = inputs[i];
    }
    return task;
}

/* All of an op without coefficients. */
static void run_parts(const iso__light_t *light, const iso_node_t *node,
                      const iso_tensor_t *const *inputs,
                      const iso_tensor_t *output, iso__light_part_fn *part)
{
    iso__rows_t rows;

    rows_of_operands(node->n_inputs, inputs, output, &rows);

    const task_t task = task_of(light, node, inputs, output, &rows);

    iso__light_split(light, rows.count, iso_tensor_bytes(output), part, &task);
}

/* ---- Unary, binary ---- */

static void unary_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    iso__rows_t rows = *task->rows;
    const float *x = task->inputs[0]->data;
    float *y = task->output->data;

    for (int64_t i = begin; i < end; i++) {
        const iso__piece_t piece = iso__rows_piece(&rows, i);

        task->isa->unary(task->op, &task->coeff, x + piece.first,
                         y + piece.first, piece.n);
    }
}

bool iso__light_unary(const iso__light_t *light, const iso_node_t *node,
                      const iso_tensor_t *const *inputs,
                      const iso_tensor_t *output)
{
    iso__rows_t rows;
    task_t task;

    rows_of_operands(1, inputs, output, &rows);
    task = task_of(light, node, inputs, output, &rows);
    if (iso__coeff_of(node, &task.coeff) != ISO_OK) {
        return false;
    }
    iso__light_split(light, rows.count, iso_tensor_bytes(output), unary_part,
                     &task);
    return true;
}

/* One piece; the exponents 2 and 0.5 of a whole row need no powers. */
static void binary_piece(const task_t *task, const float *x, int64_t x_step,
                         const float *y, int64_t y_step,
                         const iso__piece_t *piece)
{
    float *z = (float *)task->output->data + piece->first;
    const bool is_power = task->op == ISO_OP_POW && y_step == 0;

    x += piece->at * x_step;
    y += piece->at * y_step;
    if (is_power && *y == 2.0F) {
        task->isa->binary(ISO_OP_MUL, x, x_step, x, x_step, z, piece->n);
    } else if (is_power && *y == 0.5F && x_step == 1) {
        task->isa->unary(ISO_OP_SQRT, &task->coeff, x, z, piece->n);
    } else {
        task->isa->binary(task->op, x, x_step, y, y_step, z, piece->n);
    }
}

static void binary_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    iso__rows_t rows = *task->rows;
    const float *x = task->inputs[0]->data;
    const float *y = task->inputs[1]->data;

    for (int64_t i = begin; i < end; i++) {
        const iso__piece_t piece = iso__rows_piece(&rows, i);

        binary_piece(task, x + rows.walk.offset[0], rows.step[0],
                     y + rows.walk.offset[1], rows.step[1], &piece);
    }
}

bool iso__light_binary(const iso__light_t *light, const iso_node_t *node,
                       const iso_tensor_t *const *inputs,
                       const iso_tensor_t *output)
{
    run_parts(light, node, inputs, output, binary_part);
    return true;
}

/* ---- Comparisons ---- */

#define COMPARE(name, operator)                                                \
    static void compare_##name(const float *x, int64_t x_step, const float *y, \
                               int64_t y_step, uint8_t *z, int64_t n)          \
    {                                                                          \
        for (int64_t i = 0; i < n; i++) {                                      \
            z[i] = x[i * x_step] operator y[i * y_step];                       \
        }                                                                      \
    }

COMPARE(equal, ==)
COMPARE(less, <)
COMPARE(less_equal, <=)
COMPARE(greater, >)
COMPARE(greater_equal, >=)

typedef void compare_fn(const float *x, int64_t x_step, const float *y,
                        int64_t y_step, uint8_t *z, int64_t n);

static compare_fn *compare_function(iso_op_t op)
{
    switch (op) {
    case ISO_OP_EQUAL:
        return compare_equal;
    case ISO_OP_LESS:
        return compare_less;
    case ISO_OP_LESS_EQUAL:
        return compare_less_equal;
    case ISO_OP_GREATER:
        return compare_greater;
    default:
        return compare_greater_equal;
    }
}

static void compare_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    compare_fn *function = compare_function(task->op);
    iso__rows_t rows = *task->rows;
    const float *x = task->inputs[0]->data;
    const float *y = task->inputs[1]->data;
    uint8_t *z = task->output->data;

    for (int64_t i = begin; i < end; i++) {
        const iso__piece_t piece = iso__rows_piece(&rows, i);

        function(x + rows.walk.offset[0] + piece.at * rows.step[0],
                 rows.step[0],
                 y + rows.walk.offset[1] + piece.at * rows.step[1],
                 rows.step[1], z + piece.first, piece.n);
    }
}

bool iso__light_compare(const iso__light_t *light, const iso_node_t *node,
                        const iso_tensor_t *const *inputs,
                        const iso_tensor_t *output)
{
    run_parts(light, node, inputs, output, compare_part);
    return true;
}

/* ---- where, of elements of 4 bytes ---- */

static void where_row(const uint8_t *condition, const uint32_t *x,
                      const uint32_t *y, const int64_t step[3], uint32_t *z,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t yes = x[i * step[1]];
        const uint32_t no = y[i * step[2]];

        z[i] = condition[i * step[0]] != 0 ? yes : no;
    }
}

static void where_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;
    iso__rows_t rows = *task->rows;
    const uint8_t *condition = task->inputs[0]->data;
    const uint32_t *x = task->inputs[1]->data;
    const uint32_t *y = task->inputs[2]->data;
    uint32_t *z = task->output->data;

    for (int64_t i = begin; i < end; i++) {
        const iso__piece_t piece = iso__rows_piece(&rows, i);
        int64_t at[3];

        for (int k = 0; k < 3; k++) {
            at[k] = rows.walk.offset[k] + piece.at * rows.step[k];
        }
        where_row(condition + at[0], x + at[1], y + at[2], rows.step,
                  z + piece.first, piece.n);
    }
}

bool iso__light_where(const iso__light_t *light, const iso_node_t *node,
                      const iso_tensor_t *const *inputs,
                      const iso_tensor_t *output)
{
    if (iso_dtype_bytes(output->dtype) != sizeof(uint32_t)) {
        return false;
    }
    run_parts(light, node, inputs, output, where_part);
    return true;
}
