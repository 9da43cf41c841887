#include "isotome/shape.h"

#include "isotome/error.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

static const int64_t count_limit = INT64_C(1) << 62;

iso_shape_t iso_shape_of(int rank, const int64_t *sizes)
{
    iso_shape_t shape = {.rank = rank};

    ISO_ASSERT(rank >= 0 && rank <= ISO_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        shape.dim[i] = iso_dim_of(sizes[i]);
    }
    return shape;
}

bool iso_shape_equal(const iso_shape_t *a, const iso_shape_t *b)
{
    bool equal = a->rank == b->rank;

    for (int i = 0; equal && i < a->rank; i++) {
        equal = iso_dim_equal(a->dim[i], b->dim[i]);
    }
    return equal;
}

bool iso_shape_is_static(const iso_shape_t *shape)
{
    bool is_static = true;

    for (int i = 0; i < shape->rank; i++) {
        is_static = is_static && iso_dim_is_static(shape->dim[i]);
    }
    return is_static;
}

static bool has_zero(const iso_shape_t *shape)
{
    bool found = false;

    for (int i = 0; i < shape->rank; i++) {
        found = found || iso_dim_equal(shape->dim[i], iso_dim_of(0));
    }
    return found;
}

iso_status_t iso_shape_elements(const iso_shape_t *shape, iso_dim_t *dim_out)
{
    iso_dim_t product = iso_dim_of(1);

    /* A zero anywhere wins over a product of the others that is too large. */
    if (has_zero(shape)) {
        *dim_out = iso_dim_of(0);
        return ISO_OK;
    }
    for (int i = 0; i < shape->rank; i++) {
        ISO_TRY(iso_dim_mul(product, shape->dim[i], &product));
    }
    *dim_out = product;
    return ISO_OK;
}

int64_t iso_shape_count(const iso_shape_t *shape)
{
    int64_t count = 1;
    bool too_large = false;

    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dim[i].size;
        if (!iso_dim_is_static(shape->dim[i]) || size < 0) {
            return -1;
        }
        too_large = too_large || (size != 0 && count > count_limit / size);
        count = too_large ? count : count * size;
    }
    if (has_zero(shape)) {
        return 0;
    }
    return too_large ? -1 : count;
}

iso_status_t iso_shape_bind(const iso_shape_t *shape,
                            const iso_binding_t *bindings, int count,
                            iso_shape_t *shape_out)
{
    iso_shape_t bound = {.rank = shape->rank};
    char text[ISO_SHAPE_TEXT_BYTES];

    for (int i = 0; i < shape->rank; i++) {
        ISO_TRY(iso_dim_bind(shape->dim[i], bindings, count, &bound.dim[i]));
        if (iso_dim_is_static(bound.dim[i]) && bound.dim[i].size < 0) {
            return iso_fail(ISO_SHAPE,
                            "dimension %d of shape %s becomes %lld, expected "
                            "0 or more; use larger sizes",
                            i, iso_shape_text(shape, text),
                            (long long)bound.dim[i].size);
        }
    }
    *shape_out = bound;
    return ISO_OK;
}

const char *iso_shape_text(const iso_shape_t *shape, char *buffer)
{
    char number[ISO_DIM_TEXT_BYTES];
    size_t length = 1;

    buffer[0] = '[';
    for (int i = 0; i < shape->rank; i++) {
        size_t room = ISO_SHAPE_TEXT_BYTES - length;
        int added = snprintf(buffer + length, room, "%s%s", i == 0 ? "" : ",",
                             iso_dim_text(shape->dim[i], number));
        if (added < 0 || (size_t)added + 1 >= room) {
            memcpy(buffer + ISO_SHAPE_TEXT_BYTES - 4, "...", 4);
            return buffer;
        }
        length += (size_t)added;
    }
    memcpy(buffer + length, "]", 2);
    return buffer;
}

/* Dim i counted from the last one; 1 where the shape is shorter. */
static iso_dim_t dim_from_end(const iso_shape_t *shape, int i)
{
    return i < shape->rank ? shape->dim[shape->rank - 1 - i] : iso_dim_of(1);
}

iso_status_t iso_shape_broadcast(const iso_shape_t *a, const iso_shape_t *b,
                                 iso_shape_t *shape_out)
{
    const iso_dim_t one = iso_dim_of(1);
    iso_shape_t out = {.rank = a->rank > b->rank ? a->rank : b->rank};
    char text_a[ISO_SHAPE_TEXT_BYTES];
    char text_b[ISO_SHAPE_TEXT_BYTES];

    for (int i = 0; i < out.rank; i++) {
        iso_dim_t dim_a = dim_from_end(a, i);
        iso_dim_t dim_b = dim_from_end(b, i);
        if (iso_dim_equal(dim_a, one)) {
            dim_a = dim_b;
        } else if (!iso_dim_equal(dim_b, one) && !iso_dim_equal(dim_a, dim_b)) {
            return iso_fail(ISO_SHAPE,
                            "shapes %s and %s do not broadcast: dims %d from "
                            "the end must be equal or 1",
                            iso_shape_text(a, text_a),
                            iso_shape_text(b, text_b), i + 1);
        }
        out.dim[out.rank - 1 - i] = dim_a;
    }
    *shape_out = out;
    return ISO_OK;
}
