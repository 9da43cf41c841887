/* Operators that keep the shape and reduce inside. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

static void draft_softmax(iso__draft_t *draft, iso_op_t kind,
                          const iso_node_id_t *x, int64_t axis)
{
    iso__draft_begin(draft, kind, 1, x);
    iso__draft_int(draft, "axis", axis);
}

/* The matrix of an operand that is cut before the axis. */
static iso_status_t flat_shape(const iso_shape_t *shape, int axis,
                               iso_shape_t *flat_out)
{
    *flat_out = iso_shape_of(2, (const int64_t[]){1, 1});
    for (int i = 0; i < shape->rank; i++) {
        iso_dim_t *side = &flat_out->dim[i < axis ? 0 : 1];

        ISO_TRY(iso_dim_mul(*side, shape->dim[i], side));
    }
    return ISO_OK;
}

static iso_status_t softmax_of_rows(iso__onnx_op_t *op, iso_node_id_t x,
                                    int axis)
{
    const iso_shape_t *shape = &iso__onnx_node(op, x)->shape;
    iso__draft_t draft;
    iso_shape_t flat;

    ISO_TRY(flat_shape(shape, axis, &flat));
    ISO_TRY(iso__onnx_step_reshape(op, "flat", x, &flat, &x));
    draft_softmax(&draft, op->entry->op, &x, 1);
    ISO_TRY(iso__onnx_step(op, "rows", &draft, &x));
    return iso__onnx_finish_reshape(op, x, shape);
}

/*
 * Since opset 13 over one axis. Before, the operand counts as a matrix cut
 * before the axis (1 when not given), and each of its rows is normalised.
 */
static iso_status_t convert_softmax(iso__onnx_op_t *op)
{
    bool is_flat = iso__onnx_opset(op) < 13;
    iso__draft_t draft;
    iso_node_id_t x;
    int64_t given;
    int rank;
    int axis;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_int(op, "axis", is_flat ? 1 : -1, &given));
    rank = iso__onnx_node(op, x)->shape.rank;
    ISO_TRY(iso__onnx_axis_resolve(given, rank, &axis));
    if (is_flat && axis != rank - 1) {
        return softmax_of_rows(op, x, axis);
    }
    draft_softmax(&draft, op->entry->op, &x, axis);
    return iso__onnx_finish(op, &draft);
}

/* Add a norm with its operands, the last of which may not be given. */
static iso_status_t finish_norm(iso__onnx_op_t *op, iso_op_t kind, int n_inputs,
                                int64_t axis)
{
    iso_node_id_t inputs[5];
    iso__draft_t draft;
    double epsilon;

    ISO_TRY(iso__onnx_attr_float(op, "epsilon", 1e-5, &epsilon));
    for (int i = 0; i < n_inputs; i++) {
        ISO_TRY(iso__onnx_data(op, i, &inputs[i]));
    }
    iso__draft_begin(&draft, kind, n_inputs, inputs);
    if (kind == ISO_OP_LAYER_NORM) {
        iso__draft_int(&draft, "axis", axis);
    }
    iso__draft_float(&draft, "epsilon", epsilon);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_batch_norm(iso__onnx_op_t *op)
{
    static const char *const ignored[] = {"momentum", "is_test", NULL};
    int64_t spatial = 1;
    int64_t training = 0;

    iso__onnx_attr_ignore(op, ignored);
    ISO_TRY(iso__onnx_attr_int(op, "spatial", 1, &spatial));
    ISO_TRY(iso__onnx_attr_int(op, "training_mode", 0, &training));
    if (spatial != 1 || training != 0) {
        return iso_fail(ISO_UNSUPPORTED,
                        "training_mode %lld and spatial %lld, expected 0 and "
                        "1",
                        (long long)training, (long long)spatial);
    }
    return finish_norm(op, ISO_OP_BATCH_NORM, 5, 0);
}

static iso_status_t convert_instance_norm(iso__onnx_op_t *op)
{
    return finish_norm(op, ISO_OP_INSTANCE_NORM, 3, 0);
}

static iso_status_t convert_layer_norm(iso__onnx_op_t *op)
{
    int64_t axis;
    int64_t stash_type;

    ISO_TRY(iso__onnx_attr_int(op, "axis", -1, &axis));
    ISO_TRY(iso__onnx_attr_int(op, "stash_type", 1, &stash_type));
    if (stash_type != 1) {
        return iso_fail(ISO_UNSUPPORTED, "stash_type %lld, expected 1 (f32)",
                        (long long)stash_type);
    }
    return finish_norm(op, ISO_OP_LAYER_NORM, iso__onnx_has(op, 2) ? 3 : 2,
                       axis);
}

static iso_status_t convert_lrn(iso__onnx_op_t *op)
{
    iso__draft_t draft;
    iso_node_id_t x;
    int64_t size;
    double alpha;
    double beta;
    double bias;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_int(op, "size", 0, &size));
    ISO_TRY(iso__onnx_attr_float(op, "alpha", 1e-4, &alpha));
    ISO_TRY(iso__onnx_attr_float(op, "beta", 0.75, &beta));
    ISO_TRY(iso__onnx_attr_float(op, "bias", 1.0, &bias));
    iso__draft_begin(&draft, ISO_OP_LRN, 1, &x);
    iso__draft_int(&draft, "size", size);
    iso__draft_float(&draft, "alpha", alpha);
    iso__draft_float(&draft, "beta", beta);
    iso__draft_float(&draft, "bias", bias);
    return iso__onnx_finish(op, &draft);
}

const iso__onnx_entry_t iso__onnx_norm[] = {
    {"Softmax", 1, ISO__MOST_OPSET, convert_softmax, ISO_OP_SOFTMAX},
    {"LogSoftmax", 1, ISO__MOST_OPSET, convert_softmax, ISO_OP_LOG_SOFTMAX},
    {"BatchNormalization", 6, ISO__MOST_OPSET, convert_batch_norm,
     ISO_OP_BATCH_NORM},
    {"InstanceNormalization", 6, ISO__MOST_OPSET, convert_instance_norm,
     ISO_OP_INSTANCE_NORM},
    {"LayerNormalization", 17, ISO__MOST_OPSET, convert_layer_norm,
     ISO_OP_LAYER_NORM},
    {"LRN", 1, ISO__MOST_OPSET, convert_lrn, ISO_OP_LRN},
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
