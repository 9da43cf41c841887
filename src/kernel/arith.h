/*
 * The arithmetic in numbers: where a reduction is cut into blocks, how the
 * blocks and the lanes are summed. isotome-arithmetic(7) is this in prose.
 *
 * Every device must follow this file to the bit. Change anything here and
 * ISO_ARITHMETIC_VERSION must change.
 */
#ifndef ISO_ARITH_H
#define ISO_ARITH_H

#include <stdint.h>

enum {
    ISO_ARITHMETIC_VERSION = 1,
    ISO_BLOCK_MOST = 256, /* products in one block */
    ISO_LANES = 16,       /* of a reduction that is not a contraction */
};

/*
 * Contraction. A block is a chain of fused multiply-adds in index order from
 * +0. Blocks are summed by a binary tree over their index: blocks 2i and
 * 2i+1 are added, then pairs of pairs; a block without a partner moves up
 * unchanged. After the tree +0 is added, so that a result is never -0 (and
 * a zero beside a finite number may be skipped or multiplied as one likes).
 * Then the bias is added (gemm: alpha times the sum plus beta times C), then
 * the activation is applied. A tap in the padding, or between the strides of
 * a conv_transpose, reads +0 and is multiplied: beside an infinity or a NaN
 * it gives a NaN.
 *
 * matmul, gemm: block b holds k in [256 b, 256 b + 256).
 *
 * conv, conv_transpose: a block is a fixed number of whole input channels
 * (of one group) times all taps, channel-major, taps in row-major order: the
 * largest power of two of channels whose products are at most 256. Kernels
 * of more than 256 taps: one channel is cut into blocks of 256 taps, the
 * last one shorter.
 */
typedef struct iso_blocks {
    int64_t length;   /* products in the whole reduction */
    int64_t count;    /* blocks */
    int64_t channels; /* whole channels in a block, 0: part of one */
    int64_t taps;     /* products of one channel; 1 for a matmul */
} iso_blocks_t;

/* k >= 0; k = 0 has no block and gives +0. */
iso_blocks_t iso_blocks_of_matmul(int64_t k);
iso_blocks_t iso_blocks_of_conv(int64_t channels, int64_t taps);

/* First product of block index, and of the block after it. */
int64_t iso_blocks_begin(const iso_blocks_t *blocks, int64_t index);
int64_t iso_blocks_end(const iso_blocks_t *blocks, int64_t index);

/*
 * The tree in one pass: a binary counter of partial sums. Push the block
 * results in order; finish adds what is left from the last to the first
 * (the earlier partial is the left operand) and then +0.
 */
enum { ISO_TREE_DEPTH = 48 }; /* partial sums at once; 2^48 blocks */

/*
 * Other reductions (sum, mean, prod, norms, softmax's sum): element i goes
 * to lane i mod 16, each lane is a chain in index order from the neutral
 * element, then lanes are folded: l += l + 8, l += l + 4, l += l + 2,
 * l += l + 1. Index order is row-major over the reduced axes. Max and min
 * are exact in any order; a NaN wins. The windows of avg_pool and lrn are
 * one chain each.
 */

/*
 * A NaN that is computed (not moved) is this one, whatever the operands
 * were, because devices differ in which operand's NaN they keep.
 */
#define ISO_NAN_BITS UINT32_C(0x7fc00000)
float iso_canonical(float value);

#endif
