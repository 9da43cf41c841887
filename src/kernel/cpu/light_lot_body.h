/*
 * exp and erf of several vectors at once, inlined: SLEEF's are long chains in
 * which each operation waits for the one before it, so that a call at a time
 * leaves most of a core idle. These are the same operations on the same
 * numbers in the same order as Sleef_finz_expf and Sleef_finz_erff of 1.0 ulp
 * (the polynomials are those of SLEEF, which is under the Boost Software
 * License 1.0: https://sleef.org), and so give the same bits; the tests compare
 * them with the library, which stays the definition. Where the parts of a sum
 * lie in a known order, or nothing can be lost, shorter ways give the same
 * numbers; results that are not taken are not computed.
 *
 * The including file has included its light_vec_*.h, which defines
 * VEC_LOT, the number of vectors: what the registers hold.
 */
#ifndef ISO_LIGHT_LOT_H
#define ISO_LIGHT_LOT_H

#include "kernel/cpu/light_math_body.h"

#include <math.h>

#define LOT_INLINE static inline __attribute__((always_inline))

typedef struct lot {
    vec_t v[VEC_LOT];
} lot_t;

typedef struct lot_int {
    vec_int_t v[VEC_LOT];
} lot_int_t;

/* name(a, b): expr of the vectors number i. */
#define LOT_1(name, expr)                   \
    LOT_INLINE lot_t lot_##name(lot_t a)    \
    {                                       \
        lot_t r;                            \
                                            \
        for (int i = 0; i < VEC_LOT; i++) { \
            r.v[i] = (expr);                \
        }                                   \
        return r;                           \
    }
#define LOT_2(name, expr)                         \
    LOT_INLINE lot_t lot_##name(lot_t a, lot_t b) \
    {                                             \
        lot_t r;                                  \
                                                  \
        for (int i = 0; i < VEC_LOT; i++) {       \
            r.v[i] = (expr);                      \
        }                                         \
        return r;                                 \
    }
#define LOT_3(name, expr)                                  \
    LOT_INLINE lot_t lot_##name(lot_t a, lot_t b, lot_t c) \
    {                                                      \
        lot_t r;                                           \
                                                           \
        for (int i = 0; i < VEC_LOT; i++) {                \
            r.v[i] = (expr);                               \
        }                                                  \
        return r;                                          \
    }

LOT_1(abs, vec_abs(a.v[i]))
LOT_1(neg, vec_neg(a.v[i]))
LOT_2(add, vec_add(a.v[i], b.v[i]))
LOT_2(sub, vec_sub(a.v[i], b.v[i]))
LOT_2(mul, vec_mul(a.v[i], b.v[i]))
LOT_3(fma, vec_fma(a.v[i], b.v[i], c.v[i]))
/* a b - c */
LOT_3(fms, vec_fms(a.v[i], b.v[i], c.v[i]))

LOT_INLINE lot_t lot_of(float value)
{
    lot_t r;

    for (int i = 0; i < VEC_LOT; i++) {
        r.v[i] = vec_set(value);
    }
    return r;
}

LOT_INLINE lot_t lot_if_less(lot_t a, float b, lot_t yes, lot_t no)
{
    for (int i = 0; i < VEC_LOT; i++) {
        no.v[i] = vec_select_less(a.v[i], vec_set(b), yes.v[i], no.v[i]);
    }
    return no;
}

LOT_INLINE lot_int_t lot_to_int(lot_t a)
{
    lot_int_t r;

    for (int i = 0; i < VEC_LOT; i++) {
        r.v[i] = vec_to_int(a.v[i]);
    }
    return r;
}

LOT_INLINE lot_t lot_from_int(lot_int_t a)
{
    lot_t r;

    for (int i = 0; i < VEC_LOT; i++) {
        r.v[i] = vec_from_int(a.v[i]);
    }
    return r;
}

/* a 2^q in two steps, so that it may pass the ends of the range. */
LOT_INLINE lot_t lot_scale(lot_t a, lot_int_t q)
{
    for (int i = 0; i < VEC_LOT; i++) {
        const vec_int_t half = vec_int_half(q.v[i]);

        a.v[i] = vec_mul(a.v[i], vec_power_of_2(half));
        a.v[i] = vec_mul(a.v[i], vec_power_of_2(vec_int_sub(q.v[i], half)));
    }
    return a;
}

/* ---- exp ---- */

static const float log2_of_e = 0x1.715476p+0F;
static const float ln2_high = 0x1.62e4p-1F;
static const float ln2_low = 0x1.7f7d1cp-20F;

LOT_INLINE lot_t lot_exp(lot_t x)
{
    const lot_int_t q = lot_to_int(lot_mul(x, lot_of(log2_of_e)));
    const lot_t n = lot_from_int(q);
    lot_t s = lot_fma(n, lot_of(-ln2_high), x);
    lot_t u = lot_of(0x1.a057b4p-13F);

    s = lot_fma(n, lot_of(-ln2_low), s);
    u = lot_fma(u, s, lot_of(0x1.6d2d92p-10F));
    u = lot_fma(u, s, lot_of(0x1.11114cp-7F));
    u = lot_fma(u, s, lot_of(0x1.5554f4p-5F));
    u = lot_fma(u, s, lot_of(0x1.555556p-3F));
    u = lot_fma(u, s, lot_of(0.5F));
    u = lot_fma(u, lot_mul(s, s), s);
    u = lot_scale(lot_add(u, lot_of(1.0F)), q);
    u = lot_if_less(x, -104.0F, lot_of(0.0F), u);
    for (int i = 0; i < VEC_LOT; i++) {
        u.v[i] =
            vec_select_less(vec_set(100.0F), x.v[i], vec_set(INFINITY), u.v[i]);
    }
    return u;
}

LOT_INLINE lot_t lot_sigmoid(lot_t x)
{
    lot_t r = lot_add(lot_of(1.0F), lot_exp(lot_neg(x)));

    for (int i = 0; i < VEC_LOT; i++) {
        r.v[i] = vec_div(vec_set(1.0F), r.v[i]);
    }
    return r;
}

/* ---- Numbers in two parts ---- */

typedef struct pair {
    lot_t high;
    lot_t low;
} pair_t;

/* a + b with the part that is lost; any a and b. */
LOT_INLINE pair_t pair_sum(lot_t a, lot_t b)
{
    const lot_t sum = lot_add(a, b);
    const lot_t v = lot_sub(sum, a);

    return (pair_t){sum, lot_add(lot_sub(a, lot_sub(sum, v)), lot_sub(b, v))};
}

/* The same where b is the smaller one, or nothing is lost. */
LOT_INLINE pair_t pair_sum_less(lot_t a, lot_t b)
{
    const lot_t sum = lot_add(a, b);

    return (pair_t){sum, lot_sub(b, lot_sub(sum, a))};
}

LOT_INLINE pair_t pair_of(float high, float low)
{
    return (pair_t){lot_of(high), lot_of(low)};
}

/* a + b where b is the smaller one. */
LOT_INLINE pair_t pair_add(pair_t a, pair_t b)
{
    const pair_t sum = pair_sum_less(a.high, b.high);

    return (pair_t){sum.high, lot_add(lot_add(a.low, b.low), sum.low)};
}

/* As above for a number whose low part is none. */
LOT_INLINE pair_t pair_add_to(float a, pair_t b)
{
    const pair_t sum = pair_sum_less(lot_of(a), b.high);

    return (pair_t){sum.high, lot_add(b.low, sum.low)};
}

/* 1 + b where b is the smaller one; another order than above. */
LOT_INLINE pair_t pair_add_to_1(pair_t b)
{
    const lot_t one = lot_of(1.0F);
    const lot_t sum = lot_add(one, b.high);

    return (pair_t){sum, lot_add(lot_add(lot_sub(one, sum), b.high), b.low)};
}

LOT_INLINE pair_t pair_mul(pair_t a, lot_t b)
{
    const lot_t high = lot_mul(a.high, b);

    return (pair_t){high, lot_fma(a.low, b, lot_fms(a.high, b, high))};
}

LOT_INLINE pair_t pair_mul_pair(pair_t a, pair_t b)
{
    const lot_t high = lot_mul(a.high, b.high);
    lot_t low = lot_fms(a.high, b.high, high);

    low = lot_fma(a.low, b.high, low);
    return (pair_t){high, lot_fma(a.high, b.low, low)};
}

LOT_INLINE pair_t pair_square(pair_t a)
{
    const lot_t high = lot_mul(a.high, a.high);

    return (pair_t){high, lot_fma(a.low, lot_add(a.high, a.high),
                                  lot_fms(a.high, a.high, high))};
}

/* ---- erf ---- */

/* |x| from here on is done by erf_large. */
static const float erf_large_from = 1.1F;

LOT_INLINE lot_t with_sign_of(lot_t x, lot_t r)
{
    for (int i = 0; i < VEC_LOT; i++) {
        r.v[i] = vec_xor(r.v[i], vec_and(x.v[i], vec_set(-0.0F)));
    }
    return r;
}

/* A polynomial in x, times x, as a pair. */
LOT_INLINE pair_t times_polynomial(lot_t x, const lot_t c[5])
{
    lot_t t = lot_fma(x, c[0], c[1]);
    lot_t high;

    t = lot_fma(x, t, c[2]);
    t = lot_fma(x, t, c[3]);
    t = lot_fma(x, t, c[4]);
    high = lot_mul(x, t);
    return (pair_t){high, lot_fms(x, t, high)};
}

/* Of |x| below 1.1, and of what is no number. */
LOT_INLINE lot_t erf_small(lot_t x)
{
    const lot_t a = lot_abs(x);
    const lot_t square = lot_mul(a, a);
    const lot_t c[5] = {lot_of(0x1.2958b2p-14F), lot_of(-0x1.974882p-11F),
                        lot_of(0x1.52217p-8F), lot_of(-0x1.b7b5f2p-6F),
                        lot_of(0x1.ce28b8p-4F)};
    pair_t sum = times_polynomial(square, c);

    sum = pair_mul(pair_add(pair_of(-0x1.812724p-2F, -0x1.09a282p-28F), sum),
                   square);
    sum = pair_mul(pair_add(pair_of(0x1.20dd74p+0F, 0x1.cd2f54p-25F), sum), a);
    return with_sign_of(x, lot_add(sum.high, sum.low));
}

/* A coefficient of the polynomial for |x| below 2.4, and above. */
LOT_INLINE lot_t coefficient(lot_t a, float middle, float large)
{
    return lot_if_less(a, 2.4F, lot_of(middle), lot_of(large));
}

/* The logarithm of what erf a lacks to 1. */
LOT_INLINE pair_t log_of_rest(lot_t a)
{
    const lot_t c[5] = {coefficient(a, -0x1.2cc28p-16F, -0x1.3e9ffp-17F),
                        coefficient(a, 0x1.9ce408p-12F, 0x1.043358p-12F),
                        coefficient(a, -0x1.02d044p-8F, -0x1.7e7dc4p-9F),
                        coefficient(a, 0x1.90aaa4p-6F, 0x1.51765cp-6F),
                        coefficient(a, -0x1.b6ae16p-4F, -0x1.9594f2p-4F)};
    pair_t sum = times_polynomial(a, c);
    pair_t c_pair = {coefficient(a, -0x1.44e8d6p-1F, -0x1.4985bp-1F),
                     coefficient(a, -0x1.2a3f94p-27F, 0x1.f48282p-26F)};
    lot_t low;

    sum = pair_mul(pair_add(c_pair, sum), a);
    c_pair.high = coefficient(a, -0x1.20f8f2p+0F, -0x1.1fe6c2p+0F);
    c_pair.low = coefficient(a, 0x1.88f16cp-25F, -0x1.6e4cfp-25F);
    low = lot_add(c_pair.low, sum.low);
    sum = pair_sum(c_pair.high, sum.high); /* either may be the greater one */
    return pair_mul((pair_t){sum.high, lot_add(low, sum.low)}, a);
}

/* e^d for d from -17 to -2: nothing is lost when the multiple of log 2 is
 * taken off, and 2^q is a normal number. */
LOT_INLINE pair_t pair_exp(pair_t d)
{
    const lot_int_t q =
        lot_to_int(lot_mul(lot_add(d.high, d.low), lot_of(log2_of_e)));
    const lot_t n = lot_from_int(q);
    pair_t s = pair_sum(lot_fma(n, lot_of(-ln2_high), d.high),
                        lot_mul(n, lot_of(-ln2_low)));
    lot_t u = lot_of(0x1.9f6ffep-13F);
    pair_t t;

    s.low = lot_add(d.low, s.low);
    u = lot_fma(u, s.high, lot_of(0x1.6d7ef8p-10F));
    u = lot_fma(u, s.high, lot_of(0x1.11121ap-7F));
    u = lot_fma(u, s.high, lot_of(0x1.5554b8p-5F));
    t = pair_add_to(0x1.555554p-3F, pair_mul(s, u));
    t = pair_add_to(0.5F, pair_mul_pair(t, s));
    t = pair_add_to_1(pair_add(s, pair_mul_pair(pair_square(s), t)));
    for (int i = 0; i < VEC_LOT; i++) {
        const vec_t power = vec_power_of_2(q.v[i]);

        t.high.v[i] = vec_mul(t.high.v[i], power);
        t.low.v[i] = vec_mul(t.low.v[i], power);
    }
    return t;
}

LOT_INLINE lot_t erf_large(lot_t x)
{
    const lot_t a = lot_abs(x);
    const pair_t e = pair_exp(log_of_rest(a));
    const pair_t rest =
        pair_add_to_1((pair_t){lot_neg(e.high), lot_neg(e.low)});

    return with_sign_of(
        x, lot_if_less(a, 4.0F, lot_add(rest.high, rest.low), lot_of(1.0F)));
}

#endif
