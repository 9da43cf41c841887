#include "graph/infer_impl.h"

/* ---- Reductions ---- */

/* Ops that have no value over nothing. */
static bool needs_elements(iso_op_t op)
{
    return op != ISO_OP_REDUCE_SUM && op != ISO_OP_REDUCE_PROD;
}

iso_status_t iso__infer_reduce(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    const iso_op_t op = in->node->op;
    const bool is_arg = op == ISO_OP_ARG_MAX || op == ISO_OP_ARG_MIN;
    iso_reduce_param_t param;

    ISO_TRY(iso__need_dtype(
        in, 0, op == ISO_OP_REDUCE_MEAN ? ISO__FLOATS : ISO__NUMBERS));
    ISO_TRY(iso_reduce_param_of(in->node, x->shape.rank, &param));
    *value_out = (iso_value_t){.dtype = is_arg ? ISO_DTYPE_I64 : x->dtype};
    for (int axis = 0; axis < x->shape.rank; axis++) {
        iso_dim_t dim = x->shape.dim[axis];

        if (param.reduced[axis] && needs_elements(op) &&
            iso_dim_equal(dim, iso_dim_of(0))) {
            return iso__node_fail(ISO_SHAPE, in->node,
                                  "axis %d of '%s' is 0, expected at least 1 "
                                  "element to reduce",
                                  axis, x->name);
        }
        if (param.reduced[axis] && !param.keep_dims) {
            continue;
        }
        value_out->shape.dim[value_out->shape.rank++] =
            param.reduced[axis] ? iso_dim_of(1) : dim;
    }
    return ISO_OK;
}

/* ---- Norms ---- */

/* Operands after x are one number for each channel. */
static iso_status_t need_channel_vectors(const iso_infer_in_t *in,
                                         int least_rank)
{
    ISO_TRY(iso__need_rank(in, 0, least_rank, ISO_MAX_RANK));
    for (int i = 1; i < in->node->n_inputs; i++) {
        ISO_TRY(iso__need_vector(in, i, iso__operand(in, 0)->shape.dim[1],
                                 "channels"));
    }
    return ISO_OK;
}

/* Scale and bias have the dims from the first normalised axis on. */
static iso_status_t check_layer_norm(const iso_infer_in_t *in, int first)
{
    const iso_shape_t *x = &iso__operand(in, 0)->shape;
    iso_shape_t normalised = {.rank = x->rank - first};

    for (int i = first; i < x->rank; i++) {
        normalised.dim[i - first] = x->dim[i];
    }
    for (int i = 1; i < in->node->n_inputs; i++) {
        const iso_node_t *operand = iso__operand(in, i);

        if (operand != NULL && !iso_shape_equal(&operand->shape, &normalised)) {
            char expected[ISO_SHAPE_TEXT_BYTES];
            char found[ISO_SHAPE_TEXT_BYTES];

            return iso__node_fail(
                ISO_SHAPE, in->node,
                "operand %d '%s' is %s, expected %s (the normalised dims)", i,
                operand->name, iso_shape_text(&operand->shape, found),
                iso_shape_text(&normalised, expected));
        }
    }
    return ISO_OK;
}

iso_status_t iso__infer_norm(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    iso_norm_param_t param;

    ISO_TRY(iso__need_dtype(in, 0, ISO__FLOATS));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    ISO_TRY(iso_norm_param_of(in->node, x->shape.rank, &param));
    *value_out = (iso_value_t){x->dtype, x->shape};
    switch (in->node->op) {
    case ISO_OP_BATCH_NORM:
        return need_channel_vectors(in, 2);
    case ISO_OP_INSTANCE_NORM:
        return need_channel_vectors(in, 3);
    case ISO_OP_LRN:
        return iso__need_rank(in, 0, 2, ISO_MAX_RANK);
    case ISO_OP_LAYER_NORM:
        return check_layer_norm(in, param.axis);
    default:
        return ISO_OK;
    }
}
