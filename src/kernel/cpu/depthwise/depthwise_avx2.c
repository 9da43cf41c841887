#include "kernel/cpu/vec_avx2.h"

static inline vec_t vec_most(vec_t a, vec_t b)
{
    return _mm256_max_ps(a, b);
}

static inline vec_t vec_least(vec_t a, vec_t b)
{
    return _mm256_min_ps(a, b);
}

static inline vec_t vec_hold(vec_t a)
{
    __asm__("" : "+x"(a));
    return a;
}

typedef __m256i vec_choice_t;

static inline vec_choice_t vec_choice(int depth, int c)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_or_si256(_mm256_and_si256(lanes, _mm256_set1_epi32(-depth)),
                           _mm256_set1_epi32(c));
}

static inline vec_t vec_choose(vec_t a, vec_choice_t choice)
{
    return _mm256_permutevar8x32_ps(a, choice);
}

#define DEPTHWISE_TABLE iso__depthwise_avx2
#define DEPTHWISE_TILE  8
#include "kernel/cpu/depthwise/depthwise_body.h"
