/* What light ops need of a vector beyond vec_avx512.h. See
 * light_vec_portable.h for what each means. */
#ifndef ISO_LIGHT_VEC_AVX512_H
#define ISO_LIGHT_VEC_AVX512_H

#include "kernel/cpu/vec_avx512.h"
#include "kernel/sleef.h"

static inline vec_t vec_sub(vec_t a, vec_t b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec_t vec_div(vec_t a, vec_t b)
{
    return _mm512_div_ps(a, b);
}

static inline vec_t vec_and(vec_t a, vec_t b)
{
    return _mm512_and_ps(a, b);
}

static inline vec_t vec_or(vec_t a, vec_t b)
{
    return _mm512_or_ps(a, b);
}

static inline vec_t vec_xor(vec_t a, vec_t b)
{
    return _mm512_xor_ps(a, b);
}

static inline vec_t vec_fms(vec_t a, vec_t b, vec_t c)
{
    return _mm512_fmsub_ps(a, b, c);
}

/* Four chains at once: 32 registers. */
enum { VEC_LOT = 4 };

typedef __m512i vec_int_t;

static inline vec_int_t vec_to_int(vec_t a)
{
    return _mm512_cvtps_epi32(a);
}

static inline vec_t vec_from_int(vec_int_t a)
{
    return _mm512_cvtepi32_ps(a);
}

static inline vec_int_t vec_int_half(vec_int_t a)
{
    return _mm512_srai_epi32(a, 1);
}

static inline vec_int_t vec_int_sub(vec_int_t a, vec_int_t b)
{
    return _mm512_sub_epi32(a, b);
}

static inline vec_t vec_power_of_2(vec_int_t a)
{
    const __m512i one = _mm512_set1_epi32(0x3f800000);

    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_slli_epi32(a, 23), one));
}

static inline vec_t vec_sqrt(vec_t a)
{
    return _mm512_sqrt_ps(a);
}

static inline vec_t vec_ceil(vec_t a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

static inline vec_t vec_floor(vec_t a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline vec_t vec_round(vec_t a)
{
    return _mm512_roundscale_ps(a,
                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec_t vec_exp(vec_t a)
{
    return Sleef_finz_expf16_u10avx512f(a);
}

static inline vec_t vec_expm1(vec_t a)
{
    return Sleef_finz_expm1f16_u10avx512f(a);
}

static inline vec_t vec_log(vec_t a)
{
    return Sleef_finz_logf16_u10avx512f(a);
}

static inline vec_t vec_log1p(vec_t a)
{
    return Sleef_finz_log1pf16_u10avx512f(a);
}

static inline vec_t vec_sin(vec_t a)
{
    return Sleef_finz_sinf16_u10avx512f(a);
}

static inline vec_t vec_cos(vec_t a)
{
    return Sleef_finz_cosf16_u10avx512f(a);
}

static inline vec_t vec_tanh(vec_t a)
{
    return Sleef_finz_tanhf16_u10avx512f(a);
}

static inline vec_t vec_erf(vec_t a)
{
    return Sleef_finz_erff16_u10avx512f(a);
}

static inline vec_t vec_pow(vec_t a, vec_t b)
{
    return Sleef_finz_powf16_u10avx512f(a, b);
}

static inline uint32_t vec_at_least(vec_t a, vec_t b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}

static inline int64_t vec_pack(float *to, uint32_t lanes, vec_t a)
{
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)lanes, a));
    return __builtin_popcount(lanes);
}

static inline int64_t vec_unpack(float *to, uint32_t lanes, const float *from)
{
    _mm512_mask_storeu_ps(
        to, (__mmask16)lanes,
        _mm512_maskz_expand_ps((__mmask16)lanes, _mm512_loadu_ps(from)));
    return __builtin_popcount(lanes);
}

static inline vec_t vec_select_equal(vec_t a, vec_t b, vec_t yes, vec_t no)
{
    const __mmask16 equal = _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);

    return _mm512_mask_blend_ps(equal, no, yes);
}

static inline vec_t vec_down(vec_t a, int by)
{
    switch (by) {
    case 8:
        return _mm512_shuffle_f32x4(a, a, 0x0e);
    case 4:
        return _mm512_shuffle_f32x4(a, a, 0x01);
    case 2:
        return _mm512_permute_ps(a, 0x0e);
    default:
        return _mm512_permute_ps(a, 0x01);
    }
}

static inline float vec_first(vec_t a)
{
    return _mm512_cvtss_f32(a);
}

static inline vec_t vec_load_step(const float *from, int64_t step)
{
    if (step == 2) { /* nothing behind the last element is read */
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17,
                                               19, 21, 23, 25, 27, 29, 31);

        return _mm512_permutex2var_ps(_mm512_loadu_ps(from), even,
                                      _mm512_loadu_ps(from + 15));
    }

    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i at = _mm512_mullo_epi64(lane, _mm512_set1_epi64(step));
    const __m256 low = _mm512_i64gather_ps(at, from, 4);
    const __m256 high = _mm512_i64gather_ps(at, from + 8 * step, 4);

    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

#endif
