/*
 * Random contractions by constant weights, for the tests of the direct
 * kernels: shapes of every kind, some of which are no valid node.
 */
#ifndef DIRECT_SAMPLE_H
#define DIRECT_SAMPLE_H

#include "isotome/graph.h"

typedef struct sample {
    iso_op_t op;
    iso_shape_t x;
    iso_shape_t w;
    bool has_bias;
    bool has_addend;
    int kind;
    const char *activation; /* of the contraction */
    iso_op_t then;          /* joined; ISO_OP_COUNT: none */
    int64_t strides[3];
    int64_t dilations[3];
    int64_t pads[6];
    int64_t output_pads[3]; /* of a transposed one */
    int64_t groups;
    int64_t trans_b;
} sample_t;

void direct_seed(uint64_t seed);

/* kind 0: numbers; 1: zeros, tiny and huge ones too; 2: infinities too. */
float direct_value(int kind);

sample_t direct_conv(void);
sample_t direct_grouped(void); /* of groups whose channels fill no blocks */
sample_t direct_transposed(void);
sample_t direct_product(void); /* matmul or gemm */

#endif
