/*
 * The contraction: the sum of products of two contiguous vectors, in blocks
 * and by the tree, as arith.h says. Every contraction first lays out what it
 * multiplies, then calls this.
 */
#ifndef ISO_REAL_DOT_H
#define ISO_REAL_DOT_H

#include "base/mem.h"
#include "kernel/ref/real.h"

typedef struct real_dot {
    iso_blocks_t blocks;
    real_t *part; /* (blocks.count) */
    real_t *a;    /* (blocks.length), space to lay out an operand */
    real_t *b;
} real_dot_t;

static inline void real_dot_end(real_dot_t *dot)
{
    iso_free(dot->part);
}

static inline iso_status_t real_dot_begin(real_dot_t *dot, iso_blocks_t blocks)
{
    const size_t most = (size_t)(blocks.count + 2 * blocks.length);

    dot->blocks = blocks;
    dot->part = iso_alloc_zeroed(most, sizeof *dot->part);
    if (dot->part == NULL) {
        return ISO_NOMEM;
    }
    dot->a = dot->part + blocks.count;
    dot->b = dot->a + blocks.length;
    return ISO_OK;
}

static inline real_t real_dot(const real_dot_t *dot, const real_t *a,
                              const real_t *b)
{
    const int64_t count = dot->blocks.count;
    real_t *part = dot->part;

    for (int64_t i = 0; i < count; i++) {
        const int64_t end = iso_blocks_end(&dot->blocks, i);
        real_t chain = 0;

        for (int64_t k = iso_blocks_begin(&dot->blocks, i); k < end; k++) {
            chain = fma(a[k], b[k], chain);
        }
        part[i] = chain;
    }
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t i = 0; i + width < count; i += 2 * width) {
            part[i] += part[i + width];
        }
    }
    return (count > 0 ? part[0] : 0) + 0;
}

#endif
