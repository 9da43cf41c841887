#include "kernel/ref/real.h"

typedef real_t unary_fn(real_t x, real_t a, real_t b);

#define DEFINE(name, expr)                                 \
    static real_t ref_##name(real_t x, real_t a, real_t b) \
    {                                                      \
        (void)a;                                           \
        (void)b;                                           \
        return (expr);                                     \
    }

/* a and b are the coefficients of coeff.h. Each operation rounds once. */
DEFINE(abs, fabs(x))
DEFINE(neg, -x)
DEFINE(ceil, ceil(x))
DEFINE(floor, floor(x))
DEFINE(round, rint(x))
DEFINE(sign, x > 0 ? 1 : (x < 0 ? -1 : x + 0))
DEFINE(sqrt, sqrt(x))
DEFINE(reciprocal, 1 / x)
DEFINE(exp, REAL_SLEEF(exp)(x))
DEFINE(log, REAL_SLEEF(log)(x))
DEFINE(sin, REAL_SLEEF(sin)(x))
DEFINE(cos, REAL_SLEEF(cos)(x))
DEFINE(tanh, REAL_SLEEF(tanh)(x))
DEFINE(erf, REAL_SLEEF(erf)(x))
DEFINE(sigmoid, 1 / (1 + REAL_SLEEF(exp)(-x)))
DEFINE(relu, x != x ? x : (x > 0 ? x : 0))
DEFINE(leaky_relu, x < 0 ? a * x : x)
DEFINE(elu, x < 0 ? a * REAL_SLEEF(expm1)(x) : x)
DEFINE(selu, b *(x < 0 ? a * REAL_SLEEF(expm1)(x) : x))
DEFINE(softsign, x / (1 + fabs(x)))

/* min(max(x, a), b): at a = b either is the same. */
DEFINE(clip, real_min(real_max(x, a), b))
DEFINE(hard_sigmoid, real_min(real_max(a *x + b, 0), 1))
DEFINE(hard_swish, x *real_min(real_max(a *x + b, 0), 1))
DEFINE(softplus, real_max(x, 0) + REAL_SLEEF(log1p)(REAL_SLEEF(exp)(-fabs(x))))

real_t REAL(iso__ref_apply)(iso_op_t op, const iso__coeff_t *coeff, real_t x)
{
    static unary_fn *const functions[ISO_OP_COUNT] = {
        [ISO_OP_ABS] = ref_abs,
        [ISO_OP_NEG] = ref_neg,
        [ISO_OP_CEIL] = ref_ceil,
        [ISO_OP_FLOOR] = ref_floor,
        [ISO_OP_ROUND] = ref_round,
        [ISO_OP_SIGN] = ref_sign,
        [ISO_OP_SQRT] = ref_sqrt,
        [ISO_OP_RECIPROCAL] = ref_reciprocal,
        [ISO_OP_EXP] = ref_exp,
        [ISO_OP_LOG] = ref_log,
        [ISO_OP_SIN] = ref_sin,
        [ISO_OP_COS] = ref_cos,
        [ISO_OP_TANH] = ref_tanh,
        [ISO_OP_ERF] = ref_erf,
        [ISO_OP_SIGMOID] = ref_sigmoid,
        [ISO_OP_RELU] = ref_relu,
        [ISO_OP_LEAKY_RELU] = ref_leaky_relu,
        [ISO_OP_ELU] = ref_elu,
        [ISO_OP_SELU] = ref_selu,
        [ISO_OP_HARD_SIGMOID] = ref_hard_sigmoid,
        [ISO_OP_HARD_SWISH] = ref_hard_swish,
        [ISO_OP_SOFTPLUS] = ref_softplus,
        [ISO_OP_SOFTSIGN] = ref_softsign,
        [ISO_OP_CLIP] = ref_clip,
    };

    if (op == ISO_OP_COUNT) { /* no activation */
        return real_canonical(x);
    }
    return real_canonical(functions[op](x, (real_t)coeff->a, (real_t)coeff->b));
}

iso_status_t REAL(iso__ref_unary)(const iso_node_t *node,
                                  const iso_tensor_t *const *inputs,
                                  const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    real_t *y = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__coeff_t coeff;

    ISO_TRY(iso__coeff_of(node, &coeff));
    for (int64_t i = 0; i < count; i++) {
        y[i] = REAL(iso__ref_apply)(node->op, &coeff, x[i]);
    }
    return ISO_OK;
}
