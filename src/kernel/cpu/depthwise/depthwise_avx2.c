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

#define DEPTHWISE_TABLE iso__depthwise_avx2
#define DEPTHWISE_TILE  8
#include "kernel/cpu/depthwise/depthwise_body.h"
