/* Operators that work on each element: functions, arithmetic, comparisons. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <math.h>

static bool is_real(iso_dtype_t dtype)
{
    return dtype == ISO_DTYPE_F32 || dtype == ISO_DTYPE_F64;
}

/* -- one operand -- */

static iso_status_t convert_unary(iso__onnx_op_t *op)
{
    iso_node_id_t x;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    return iso__onnx_finish_unary(op, op->entry->op, x);
}

static iso_status_t convert_with_alpha(iso__onnx_op_t *op)
{
    double fallback = op->entry->op == ISO_OP_LEAKY_RELU ? 0.01 : 1.0;
    iso_node_id_t x;
    iso__draft_t draft;
    double alpha;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_float(op, "alpha", fallback, &alpha));
    iso__draft_begin(&draft, op->entry->op, 1, &x);
    iso__draft_float(&draft, "alpha", alpha);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_selu(iso__onnx_op_t *op)
{
    iso_node_id_t x;
    iso__draft_t draft;
    double alpha;
    double gamma;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(
        iso__onnx_attr_float(op, "alpha", 1.67326319217681884765625, &alpha));
    ISO_TRY(
        iso__onnx_attr_float(op, "gamma", 1.05070102214813232421875, &gamma));
    iso__draft_begin(&draft, ISO_OP_SELU, 1, &x);
    iso__draft_float(&draft, "alpha", alpha);
    iso__draft_float(&draft, "gamma", gamma);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_hard_sigmoid(iso__onnx_op_t *op)
{
    iso_node_id_t x;
    iso__draft_t draft;
    double alpha;
    double beta;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_float(op, "alpha", 0.2, &alpha));
    ISO_TRY(iso__onnx_attr_float(op, "beta", 0.5, &beta));
    iso__draft_begin(&draft, ISO_OP_HARD_SIGMOID, 1, &x);
    iso__draft_float(&draft, "alpha", alpha);
    iso__draft_float(&draft, "beta", beta);
    return iso__onnx_finish(op, &draft);
}

/* celu(x) = alpha elu(x / alpha). */
static iso_status_t convert_celu(iso__onnx_op_t *op)
{
    iso_node_id_t x;
    iso_node_id_t scale;
    double alpha;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_float(op, "alpha", 1.0, &alpha));
    if (alpha == 1.0) {
        return iso__onnx_finish_unary(op, ISO_OP_ELU, x);
    }
    ISO_TRY(iso__onnx_step_number(op, "alpha", iso__onnx_node(op, x)->dtype,
                                  alpha, &scale));
    ISO_TRY(iso__onnx_step_binary(op, "scaled", ISO_OP_DIV, x, scale, &x));
    ISO_TRY(iso__onnx_step_unary(op, "elu", ISO_OP_ELU, x, &x));
    return iso__onnx_finish_binary(op, ISO_OP_MUL, x, scale);
}

/* x where x > alpha, else 0. */
static iso_status_t convert_thresholded_relu(iso__onnx_op_t *op)
{
    iso_node_id_t inputs[3];
    iso_node_id_t limit;
    iso__draft_t draft;
    iso_dtype_t dtype;
    double alpha;

    ISO_TRY(iso__onnx_data(op, 0, &inputs[1]));
    ISO_TRY(iso__onnx_attr_float(op, "alpha", 1.0, &alpha));
    dtype = iso__onnx_node(op, inputs[1])->dtype;
    ISO_TRY(iso__onnx_step_number(op, "alpha", dtype, alpha, &limit));
    ISO_TRY(iso__onnx_step_number(op, "zero", dtype, 0.0, &inputs[2]));
    ISO_TRY(iso__onnx_step_binary(op, "above", ISO_OP_GREATER, inputs[1], limit,
                                  &inputs[0]));
    iso__draft_begin(&draft, ISO_OP_WHERE, 3, inputs);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_cast(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso_dtype_t dtype;
    iso__draft_t draft;
    iso_node_id_t x;
    int64_t to;

    ISO_TRY(iso__onnx_attr_int(op, "to", 0, &to));
    dtype = to >= 0 && to < 64 ? iso_dtype_from_onnx((int)to) : ISO_DTYPE_COUNT;
    if (dtype == ISO_DTYPE_COUNT) {
        return iso_fail(ISO_UNSUPPORTED,
                        "a cast to element type %lld is not supported",
                        (long long)to);
    }
    ISO_TRY(iso__onnx_symbolic(op, 0, &ints));
    if (ints != NULL && (dtype == ISO_DTYPE_I64 || dtype == ISO_DTYPE_I32)) {
        iso_ints_t typed = *ints;

        typed.dtype = dtype;
        return iso__onnx_bind_ints(op, 0, &typed);
    }
    ISO_TRY(iso__onnx_data(op, 0, &x));
    if (iso__onnx_node(op, x)->dtype == dtype) {
        return iso__onnx_bind(op, 0, x);
    }
    iso__draft_begin(&draft, ISO_OP_CAST, 1, &x);
    iso__draft_text(&draft, "to", iso_dtype_string(dtype));
    return iso__onnx_finish(op, &draft);
}

/* -- clip -- */

/* A limit that is a number; *known_out false when it is computed. */
static iso_status_t clip_limit(iso__onnx_op_t *op, int index, double *limit,
                               bool *known_out)
{
    *known_out = true;
    if (iso__onnx_opset(op) < 11) {
        return iso__onnx_attr_float(op, index == 1 ? "min" : "max", *limit,
                                    limit);
    }
    return iso__onnx_has(op, index)
               ? iso__onnx_scalar(op, index, limit, known_out)
               : ISO_OK;
}

/* One side of a clip as a node; x itself when it has no limit there. */
static iso_status_t clip_side(iso__onnx_op_t *op, int index, iso_node_id_t *x)
{
    bool is_least = index == 1;
    iso_node_id_t limit;

    ISO_TRY(iso__onnx_data_or_none(op, index, &limit));
    if (limit == ISO_NO_NODE) {
        return ISO_OK;
    }
    return iso__onnx_step_binary(op, is_least ? "least" : "most",
                                 is_least ? ISO_OP_MAX : ISO_OP_MIN, *x, limit,
                                 x);
}

/* Integers, and limits that are computed, take max, then min. Before opset 11
 * limits are attributes, not operands: always numbers. */
static iso_status_t convert_clip(iso__onnx_op_t *op)
{
    double limits[2] = {-(double)INFINITY, (double)INFINITY};
    bool least_known = false;
    bool most_known = false;
    iso__draft_t draft;
    iso_node_id_t x;
    iso_dtype_t dtype;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(clip_limit(op, 1, &limits[0], &least_known));
    ISO_TRY(clip_limit(op, 2, &limits[1], &most_known));
    dtype = iso__onnx_node(op, x)->dtype;
    if (iso__onnx_opset(op) >= 11 &&
        (!least_known || !most_known || !is_real(dtype))) {
        ISO_TRY(clip_side(op, 1, &x));
        ISO_TRY(clip_side(op, 2, &x));
        return iso__onnx_bind(op, 0, x);
    }
    iso__draft_begin(&draft, ISO_OP_CLIP, 1, &x);
    iso__draft_float(&draft, "min", limits[0]);
    iso__draft_float(&draft, "max", limits[1]);
    return iso__onnx_finish(op, &draft);
}

/* -- two operands -- */

/*
 * Opset 6 aligned the second operand at an axis of the first when broadcast
 * was set; later it is NumPy's rule, the last axes.
 */
static iso_status_t align_operand(iso__onnx_op_t *op, iso_node_id_t a,
                                  iso_node_id_t *b)
{
    const iso_shape_t *big = &iso__onnx_node(op, a)->shape;
    iso_shape_t shape = iso__onnx_node(op, *b)->shape;
    int64_t broadcast;
    int64_t axis;

    if (iso__onnx_opset(op) >= 7) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_attr_int(op, "broadcast", 0, &broadcast));
    ISO_TRY(iso__onnx_attr_int(op, "axis", big->rank - shape.rank, &axis));
    if (broadcast == 0 || shape.rank > big->rank) {
        return ISO_OK;
    }
    if (axis < 0) {
        axis += big->rank;
    }
    if (axis < 0 || axis > big->rank - shape.rank) {
        return iso_fail(ISO_SHAPE, "axis %lld, expected 0 to %d",
                        (long long)axis, big->rank - shape.rank);
    }
    while (shape.rank < big->rank - axis) {
        shape.dim[shape.rank++] = iso_dim_of(1);
    }
    return iso__onnx_step_reshape(op, "aligned", *b, &shape, b);
}

/* Integers with expressions are computed here and now where they can be. */
static iso_status_t try_symbolic(iso__onnx_op_t *op, bool *done_out)
{
    const iso_ints_t *operands[2] = {NULL, NULL};
    bool symbolic = false;
    bool known = false;
    iso_ints_t result;

    *done_out = false;
    for (int i = 0; i < 2; i++) {
        const iso_ints_t *ints = NULL;

        ISO_TRY(iso__onnx_symbolic(op, i, &ints));
        symbolic = symbolic || ints != NULL;
    }
    if (!symbolic) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_ints(op, 0, &operands[0]));
    ISO_TRY(iso__onnx_ints(op, 1, &operands[1]));
    if (operands[0] == NULL || operands[1] == NULL) {
        return ISO_OK;
    }
    ISO_TRY(iso_ints_binary(op->import->arena, op->entry->op, operands[0],
                            operands[1], &result, &known));
    *done_out = known;
    return known ? iso__onnx_bind_ints(op, 0, &result) : ISO_OK;
}

static iso_status_t convert_binary(iso__onnx_op_t *op)
{
    iso_node_id_t a;
    iso_node_id_t b;
    bool done = false;

    ISO_TRY(try_symbolic(op, &done));
    if (done) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_data(op, 0, &a));
    ISO_TRY(iso__onnx_data(op, 1, &b));
    ISO_TRY(align_operand(op, a, &b));
    return iso__onnx_finish_binary(op, op->entry->op, a, b);
}

/* The exponent may have another type than the base. */
static iso_status_t pow_operands(iso__onnx_op_t *op, iso_node_id_t *a,
                                 iso_node_id_t *b)
{
    iso_dtype_t inner;

    ISO_TRY(iso__onnx_data(op, 0, a));
    ISO_TRY(iso__onnx_data(op, 1, b));
    ISO_TRY(align_operand(op, *a, b));
    inner = iso__onnx_node(op, *a)->dtype;
    inner = is_real(inner) ? inner : ISO_DTYPE_F64;
    ISO_TRY(iso__onnx_step_cast(op, "base", *a, inner, a));
    return iso__onnx_step_cast(op, "exponent", *b, inner, b);
}

/* An integer base is raised as f64, and is an integer again. */
static iso_status_t convert_pow(iso__onnx_op_t *op)
{
    iso_dtype_t dtype;
    iso_node_id_t a;
    iso_node_id_t b;

    ISO_TRY(iso__onnx_data(op, 0, &a));
    dtype = iso__onnx_node(op, a)->dtype;
    ISO_TRY(pow_operands(op, &a, &b));
    if (is_real(dtype)) {
        return iso__onnx_finish_binary(op, ISO_OP_POW, a, b);
    }
    ISO_TRY(iso__onnx_step_binary(op, "power", ISO_OP_POW, a, b, &a));
    ISO_TRY(iso__onnx_step_cast(op, "typed", a, dtype, &a));
    return iso__onnx_bind(op, 0, a);
}

static iso_status_t convert_mod(iso__onnx_op_t *op)
{
    iso_node_id_t inputs[2];
    iso__draft_t draft;
    int64_t fmod_rule;

    ISO_TRY(iso__onnx_data(op, 0, &inputs[0]));
    ISO_TRY(iso__onnx_data(op, 1, &inputs[1]));
    ISO_TRY(iso__onnx_attr_int(op, "fmod", 0, &fmod_rule));
    iso__draft_begin(&draft, ISO_OP_MOD, 2, inputs);
    iso__draft_int(&draft, "fmod", fmod_rule);
    return iso__onnx_finish(op, &draft);
}

/* Opset 6 has one slope for each channel (axis 1), or one for all. */
static iso_status_t convert_prelu(iso__onnx_op_t *op)
{
    iso_node_id_t x;
    iso_node_id_t slope;
    iso_shape_t shape;
    int rank;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_data(op, 1, &slope));
    shape = iso__onnx_node(op, slope)->shape;
    rank = iso__onnx_node(op, x)->shape.rank;
    if (iso__onnx_opset(op) < 7 && shape.rank == 1) {
        while (shape.rank < rank - 1) {
            shape.dim[shape.rank++] = iso_dim_of(1);
        }
        ISO_TRY(iso__onnx_step_reshape(op, "aligned", slope, &shape, &slope));
    }
    return iso__onnx_finish_binary(op, ISO_OP_PRELU, x, slope);
}

/* -- any number of operands -- */

/* All operands in a chain from the first on; mean divides by their number. */
static iso_status_t convert_variadic(iso__onnx_op_t *op)
{
    bool is_mean = op->entry->op == ISO_OP_REDUCE_MEAN;
    iso_op_t kind = is_mean ? ISO_OP_ADD : op->entry->op;
    int n_inputs = iso__onnx_n_inputs(op);
    iso_node_id_t all;
    iso_node_id_t next;

    ISO_TRY(iso__onnx_data(op, 0, &all));
    for (int i = 1; i < n_inputs; i++) {
        ISO_TRY(iso__onnx_data(op, i, &next));
        if (i == n_inputs - 1 && !is_mean) {
            return iso__onnx_finish_binary(op, kind, all, next);
        }
        ISO_TRY(iso__onnx_step_binary(op, "part", kind, all, next, &all));
    }
    if (!is_mean || n_inputs == 1) {
        return iso__onnx_bind(op, 0, all);
    }
    ISO_TRY(iso__onnx_step_number(op, "count", iso__onnx_node(op, all)->dtype,
                                  n_inputs, &next));
    return iso__onnx_finish_binary(op, ISO_OP_DIV, all, next);
}

/* -- no operation -- */

static iso_status_t convert_identity(iso__onnx_op_t *op)
{
    return iso__onnx_pass_on(op);
}

/* Inference keeps everything; a model that still trains is refused. */
static iso_status_t convert_dropout(iso__onnx_op_t *op)
{
    static const char *const ignored[] = {"ratio", "seed", "is_test", NULL};
    double training = 0.0;
    bool known = true;

    iso__onnx_attr_ignore(op, ignored);
    if (iso__onnx_has(op, 2)) {
        ISO_TRY(iso__onnx_scalar(op, 2, &training, &known));
    }
    if (!known || training != 0.0) {
        return iso_fail(ISO_UNSUPPORTED, "training mode is not supported");
    }
    return iso__onnx_pass_on(op);
}

#define UNARY(type, least, op)                                   \
    {                                                            \
        type, least, ISO__MOST_OPSET, convert_unary, ISO_OP_##op \
    }
#define BINARY(type, least, op)                                   \
    {                                                             \
        type, least, ISO__MOST_OPSET, convert_binary, ISO_OP_##op \
    }
#define OTHER(type, least, convert, op)                    \
    {                                                      \
        type, least, ISO__MOST_OPSET, convert, ISO_OP_##op \
    }

const iso__onnx_entry_t iso__onnx_elementwise[] = {
    UNARY("Abs", 6, ABS),
    UNARY("Neg", 6, NEG),
    UNARY("Ceil", 6, CEIL),
    UNARY("Floor", 6, FLOOR),
    UNARY("Round", 11, ROUND),
    UNARY("Sign", 9, SIGN),
    UNARY("Sqrt", 6, SQRT),
    UNARY("Reciprocal", 6, RECIPROCAL),
    UNARY("Exp", 6, EXP),
    UNARY("Log", 6, LOG),
    UNARY("Sin", 7, SIN),
    UNARY("Cos", 7, COS),
    UNARY("Tanh", 6, TANH),
    UNARY("Erf", 9, ERF),
    UNARY("Sigmoid", 6, SIGMOID),
    UNARY("Relu", 6, RELU),
    UNARY("HardSwish", 14, HARD_SWISH),
    UNARY("Softplus", 1, SOFTPLUS),
    UNARY("Softsign", 1, SOFTSIGN),
    UNARY("Not", 1, NOT),
    OTHER("LeakyRelu", 6, convert_with_alpha, LEAKY_RELU),
    OTHER("Elu", 6, convert_with_alpha, ELU),
    OTHER("Selu", 6, convert_selu, SELU),
    OTHER("HardSigmoid", 6, convert_hard_sigmoid, HARD_SIGMOID),
    OTHER("Celu", 12, convert_celu, ELU),
    OTHER("ThresholdedRelu", 10, convert_thresholded_relu, WHERE),
    OTHER("Clip", 6, convert_clip, CLIP),
    OTHER("Cast", 6, convert_cast, CAST),
    BINARY("Add", 6, ADD),
    BINARY("Sub", 6, SUB),
    BINARY("Mul", 6, MUL),
    BINARY("Div", 6, DIV),
    BINARY("Equal", 1, EQUAL),
    BINARY("Less", 1, LESS),
    BINARY("LessOrEqual", 12, LESS_EQUAL),
    BINARY("Greater", 1, GREATER),
    BINARY("GreaterOrEqual", 12, GREATER_EQUAL),
    BINARY("And", 1, AND),
    BINARY("Or", 1, OR),
    BINARY("Xor", 1, XOR),
    OTHER("Pow", 1, convert_pow, POW),
    OTHER("Mod", 10, convert_mod, MOD),
    OTHER("PRelu", 6, convert_prelu, PRELU),
    OTHER("Min", 6, convert_variadic, MIN),
    OTHER("Max", 6, convert_variadic, MAX),
    OTHER("Sum", 6, convert_variadic, ADD),
    OTHER("Mean", 6, convert_variadic, REDUCE_MEAN),
    OTHER("Identity", 1, convert_identity, COUNT),
    OTHER("Dropout", 6, convert_dropout, COUNT),
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
