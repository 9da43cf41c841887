#include "graph/symbolic.h"

#include "isotome/error.h"

#include "graph/symbolic_impl.h"

#include <string.h>

/*
 * Elements of a value at most, a dim of 0 counted as 1: what walks the dims
 * before or behind an axis must neither overflow nor take forever, even where
 * another dim leaves no element at all.
 */
enum { MOST_STEPS = 1 << 24 };

static bool are_few(int rank, const int64_t *dims)
{
    int64_t steps = 1;

    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > MOST_STEPS / steps) {
            return false;
        }
        steps *= dims[i] == 0 ? 1 : dims[i];
    }
    return true;
}

static iso_status_t check_dims(const char *what, int rank, const int64_t *dims)
{
    if (rank < 0 || rank > ISO_MAX_RANK) {
        return iso_fail(ISO_INVAL, "%s of rank %d, expected 0 to %d", what,
                        rank, ISO_MAX_RANK);
    }
    if (!are_few(rank, dims)) {
        const iso_shape_t shape = iso_shape_of(rank, dims);
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_INVAL, "%s of shape %s are too many", what,
                        iso_shape_text(&shape, text));
    }
    return ISO_OK;
}

iso_status_t iso__ints_create(iso_arena_t *arena, iso_dtype_t dtype, int rank,
                              const int64_t *dims, iso_ints_t *ints_out)
{
    iso_ints_t ints = {.dtype = dtype, .rank = rank, .count = 1};

    ISO_TRY(check_dims("integers", rank, dims));
    for (int i = 0; i < rank; i++) {
        ints.dims[i] = dims[i];
        ints.count *= dims[i];
    }
    ints.values =
        iso_arena_array(arena, (size_t)ints.count, sizeof *ints.values);
    *ints_out = ints;
    return ints.values == NULL ? ISO_NOMEM : ISO_OK;
}

/* -- in and out -- */

static int64_t element_of(const iso_tensor_t *tensor, int64_t index)
{
    int32_t narrow;
    int64_t wide;
    const char *data = tensor->data;

    switch (tensor->dtype) {
    case ISO_DTYPE_I64:
        memcpy(&wide, data + index * (int64_t)sizeof wide, sizeof wide);
        return wide;
    case ISO_DTYPE_I32:
        memcpy(&narrow, data + index * (int64_t)sizeof narrow, sizeof narrow);
        return narrow;
    default:
        return data[index] != 0 ? 1 : 0;
    }
}

iso_status_t iso_ints_of_tensor(iso_arena_t *arena, const iso_tensor_t *tensor,
                                iso_ints_t *ints_out, bool *is_out)
{
    bool whole = tensor->dtype == ISO_DTYPE_I64 ||
                 tensor->dtype == ISO_DTYPE_I32 ||
                 tensor->dtype == ISO_DTYPE_BOOL;

    *is_out = false;
    if (!whole || iso_tensor_count(tensor) > ISO_INTS_MOST ||
        !are_few(tensor->rank, tensor->dims)) {
        return ISO_OK;
    }
    ISO_TRY(iso__ints_create(arena, tensor->dtype, tensor->rank, tensor->dims,
                             ints_out));
    for (int64_t i = 0; i < ints_out->count; i++) {
        ints_out->values[i] = iso_dim_of(element_of(tensor, i));
    }
    *is_out = true;
    return ISO_OK;
}

iso_status_t iso_ints_of_shape(iso_arena_t *arena, const iso_shape_t *shape,
                               iso_ints_t *ints_out)
{
    const int64_t rank = shape->rank;

    ISO_TRY(iso__ints_create(arena, ISO_DTYPE_I64, 1, &rank, ints_out));
    for (int i = 0; i < shape->rank; i++) {
        ints_out->values[i] = shape->dim[i];
    }
    return ISO_OK;
}

bool iso_ints_are_static(const iso_ints_t *ints)
{
    for (int64_t i = 0; i < ints->count; i++) {
        if (!iso_dim_is_static(ints->values[i])) {
            return false;
        }
    }
    return true;
}

static iso_status_t store_element(const iso_tensor_t *tensor, int64_t index,
                                  int64_t value)
{
    int32_t narrow = (int32_t)value;
    char *data = tensor->data;

    switch (tensor->dtype) {
    case ISO_DTYPE_I64:
        memcpy(data + index * (int64_t)sizeof value, &value, sizeof value);
        break;
    case ISO_DTYPE_I32:
        if (narrow != value) {
            return iso_fail(ISO_INVAL, "integer %lld does not fit in i32",
                            (long long)value);
        }
        memcpy(data + index * (int64_t)sizeof narrow, &narrow, sizeof narrow);
        break;
    default:
        data[index] = (char)(value != 0);
        break;
    }
    return ISO_OK;
}

iso_status_t iso_ints_to_tensor(iso_arena_t *arena, const iso_ints_t *ints,
                                iso_tensor_t *tensor_out)
{
    iso_tensor_t tensor = {.dtype = ints->dtype, .rank = ints->rank};

    for (int i = 0; i < ints->rank; i++) {
        tensor.dims[i] = ints->dims[i];
    }
    tensor.data = iso_arena_alloc(arena, iso_tensor_bytes(&tensor));
    if (tensor.data == NULL) {
        return ISO_NOMEM;
    }
    for (int64_t i = 0; i < ints->count; i++) {
        if (!iso_dim_is_static(ints->values[i])) {
            return iso_fail(ISO_INVAL,
                            "integer %lld is '%s', expected a number",
                            (long long)i, ints->values[i].sym);
        }
        ISO_TRY(store_element(&tensor, i, ints->values[i].size));
    }
    *tensor_out = tensor;
    return ISO_OK;
}

/* -- moving elements -- */

iso_status_t iso__ints_axis(const iso_ints_t *ints, int axis, const char *what,
                            int *axis_out)
{
    if (axis < -ints->rank || axis >= ints->rank) {
        return iso_fail(ISO_INVAL, "%s: axis %d of integers of rank %d", what,
                        axis, ints->rank);
    }
    *axis_out = axis < 0 ? axis + ints->rank : axis;
    return ISO_OK;
}

iso_ints_split_t iso__ints_split(const iso_ints_t *ints, int axis)
{
    iso_ints_split_t split = {1, 1};

    for (int i = 0; i < ints->rank; i++) {
        if (i < axis) {
            split.outer *= ints->dims[i];
        } else if (i > axis) {
            split.inner *= ints->dims[i];
        }
    }
    return split;
}

/* dims_out: those of the concatenation. */
static iso_status_t concat_dims(const iso_ints_t *parts, int n_parts, int axis,
                                int64_t dims_out[ISO_MAX_RANK])
{
    memcpy(dims_out, parts[0].dims, sizeof parts[0].dims);
    for (int p = 1; p < n_parts; p++) {
        bool fits =
            parts[p].rank == parts[0].rank && parts[p].dtype == parts[0].dtype;

        for (int i = 0; fits && i < parts[0].rank; i++) {
            fits = i == axis || parts[p].dims[i] == parts[0].dims[i];
        }
        if (!fits) {
            return iso_fail(ISO_INVAL,
                            "concat: part %d differs from part 0 in type, "
                            "rank or a dim other than %d",
                            p, axis);
        }
        dims_out[axis] += parts[p].dims[axis];
    }
    return ISO_OK;
}

iso_status_t iso_ints_concat(iso_arena_t *arena, const iso_ints_t *parts,
                             int n_parts, int axis, iso_ints_t *ints_out)
{
    int64_t dims[ISO_MAX_RANK];
    iso_ints_split_t split;
    iso_dim_t *to;
    iso_ints_t joined;

    if (n_parts < 1) {
        return iso_fail(ISO_INVAL, "concat: no parts");
    }
    ISO_TRY(iso__ints_axis(&parts[0], axis, "concat", &axis));
    ISO_TRY(concat_dims(parts, n_parts, axis, dims));
    ISO_TRY(
        iso__ints_create(arena, parts[0].dtype, parts[0].rank, dims, &joined));
    split = iso__ints_split(&joined, axis);
    to = joined.values;
    for (int64_t o = 0; o < split.outer; o++) {
        for (int p = 0; p < n_parts; p++) {
            int64_t run = parts[p].dims[axis] * split.inner;

            for (int64_t i = 0; i < run; i++) {
                *to = parts[p].values[o * run + i];
                to++;
            }
        }
    }
    *ints_out = joined;
    return ISO_OK;
}

/* Indices that are free are not known; others come out in [0, length). */
static iso_status_t resolve_index(iso_dim_t index, int64_t length,
                                  int64_t *index_out, bool *known_out)
{
    *known_out = iso_dim_is_static(index);
    if (*known_out && (index.size < -length || index.size >= length)) {
        return iso_fail(ISO_INVAL, "gather: index %lld of %lld elements",
                        (long long)index.size, (long long)length);
    }
    *index_out = index.size < 0 ? index.size + length : index.size;
    return ISO_OK;
}

static iso_status_t gather_dims(const iso_ints_t *data,
                                const iso_ints_t *indices, int axis,
                                int *rank_out, int64_t dims[ISO_MAX_RANK])
{
    int rank = data->rank - 1 + indices->rank;
    int at = 0;

    if (rank > ISO_MAX_RANK) {
        return iso_fail(ISO_INVAL, "gather: rank %d, expected at most %d", rank,
                        ISO_MAX_RANK);
    }
    for (int i = 0; i < axis; i++) {
        dims[at++] = data->dims[i];
    }
    for (int i = 0; i < indices->rank; i++) {
        dims[at++] = indices->dims[i];
    }
    for (int i = axis + 1; i < data->rank; i++) {
        dims[at++] = data->dims[i];
    }
    *rank_out = rank;
    return ISO_OK;
}

iso_status_t iso_ints_gather(iso_arena_t *arena, const iso_ints_t *data,
                             const iso_ints_t *indices, int axis,
                             iso_ints_t *ints_out, bool *known_out)
{
    int64_t dims[ISO_MAX_RANK] = {0};
    int rank = 0;
    iso_ints_split_t split;
    iso_ints_t picked;

    *known_out = false;
    ISO_TRY(iso__ints_axis(data, axis, "gather", &axis));
    ISO_TRY(gather_dims(data, indices, axis, &rank, dims));
    ISO_TRY(iso__ints_create(arena, data->dtype, rank, dims, &picked));
    split = iso__ints_split(data, axis);
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t index = 0;
        bool known = false;

        ISO_TRY(resolve_index(indices->values[i], data->dims[axis], &index,
                              &known));
        if (!known) {
            return ISO_OK;
        }
        for (int64_t e = 0; e < split.outer * split.inner; e++) {
            int64_t outer = e / split.inner;
            int64_t inner = e % split.inner;

            picked.values[(outer * indices->count + i) * split.inner + inner] =
                data->values[(outer * data->dims[axis] + index) * split.inner +
                             inner];
        }
    }
    *ints_out = picked;
    *known_out = true;
    return ISO_OK;
}

/* ONNX's clamping: bounds are counted from the end when negative, then kept
 * within the elements (one further down for a negative step). */
static int64_t clamp_bound(int64_t bound, int64_t length, int64_t step)
{
    int64_t least = step < 0 ? -1 : 0;
    int64_t most = step < 0 ? length - 1 : length;

    if (bound < 0) {
        bound = bound < -length ? least : bound + length;
    }
    return bound < least ? least : (bound > most ? most : bound);
}

iso_status_t iso_ints_slice(iso_arena_t *arena, const iso_ints_t *data,
                            int64_t start, int64_t end, int64_t step, int axis,
                            iso_ints_t *ints_out)
{
    int64_t dims[ISO_MAX_RANK];
    int64_t length;
    iso_ints_split_t split;
    iso_dim_t *to;
    iso_ints_t cut = {0};

    if (step == 0 || step == INT64_MIN) {
        return iso_fail(ISO_INVAL, "slice: step %lld", (long long)step);
    }
    ISO_TRY(iso__ints_axis(data, axis, "slice", &axis));
    length = data->dims[axis];
    start = clamp_bound(start, length, step);
    end = clamp_bound(end, length, step);
    memcpy(dims, data->dims, sizeof dims);
    dims[axis] = 0;
    if (step > 0 && end > start) {
        dims[axis] = (end - start - 1) / step + 1;
    } else if (step < 0 && end < start) {
        dims[axis] = (start - end - 1) / -step + 1;
    }
    ISO_TRY(iso__ints_create(arena, data->dtype, data->rank, dims, &cut));
    split = iso__ints_split(data, axis);
    to = cut.values;
    for (int64_t i = 0; i < split.outer * dims[axis]; i++) {
        int64_t outer = i / dims[axis];
        int64_t at = start + i % dims[axis] * step;
        const iso_dim_t *from =
            &data->values[(outer * length + at) * split.inner];

        for (int64_t inner = 0; inner < split.inner; inner++) {
            *to = from[inner];
            to++;
        }
    }
    *ints_out = cut;
    return ISO_OK;
}

iso_status_t iso_ints_reshape(const iso_ints_t *data, int rank,
                              const int64_t *dims, iso_ints_t *ints_out)
{
    iso_ints_t other = {
        .dtype = data->dtype, .rank = rank, .count = 1, .values = data->values};

    ISO_TRY(check_dims("reshape: integers", rank, dims));
    for (int i = 0; i < rank; i++) {
        other.dims[i] = dims[i];
        other.count *= dims[i];
    }
    if (other.count != data->count) {
        const iso_shape_t shape = iso_shape_of(rank, dims);
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_INVAL, "reshape: %lld integers to shape %s",
                        (long long)data->count, iso_shape_text(&shape, text));
    }
    *ints_out = other;
    return ISO_OK;
}

iso_status_t iso_ints_product(iso_arena_t *arena, const iso_ints_t *data,
                              iso_ints_t *ints_out)
{
    iso_dim_t *product = iso_arena_alloc(arena, sizeof *product);

    if (product == NULL) {
        return ISO_NOMEM;
    }
    *product = iso_dim_of(1);
    for (int64_t i = 0; i < data->count; i++) {
        ISO_TRY(iso_dim_mul(*product, data->values[i], product));
    }
    *ints_out =
        (iso_ints_t){.dtype = data->dtype, .count = 1, .values = product};
    return ISO_OK;
}
