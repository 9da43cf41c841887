#include "tensor/copy.h"

#include <string.h>

static bool is_empty(int rank, const int64_t *box)
{
    for (int axis = 0; axis < rank; axis++) {
        if (box[axis] <= 0) {
            return true;
        }
    }
    return false;
}

/* Take in the next axis outward, of `length` and these strides: it makes the
 * run longer, or the outermost loop, or is a loop of its own. */
static void add_axis(iso_copy_t *copy, int64_t length, size_t from_stride,
                     size_t to_stride)
{
    const int last = copy->rank - 1; /* innermost loop first, while building */

    if (length == 1) {
        return;
    }
    if (last < 0 && from_stride == copy->run_bytes &&
        to_stride == copy->run_bytes) {
        copy->run_bytes *= (size_t)length;
    } else if (last >= 0 &&
               from_stride ==
                   copy->from_step[last] * (size_t)copy->count[last] &&
               to_stride == copy->to_step[last] * (size_t)copy->count[last]) {
        copy->count[last] *= length;
    } else {
        copy->count[copy->rank] = length;
        copy->from_step[copy->rank] = from_stride;
        copy->to_step[copy->rank] = to_stride;
        copy->rank++;
    }
}

static void swap_loops(iso_copy_t *copy, int a, int b)
{
    const int64_t count = copy->count[a];
    const size_t from_step = copy->from_step[a];
    const size_t to_step = copy->to_step[a];

    copy->count[a] = copy->count[b];
    copy->from_step[a] = copy->from_step[b];
    copy->to_step[a] = copy->to_step[b];
    copy->count[b] = count;
    copy->from_step[b] = from_step;
    copy->to_step[b] = to_step;
}

void iso_copy_of(size_t element_bytes, int rank, const int64_t *box,
                 iso_copy_end_t from, iso_copy_end_t to, iso_copy_t *copy_out)
{
    iso_copy_t copy = {.run_bytes = element_bytes};
    size_t from_stride = element_bytes;
    size_t to_stride = element_bytes;

    if (is_empty(rank, box)) {
        *copy_out = (iso_copy_t){0};
        return;
    }
    for (int axis = rank - 1; axis >= 0; axis--) {
        add_axis(&copy, box[axis], from_stride, to_stride);
        copy.from_first += (size_t)from.begin[axis] * from_stride;
        copy.to_first += (size_t)to.begin[axis] * to_stride;
        from_stride *= (size_t)from.dims[axis];
        to_stride *= (size_t)to.dims[axis];
    }
    for (int i = 0; i < copy.rank / 2; i++) {
        swap_loops(&copy, i, copy.rank - 1 - i);
    }
    *copy_out = copy;
}

size_t iso_copy_bytes(const iso_copy_t *copy)
{
    size_t bytes = copy->run_bytes;

    for (int i = 0; i < copy->rank; i++) {
        bytes *= (size_t)copy->count[i];
    }
    return bytes;
}

/* The innermost loop. */
static void copy_runs(const iso_copy_t *copy, const unsigned char *from,
                      unsigned char *to)
{
    const int inner = copy->rank - 1;
    const size_t count = inner >= 0 ? (size_t)copy->count[inner] : 1;
    const size_t from_step = inner >= 0 ? copy->from_step[inner] : 0;
    const size_t to_step = inner >= 0 ? copy->to_step[inner] : 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * to_step, from + i * from_step, copy->run_bytes);
    }
}

void iso_copy_run(const iso_copy_t *copy, const void *from, void *to)
{
    int64_t index[ISO_MAX_RANK] = {0};
    size_t from_at = copy->from_first;
    size_t to_at = copy->to_first;
    int loop = 0;

    if (copy->run_bytes == 0) {
        return;
    }
    while (loop >= 0) {
        copy_runs(copy, (const unsigned char *)from + from_at,
                  (unsigned char *)to + to_at);
        for (loop = copy->rank - 2; loop >= 0; loop--) {
            from_at += copy->from_step[loop];
            to_at += copy->to_step[loop];
            if (++index[loop] < copy->count[loop]) {
                break;
            }
            from_at -= copy->from_step[loop] * (size_t)copy->count[loop];
            to_at -= copy->to_step[loop] * (size_t)copy->count[loop];
            index[loop] = 0;
        }
    }
}
