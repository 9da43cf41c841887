/*
 * The tree and the fold of the lanes as isotome-arithmetic(7) has them,
 * written a second time, for tests that compare the reference device.
 */
#ifndef ISO_TEST_DEFINITION_H
#define ISO_TEST_DEFINITION_H

#include "kernel/arith.h"

#include <string.h>

typedef struct definition_tree {
    int64_t pushed;
    int depth;
    float partial[ISO_TREE_DEPTH];
} definition_tree_t;

static inline void definition_tree_begin(definition_tree_t *tree)
{
    tree->pushed = 0;
    tree->depth = 0;
}

static inline void definition_tree_push(definition_tree_t *tree, float block)
{
    tree->partial[tree->depth++] = block;
    tree->pushed++;
    for (int64_t n = tree->pushed; n % 2 == 0; n /= 2) {
        tree->depth--;
        tree->partial[tree->depth - 1] += tree->partial[tree->depth];
    }
}

static inline float definition_tree_finish(const definition_tree_t *tree)
{
    if (tree->depth == 0) {
        return 0.0F;
    }

    float sum = tree->partial[tree->depth - 1];

    for (int i = tree->depth - 2; i >= 0; i--) {
        sum = tree->partial[i] + sum;
    }
    return sum + 0.0F;
}

static inline float definition_lanes_sum(const float lanes[ISO_LANES])
{
    float fold[ISO_LANES];

    memcpy(fold, lanes, sizeof fold);
    for (int width = ISO_LANES / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) {
            fold[i] += fold[i + width];
        }
    }
    return fold[0];
}

static inline float definition_lanes_prod(const float lanes[ISO_LANES])
{
    float fold[ISO_LANES];

    memcpy(fold, lanes, sizeof fold);
    for (int width = ISO_LANES / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) {
            fold[i] *= fold[i + width];
        }
    }
    return fold[0];
}

#endif
