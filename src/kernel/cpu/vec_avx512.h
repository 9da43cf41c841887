/* Vectors of 16 floats: AVX-512. See vec_portable.h for what each means. */
#ifndef ISO_VEC_AVX512_H
#define ISO_VEC_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VEC_LANES = 16 };

typedef __m512 vec_t;
typedef __mmask16 vec_mask_t;

static inline vec_t vec_zero(void)
{
    return _mm512_setzero_ps();
}

static inline vec_t vec_set(float value)
{
    return _mm512_set1_ps(value);
}

static inline vec_t vec_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void vec_store(float *to, vec_t a)
{
    _mm512_storeu_ps(to, a);
}

static inline void vec_stream(float *to, vec_t a)
{
    _mm512_stream_ps(to, a);
}

static inline void vec_stream_end(void)
{
    _mm_sfence();
}

static inline vec_mask_t vec_mask(uint32_t bits)
{
    return (vec_mask_t)bits;
}

static inline vec_t vec_load_masked(vec_t rest, vec_mask_t mask,
                                    const float *from)
{
    return _mm512_mask_loadu_ps(rest, mask, from);
}

/* Bit i to bit 2 i. */
static inline uint32_t vec_spread(uint32_t bits)
{
    bits = (bits | bits << 8) & 0x00ff00ffU;
    bits = (bits | bits << 4) & 0x0f0f0f0fU;
    bits = (bits | bits << 2) & 0x33333333U;
    return (bits | bits << 1) & 0x55555555U;
}

static inline vec_t vec_load_masked_2(vec_t rest, uint32_t mask,
                                      const float *from)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                                           20, 22, 24, 26, 28, 30);
    const uint32_t wide = vec_spread(mask);
    const vec_t low = _mm512_maskz_loadu_ps((__mmask16)(wide & 0xffffU), from);
    const vec_t high =
        _mm512_maskz_loadu_ps((__mmask16)(wide >> 16), from + 16);

    return _mm512_mask_blend_ps((__mmask16)mask, rest,
                                _mm512_permutex2var_ps(low, even, high));
}

static inline void vec_store_masked(float *to, vec_mask_t mask, vec_t a)
{
    _mm512_mask_storeu_ps(to, mask, a);
}

static inline vec_t vec_add(vec_t a, vec_t b)
{
    return _mm512_add_ps(a, b);
}

static inline vec_t vec_mul(vec_t a, vec_t b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec_t vec_fma(vec_t a, vec_t b, vec_t c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec_t vec_select_less(vec_t a, vec_t b, vec_t yes, vec_t no)
{
    const __mmask16 less = _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);

    return _mm512_mask_blend_ps(less, no, yes);
}

static inline vec_t vec_select_nan(vec_t a, vec_t yes, vec_t no)
{
    const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);

    return _mm512_mask_blend_ps(nan, no, yes);
}

/* 4 x 4 transposes within each quarter of 4 rows. */
static inline void vec_transpose_quarters(vec_t r[4])
{
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
    const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
    const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
    const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));

    r[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    r[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    r[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    r[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
}

static inline void vec_transpose(vec_t rows[VEC_LANES])
{
    vec_t out[VEC_LANES];

    for (int i = 0; i < 4; i++) {
        vec_transpose_quarters(&rows[4 * (ptrdiff_t)i]);
    }
    for (int i = 0; i < 4; i++) {
        const vec_t a = _mm512_shuffle_f32x4(rows[i], rows[4 + i], 0x88);
        const vec_t b = _mm512_shuffle_f32x4(rows[i], rows[4 + i], 0xdd);
        const vec_t c = _mm512_shuffle_f32x4(rows[8 + i], rows[12 + i], 0x88);
        const vec_t d = _mm512_shuffle_f32x4(rows[8 + i], rows[12 + i], 0xdd);

        out[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        out[4 + i] = _mm512_shuffle_f32x4(b, d, 0x88);
        out[8 + i] = _mm512_shuffle_f32x4(a, c, 0xdd);
        out[12 + i] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
    for (int i = 0; i < VEC_LANES; i++) {
        rows[i] = out[i];
    }
}

static inline vec_t vec_positive(vec_t x)
{
    return _mm512_max_ps(_mm512_setzero_ps(), x);
}

typedef __mmask16 vec_nan_t;

static inline vec_nan_t vec_no_nan(void)
{
    return 0;
}

static inline vec_nan_t vec_find_nan(vec_nan_t found, vec_t a, vec_t b)
{
    return _kor_mask16(found, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q));
}

static inline bool vec_found_nan(vec_nan_t found)
{
    return found != 0;
}

#endif
