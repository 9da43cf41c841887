/* Resize, and Upsample, which it replaced in opset 10. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <math.h>
#include <string.h>

/* What to make of an operand: scales (count 0: none) or sizes. */
typedef struct target {
    int n_scales;
    double scales[ISO_MAX_RANK];
    int n_sizes;
    iso_dim_t sizes[ISO_MAX_RANK];
} target_t;

static iso_status_t scales_of_input(iso__onnx_op_t *op, int index,
                                    target_t *target)
{
    iso_tensor_t tensor = {0};
    bool known = false;

    ISO_TRY(iso__onnx_elements(op, index, &tensor, &known));
    if (!known || tensor.dtype != ISO_DTYPE_F32) {
        return iso_fail(ISO_UNSUPPORTED,
                        "its scales '%s', expected an f32 constant",
                        op->proto->input[index]);
    }
    if (iso_tensor_count(&tensor) > ISO_MAX_RANK) {
        return iso_fail(ISO_INPUT, "%lld scales, expected at most %d",
                        (long long)iso_tensor_count(&tensor),
                        (int)ISO_MAX_RANK);
    }
    target->n_scales = (int)iso_tensor_count(&tensor);
    for (int i = 0; i < target->n_scales; i++) {
        target->scales[i] = iso__onnx_element(&tensor, i);
    }
    return ISO_OK;
}

static iso_status_t scales_of_attr(iso__onnx_op_t *op, target_t *target)
{
    const Onnx__AttributeProto *attr;

    ISO_TRY(iso__onnx_attr(
        op, "scales", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, &attr));
    if (attr == NULL || attr->n_floats > ISO_MAX_RANK) {
        return iso_fail(ISO_INPUT, "%zu scales, expected one for each dim",
                        attr == NULL ? 0 : attr->n_floats);
    }
    target->n_scales = (int)attr->n_floats;
    for (int i = 0; i < target->n_scales; i++) {
        target->scales[i] = (double)attr->floats[i];
    }
    return ISO_OK;
}

static iso_status_t sizes_of_input(iso__onnx_op_t *op, int index,
                                   target_t *target)
{
    const iso_ints_t *ints = NULL;

    ISO_TRY(iso__onnx_need_ints(op, index, "sizes", &ints));
    if (ints->count > ISO_MAX_RANK) {
        return iso_fail(ISO_INPUT, "%lld sizes, expected at most %d",
                        (long long)ints->count, (int)ISO_MAX_RANK);
    }
    target->n_sizes = (int)ints->count;
    for (int i = 0; i < target->n_sizes; i++) {
        target->sizes[i] = ints->values[i];
    }
    return ISO_OK;
}

static iso_status_t target_of(iso__onnx_op_t *op, bool is_upsample,
                              target_t *target)
{
    int64_t opset = iso__onnx_opset(op);

    *target = (target_t){0};
    if (is_upsample && opset < 9) {
        return scales_of_attr(op, target);
    }
    if (is_upsample || opset < 11) {
        return scales_of_input(op, 1, target);
    }
    if (iso__onnx_has(op, 3)) {
        return sizes_of_input(op, 3, target);
    }
    if (!iso__onnx_has(op, 2)) {
        return iso_fail(ISO_INPUT, "neither scales nor sizes are given");
    }
    return scales_of_input(op, 2, target);
}

/* Output dim of one axis, floor(dim scale), in f32 as the scales are. */
static iso_status_t scaled_dim(iso_dim_t dim, double scale, iso_dim_t *out)
{
    float size;

    if (!(scale > 0.0) || !(scale <= 65536.0)) {
        return iso_fail(ISO_INPUT, "a scale of %g", scale);
    }
    if (floor(scale) == scale) {
        return iso_dim_mul(dim, iso_dim_of((int64_t)scale), out);
    }
    if (!iso_dim_is_static(dim)) {
        return iso_fail(ISO_UNSUPPORTED, "a scale of %g on the free size '%s'",
                        scale, dim.sym);
    }
    size = floorf((float)dim.size * (float)scale);
    if (!(size < 9e15F)) {
        return iso_fail(ISO_SHAPE, "dim %lld times %g", (long long)dim.size,
                        scale);
    }
    *out = iso_dim_of((int64_t)size);
    return ISO_OK;
}

static iso_status_t target_shape(const target_t *target, iso_shape_t *shape)
{
    bool by_sizes = target->n_sizes > 0;
    int count = by_sizes ? target->n_sizes : target->n_scales;

    if (count != shape->rank) {
        return iso_fail(ISO_INPUT, "%d scales or sizes, expected %d", count,
                        shape->rank);
    }
    for (int i = 0; by_sizes && i < count; i++) {
        shape->dim[i] = target->sizes[i];
    }
    for (int i = 0; !by_sizes && i < count; i++) {
        ISO_TRY(scaled_dim(shape->dim[i], target->scales[i], &shape->dim[i]));
    }
    return ISO_OK;
}

/* How positions are mapped; older opsets had no choice. */
static iso_status_t draft_rule(iso__onnx_op_t *op, bool is_old,
                               iso__draft_t *draft)
{
    static const char *const of_cubic[] = {"cubic_coeff_a", "exclude_outside",
                                           "extrapolation_value", NULL};
    const char *coordinates = "asymmetric";
    const char *nearest = "floor";
    const char *mode;

    ISO_TRY(iso__onnx_attr_text(op, "mode", "nearest", &mode));
    if (!is_old) {
        iso__onnx_attr_ignore(op, of_cubic); /* of modes refused below */
        ISO_TRY(iso__onnx_attr_text(op, "coordinate_transformation_mode",
                                    "half_pixel", &coordinates));
        ISO_TRY(iso__onnx_attr_text(op, "nearest_mode", "round_prefer_floor",
                                    &nearest));
    }
    if (strcmp(mode, "nearest") != 0 && strcmp(mode, "linear") != 0) {
        return iso_fail(ISO_UNSUPPORTED,
                        "mode '%s', expected nearest or "
                        "linear",
                        mode);
    }
    if (strncmp(coordinates, "tf_", 3) == 0) {
        return iso_fail(ISO_UNSUPPORTED, "coordinate_transformation_mode '%s'",
                        coordinates);
    }
    iso__draft_text(draft, "mode", mode);
    iso__draft_text(draft, "coordinates", coordinates);
    if (mode[0] == 'n') {
        iso__draft_text(draft, "nearest", nearest);
    }
    return ISO_OK;
}

static iso_status_t convert_resize(iso__onnx_op_t *op)
{
    bool is_upsample = op->entry->op == ISO_OP_COUNT;
    iso__draft_t draft;
    iso_shape_t shape;
    target_t target;
    iso_node_id_t x;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(target_of(op, is_upsample, &target));
    shape = iso__onnx_node(op, x)->shape;
    ISO_TRY(target_shape(&target, &shape));
    iso__draft_begin(&draft, ISO_OP_RESIZE, 1, &x);
    iso__draft_dims(&draft, "shape", shape.dim, shape.rank);
    if (target.n_scales > 0) {
        iso__draft_floats(&draft, "scales", target.scales, target.n_scales);
    }
    ISO_TRY(draft_rule(op, is_upsample || iso__onnx_opset(op) < 11, &draft));
    return iso__onnx_finish(op, &draft);
}

const iso__onnx_entry_t iso__onnx_resize[] = {
    {"Resize", 10, ISO__MOST_OPSET, convert_resize, ISO_OP_RESIZE},
    {"Upsample", 7, 9, convert_resize, ISO_OP_COUNT},
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
