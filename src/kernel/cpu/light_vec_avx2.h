/* What light ops need of a vector beyond vec_avx2.h. See
 * light_vec_portable.h for what each means. */
#ifndef ISO_LIGHT_VEC_AVX2_H
#define ISO_LIGHT_VEC_AVX2_H

#include "kernel/cpu/vec_avx2.h"
#include "kernel/sleef.h"

static inline vec_t vec_sub(vec_t a, vec_t b)
{
    return _mm256_sub_ps(a, b);
}

static inline vec_t vec_div(vec_t a, vec_t b)
{
    return _mm256_div_ps(a, b);
}

static inline vec_t vec_and(vec_t a, vec_t b)
{
    return _mm256_and_ps(a, b);
}

static inline vec_t vec_or(vec_t a, vec_t b)
{
    return _mm256_or_ps(a, b);
}

static inline vec_t vec_xor(vec_t a, vec_t b)
{
    return _mm256_xor_ps(a, b);
}

static inline vec_t vec_fms(vec_t a, vec_t b, vec_t c)
{
    return _mm256_fmsub_ps(a, b, c);
}

/* Two chains at once: 16 registers. */
enum { VEC_LOT = 2 };

typedef __m256i vec_int_t;

static inline vec_int_t vec_to_int(vec_t a)
{
    return _mm256_cvtps_epi32(a);
}

static inline vec_t vec_from_int(vec_int_t a)
{
    return _mm256_cvtepi32_ps(a);
}

static inline vec_int_t vec_int_half(vec_int_t a)
{
    return _mm256_srai_epi32(a, 1);
}

static inline vec_int_t vec_int_sub(vec_int_t a, vec_int_t b)
{
    return _mm256_sub_epi32(a, b);
}

static inline vec_t vec_power_of_2(vec_int_t a)
{
    const __m256i one = _mm256_set1_epi32(0x3f800000);

    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(a, 23), one));
}

static inline vec_t vec_sqrt(vec_t a)
{
    return _mm256_sqrt_ps(a);
}

static inline vec_t vec_ceil(vec_t a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

static inline vec_t vec_floor(vec_t a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline vec_t vec_round(vec_t a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec_t vec_exp(vec_t a)
{
    return Sleef_finz_expf8_u10avx2(a);
}

static inline vec_t vec_expm1(vec_t a)
{
    return Sleef_finz_expm1f8_u10avx2(a);
}

static inline vec_t vec_log(vec_t a)
{
    return Sleef_finz_logf8_u10avx2(a);
}

static inline vec_t vec_log1p(vec_t a)
{
    return Sleef_finz_log1pf8_u10avx2(a);
}

static inline vec_t vec_sin(vec_t a)
{
    return Sleef_finz_sinf8_u10avx2(a);
}

static inline vec_t vec_cos(vec_t a)
{
    return Sleef_finz_cosf8_u10avx2(a);
}

static inline vec_t vec_tanh(vec_t a)
{
    return Sleef_finz_tanhf8_u10avx2(a);
}

static inline vec_t vec_erf(vec_t a)
{
    return Sleef_finz_erff8_u10avx2(a);
}

static inline vec_t vec_pow(vec_t a, vec_t b)
{
    return Sleef_finz_powf8_u10avx2(a, b);
}

static inline uint32_t vec_at_least(vec_t a, vec_t b)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ));
}

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

static inline int64_t vec_unpack(float *to, uint32_t lanes, const float *from)
{
    int64_t count = 0;

    for (; lanes != 0; lanes &= lanes - 1) {
        to[__builtin_ctz(lanes)] = from[count++];
    }
    return count;
}

static inline vec_t vec_select_equal(vec_t a, vec_t b, vec_t yes, vec_t no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

static inline vec_t vec_down(vec_t a, int by)
{
    switch (by) {
    case 4:
        return _mm256_permute2f128_ps(a, a, 0x01);
    case 2:
        return _mm256_permute_ps(a, 0x0e);
    default:
        return _mm256_permute_ps(a, 0x01);
    }
}

static inline float vec_first(vec_t a)
{
    return _mm256_cvtss_f32(a);
}

static inline vec_t vec_load_step(const float *from, int64_t step)
{
    if (step == 2) { /* nothing behind the last element is read */
        const __m256 a = _mm256_loadu_ps(from);
        const __m256 b = _mm256_loadu_ps(from + 7);
        const __m256 pairs = _mm256_shuffle_ps(a, b, 0xd8);

        return _mm256_castpd_ps(
            _mm256_permute4x64_pd(_mm256_castps_pd(pairs), 0xd8));
    }
    return _mm256_setr_ps(from[0], from[step], from[2 * step], from[3 * step],
                          from[4 * step], from[5 * step], from[6 * step],
                          from[7 * step]);
}

#endif
