/* Vectors of 8 floats: AVX2 and FMA. See vec_portable.h for what each means. */
#ifndef ISO_VEC_AVX2_H
#define ISO_VEC_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { VEC_LANES = 8 };

typedef __m256 vec_t;
typedef __m256i vec_mask_t;

static inline vec_t vec_zero(void)
{
    return _mm256_setzero_ps();
}

static inline vec_t vec_set(float value)
{
    return _mm256_set1_ps(value);
}

static inline vec_t vec_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline void vec_store(float *to, vec_t a)
{
    _mm256_storeu_ps(to, a);
}

/* A vector is half a line. */
static inline void vec_stream(float *to, vec_t a)
{
    vec_store(to, a);
}

static inline void vec_stream_end(void)
{
}

static inline vec_mask_t vec_mask(uint32_t bits)
{
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i all = _mm256_set1_epi32((int)bits);

    return _mm256_cmpeq_epi32(_mm256_and_si256(all, lane), lane);
}

static inline vec_t vec_load_masked(vec_t rest, vec_mask_t mask,
                                    const float *from)
{
    return _mm256_blendv_ps(rest, _mm256_maskload_ps(from, mask),
                            _mm256_castsi256_ps(mask));
}

/* Bit i to bit 2 i. */
static inline uint32_t vec_spread(uint32_t bits)
{
    bits = (bits | bits << 4) & 0x0f0fU;
    bits = (bits | bits << 2) & 0x3333U;
    return (bits | bits << 1) & 0x5555U;
}

static inline vec_t vec_load_masked_2(vec_t rest, uint32_t mask,
                                      const float *from)
{
    const uint32_t wide = vec_spread(mask);
    const vec_t low = _mm256_maskload_ps(from, vec_mask(wide & 0xffU));
    const vec_t high = _mm256_maskload_ps(from + 8, vec_mask(wide >> 8));
    const __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0x88));
    const vec_t even = _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xd8));

    return _mm256_blendv_ps(rest, even, _mm256_castsi256_ps(vec_mask(mask)));
}

static inline void vec_store_masked(float *to, vec_mask_t mask, vec_t a)
{
    _mm256_maskstore_ps(to, mask, a);
}

static inline vec_t vec_add(vec_t a, vec_t b)
{
    return _mm256_add_ps(a, b);
}

static inline vec_t vec_mul(vec_t a, vec_t b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec_t vec_fma(vec_t a, vec_t b, vec_t c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec_t vec_select_less(vec_t a, vec_t b, vec_t yes, vec_t no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

static inline vec_t vec_select_nan(vec_t a, vec_t yes, vec_t no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

/* 4 x 4 transposes within each half of 4 rows. */
static inline void vec_transpose_halves(vec_t r[4])
{
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1]));
    const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1]));
    const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
    const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));

    r[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    r[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    r[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    r[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
}

static inline void vec_transpose(vec_t rows[VEC_LANES])
{
    vec_transpose_halves(rows);
    vec_transpose_halves(rows + 4);
    for (int i = 0; i < 4; i++) {
        const vec_t a = rows[i];
        const vec_t b = rows[4 + i];

        rows[i] = _mm256_permute2f128_ps(a, b, 0x20);
        rows[4 + i] = _mm256_permute2f128_ps(a, b, 0x31);
    }
}

static inline vec_t vec_positive(vec_t x)
{
    return _mm256_max_ps(_mm256_setzero_ps(), x);
}

typedef __m256 vec_nan_t;

static inline vec_nan_t vec_no_nan(void)
{
    return _mm256_setzero_ps();
}

static inline vec_nan_t vec_find_nan(vec_nan_t found, vec_t a, vec_t b)
{
    return _mm256_or_ps(found, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

static inline bool vec_found_nan(vec_nan_t found)
{
    return _mm256_movemask_ps(found) != 0;
}

#endif
