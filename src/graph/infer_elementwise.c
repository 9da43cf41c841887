#include "graph/infer_impl.h"

static unsigned unary_dtypes(iso_op_t op)
{
    switch (op) {
    case ISO_OP_ABS:
    case ISO_OP_NEG:
        return ISO__NUMBERS;
    default:
        return ISO__FLOATS;
    }
}

/* Floats that an op takes beside its operand. */
static iso_status_t check_constants(const iso_node_t *node)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "min", "max"};
    double value = 0.0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ISO_TRY(iso_attr_float(node, names[i], 0.0, &value));
    }
    return ISO_OK;
}

iso_status_t iso__infer_unary(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);

    *value_out = (iso_value_t){x->dtype, x->shape};
    if (in->node->op == ISO_OP_CAST) {
        return iso_cast_target(in->node, &value_out->dtype);
    }
    ISO_TRY(iso__need_dtype(in, 0, unary_dtypes(in->node->op)));
    return check_constants(in->node);
}

static unsigned binary_dtypes(iso_op_t op)
{
    switch (op) {
    case ISO_OP_POW:
    case ISO_OP_PRELU:
        return ISO__FLOATS;
    default:
        return ISO__NUMBERS;
    }
}

/* Floats have C's fmod only; integers have both kinds. */
static iso_status_t check_mod(const iso_infer_in_t *in)
{
    iso_dtype_t dtype = iso__operand(in, 0)->dtype;
    bool fmod = false;

    ISO_TRY(iso__attr_bool(in->node, "fmod", false, &fmod));
    if (!fmod && (ISO__FLOATS >> dtype & 1U) != 0) {
        return iso__node_fail(ISO_INVAL, in->node,
                              "fmod is 0 with operands of %s, expected 1",
                              iso_dtype_string(dtype));
    }
    return ISO_OK;
}

iso_status_t iso__infer_binary(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *a = iso__operand(in, 0);
    const iso_node_t *b = iso__operand(in, 1);

    ISO_TRY(iso__need_dtype(in, 0, binary_dtypes(in->node->op)));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    if (in->node->op == ISO_OP_MOD) {
        ISO_TRY(check_mod(in));
    }
    value_out->dtype = a->dtype;
    if (in->node->op == ISO_OP_PRELU) {
        value_out->shape = a->shape;
        return iso__need_broadcast_to(in, 1, &a->shape);
    }
    return iso__broadcast(in, &a->shape, &b->shape, &value_out->shape);
}

iso_status_t iso__infer_compare(const iso_infer_in_t *in,
                                iso_value_t *value_out)
{
    const bool is_equal = in->node->op == ISO_OP_EQUAL;

    ISO_TRY(iso__need_dtype(
        in, 0, is_equal ? ISO__COMPARED | ISO__BIT(BOOL) : ISO__COMPARED));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    value_out->dtype = ISO_DTYPE_BOOL;
    return iso__broadcast(in, &iso__operand(in, 0)->shape,
                          &iso__operand(in, 1)->shape, &value_out->shape);
}

iso_status_t iso__infer_logic(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *a = iso__operand(in, 0);
    const iso_node_t *b = iso__operand(in, 1);

    ISO_TRY(iso__need_dtype(in, 0, ISO__BIT(BOOL)));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    *value_out = (iso_value_t){ISO_DTYPE_BOOL, a->shape};
    if (b == NULL) {
        return ISO_OK;
    }
    return iso__broadcast(in, &a->shape, &b->shape, &value_out->shape);
}

iso_status_t iso__infer_where(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *condition = iso__operand(in, 0);
    const iso_node_t *x = iso__operand(in, 1);
    const iso_node_t *y = iso__operand(in, 2);
    iso_shape_t both;

    ISO_TRY(iso__need_dtype(in, 0, ISO__BIT(BOOL)));
    ISO_TRY(iso__need_same_dtypes(in, 2, 1));
    value_out->dtype = x->dtype;
    ISO_TRY(iso__broadcast(in, &x->shape, &y->shape, &both));
    return iso__broadcast(in, &condition->shape, &both, &value_out->shape);
}
