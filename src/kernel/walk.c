#include "kernel/walk.h"

void iso__walk_begin(iso__walk_t *walk, int rank, const int64_t *dims)
{
    *walk = (iso__walk_t){.rank = rank};
    for (int axis = 0; axis < rank; axis++) {
        walk->dims[axis] = dims[axis];
    }
}

int iso__walk_add(iso__walk_t *walk, int64_t first, const int64_t *step)
{
    const int array = walk->n_arrays++;

    walk->offset[array] = first;
    for (int axis = 0; axis < walk->rank; axis++) {
        walk->step[array][axis] = step[axis];
    }
    return array;
}

int iso__walk_add_broadcast(iso__walk_t *walk, const iso_tensor_t *tensor)
{
    const int missing = walk->rank - tensor->rank;
    int64_t strides[ISO_MAX_RANK];
    int64_t step[ISO_MAX_RANK] = {0};

    iso__strides_of(tensor->rank, tensor->dims, strides);
    for (int axis = 0; axis < tensor->rank; axis++) {
        if (tensor->dims[axis] != 1) {
            step[missing + axis] = strides[axis];
        }
    }
    return iso__walk_add(walk, 0, step);
}

void iso__walk_next(iso__walk_t *walk)
{
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        const bool wraps = ++walk->index[axis] >= walk->dims[axis];

        for (int array = 0; array < walk->n_arrays; array++) {
            const int64_t back = wraps ? walk->dims[axis] : 0;

            walk->offset[array] += walk->step[array][axis] * (1 - back);
        }
        if (!wraps) {
            return;
        }
        walk->index[axis] = 0;
    }
}

void iso__walk_seek(iso__walk_t *walk, int64_t number)
{
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        const int64_t index = number % walk->dims[axis];
        const int64_t moved = index - walk->index[axis];

        for (int array = 0; array < walk->n_arrays; array++) {
            walk->offset[array] += moved * walk->step[array][axis];
        }
        walk->index[axis] = index;
        number /= walk->dims[axis];
    }
}

/* Does every array step through axis and the one after it as through one? */
static bool joins_next(const iso__walk_t *walk, int axis)
{
    for (int array = 0; array < walk->n_arrays; array++) {
        const int64_t *step = walk->step[array];

        if (step[axis] != step[axis + 1] * walk->dims[axis + 1]) {
            return false;
        }
    }
    return true;
}

static void move_axis(iso__walk_t *walk, int from, int to)
{
    walk->dims[to] = walk->dims[from];
    for (int array = 0; array < walk->n_arrays; array++) {
        walk->step[array][to] = walk->step[array][from];
    }
}

void iso__walk_drop(iso__walk_t *walk, int axis)
{
    for (int from = axis + 1; from < walk->rank; from++) {
        move_axis(walk, from, from - 1);
    }
    walk->rank--;
}

void iso__walk_merge(iso__walk_t *walk)
{
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        if (walk->dims[axis] == 1) {
            iso__walk_drop(walk, axis);
        } else if (axis + 1 < walk->rank && joins_next(walk, axis)) {
            walk->dims[axis + 1] *= walk->dims[axis];
            iso__walk_drop(walk, axis);
        }
    }
}

int64_t iso__walk_count(const iso__walk_t *walk)
{
    return iso__dims_product(walk->dims, 0, walk->rank);
}

void iso__strides_of(int rank, const int64_t *dims, int64_t *strides_out)
{
    int64_t stride = 1;

    for (int axis = rank - 1; axis >= 0; axis--) {
        strides_out[axis] = stride;
        stride *= dims[axis];
    }
}

int64_t iso__dims_product(const int64_t *dims, int begin, int end)
{
    int64_t product = 1;

    for (int axis = begin; axis < end; axis++) {
        product *= dims[axis];
    }
    return product;
}
