#include "kernel/cpu/vec_portable.h"

static inline vec_t vec_most(vec_t a, vec_t b)
{
    return vec_select_less(b, a, a, b);
}

static inline vec_t vec_least(vec_t a, vec_t b)
{
    return vec_select_less(a, b, a, b);
}

static inline vec_t vec_hold(vec_t a)
{
    return a;
}

#define DEPTHWISE_TABLE iso__depthwise_portable
#define DEPTHWISE_TILE  2
#include "kernel/cpu/depthwise/depthwise_body.h"
