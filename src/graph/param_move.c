#include "graph/param_impl.h"

#include <math.h>

/* Largest step, pad or repeat: sums with a dim stay within 64 bits. */
#define MOST_STEP (INT64_C(1) << 61)

/* ---- Slice ---- */

/* Counts of starts, ends, axes and steps that fit together. */
static iso_status_t need_slice_lists(const iso_node_t *node, int rank,
                                     const iso_shape_t *starts,
                                     const iso_shape_t *ends)
{
    if (starts->rank != ends->rank || starts->rank > rank) {
        return iso__node_fail(ISO_INVAL, node,
                              "%d starts and %d ends, expected equal counts "
                              "of at most the operand's rank %d",
                              starts->rank, ends->rank, rank);
    }
    return ISO_OK;
}

/* The lists of a slice; axes and steps have as many entries as starts. */
typedef struct slice_lists {
    iso_shape_t starts;
    iso_shape_t ends;
    int64_t axes[ISO_MAX_RANK];
    int64_t steps[ISO_MAX_RANK];
} slice_lists_t;

static iso_status_t slice_lists_of(const iso_node_t *node, int rank,
                                   slice_lists_t *lists)
{
    ISO_TRY(iso__attr_shape(node, "starts", &lists->starts));
    ISO_TRY(iso__attr_shape(node, "ends", &lists->ends));
    ISO_TRY(need_slice_lists(node, rank, &lists->starts, &lists->ends));

    const int count = lists->starts.rank;
    const iso_int_rule_t axes = {"axes", count, -rank, rank - 1};
    const iso_int_rule_t steps = {"steps", count, -MOST_STEP, MOST_STEP};

    ISO_TRY(iso__attr_ints(node, &axes, 0, lists->axes));
    return iso__attr_ints(node, &steps, 1, lists->steps);
}

iso_status_t iso__slice_spec_of(const iso_node_t *node, int rank,
                                iso_slice_spec_t *spec_out)
{
    const bool has_axes = iso_node_attr(node, "axes") != NULL;
    slice_lists_t lists = {0};
    bool sliced[ISO_MAX_RANK] = {false};

    ISO_TRY(slice_lists_of(node, rank, &lists));
    for (int axis = 0; axis < rank; axis++) {
        spec_out->start[axis] = iso_dim_of(0);
        spec_out->end[axis] = iso_dim_of(INT64_MAX);
        spec_out->step[axis] = 1;
    }
    for (int i = 0; i < lists.starts.rank; i++) {
        const int64_t named = has_axes ? lists.axes[i] : i;
        const int64_t axis = named < 0 ? named + rank : named;

        if (sliced[axis] || lists.steps[i] == 0) {
            return iso__node_fail(ISO_INVAL, node,
                                  "step %lld on axis %lld, expected one step "
                                  "other than 0 for an axis",
                                  (long long)lists.steps[i], (long long)axis);
        }
        sliced[axis] = true;
        spec_out->start[axis] = lists.starts.dim[i];
        spec_out->end[axis] = lists.ends.dim[i];
        spec_out->step[axis] = lists.steps[i];
    }
    return ISO_OK;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    if (value < least) {
        return least;
    }
    return value > most ? most : value;
}

iso_slice_range_t iso__slice_clamp(int64_t dim, int64_t start, int64_t end,
                                   int64_t step)
{
    iso_slice_range_t range = {0};

    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        if (start < end) {
            range = (iso_slice_range_t){start, (end - start - 1) / step + 1};
        }
    } else if (dim > 0) {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        if (start > end) {
            range = (iso_slice_range_t){start, (start - end - 1) / -step + 1};
        }
    }
    return range;
}

iso_status_t iso_slice_param_of(const iso_node_t *node,
                                const iso_tensor_t *operand,
                                iso_slice_param_t *param_out)
{
    iso_slice_spec_t spec;

    ISO_TRY(iso__slice_spec_of(node, operand->rank, &spec));
    for (int axis = 0; axis < operand->rank; axis++) {
        iso_slice_range_t range;

        if (!iso_dim_is_static(spec.start[axis]) ||
            !iso_dim_is_static(spec.end[axis])) {
            return iso__node_fail(ISO_SHAPE, node,
                                  "start or end of axis %d is an expression, "
                                  "expected numbers; bind its names",
                                  axis);
        }
        range = iso__slice_clamp(operand->dims[axis], spec.start[axis].size,
                                 spec.end[axis].size, spec.step[axis]);
        param_out->start[axis] = range.start;
        param_out->step[axis] = spec.step[axis];
        param_out->count[axis] = range.count;
    }
    return ISO_OK;
}

/* ---- Pad, transpose, blocks, resize ---- */

iso_status_t iso_pad_param_of(const iso_node_t *node, int rank,
                              iso_pad_param_t *param_out)
{
    static const char *const modes[] = {
        [ISO_PAD_CONSTANT] = "constant",
        [ISO_PAD_REFLECT] = "reflect",
        [ISO_PAD_EDGE] = "edge",
        NULL,
    };
    const iso_int_rule_t pads = {"pads", 2 * rank, -MOST_STEP, MOST_STEP};
    int64_t both[2 * ISO_MAX_RANK] = {0};
    const iso_attr_t *attr;
    int mode = 0;

    *param_out = (iso_pad_param_t){0};
    ISO_TRY(iso__attr_need(node, "pads", &attr));
    ISO_TRY(iso__attr_ints(node, &pads, 0, both));
    for (int axis = 0; axis < rank; axis++) {
        param_out->begin[axis] = both[axis];
        param_out->end[axis] = both[rank + axis];
    }
    ISO_TRY(iso__attr_choice(node, "mode", modes, &mode));
    param_out->mode = (iso_pad_mode_t)mode;
    return iso_attr_float(node, "value", 0.0, &param_out->value);
}

iso_status_t iso_perm_of(const iso_node_t *node, int rank,
                         int perm_out[ISO_MAX_RANK])
{
    const iso_int_rule_t rule = {"perm", rank, 0, rank - 1};
    int64_t perm[ISO_MAX_RANK] = {0};
    bool taken[ISO_MAX_RANK] = {false};
    bool given = iso_node_attr(node, "perm") != NULL;

    ISO_TRY(iso__attr_ints(node, &rule, 0, perm));
    for (int i = 0; i < rank; i++) {
        int axis = given ? (int)perm[i] : rank - 1 - i;

        if (taken[axis]) {
            return iso__node_fail(ISO_INVAL, node,
                                  "perm names axis %d twice, expected a "
                                  "permutation of 0 to %d",
                                  axis, rank - 1);
        }
        taken[axis] = true;
        perm_out[i] = axis;
    }
    return ISO_OK;
}

iso_status_t iso_block_param_of(const iso_node_t *node,
                                iso_block_param_t *param_out)
{
    static const char *const modes[] = {"dcr", "crd", NULL};
    const iso_int_rule_t block = {"block", 1, 1, 1 << 16};
    const iso_attr_t *attr;
    int mode = 0;

    ISO_TRY(iso__attr_need(node, "block", &attr));
    ISO_TRY(iso__attr_ints(node, &block, 1, &param_out->block));
    ISO_TRY(iso__attr_choice(node, "mode", modes, &mode));
    param_out->crd = mode == 1;
    return ISO_OK;
}

static iso_status_t resize_scales_of(const iso_node_t *node, int rank,
                                     double scales[ISO_MAX_RANK])
{
    const iso_attr_t *attr = iso_node_attr(node, "scales");

    if (attr == NULL) {
        return ISO_OK;
    }
    if (attr->kind != ISO_ATTR_FLOATS || attr->count != rank) {
        return iso__node_fail(ISO_INVAL, node,
                              "scales has %d values, expected %d floats",
                              attr->count, rank);
    }
    for (int axis = 0; axis < rank; axis++) {
        scales[axis] = attr->value.floats[axis];
        if (!(scales[axis] > 0.0) || isinf(scales[axis])) {
            return iso__node_fail(ISO_INVAL, node,
                                  "scales[%d] is %g, expected a number above "
                                  "0",
                                  axis, scales[axis]);
        }
    }
    return ISO_OK;
}

iso_status_t iso_resize_param_of(const iso_node_t *node, int rank,
                                 iso_resize_param_t *param_out)
{
    static const char *const modes[] = {
        [ISO_RESIZE_NEAREST] = "nearest",
        [ISO_RESIZE_LINEAR] = "linear",
        NULL,
    };
    static const char *const coordinates[] = {
        [ISO_RESIZE_HALF_PIXEL] = "half_pixel",
        [ISO_RESIZE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
        [ISO_RESIZE_ALIGN_CORNERS] = "align_corners",
        [ISO_RESIZE_ASYMMETRIC] = "asymmetric",
        NULL,
    };
    static const char *const roundings[] = {
        [ISO_RESIZE_ROUND_PREFER_FLOOR] = "round_prefer_floor",
        [ISO_RESIZE_ROUND_PREFER_CEIL] = "round_prefer_ceil",
        [ISO_RESIZE_FLOOR] = "floor",
        [ISO_RESIZE_CEIL] = "ceil",
        NULL,
    };
    int choice = 0;

    *param_out = (iso_resize_param_t){0};
    ISO_TRY(iso__attr_choice(node, "mode", modes, &choice));
    param_out->mode = (iso_resize_mode_t)choice;
    ISO_TRY(iso__attr_choice(node, "coordinates", coordinates, &choice));
    param_out->coordinates = (iso_resize_coordinates_t)choice;
    ISO_TRY(iso__attr_choice(node, "nearest", roundings, &choice));
    param_out->nearest = (iso_resize_nearest_t)choice;
    return resize_scales_of(node, rank, param_out->scales);
}
