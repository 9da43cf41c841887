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

typedef struct vec_choice {
    int depth;
    int c;
} vec_choice_t;

static inline vec_choice_t vec_choice(int depth, int c)
{
    return (vec_choice_t){depth, c};
}

static inline vec_t vec_choose(vec_t a, vec_choice_t choice)
{
    vec_t chosen;

    for (int i = 0; i < VEC_LANES; i++) {
        chosen.lane[i] = a.lane[i / choice.depth * choice.depth + choice.c];
    }
    return chosen;
}

#define DEPTHWISE_TABLE iso__depthwise_portable
#define DEPTHWISE_TILE  2
#include "kernel/cpu/depthwise/depthwise_body.h"
