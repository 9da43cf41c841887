#include "graph/infer.h"

#include "isotome/error.h"

#include "graph/infer_impl.h"

#include <stdio.h>

const iso_node_t *iso__operand(const iso_infer_in_t *in, int index)
{
    if (index >= in->node->n_inputs || in->node->inputs[index] == ISO_NO_NODE) {
        return NULL;
    }
    return iso_graph_node(in->graph, in->node->inputs[index]);
}

/* ---- Checks ---- */

iso_status_t iso__need_dtype(const iso_infer_in_t *in, int index,
                             unsigned dtypes)
{
    const iso_node_t *operand = iso__operand(in, index);
    char list[128] = "";
    size_t length = 0;

    if ((dtypes >> operand->dtype & 1U) != 0) {
        return ISO_OK;
    }
    for (int i = 0; i < ISO_DTYPE_COUNT && length < sizeof list; i++) {
        if ((dtypes >> i & 1U) != 0) {
            length += (size_t)snprintf(&list[length], sizeof list - length,
                                       "%s%s", length == 0 ? "" : ", ",
                                       iso_dtype_string((iso_dtype_t)i));
        }
    }
    return iso__node_fail(
        ISO_INVAL, in->node, "operand %d '%s' is %s, expected one of: %s",
        index, operand->name, iso_dtype_string(operand->dtype), list);
}

iso_status_t iso__need_same_dtypes(const iso_infer_in_t *in, int first,
                                   int like)
{
    const iso_node_t *model = iso__operand(in, like);

    for (int i = first; i < in->node->n_inputs; i++) {
        const iso_node_t *operand = iso__operand(in, i);

        if (operand != NULL && operand->dtype != model->dtype) {
            return iso__node_fail(
                ISO_INVAL, in->node,
                "operand %d '%s' is %s, expected %s as operand %d '%s'", i,
                operand->name, iso_dtype_string(operand->dtype),
                iso_dtype_string(model->dtype), like, model->name);
        }
    }
    return ISO_OK;
}

iso_status_t iso__need_rank(const iso_infer_in_t *in, int index, int least,
                            int most)
{
    const iso_node_t *operand = iso__operand(in, index);

    if (operand->shape.rank < least || operand->shape.rank > most) {
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node,
            "operand %d '%s' has rank %d %s, expected rank %d to %d", index,
            operand->name, operand->shape.rank,
            iso_shape_text(&operand->shape, text), least, most);
    }
    return ISO_OK;
}

iso_status_t iso__need_number(const iso_infer_in_t *in, int index, int axis,
                              int64_t *size_out)
{
    const iso_node_t *operand = iso__operand(in, index);
    iso_dim_t dim = operand->shape.dim[axis];

    if (!iso_dim_is_static(dim) || dim.size < 1) {
        char text[ISO_DIM_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node,
            "dim %d of operand %d '%s' is %s, expected a number of at least "
            "1%s",
            axis, index, operand->name, iso_dim_text(dim, text),
            iso_dim_is_static(dim) ? "" : "; bind its names");
    }
    *size_out = dim.size;
    return ISO_OK;
}

iso_status_t iso__need_vector(const iso_infer_in_t *in, int index,
                              iso_dim_t size, const char *what)
{
    const iso_node_t *operand = iso__operand(in, index);

    if (operand->shape.rank != 1 ||
        !iso_dim_equal(operand->shape.dim[0], size)) {
        char expected[ISO_DIM_TEXT_BYTES];
        char found[ISO_SHAPE_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node, "operand %d '%s' is %s, expected [%s] (%s)",
            index, operand->name, iso_shape_text(&operand->shape, found),
            iso_dim_text(size, expected), what);
    }
    return ISO_OK;
}

/* ---- Shapes ---- */

iso_status_t iso__at_node(const iso_infer_in_t *in, iso_status_t status)
{
    if (status == ISO_OK) {
        return ISO_OK;
    }
    return iso_fail_context(status, "node '%s' (%s)", in->node->name,
                            iso_op_string(in->node->op));
}

iso_status_t iso__broadcast(const iso_infer_in_t *in, const iso_shape_t *a,
                            const iso_shape_t *b, iso_shape_t *shape_out)
{
    return iso__at_node(in, iso_shape_broadcast(a, b, shape_out));
}

iso_status_t iso__need_broadcast_to(const iso_infer_in_t *in, int index,
                                    const iso_shape_t *shape)
{
    const iso_node_t *operand = iso__operand(in, index);
    iso_shape_t both;

    if (iso_shape_broadcast(&operand->shape, shape, &both) != ISO_OK ||
        !iso_shape_equal(&both, shape)) {
        char expected[ISO_SHAPE_TEXT_BYTES];
        char found[ISO_SHAPE_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node,
            "operand %d '%s' is %s, expected what broadcasts to %s", index,
            operand->name, iso_shape_text(&operand->shape, found),
            iso_shape_text(shape, expected));
    }
    return ISO_OK;
}

iso_status_t iso__dim_plus(const iso_infer_in_t *in, iso_dim_t a, int64_t b,
                           iso_dim_t *dim_out)
{
    return iso__at_node(in, iso_dim_add(a, iso_dim_of(b), dim_out));
}

iso_status_t iso__dim_times(const iso_infer_in_t *in, iso_dim_t a, int64_t b,
                            iso_dim_t *dim_out)
{
    return iso__at_node(in, iso_dim_mul(a, iso_dim_of(b), dim_out));
}

/* Most remainders that are tried for an expression divided by a stride. */
enum { MOST_REMAINDERS = 64 };

/*
 * floor(room / stride) + 1 where room is an expression: known when room less
 * some remainder below the stride is a whole multiple of it.
 */
static iso_status_t windows_of(const iso_infer_in_t *in, iso_dim_t room,
                               int64_t stride, iso_dim_t *output_out,
                               bool *known_out)
{
    *known_out = false;
    for (int64_t i = 0; i < stride && i < MOST_REMAINDERS && !*known_out; i++) {
        iso_dim_t rest;

        ISO_TRY(iso__dim_plus(in, room, -i, &rest));
        ISO_TRY(iso__at_node(
            in, iso_dim_div(rest, iso_dim_of(stride), output_out, known_out)));
    }
    return *known_out ? iso__dim_plus(in, *output_out, 1, output_out) : ISO_OK;
}

iso_status_t iso__window_dim(const iso_infer_in_t *in,
                             const iso_window_t *window, int spatial,
                             bool ceil_mode, iso_dim_t input,
                             iso_dim_t *output_out)
{
    const int64_t stride = window->strides[spatial];
    const int64_t pads =
        window->pads_begin[spatial] + window->pads_end[spatial];
    bool known = false;
    iso_dim_t room;

    if (iso_dim_is_static(input)) {
        *output_out = iso_dim_of(0);
        return iso_window_output(in->node, window, spatial, input.size,
                                 ceil_mode, &output_out->size);
    }
    if (!ceil_mode || stride == 1) {
        ISO_TRY(iso__dim_plus(in, input,
                              pads - iso__window_span(window, spatial), &room));
        ISO_TRY(windows_of(in, room, stride, output_out, &known));
    }
    if (!known) {
        return iso__node_fail(
            ISO_SHAPE, in->node,
            "the windows that fit in spatial dim %d, '%s', with stride %lld%s "
            "are no expression of it, expected a number; bind its names",
            spatial, input.sym, (long long)stride,
            ceil_mode ? " and ceil_mode" : "");
    }
    return ISO_OK;
}

/* ---- Dispatch ---- */

static iso_infer_rule_t *move_rule(iso_op_t op)
{
    static iso_infer_rule_t *const rules[ISO_OP_COUNT] = {
        [ISO_OP_WHERE] = iso__infer_where,
        [ISO_OP_RESHAPE] = iso__infer_reshape,
        [ISO_OP_TRANSPOSE] = iso__infer_transpose,
        [ISO_OP_CONCAT] = iso__infer_concat,
        [ISO_OP_SLICE] = iso__infer_slice,
        [ISO_OP_PAD] = iso__infer_pad,
        [ISO_OP_GATHER] = iso__infer_gather,
        [ISO_OP_GATHER_ELEMENTS] = iso__infer_gather_elements,
        [ISO_OP_EXPAND] = iso__infer_expand,
        [ISO_OP_TILE] = iso__infer_tile,
        [ISO_OP_DEPTH_TO_SPACE] = iso__infer_depth_to_space,
        [ISO_OP_SPACE_TO_DEPTH] = iso__infer_space_to_depth,
        [ISO_OP_RESIZE] = iso__infer_resize,
        [ISO_OP_DIMS] = iso__infer_dims,
        [ISO_OP_IOTA] = iso__infer_iota,
    };

    return rules[op];
}

static iso_infer_rule_t *contract_rule(iso_op_t op)
{
    switch (op) {
    case ISO_OP_MATMUL:
        return iso__infer_matmul;
    case ISO_OP_GEMM:
        return iso__infer_gemm;
    default:
        return iso__infer_conv;
    }
}

/* NULL for a leaf. */
static iso_infer_rule_t *rule_of(iso_op_t op)
{
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_LEAF:
        return NULL;
    case ISO_OP_CLASS_UNARY:
        return iso__infer_unary;
    case ISO_OP_CLASS_BINARY:
        return iso__infer_binary;
    case ISO_OP_CLASS_COMPARE:
        return iso__infer_compare;
    case ISO_OP_CLASS_LOGIC:
        return iso__infer_logic;
    case ISO_OP_CLASS_CONTRACT:
        return contract_rule(op);
    case ISO_OP_CLASS_REDUCE:
        return iso__infer_reduce;
    case ISO_OP_CLASS_NORM:
        return iso__infer_norm;
    case ISO_OP_CLASS_POOL:
        return iso__infer_pool;
    case ISO_OP_CLASS_MOVE:
    case ISO_OP_CLASS_MAKE:
        return move_rule(op);
    case ISO_OP_CLASS_EXCHANGE:
        return iso__infer_exchange;
    }
    return NULL;
}

/* A value's dims are not below 0 and its bytes can be counted. */
static iso_status_t check_value(const iso_infer_in_t *in,
                                const iso_value_t *value)
{
    char text[ISO_SHAPE_TEXT_BYTES];
    size_t bytes;

    for (int axis = 0; axis < value->shape.rank; axis++) {
        iso_dim_t dim = value->shape.dim[axis];

        if (iso_dim_is_static(dim) && dim.size < 0) {
            return iso__node_fail(ISO_SHAPE, in->node,
                                  "the value would be %s, expected no dim "
                                  "below 0",
                                  iso_shape_text(&value->shape, text));
        }
    }
    if (iso_shape_is_static(&value->shape) &&
        iso_tensor_bytes_of(value->dtype, &value->shape, &bytes) != ISO_OK) {
        return iso__node_fail(ISO_SHAPE, in->node,
                              "the value would be %s, expected at most 2^62 "
                              "bytes",
                              iso_shape_text(&value->shape, text));
    }
    return ISO_OK;
}

iso_status_t iso_infer(const iso_graph_t *graph, const iso_node_t *node,
                       iso_dtype_t *dtype_out, iso_shape_t *shape_out)
{
    const iso_infer_in_t in = {graph, node};
    iso_infer_rule_t *rule = rule_of(node->op);
    iso_value_t value = {.dtype = ISO_DTYPE_COUNT};

    if (rule == NULL) {
        return iso__node_fail(ISO_INVAL, node,
                              "a leaf's shape is given, not inferred");
    }
    ISO_TRY(rule(&in, &value));
    ISO_TRY(check_value(&in, &value));
    *dtype_out = value.dtype;
    *shape_out = value.shape;
    return ISO_OK;
}
