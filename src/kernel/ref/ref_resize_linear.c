#include "kernel/ref/real.h"

enum { MOST_CORNERS = 1 << ISO_MAX_RANK };

/* The elements around one point and its weights on the axes along which it
 * lies between two elements. */
typedef struct corners {
    int n_axes;
    real_t weight[ISO_MAX_RANK]; /* of the upper neighbour */
    int64_t offset[MOST_CORNERS];
} corners_t;

static void corners_of(const iso_resize_param_t *param, const iso_tensor_t *x,
                       const iso_tensor_t *output, const int64_t *index,
                       corners_t *corners)
{
    int64_t strides[ISO_MAX_RANK];

    *corners = (corners_t){0};
    iso__strides_of(x->rank, x->dims, strides);
    for (int axis = 0; axis < x->rank; axis++) {
        const iso__ref_place_t place = iso__ref_resize_place(
            param, axis, x->dims[axis], output->dims[axis], index[axis]);
        const int64_t count = INT64_C(1) << corners->n_axes;
        const int64_t wide = place.rest > 0.0F ? 2 : 1;

        /* Corner c becomes c, or 2 c and 2 c + 1: the last axis is fastest. */
        for (int64_t c = count - 1; c >= 0; c--) {
            const int64_t offset =
                corners->offset[c] + place.below * strides[axis];

            corners->offset[wide * c] = offset;
            if (wide == 2) {
                corners->offset[2 * c + 1] = offset + strides[axis];
            }
        }
        if (wide == 2) {
            corners->weight[corners->n_axes++] = place.rest;
        }
    }
}

/* The last axis first; (1 - w) lower + w upper, each operation rounds once. */
static real_t interpolated(const corners_t *corners, const real_t *x)
{
    real_t value[MOST_CORNERS] = {0};
    int64_t count = INT64_C(1) << corners->n_axes;

    for (int64_t c = 0; c < count; c++) {
        value[c] = x[corners->offset[c]];
    }
    for (int axis = corners->n_axes - 1; axis >= 0; axis--) {
        const real_t w = corners->weight[axis];

        count /= 2;
        for (int64_t c = 0; c < count; c++) {
            value[c] = (1 - w) * value[2 * c] + w * value[2 * c + 1];
        }
    }
    return real_canonical(value[0]);
}

iso_status_t REAL(iso__ref_resize_linear)(const iso_node_t *node,
                                          const iso_tensor_t *const *inputs,
                                          const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);
    real_t *y = output->data;
    iso_resize_param_t param;
    corners_t corners;
    iso__walk_t walk;

    ISO_TRY(iso_resize_param_of(node, output->rank, &param));
    iso__walk_begin(&walk, output->rank, output->dims);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        corners_of(&param, inputs[0], output, walk.index, &corners);
        y[i] = interpolated(&corners, inputs[0]->data);
    }
    return ISO_OK;
}
