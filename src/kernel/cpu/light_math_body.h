/*
 * The elementwise formulas on vectors. Each is the one of ref_unary.c or
 * ref_binary.c, operation by operation. Which vector is meant is up to the
 * file that includes this after its light_vec_*.h.
 */
#ifndef ISO_LIGHT_MATH_H
#define ISO_LIGHT_MATH_H

#include "isotome/op.h"

#include "kernel/arith.h"

#include <string.h>

static inline vec_t vec_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return vec_set(value);
}

static inline vec_t vec_canonical(vec_t x)
{
    return vec_select_nan(x, vec_bits(ISO_NAN_BITS), x);
}

static inline vec_t vec_neg(vec_t x)
{
    return vec_xor(x, vec_bits(UINT32_C(0x80000000)));
}

static inline vec_t vec_abs(vec_t x)
{
    return vec_and(x, vec_bits(UINT32_C(0x7fffffff)));
}

/* Equal numbers have equal bits but for zeros: "and" keeps +0, "or" -0. */
static inline vec_t vec_max(vec_t x, vec_t y)
{
    vec_t r = vec_select_less(x, y, y, x);

    r = vec_select_equal(x, y, vec_and(x, y), r);
    return vec_select_nan(x, x, vec_select_nan(y, y, r));
}

/* As vec_max where it is all one which zero is taken: x - 0 gives powers of
 * 1 for both. */
static inline vec_t vec_most(vec_t x, vec_t y)
{
    return vec_select_nan(y, y, vec_select_less(x, y, y, x));
}

static inline vec_t vec_min(vec_t x, vec_t y)
{
    vec_t r = vec_select_less(y, x, y, x);

    r = vec_select_equal(x, y, vec_or(x, y), r);
    return vec_select_nan(x, x, vec_select_nan(y, y, r));
}

/* ---- One operand; a and b are the coefficients of coeff.h ---- */

typedef vec_t vec_unary_fn(vec_t x, vec_t a, vec_t b);

#define DEFINE(name, expr)                                      \
    static inline vec_t unary_##name(vec_t x, vec_t a, vec_t b) \
    {                                                           \
        (void)a;                                                \
        (void)b;                                                \
        return (expr);                                          \
    }

static inline vec_t vec_one(void)
{
    return vec_set(1.0F);
}

/* yes where x < 0, else no. */
static inline vec_t vec_if_below_0(vec_t x, vec_t yes, vec_t no)
{
    return vec_select_less(x, vec_zero(), yes, no);
}

static inline vec_t vec_sign(vec_t x)
{
    const vec_t up =
        vec_select_less(vec_zero(), x, vec_one(), vec_add(x, vec_zero()));

    return vec_if_below_0(x, vec_set(-1.0F), up);
}

static inline vec_t vec_relu(vec_t x)
{
    const vec_t r = vec_select_less(vec_zero(), x, x, vec_zero());

    return vec_select_nan(x, x, r);
}

static inline vec_t vec_clip(vec_t x, vec_t least, vec_t most)
{
    return vec_min(vec_max(x, least), most);
}

static inline vec_t vec_ramp(vec_t x, vec_t a, vec_t b)
{
    return vec_clip(vec_add(vec_mul(a, x), b), vec_zero(), vec_one());
}

static inline vec_t vec_elu(vec_t x, vec_t a)
{
    return vec_if_below_0(x, vec_mul(a, vec_expm1(x)), x);
}

DEFINE(abs, vec_abs(x))
DEFINE(neg, vec_neg(x))
DEFINE(ceil, vec_ceil(x))
DEFINE(floor, vec_floor(x))
DEFINE(round, vec_round(x))
DEFINE(sign, vec_sign(x))
DEFINE(sqrt, vec_sqrt(x))
DEFINE(reciprocal, vec_div(vec_one(), x))
DEFINE(exp, vec_exp(x))
DEFINE(log, vec_log(x))
DEFINE(sin, vec_sin(x))
DEFINE(cos, vec_cos(x))
DEFINE(tanh, vec_tanh(x))
DEFINE(erf, vec_erf(x))
DEFINE(sigmoid, vec_div(vec_one(), vec_add(vec_one(), vec_exp(vec_neg(x)))))
DEFINE(relu, vec_relu(x))
DEFINE(leaky_relu, vec_if_below_0(x, vec_mul(a, x), x))
DEFINE(elu, vec_elu(x, a))
DEFINE(selu, vec_mul(b, vec_elu(x, a)))
DEFINE(softsign, vec_div(x, vec_add(vec_one(), vec_abs(x))))
DEFINE(clip, vec_clip(x, a, b))
DEFINE(hard_sigmoid, vec_ramp(x, a, b))
DEFINE(hard_swish, vec_mul(x, vec_ramp(x, a, b)))
DEFINE(softplus,
       vec_add(vec_max(x, vec_zero()), vec_log1p(vec_exp(vec_neg(vec_abs(x))))))

#undef DEFINE

static vec_unary_fn *unary_function(iso_op_t op)
{
    static vec_unary_fn *const functions[ISO_OP_COUNT] = {
        [ISO_OP_ABS] = unary_abs,
        [ISO_OP_NEG] = unary_neg,
        [ISO_OP_CEIL] = unary_ceil,
        [ISO_OP_FLOOR] = unary_floor,
        [ISO_OP_ROUND] = unary_round,
        [ISO_OP_SIGN] = unary_sign,
        [ISO_OP_SQRT] = unary_sqrt,
        [ISO_OP_RECIPROCAL] = unary_reciprocal,
        [ISO_OP_EXP] = unary_exp,
        [ISO_OP_LOG] = unary_log,
        [ISO_OP_SIN] = unary_sin,
        [ISO_OP_COS] = unary_cos,
        [ISO_OP_TANH] = unary_tanh,
        [ISO_OP_ERF] = unary_erf,
        [ISO_OP_SIGMOID] = unary_sigmoid,
        [ISO_OP_RELU] = unary_relu,
        [ISO_OP_LEAKY_RELU] = unary_leaky_relu,
        [ISO_OP_ELU] = unary_elu,
        [ISO_OP_SELU] = unary_selu,
        [ISO_OP_HARD_SIGMOID] = unary_hard_sigmoid,
        [ISO_OP_HARD_SWISH] = unary_hard_swish,
        [ISO_OP_SOFTPLUS] = unary_softplus,
        [ISO_OP_SOFTSIGN] = unary_softsign,
        [ISO_OP_CLIP] = unary_clip,
    };

    return functions[op];
}

/* ---- Two operands ---- */

typedef vec_t vec_binary_fn(vec_t x, vec_t y);

static vec_t binary_pow(vec_t x, vec_t y)
{
    const vec_t r =
        vec_select_equal(y, vec_set(0.5F), vec_sqrt(x), vec_pow(x, y));

    return vec_select_equal(y, vec_set(2.0F), vec_mul(x, x), r);
}

static vec_t binary_prelu(vec_t x, vec_t slope)
{
    return vec_if_below_0(x, vec_mul(slope, x), x);
}

static vec_binary_fn *binary_function(iso_op_t op)
{
    switch (op) {
    case ISO_OP_ADD:
        return vec_add;
    case ISO_OP_SUB:
        return vec_sub;
    case ISO_OP_MUL:
        return vec_mul;
    case ISO_OP_DIV:
        return vec_div;
    case ISO_OP_POW:
        return binary_pow;
    case ISO_OP_MIN:
        return vec_min;
    case ISO_OP_MAX:
        return vec_max;
    default:
        return binary_prelu;
    }
}

#endif
