#include "kernel/cpu/vec_avx512.h"

static inline vec_t vec_most(vec_t a, vec_t b)
{
    return _mm512_max_ps(a, b);
}

static inline vec_t vec_least(vec_t a, vec_t b)
{
    return _mm512_min_ps(a, b);
}

static inline vec_t vec_hold(vec_t a)
{
    __asm__("" : "+v"(a));
    return a;
}

typedef __m512i vec_choice_t;

static inline vec_choice_t vec_choice(int depth, int c)
{
    const __m512i lanes =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    return _mm512_or_si512(_mm512_and_si512(lanes, _mm512_set1_epi32(-depth)),
                           _mm512_set1_epi32(c));
}

static inline vec_t vec_choose(vec_t a, vec_choice_t choice)
{
    return _mm512_permutexvar_ps(choice, a);
}

#define DEPTHWISE_TABLE iso__depthwise_avx512
#define DEPTHWISE_TILE  14
#include "kernel/cpu/depthwise/depthwise_body.h"
