#include "kernel/cpu/light_impl.h"
#include "kernel/move.h"
#include "kernel/ref/ref_impl.h"

#include <string.h>

static const char *bytes_at(const iso_tensor_t *tensor, int64_t element)
{
    return (const char *)tensor->data +
           (size_t)element * iso_dtype_bytes(tensor->dtype);
}

static char *place_at(const iso_tensor_t *tensor, int64_t element)
{
    return (char *)tensor->data +
           (size_t)element * iso_dtype_bytes(tensor->dtype);
}

bool iso__light_reshape(const iso__light_t *light, const iso_node_t *node,
                        const iso_tensor_t *const *inputs,
                        const iso_tensor_t *output)
{
    (void)light;
    (void)node;
    memcpy(output->data, inputs[0]->data, iso_tensor_bytes(output));
    return true;
}

/* ---- Moves at constant steps ---- */

/*
 * A matrix of elements: columns are neighbours in the output, rows neighbours
 * in the operand or something else at a constant step.
 */
typedef struct patch {
    int64_t rows;
    int64_t columns;
    int64_t x_row; /* elements between rows in the operand */
    int64_t x_column;
    int64_t y_row;
} patch_t;

enum { TILE = 16 };

/* Tile by tile, so that the lines of both sides stay in cache. */
#define COPY_PATCH(type)                                                  \
    static void copy_##type(const patch_t *patch, const type *x, type *y) \
    {                                                                     \
        for (int64_t j0 = 0; j0 < patch->columns; j0 += TILE) {           \
            const int64_t j1 =                                            \
                j0 + TILE < patch->columns ? j0 + TILE : patch->columns;  \
                                                                          \
            for (int64_t i = 0; i < patch->rows; i++) {                   \
                const type *from = x + i * patch->x_row;                  \
                type *to = y + i * patch->y_row;                          \
                                                                          \
                for (int64_t j = j0; j < j1; j++) {                       \
                    to[j] = from[j * patch->x_column];                    \
                }                                                         \
            }                                                             \
        }                                                                 \
    }

COPY_PATCH(uint8_t)
COPY_PATCH(uint16_t)
COPY_PATCH(uint32_t)
COPY_PATCH(uint64_t)

/* Rows of neighbours on both sides; inlined with sizes that are known, which
 * need no call for each row. */
static inline void copy_rows_of(const patch_t *patch, size_t bytes,
                                const char *x, char *y, size_t row)
{
    for (int64_t i = 0; i < patch->rows; i++) {
        memcpy(y + (size_t)(i * patch->y_row) * bytes,
               x + i * patch->x_row * (int64_t)bytes, row);
    }
}

static void copy_rows(const patch_t *patch, size_t bytes, const void *x,
                      void *y)
{
    const size_t row = (size_t)patch->columns * bytes;

    switch (row) {
    case 64:
        copy_rows_of(patch, bytes, x, y, 64);
        break;
    case 128:
        copy_rows_of(patch, bytes, x, y, 128);
        break;
    case 256:
        copy_rows_of(patch, bytes, x, y, 256);
        break;
    default:
        copy_rows_of(patch, bytes, x, y, row);
        break;
    }
}

static void copy_patch(const patch_t *patch, size_t bytes, const void *x,
                       void *y)
{
    if (patch->x_column == 1) {
        copy_rows(patch, bytes, x, y);
        return;
    }
    switch (bytes) {
    case sizeof(uint8_t):
        copy_uint8_t(patch, x, y);
        break;
    case sizeof(uint16_t):
        copy_uint16_t(patch, x, y);
        break;
    case sizeof(uint32_t):
        copy_uint32_t(patch, x, y);
        break;
    default:
        copy_uint64_t(patch, x, y);
        break;
    }
}

/* Patches of an output, and a walk over their first elements: array 0 is the
 * operand, array 1 the output. */
typedef struct steps_task {
    iso__walk_t walk;
    patch_t patch; /* the last one along the rows may have fewer rows */
    int64_t rows;  /* of all patches along the rows */
    const iso_tensor_t *x;
    const iso_tensor_t *output;
} steps_task_t;

/* The axis along which the operand is contiguous, or the last one left. */
static int row_axis(const iso__walk_t *walk)
{
    for (int axis = 0; axis < walk->rank; axis++) {
        if (walk->step[0][axis] == 1) {
            return axis;
        }
    }
    return walk->rank - 1;
}

/* Take the last axis as columns (if the output is contiguous along it, which
 * a part of it need not be) and another one as rows. */
static void set_patch(steps_task_t *task)
{
    iso__walk_t *walk = &task->walk;
    const int last = walk->rank - 1;

    task->patch = (patch_t){.rows = 1, .columns = 1, .x_column = 1};
    task->rows = 1;
    if (last >= 0 && walk->step[1][last] == 1) {
        task->patch.columns = walk->dims[last];
        task->patch.x_column = walk->step[0][last];
        iso__walk_drop(walk, last);
    }
    if (walk->rank > 0) {
        const int axis = row_axis(walk);

        task->rows = walk->dims[axis];
        task->patch.rows = task->rows < TILE ? task->rows : TILE;
        task->patch.x_row = walk->step[0][axis];
        task->patch.y_row = walk->step[1][axis];
        iso__walk_drop(walk, axis);
    }
}

static int64_t patches_of_rows(const steps_task_t *task)
{
    return (task->rows + task->patch.rows - 1) / task->patch.rows;
}

static void steps_part(const void *arg, int64_t begin, int64_t end)
{
    const steps_task_t *task = arg;
    const int64_t patches = patches_of_rows(task);
    const size_t bytes = iso_dtype_bytes(task->output->dtype);
    iso__walk_t walk = task->walk;

    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i % patches * task->patch.rows;
        patch_t patch = task->patch;

        if (task->rows - row < patch.rows) {
            patch.rows = task->rows - row;
        }
        iso__walk_seek(&walk, i / patches);
        copy_patch(&patch, bytes,
                   bytes_at(task->x, 0) +
                       (walk.offset[0] + row * patch.x_row) * (int64_t)bytes,
                   place_at(task->output, walk.offset[1] + row * patch.y_row));
    }
}

/* Copy along a walk of two arrays, operand and output. */
static void run_steps(const iso__light_t *light, const iso__walk_t *walk,
                      const iso_tensor_t *x, const iso_tensor_t *output)
{
    steps_task_t task = {.walk = *walk, .x = x, .output = output};

    iso__walk_merge(&task.walk);
    set_patch(&task);
    iso__light_split(light,
                     iso__walk_count(&task.walk) * patches_of_rows(&task),
                     iso_tensor_bytes(output), steps_part, &task);
}

bool iso__light_steps(const iso__light_t *light, const iso_node_t *node,
                      const iso_tensor_t *const *inputs,
                      const iso_tensor_t *output)
{
    int64_t strides[ISO_MAX_RANK];
    iso__walk_t walk;

    if (iso__move_walk_of(node, inputs[0], output, &walk) != ISO_OK) {
        return false;
    }
    iso__strides_of(walk.rank, walk.dims, strides);
    (void)iso__walk_add(&walk, 0, strides);
    run_steps(light, &walk, inputs[0], output);
    return true;
}

/* ---- concat ---- */

bool iso__light_concat(const iso__light_t *light, const iso_node_t *node,
                       const iso_tensor_t *const *inputs,
                       const iso_tensor_t *output)
{
    int64_t first = 0;
    int axis;

    if (iso_axis_of(node, output->rank, 0, &axis) != ISO_OK) {
        return false;
    }

    const int64_t outer = iso__dims_product(output->dims, 0, axis);
    const int64_t inner =
        iso__dims_product(output->dims, axis + 1, output->rank);
    const int64_t out_row = output->dims[axis] * inner;

    for (int i = 0; i < node->n_inputs; i++) {
        const int64_t row = inputs[i]->dims[axis] * inner;
        const int64_t dims[] = {outer, row};
        const int64_t x_step[] = {row, 1};
        const int64_t y_step[] = {out_row, 1};
        iso__walk_t walk;

        if (row > 0) {
            iso__walk_begin(&walk, 2, dims);
            (void)iso__walk_add(&walk, 0, x_step);
            (void)iso__walk_add(&walk, first, y_step);
            run_steps(light, &walk, inputs[i], output);
        }
        first += row;
    }
    return true;
}

/* ---- pad with a constant ---- */

static void fill(const iso_tensor_t *output, double value)
{
    const size_t bytes = iso_dtype_bytes(output->dtype);
    const size_t all = iso_tensor_bytes(output);
    size_t done = bytes;

    iso__ref_store_f64(output, 0, value);
    while (done < all) {
        const size_t more = done < all - done ? done : all - done;

        memcpy((char *)output->data + done, output->data, more);
        done += more;
    }
}

bool iso__light_pad(const iso__light_t *light, const iso_node_t *node,
                    const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    int64_t dims[ISO_MAX_RANK];
    int64_t x_step[ISO_MAX_RANK];
    int64_t y_step[ISO_MAX_RANK];
    int64_t x_first = 0;
    int64_t y_first = 0;
    iso_pad_param_t param;
    iso__walk_t walk;

    if (iso_pad_param_of(node, x->rank, &param) != ISO_OK ||
        param.mode != ISO_PAD_CONSTANT) {
        return false;
    }
    iso__strides_of(x->rank, x->dims, x_step);
    iso__strides_of(x->rank, output->dims, y_step);
    fill(output, param.value);
    for (int axis = 0; axis < x->rank; axis++) {
        const int64_t begin = param.begin[axis];
        const int64_t end = param.end[axis];
        const int64_t crop = begin < 0 ? -begin : 0;

        dims[axis] = x->dims[axis] - crop + (end < 0 ? end : 0);
        if (dims[axis] <= 0) {
            return true; /* nothing of the operand is left */
        }
        x_first += crop * x_step[axis];
        y_first += (begin > 0 ? begin : 0) * y_step[axis];
    }
    iso__walk_begin(&walk, x->rank, dims);
    (void)iso__walk_add(&walk, x_first, x_step);
    (void)iso__walk_add(&walk, y_first, y_step);
    run_steps(light, &walk, x, output);
    return true;
}

/* ---- gather ---- */

typedef struct gather_task {
    int64_t picks;
    int64_t dim;
    int64_t inner;
    const iso_tensor_t *x;
    const iso_tensor_t *indices;
    const iso_tensor_t *output;
} gather_task_t;

static void gather_part(const void *arg, int64_t begin, int64_t end)
{
    const gather_task_t *task = arg;
    const size_t row =
        (size_t)task->inner * iso_dtype_bytes(task->output->dtype);

    for (int64_t i = begin; i < end; i++) {
        const int64_t o = i / task->picks;
        int64_t from = iso__ref_int_load(task->indices, i % task->picks);

        from = from < 0 ? from + task->dim : from;
        memcpy(place_at(task->output, i * task->inner),
               bytes_at(task->x, (o * task->dim + from) * task->inner), row);
    }
}

static bool indices_fit(const gather_task_t *task)
{
    for (int64_t i = 0; i < task->picks; i++) {
        const int64_t index = iso__ref_int_load(task->indices, i);

        if (index < -task->dim || index >= task->dim) {
            return false;
        }
    }
    return true;
}

bool iso__light_gather(const iso__light_t *light, const iso_node_t *node,
                       const iso_tensor_t *const *inputs,
                       const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    gather_task_t task = {.picks = iso_tensor_count(inputs[1]),
                          .x = x,
                          .indices = inputs[1],
                          .output = output};
    int axis;

    if (iso_axis_of(node, x->rank, 0, &axis) != ISO_OK) {
        return false;
    }
    task.dim = x->dims[axis];
    task.inner = iso__dims_product(x->dims, axis + 1, x->rank);
    if (!indices_fit(&task)) {
        return false;
    }
    iso__light_split(light, iso__dims_product(x->dims, 0, axis) * task.picks,
                     iso_tensor_bytes(output), gather_part, &task);
    return true;
}
