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

#define DEPTHWISE_TABLE iso__depthwise_avx512
#define DEPTHWISE_TILE  14
#include "kernel/cpu/depthwise/depthwise_body.h"
