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

/* a b - c, rounded once. */
static inline vec_t vec_fms(vec_t a, vec_t b, vec_t c)
{
    for (int i = 0; i < VEC_LANES; i++) {
        a.lane[i] = fmaf(a.lane[i], b.lane[i], -c.lane[i]);
    }
    return a;
}

/* Vectors that light_lot_body.h works on at once. */
enum { VEC_LOT = 2 };

typedef struct vec_int {
    int32_t lane[VEC_LANES];
} vec_int_t;

/* To the nearest, ties to even; INT32_MIN where there is none. */
static inline vec_int_t vec_to_int(vec_t a)
{
    vec_int_t r;

    for (int i = 0; i < VEC_LANES; i++) {
        const float x = a.lane[i];

        r.lane[i] = x >= -2147483648.0F && x < 2147483648.0F ? (int32_t)rintf(x)
                                                             : INT32_MIN;
    }
    return r;
}

static inline vec_t vec_from_int(vec_int_t a)
{
    vec_t r;

    for (int i = 0; i < VEC_LANES; i++) {
        r.lane[i] = (float)a.lane[i];
    }
    return r;
}

/* Rounded down. */
static inline vec_int_t vec_int_half(vec_int_t a)
{
    for (int i = 0; i < VEC_LANES; i++) {
        a.lane[i] = (a.lane[i] - (a.lane[i] & 1)) / 2;
    }
    return a;
}

static inline vec_int_t vec_int_sub(vec_int_t a, vec_int_t b)
{
    for (int i = 0; i < VEC_LANES; i++) {
        a.lane[i] -= b.lane[i];
    }
    return a;
}

/* 2^a where that is a normal number, else anything. */
static inline vec_t vec_power_of_2(vec_int_t a)
{
    vec_t r;

    for (int i = 0; i < VEC_LANES; i++) {
        const uint32_t bits =
            ((uint32_t)a.lane[i] << 23) + UINT32_C(0x3f800000);

        memcpy(&r.lane[i], &bits, sizeof bits);
    }
    return r;
}

#undef VEC_UNARY
#undef VEC_BINARY
#undef VEC_BITS

/* Bit i: lane i of a >= b; 0 for a NaN. */
static inline uint32_t vec_at_least(vec_t a, vec_t b)
{
    uint32_t lanes = 0;

    for (int i = 0; i < VEC_LANES; i++) {
        lanes |= a.lane[i] >= b.lane[i] ? UINT32_C(1) << i : 0;
    }
    return lanes;
}

/* The lanes side by side; returns how many. A vector may be written. */
static inline int64_t vec_pack(float *to, uint32_t lanes, vec_t a)
{
    float lane[VEC_LANES];
    int64_t count = 0;

    vec_store(lane, a);
    for (; lanes != 0; lanes &= lanes - 1) {
        to[count++] = lane[__builtin_ctz(lanes)];
    }
    return count;
}

/* Lanes from numbers side by side; returns how many. A vector may be read. */
static inline int64_t vec_unpack(float *to, uint32_t lanes, const float *from)
{
    int64_t count = 0;

    for (; lanes != 0; lanes &= lanes - 1) {
        to[__builtin_ctz(lanes)] = from[count++];
    }
    return count;
}

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
