/*
 * The exact functions in f32, operation by operation: the bits of SLEEF's
 * deterministic ones (kernel/sleef.h). Plain C, compiled for the GPU, where
 * add, mul, div, fma and sqrt round as IEEE-754 says, and by a test for the
 * CPU, which compares with the library.
 *
 * ISO_EXACT is what stands before each function ("static inline" in C).
 */
#ifndef ISO_CUDA_EXACT_H
#define ISO_CUDA_EXACT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef ISO_EXACT
#define ISO_EXACT static inline
#endif

ISO_EXACT uint32_t iso__exact_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ISO_EXACT float iso__exact_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* r with its sign flipped where x is negative. */
ISO_EXACT float iso__exact_sign(float r, float x)
{
    return iso__exact_of_bits(iso__exact_bits(r) ^
                              (iso__exact_bits(x) & UINT32_C(0x80000000)));
}

/* 2^q where that is a normal number. */
ISO_EXACT float iso__exact_power_of_2(int32_t q)
{
    return iso__exact_of_bits(((uint32_t)q + 127) << 23);
}

/* To the nearest whole number, to even; what does not fit: the least. */
ISO_EXACT int32_t iso__exact_rint(float x)
{
    if (!(x >= -2147483648.0F && x < 2147483648.0F)) {
        return INT32_MIN;
    }
    return (int32_t)rintf(x);
}

/* a 2^q in two steps, so that it may pass the ends of the range. */
ISO_EXACT float iso__exact_scale(float a, int32_t q)
{
    const int32_t half = q >> 1;

    return a * iso__exact_power_of_2(half) * iso__exact_power_of_2(q - half);
}

/* ---- exp ---- */

#define ISO__LOG2_OF_E 0x1.715476p+0F
#define ISO__LN2_HIGH  0x1.62e4p-1F
#define ISO__LN2_LOW   0x1.7f7d1cp-20F

ISO_EXACT float iso__exact_exp(float x)
{
    const int32_t q = iso__exact_rint(x * ISO__LOG2_OF_E);
    const float n = (float)q;
    float s = fmaf(n, -ISO__LN2_HIGH, x);
    float u = 0x1.a057b4p-13F;

    if (x < -104.0F) {
        return 0.0F;
    }
    if (x > 100.0F) {
        return INFINITY;
    }
    s = fmaf(n, -ISO__LN2_LOW, s);
    u = fmaf(u, s, 0x1.6d2d92p-10F);
    u = fmaf(u, s, 0x1.11114cp-7F);
    u = fmaf(u, s, 0x1.5554f4p-5F);
    u = fmaf(u, s, 0x1.555556p-3F);
    u = fmaf(u, s, 0.5F);
    u = fmaf(u, s * s, s);
    return iso__exact_scale(u + 1.0F, q);
}

/* ---- Numbers in two parts ---- */

typedef struct iso__pair {
    float high;
    float low;
} iso__pair_t;

ISO_EXACT iso__pair_t iso__pair_of(float high, float low)
{
    iso__pair_t r;

    r.high = high;
    r.low = low;
    return r;
}

/* a + b with the part that is lost; any a and b. */
ISO_EXACT iso__pair_t iso__pair_sum(float a, float b)
{
    const float sum = a + b;
    const float v = sum - a;

    return iso__pair_of(sum, (a - (sum - v)) + (b - v));
}

/* The same where b is the smaller one, or nothing is lost. */
ISO_EXACT iso__pair_t iso__pair_sum_less(float a, float b)
{
    const float sum = a + b;

    return iso__pair_of(sum, b - (sum - a));
}

/* a + b where b is the smaller one. */
ISO_EXACT iso__pair_t iso__pair_add(iso__pair_t a, iso__pair_t b)
{
    const iso__pair_t sum = iso__pair_sum_less(a.high, b.high);

    return iso__pair_of(sum.high, (a.low + b.low) + sum.low);
}

/* As above for a number whose low part is none. */
ISO_EXACT iso__pair_t iso__pair_add_to(float a, iso__pair_t b)
{
    const iso__pair_t sum = iso__pair_sum_less(a, b.high);

    return iso__pair_of(sum.high, b.low + sum.low);
}

/* 1 + b where b is the smaller one; another order than above. */
ISO_EXACT iso__pair_t iso__pair_add_to_1(iso__pair_t b)
{
    const float sum = 1.0F + b.high;

    return iso__pair_of(sum, ((1.0F - sum) + b.high) + b.low);
}

ISO_EXACT iso__pair_t iso__pair_mul(iso__pair_t a, float b)
{
    const float high = a.high * b;

    return iso__pair_of(high, fmaf(a.low, b, fmaf(a.high, b, -high)));
}

ISO_EXACT iso__pair_t iso__pair_mul_pair(iso__pair_t a, iso__pair_t b)
{
    const float high = a.high * b.high;
    const float low = fmaf(a.low, b.high, fmaf(a.high, b.high, -high));

    return iso__pair_of(high, fmaf(a.high, b.low, low));
}

ISO_EXACT iso__pair_t iso__pair_square(iso__pair_t a)
{
    const float high = a.high * a.high;

    return iso__pair_of(
        high, fmaf(a.low, a.high + a.high, fmaf(a.high, a.high, -high)));
}

/* The two parts of e^(x.high + x.low) before the power of two. */
ISO_EXACT iso__pair_t iso__pair_exp_part(iso__pair_t d, int32_t *q_out)
{
    const int32_t q = iso__exact_rint((d.high + d.low) * ISO__LOG2_OF_E);
    const float n = (float)q;
    iso__pair_t s =
        iso__pair_sum(fmaf(n, -ISO__LN2_HIGH, d.high), n * -ISO__LN2_LOW);
    float u = 0x1.9f6ffep-13F;
    iso__pair_t t;

    s.low = d.low + s.low;
    u = fmaf(u, s.high, 0x1.6d7ef8p-10F);
    u = fmaf(u, s.high, 0x1.11121ap-7F);
    u = fmaf(u, s.high, 0x1.5554b8p-5F);
    t = iso__pair_add_to(0x1.555554p-3F, iso__pair_mul(s, u));
    t = iso__pair_add_to(0.5F, iso__pair_mul_pair(t, s));
    *q_out = q;
    return iso__pair_add_to_1(
        iso__pair_add(s, iso__pair_mul_pair(iso__pair_square(s), t)));
}

/* ---- erf ---- */

/* c[0] x^5 + ... + c[4] x, as a pair. */
ISO_EXACT iso__pair_t iso__pair_polynomial(float x, float c0, float c1,
                                           float c2, float c3, float c4)
{
    const float t = fmaf(x, fmaf(x, fmaf(x, fmaf(x, c0, c1), c2), c3), c4);
    const float high = x * t;

    return iso__pair_of(high, fmaf(x, t, -high));
}

/* Of |x| below 1.1, and of what is no number. */
ISO_EXACT float iso__exact_erf_small(float x)
{
    const float a = fabsf(x);
    const float square = a * a;
    iso__pair_t sum =
        iso__pair_polynomial(square, 0x1.2958b2p-14F, -0x1.974882p-11F,
                             0x1.52217p-8F, -0x1.b7b5f2p-6F, 0x1.ce28b8p-4F);

    sum = iso__pair_mul(
        iso__pair_add(iso__pair_of(-0x1.812724p-2F, -0x1.09a282p-28F), sum),
        square);
    sum = iso__pair_mul(
        iso__pair_add(iso__pair_of(0x1.20dd74p+0F, 0x1.cd2f54p-25F), sum), a);
    return iso__exact_sign(sum.high + sum.low, x);
}

/* The logarithm of what erf a lacks to 1. */
ISO_EXACT iso__pair_t iso__pair_log_of_rest(float a)
{
    const int middle = a < 2.4F;
    iso__pair_t sum =
        iso__pair_polynomial(a, middle ? -0x1.2cc28p-16F : -0x1.3e9ffp-17F,
                             middle ? 0x1.9ce408p-12F : 0x1.043358p-12F,
                             middle ? -0x1.02d044p-8F : -0x1.7e7dc4p-9F,
                             middle ? 0x1.90aaa4p-6F : 0x1.51765cp-6F,
                             middle ? -0x1.b6ae16p-4F : -0x1.9594f2p-4F);
    const iso__pair_t c =
        iso__pair_of(middle ? -0x1.44e8d6p-1F : -0x1.4985bp-1F,
                     middle ? -0x1.2a3f94p-27F : 0x1.f48282p-26F);
    float low;

    sum = iso__pair_mul(iso__pair_add(c, sum), a);
    low = (middle ? 0x1.88f16cp-25F : -0x1.6e4cfp-25F) + sum.low;
    /* Either may be the greater one. */
    sum = iso__pair_sum(middle ? -0x1.20f8f2p+0F : -0x1.1fe6c2p+0F, sum.high);
    return iso__pair_mul(iso__pair_of(sum.high, low + sum.low), a);
}

ISO_EXACT float iso__exact_erf_large(float x)
{
    const float a = fabsf(x);
    int32_t q = 0;
    iso__pair_t e = iso__pair_exp_part(iso__pair_log_of_rest(a), &q);
    const float power = iso__exact_power_of_2(q);

    e = iso__pair_add_to_1(iso__pair_of(-(e.high * power), -(e.low * power)));
    return iso__exact_sign(a < 4.0F ? e.high + e.low : 1.0F, x);
}

ISO_EXACT float iso__exact_erf(float x)
{
    return fabsf(x) >= 1.1F ? iso__exact_erf_large(x) : iso__exact_erf_small(x);
}

/* ---- More on numbers in two parts ---- */

/* a + b where b is the smaller one; another order than iso__pair_add. */
ISO_EXACT iso__pair_t iso__pair_add_less(iso__pair_t a, iso__pair_t b)
{
    const float sum = a.high + b.high;

    return iso__pair_of(sum, (((a.high - sum) + b.high) + a.low) + b.low);
}

ISO_EXACT iso__pair_t iso__pair_add_any(iso__pair_t a, iso__pair_t b)
{
    const iso__pair_t sum = iso__pair_sum(a.high, b.high);

    return iso__pair_of(sum.high, sum.low + (a.low + b.low));
}

ISO_EXACT iso__pair_t iso__pair_add_float(iso__pair_t a, float b)
{
    const iso__pair_t sum = iso__pair_sum(a.high, b);

    return iso__pair_of(sum.high, sum.low + a.low);
}

ISO_EXACT iso__pair_t iso__pair_twice(iso__pair_t a)
{
    return iso__pair_of(2.0F * a.high, 2.0F * a.low);
}

ISO_EXACT iso__pair_t iso__pair_div(iso__pair_t a, iso__pair_t b)
{
    const float t = 1.0F / b.high;
    const float high = a.high * t;
    const float lost = fmaf(t, a.high, -high);
    const float rest = fmaf(-b.low, t, fmaf(-b.high, t, 1.0F));

    return iso__pair_of(high, fmaf(high, rest, fmaf(a.low, t, lost)));
}

ISO_EXACT iso__pair_t iso__pair_reciprocal(iso__pair_t a)
{
    const float high = 1.0F / a.high;

    return iso__pair_of(high,
                        high * fmaf(-a.low, high, fmaf(-a.high, high, 1.0F)));
}

/* e^d. */
ISO_EXACT iso__pair_t iso__pair_exp(iso__pair_t d)
{
    const int32_t q = iso__exact_rint((d.high + d.low) * ISO__LOG2_OF_E);
    const float n = (float)q;
    iso__pair_t s = iso__pair_add_float(d, n * -ISO__LN2_HIGH);
    float u = 0x1.9f6ffep-13F;
    iso__pair_t t;

    if (d.high < -104.0F) {
        return iso__pair_of(0.0F, 0.0F);
    }
    s = iso__pair_add_float(s, n * -ISO__LN2_LOW);
    u = fmaf(u, s.high, 0x1.6d7ef8p-10F);
    u = fmaf(u, s.high, 0x1.11121ap-7F);
    u = fmaf(u, s.high, 0x1.5554b8p-5F);
    t = iso__pair_add_float(iso__pair_mul(s, u), 0x1.555554p-3F);
    t = iso__pair_add_float(iso__pair_mul_pair(s, t), 0.5F);
    t = iso__pair_add_any(s, iso__pair_mul_pair(iso__pair_square(s), t));
    t = iso__pair_add_to_1(t);
    return iso__pair_of(iso__exact_scale(t.high, q),
                        iso__exact_scale(t.low, q));
}

/* ---- expm1, tanh ---- */

ISO_EXACT float iso__exact_expm1(float x)
{
    const iso__pair_t e =
        iso__pair_add_float(iso__pair_exp(iso__pair_of(x, 0.0F)), -1.0F);

    if (x > 88.72283172607421875F) {
        return INFINITY;
    }
    if (x < -16.635532333438687426013570F) {
        return -1.0F;
    }
    return iso__exact_bits(x) == UINT32_C(0x80000000) ? x : e.high + e.low;
}

ISO_EXACT float iso__exact_tanh(float x)
{
    const iso__pair_t e = iso__pair_exp(iso__pair_of(fabsf(x), 0.0F));
    const iso__pair_t r = iso__pair_reciprocal(e);
    const iso__pair_t t =
        iso__pair_div(iso__pair_add_less(e, iso__pair_of(-r.high, -r.low)),
                      iso__pair_add_less(e, r));
    const float y = t.high + t.low;

    if (x != x) {
        return x;
    }
    return iso__exact_sign(fabsf(x) > 8.664339742F || y != y ? 1.0F : y, x);
}

/* ---- log, log1p ---- */

ISO_EXACT int32_t iso__exact_exponent(float x)
{
    return (int32_t)(iso__exact_bits(x) >> 23 & 0xff) - 0x7f;
}

/* x 2^q by its exponent. */
ISO_EXACT float iso__exact_shift(float x, int32_t q)
{
    return iso__exact_of_bits(iso__exact_bits(x) + ((uint32_t)q << 23));
}

/* q log 2 */
ISO_EXACT iso__pair_t iso__pair_times_ln2(int32_t q)
{
    return iso__pair_mul(
        iso__pair_of(0.69314718246459960938F, -1.904654323148236017e-09F),
        (float)q);
}

/* q log 2 + log((1 + x) / (1 - x)) */
ISO_EXACT float iso__exact_log_of(int32_t q, iso__pair_t x)
{
    const float square = x.high * x.high;
    float t = 0.3027294874e+0F;
    iso__pair_t s =
        iso__pair_add_less(iso__pair_times_ln2(q), iso__pair_twice(x));

    t = fmaf(t, square, 0.3996108174e+0F);
    t = fmaf(t, square, 0.6666694880e+0F);
    s = iso__pair_add_less(s, iso__pair_of(square * x.high * t, 0.0F));
    return s.high + s.low;
}

ISO_EXACT float iso__exact_log(float x)
{
    const int is_small = x < 0x1p-126F;
    const float scaled = is_small ? x * 0x1p64F : x;
    const int32_t q = iso__exact_exponent(scaled * (1.0F / 0.75F));
    const float m = iso__exact_shift(scaled, -q);

    if (x != x || x < 0) {
        return NAN;
    }
    if (x == 0) {
        return -INFINITY;
    }
    if (x == INFINITY) {
        return INFINITY;
    }
    return iso__exact_log_of(
        is_small ? q - 64 : q,
        iso__pair_div(iso__pair_sum(-1.0F, m), iso__pair_sum(1.0F, m)));
}

ISO_EXACT float iso__exact_log1p(float x)
{
    const float next = x + 1.0F;
    const int is_small = next < 0x1p-126F;
    const float scaled = is_small ? next * 0x1p64F : next;
    const int32_t q = iso__exact_exponent(scaled * (1.0F / 0.75F));
    const float t = iso__exact_shift(1.0F, -q);
    const float m = fmaf(x, t, t - 1.0F);

    if (x != x || x < -1.0F) {
        return NAN;
    }
    if (x == -1.0F) {
        return -INFINITY;
    }
    if (x > 1e+38F) {
        return INFINITY;
    }
    if (iso__exact_bits(x) == UINT32_C(0x80000000)) {
        return x;
    }
    return iso__exact_log_of(
        is_small ? q - 64 : q,
        iso__pair_div(iso__pair_of(m, 0.0F),
                      iso__pair_of(2.0F + m, (2.0F - (2.0F + m)) + m)));
}

/* ---- pow ---- */

/* log x for x >= 0, to more places. */
ISO_EXACT iso__pair_t iso__pair_log(float x)
{
    const int is_small = x < 0x1p-126F;
    const float scaled = is_small ? x * 0x1p64F : x;
    const int32_t q = iso__exact_exponent(scaled * (1.0F / 0.75F));
    const float m = iso__exact_shift(scaled, -q);
    const iso__pair_t r =
        iso__pair_div(iso__pair_sum(-1.0F, m), iso__pair_sum(1.0F, m));
    const iso__pair_t square = iso__pair_square(r);
    const iso__pair_t c = iso__pair_of(0.66666662693023681640625F,
                                       3.69183861259614332084311e-09F);
    float t = 0.240320354700088500976562F;
    iso__pair_t s = iso__pair_times_ln2(is_small ? q - 64 : q);

    t = fmaf(t, square.high, 0.285112679004669189453125F);
    t = fmaf(t, square.high, 0.400007992982864379882812F);
    s = iso__pair_add_less(s, iso__pair_twice(r));
    return iso__pair_add_less(
        s, iso__pair_mul_pair(iso__pair_mul_pair(square, r),
                              iso__pair_add_any(iso__pair_mul(square, t), c)));
}

/* a 2^q in five steps; q wraps where a is no number or far too great. */
ISO_EXACT float iso__exact_scale_far(float a, int32_t q)
{
    int32_t m = q < 0 ? -1 : 0;
    float u;

    m = (((int32_t)((uint32_t)m + (uint32_t)q) >> 6) - m) * 16;
    q = (int32_t)((uint32_t)q - (uint32_t)m * 4);
    m += 0x7f;
    m = m < 0 ? 0 : (m > 0xff ? 0xff : m);
    u = iso__exact_of_bits((uint32_t)m << 23);
    return a * u * u * u * u * iso__exact_power_of_2(q);
}

/* e^d as one number. */
ISO_EXACT float iso__exact_exp_of(iso__pair_t d)
{
    const int32_t q = iso__exact_rint((d.high + d.low) * ISO__LOG2_OF_E);
    const float n = (float)q;
    iso__pair_t s = iso__pair_add_float(d, n * -ISO__LN2_HIGH);
    iso__pair_t t;
    float u = 0.00136324646882712841033936F;

    if (d.high < -104.0F) {
        return 0.0F;
    }
    s = iso__pair_add_float(s, n * -ISO__LN2_LOW);
    t.high = s.high + s.low;
    t.low = (s.high - t.high) + s.low;
    s = t;
    u = fmaf(u, s.high, 0.00836596917361021041870117F);
    u = fmaf(u, s.high, 0.0416710823774337768554688F);
    u = fmaf(u, s.high, 0.166665524244308471679688F);
    u = fmaf(u, s.high, 0.499999850988388061523438F);
    t = iso__pair_add_less(s, iso__pair_mul(iso__pair_square(s), u));
    t = iso__pair_add_to_1(t);
    return iso__exact_scale_far(t.high + t.low, q);
}

ISO_EXACT float iso__exact_pow(float x, float y)
{
    const int is_whole = truncf(y) == y || fabsf(y) > 16777216.0F;
    const int is_odd =
        fabsf(y) < 16777216.0F && truncf(y) == y && ((int32_t)y & 1) != 0;
    const int goes_to_0 = (x == 0 ? -y : y) < 0;
    float r;

    if (y == 0 || x == 1.0F) {
        return 1.0F;
    }
    if (x != x || y != y) {
        return NAN;
    }
    if (x == 0 || fabsf(x) == INFINITY) {
        r = goes_to_0 ? 0.0F : INFINITY;
        return is_odd ? iso__exact_sign(r, x) : r;
    }
    if (fabsf(y) == INFINITY) {
        const float grows = iso__exact_sign(fabsf(x) - 1.0F, y);

        return grows < 0 ? 0.0F : (grows == 0 ? 1.0F : INFINITY);
    }
    r = iso__exact_exp_of(iso__pair_mul(iso__pair_log(fabsf(x)), y));
    r = r != r ? INFINITY : r;
    if (x > 0) {
        return r;
    }
    return is_whole ? (is_odd ? -r : r) : NAN;
}

#endif
