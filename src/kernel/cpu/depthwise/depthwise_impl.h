/* A depthwise convolution by boxes; private to src/kernel/cpu/direct. */
#ifndef ISO_DEPTHWISE_IMPL_H
#define ISO_DEPTHWISE_IMPL_H

#include "kernel/cpu/blocked/blocked.h"
#include "kernel/cpu/depthwise/depthwise.h"
#include "kernel/cpu/direct/pack.h"

/* An op on what is stored, where the tiles do not do it. */
typedef struct iso_depthwise_pass {
    iso_op_t op; /* a unary one, or ISO_OP_ADD: the addend */
    iso__coeff_t coeff;
} iso_depthwise_pass_t;

typedef struct iso_depthwise {
    const iso_cpu_t *cpu;
    const iso_depthwise_isa_t *isa;
    const iso_blocked_isa_t *blocked;
    iso_geometry_t g; /* axis 2 runs along the rows */
    int64_t channels;
    int64_t depth; /* channels of a group */
    int64_t blocks;
    int64_t taps;
    int64_t in_plane; /* elements of one channel */
    int64_t out_plane;
    bool in_is_plain;
    bool out_is_plain;
    bool is_finite;
    const float *x;
    const float *weights; /* (blocks, depth, taps, 16) */
    const float *bias;    /* (channels) or NULL */
    const float *addend;  /* as y, or NULL */
    float *y;
    iso_depthwise_finish_t finish;
    int n_passes;
    iso_depthwise_pass_t passes[3];
    /* How the output is cut into boxes, each at most: */
    int64_t rows;
    int64_t columns;
    int64_t box_blocks; /* channel blocks; more than 1 only of whole planes
                         * that are not copied */
    bool is_slow;       /* position by position, no matter the formats */
} iso_depthwise_t;

/* Output rows [row, row + rows) of number `deep` on axis 0, columns [column,
 * column + columns), of some channel blocks. */
typedef struct iso_depthwise_box {
    int64_t image;
    int64_t block;
    int64_t blocks;
    int64_t deep;
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns;
} iso_depthwise_box_t;

/* space  [out]  elements for the copies of a box */
void iso__depthwise_box(const iso_depthwise_t *conv,
                        const iso_depthwise_box_t *box, float *space);

#endif
