/*
 * What light ops need of a vector beyond vec_portable.h; light_vec_avx2.h and
 * light_vec_avx512.h are the same in intrinsics.
 */
#ifndef ISO_LIGHT_VEC_PORTABLE_H
#define ISO_LIGHT_VEC_PORTABLE_H

#include "kernel/cpu/vec_portable.h"
#include "kernel/sleef.h"

#include <string.h>

#define VEC_UNARY(name, expr)                 \
    static inline vec_t vec_##name(vec_t a)   \
    {                                         \
        for (int i = 0; i < VEC_LANES; i++) { \
            const float x = a.lane[i];        \
                                              \
            a.lane[i] = (expr);               \
        }                                     \
        return a;                             \
    }

#define VEC_BINARY(name, expr)                       \
    static inline vec_t vec_##name(vec_t a, vec_t b) \
    {                                                \
        for (int i = 0; i < VEC_LANES; i++) {        \
            const float x = a.lane[i];               \
            const float y = b.lane[i];               \
                                                     \
            a.lane[i] = (expr);                      \
        }                                            \
        return a;                                    \
    }

#define VEC_BITS(name, operator)                     \
    static inline vec_t vec_##name(vec_t a, vec_t b) \
    {                                                \
        for (int i = 0; i < VEC_LANES; i++) {        \
            uint32_t x;                              \
            uint32_t y;                              \
                                                     \
            memcpy(&x, &a.lane[i], sizeof x);        \
            memcpy(&y, &b.lane[i], sizeof y);        \
            x = x operator y;                        \
            memcpy(&a.lane[i], &x, sizeof x);        \
        }                                            \
        return a;                                    \
    }

VEC_BINARY(sub, x - y)
VEC_BINARY(div, x / y)
VEC_BITS(and, &)
VEC_BITS(or, |)
VEC_BITS(xor, ^)
VEC_UNARY(sqrt, sqrtf(x))
VEC_UNARY(ceil, ceilf(x))
VEC_UNARY(floor, floorf(x))
VEC_UNARY(round, rintf(x))
VEC_UNARY(exp, Sleef_finz_expf1_u10purecfma(x))
VEC_UNARY(expm1, Sleef_finz_expm1f1_u10purecfma(x))
VEC_UNARY(log, Sleef_finz_logf1_u10purecfma(x))
VEC_UNARY(log1p, Sleef_finz_log1pf1_u10purecfma(x))
VEC_UNARY(sin, Sleef_finz_sinf1_u10purecfma(x))
VEC_UNARY(cos, Sleef_finz_cosf1_u10purecfma(x))
VEC_UNARY(tanh, Sleef_finz_tanhf1_u10purecfma(x))
VEC_UNARY(erf, Sleef_finz_erff1_u10purecfma(x))
VEC_BINARY(pow, Sleef_finz_powf1_u10purecfma(x, y))

#undef VEC_UNARY
#undef VEC_BINARY
#undef VEC_BITS

/* yes where a == b (false for a NaN), else no. */
static inline vec_t vec_select_equal(vec_t a, vec_t b, vec_t yes, vec_t no)
{
    for (int i = 0; i < VEC_LANES; i++) {
        no.lane[i] = a.lane[i] == b.lane[i] ? yes.lane[i] : no.lane[i];
    }
    return no;
}

/* Lane i from lane i + by, a power of two below VEC_LANES; lanes that have
 * none hold anything. */
static inline vec_t vec_down(vec_t a, int by)
{
    for (int i = 0; i + by < VEC_LANES; i++) {
        a.lane[i] = a.lane[i + by];
    }
    return a;
}

static inline float vec_first(vec_t a)
{
    return a.lane[0];
}

/* Lane i from from[i * step]. */
static inline vec_t vec_load_step(const float *from, int64_t step)
{
    vec_t r;

    for (int i = 0; i < VEC_LANES; i++) {
        r.lane[i] = from[i * step];
    }
    return r;
}

#endif
