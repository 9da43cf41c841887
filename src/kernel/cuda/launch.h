/*
 * The kernels as C functions: plain numbers in, one launch out. Private to
 * src/kernel/cuda; the C files beside this decide, the .cu files compute.
 *
 * Every launch is in order on the stream that it is given, and says whether
 * the launch was accepted; what goes wrong later appears at the wait. Sizes
 * and offsets are elements and fit in 31 bits (see plan.h).
 */
#ifndef ISO_CUDA_LAUNCH_H
#define ISO_CUDA_LAUNCH_H

#include "isotome/op.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What cudaStream_t and cudaError_t are. */
typedef struct CUstream_st *iso__cuda_stream_t;
typedef int iso__cuda_error_t; /* 0: accepted */

enum {
    ISO__CUDA_RANK = 8,
    ISO__CUDA_BATCH_RANK = 6,
    ISO__CUDA_SPATIAL = 3,
    ISO__CUDA_TAPS_MOST = 2048, /* whose offsets fit beside the tiles */
};

/* n / d as a product and a shift, for 0 <= n < 2^31; d < 1 (of an axis without
 * elements, which nobody divides by) counts as 1. */
typedef struct iso__cuda_divisor {
    uint32_t divisor;
    uint32_t factor;
    uint32_t shift;
} iso__cuda_divisor_t;

static inline iso__cuda_divisor_t iso__cuda_divisor_of(int64_t d)
{
    iso__cuda_divisor_t by = {1, 0, 0};

    d = d < 1 ? 1 : d;
    by.divisor = (uint32_t)d;
    while (((int64_t)1 << by.shift) < d) {
        by.shift++;
    }
    by.factor = (uint32_t)((((uint64_t)1 << 32) *
                            (((uint64_t)1 << by.shift) - (uint64_t)d)) /
                               (uint64_t)d +
                           1);
    return by;
}

/* What is applied to a computed value: an op with its coefficients;
 * ISO_OP_COUNT for none. */
typedef struct iso__cuda_activation {
    iso_op_t op;
    float a;
    float b;
} iso__cuda_activation_t;

/* A window that slides; axes are (z, y, x), those that are not there are 1. */
typedef struct iso__cuda_window {
    iso__cuda_divisor_t out[ISO__CUDA_SPATIAL]; /* positions */
    int32_t in[ISO__CUDA_SPATIAL];
    int32_t kernel[ISO__CUDA_SPATIAL];
    int32_t strides[ISO__CUDA_SPATIAL];
    int32_t dilations[ISO__CUDA_SPATIAL];
    int32_t pads[ISO__CUDA_SPATIAL];     /* before the operand */
    int32_t pads_end[ISO__CUDA_SPATIAL]; /* and after it */
} iso__cuda_window_t;

/* ---- Contractions ---- */

/* How the columns of operand b are found and loaded. */
typedef enum iso__cuda_columns {
    ISO__CUDA_COLUMNS_FOUR,   /* four neighbours at once: aligned */
    ISO__CUDA_COLUMNS_ONE,    /* one by one, a fixed step for each k */
    ISO__CUDA_COLUMNS_INNER,  /* neighbours are along k */
    ISO__CUDA_COLUMNS_MASK,   /* windows of at most 64 taps */
    ISO__CUDA_COLUMNS_WINDOW, /* windows of any number of taps */
} iso__cuda_columns_t;

typedef enum iso__cuda_tile {
    ISO__CUDA_TILE_128_128, /* rows, columns */
    ISO__CUDA_TILE_64_128,
    ISO__CUDA_TILE_64_64,
    ISO__CUDA_TILE_COUNT
} iso__cuda_tile_t;

/*
 * y[z] (rows, columns) = a[z] (rows, k) b[z] (k, columns), in the blocks and
 * the tree of arith.h. Columns are (image, position); a column's place in b
 * is where its window begins, and product k of a channel reads tap
 * k mod taps of the window. A matmul has one tap and one image; its columns
 * are windows of one element.
 */
typedef struct iso__cuda_contract {
    const float *a;
    const float *b;
    const float *bias; /* NULL: none */
    float *y;
    float *partial; /* (n_splits, elements of y); NULL for one split */

    int32_t rows;
    int32_t cols;
    int32_t elements; /* of y */
    int32_t a_row;    /* steps */
    int32_t a_inner;
    int32_t b_inner; /* between channels: of k where there is one tap */

    /* Blocks: see iso_blocks_begin. */
    int32_t length;
    int32_t block;    /* products in one that is not the last */
    int32_t n_blocks; /* in all */
    int32_t pieces;   /* blocks in a channel; 0: whole channels */
    int32_t n_taps;
    iso__cuda_divisor_t taps;
    int32_t n_splits;     /* of the blocks between thread blocks */
    int32_t split_blocks; /* blocks in one, a power of two */

    /* Columns. */
    iso__cuda_divisor_t positions; /* of one image */
    int32_t b_image;
    int32_t y_image;
    int32_t y_row;
    iso__cuda_window_t window;

    /* z: matrices of a batch, or groups. */
    int32_t n_z;
    int32_t z_rank;
    int32_t z_dims[ISO__CUDA_BATCH_RANK];
    int32_t z_a[ISO__CUDA_BATCH_RANK];
    int32_t z_b[ISO__CUDA_BATCH_RANK];
    int32_t z_y;    /* steps from one z to the next */
    int32_t z_bias; /* bias is by row then, else by column */
    int32_t bias_by_row;

    iso__cuda_activation_t activation; /* no exact function of math.h */
    iso__cuda_tile_t tile;
    iso__cuda_columns_t columns;
    int32_t a_is_inner; /* a's neighbours are along k */
} iso__cuda_contract_t;

iso__cuda_error_t iso__cuda_contract(iso__cuda_stream_t stream,
                                     const iso__cuda_contract_t *contract);

/* One thread for each element: few rows, or transposed. */
typedef struct iso__cuda_direct {
    const float *x;
    const float *weights;
    const float *bias;
    float *y;
    int32_t elements;
    int32_t in_channels; /* of one group */
    int32_t in_positions;
    int32_t block; /* products */
    int32_t pieces;
    int32_t n_taps;
    int32_t weight_channel; /* step from one input channel to the next */
    int32_t weight_out;     /* and output channel */
    int32_t weight_group;
    int32_t transposed;
    iso__cuda_divisor_t out_channels; /* of one group */
    iso__cuda_divisor_t groups;
    iso__cuda_window_t window;
    iso__cuda_activation_t activation;
} iso__cuda_direct_t;

iso__cuda_error_t iso__cuda_direct(iso__cuda_stream_t stream,
                                   const iso__cuda_direct_t *direct);

/* ---- Elementwise ---- */

/* An index space and the steps of arrays through it; axes merged. */
typedef struct iso__cuda_walk {
    int32_t count;
    int32_t rank;
    iso__cuda_divisor_t dims[ISO__CUDA_RANK];
    int32_t step[3][ISO__CUDA_RANK];
    int32_t first[3];
} iso__cuda_walk_t;

iso__cuda_error_t iso__cuda_unary(iso__cuda_stream_t stream,
                                  const iso__cuda_activation_t *op,
                                  const float *x, float *y, int32_t count);

iso__cuda_error_t iso__cuda_binary(iso__cuda_stream_t stream, iso_op_t op,
                                   const iso__cuda_walk_t *walk, const float *x,
                                   const float *y, float *z);

/* To bool. */
iso__cuda_error_t iso__cuda_compare(iso__cuda_stream_t stream, iso_op_t op,
                                    const iso__cuda_walk_t *walk,
                                    const float *x, const float *y, uint8_t *z);

/* y = activation(alpha y + beta c); arrays of the walk: c. */
iso__cuda_error_t iso__cuda_gemm_finish(iso__cuda_stream_t stream,
                                        const iso__cuda_activation_t *op,
                                        const iso__cuda_walk_t *walk,
                                        float alpha, float beta, const float *c,
                                        float *y);

/* ---- Reductions, norms ---- */

/* Group i begins at the place of i in kept (array 0) and has the elements of
 * reduced (array 0) in order. */
typedef struct iso__cuda_reduce {
    const float *x;
    float *y;
    iso_op_t op;
    iso__cuda_walk_t kept;
    iso__cuda_walk_t reduced;
} iso__cuda_reduce_t;

iso__cuda_error_t iso__cuda_reduce(iso__cuda_stream_t stream,
                                   const iso__cuda_reduce_t *reduce);

/* arg_max, arg_min of the same. */
iso__cuda_error_t iso__cuda_arg(iso__cuda_stream_t stream,
                                const iso__cuda_reduce_t *reduce, int64_t *y);

/* x, y (outer, count, inner), softmax along count. */
iso__cuda_error_t iso__cuda_softmax(iso__cuda_stream_t stream, int is_log,
                                    const float *x, float *y, int32_t outer,
                                    int32_t count, int32_t inner);

/* scale, bias (NULL: none) by element of a row, or by row mod channels. */
typedef struct iso__cuda_row_norm {
    const float *x;
    const float *scale;
    const float *bias;
    float *y;
    int32_t rows;
    int32_t count;
    int32_t channels; /* 0: by element */
    float epsilon;
} iso__cuda_row_norm_t;

iso__cuda_error_t iso__cuda_row_norm(iso__cuda_stream_t stream,
                                     const iso__cuda_row_norm_t *norm);

typedef struct iso__cuda_batch_norm {
    const float *x;
    const float *scale;
    const float *bias;
    const float *mean;
    const float *variance;
    float *y;
    int32_t count;
    iso__cuda_divisor_t inner;
    iso__cuda_divisor_t channels;
    float epsilon;
} iso__cuda_batch_norm_t;

iso__cuda_error_t iso__cuda_batch_norm(iso__cuda_stream_t stream,
                                       const iso__cuda_batch_norm_t *norm);

/* ---- Pools ---- */

typedef struct iso__cuda_pool {
    const float *x;
    float *y;
    int32_t count; /* of y */
    int32_t in_plane;
    int32_t is_max;
    int32_t count_pad;
    iso__cuda_window_t window;
} iso__cuda_pool_t;

iso__cuda_error_t iso__cuda_pool(iso__cuda_stream_t stream,
                                 const iso__cuda_pool_t *pool);

/* ---- Moves; element: bytes of one, 1, 2, 4 or 8 ---- */

/* y[i] = x[place of i in array 0]. */
iso__cuda_error_t iso__cuda_move(iso__cuda_stream_t stream, int element,
                                 const iso__cuda_walk_t *walk, const void *x,
                                 void *y);

/* y[i] = condition[array 0] ? x[array 1] : y[array 2]. */
iso__cuda_error_t iso__cuda_where(iso__cuda_stream_t stream, int element,
                                  const iso__cuda_walk_t *walk,
                                  const uint8_t *condition, const void *x,
                                  const void *y, void *z);

/* Rows of `row` elements, one after the other in x, `y_row` apart in y. */
iso__cuda_error_t iso__cuda_rows(iso__cuda_stream_t stream, int element,
                                 int32_t count, int32_t row, int32_t y_row,
                                 const void *x, void *y);

typedef struct iso__cuda_pad {
    int32_t count; /* of y */
    int32_t rank;
    int32_t mode; /* iso_pad_mode_t */
    iso__cuda_divisor_t out[ISO__CUDA_RANK];
    int32_t in[ISO__CUDA_RANK];
    int32_t begin[ISO__CUDA_RANK];
    uint64_t value; /* the constant, in the low bytes */
} iso__cuda_pad_t;

iso__cuda_error_t iso__cuda_pad(iso__cuda_stream_t stream, int element,
                                const iso__cuda_pad_t *pad, const void *x,
                                void *y);

/* The first index out of range since the last look; node NULL: none. */
typedef struct iso__cuda_fault {
    const void *node; /* iso_node_t */
    int64_t index;
    int64_t place;
    int64_t dim;
} iso__cuda_fault_t;

typedef struct iso__cuda_indices {
    const void *indices; /* (count), of `width` bytes */
    int32_t width;
    int32_t is_signed;
    int32_t count;
    int32_t dim;
} iso__cuda_indices_t;

/* Record the first index that is not in [-dim, dim). */
iso__cuda_error_t iso__cuda_check(iso__cuda_stream_t stream,
                                  const iso__cuda_indices_t *indices,
                                  const void *node, iso__cuda_fault_t *fault);

/* y (outer, picks, inner) of x (outer, dim, inner). An index out of range
 * reads element 0. */
iso__cuda_error_t iso__cuda_gather(iso__cuda_stream_t stream, int element,
                                   const iso__cuda_indices_t *indices,
                                   int32_t outer, int32_t inner, const void *x,
                                   void *y);

/* y[i] = x[array 0 + indices[i] * along]. */
iso__cuda_error_t iso__cuda_gather_elements(
    iso__cuda_stream_t stream, int element, const iso__cuda_indices_t *indices,
    const iso__cuda_walk_t *walk, int32_t along, const void *x, void *y);

#ifdef __cplusplus
}
#endif

#endif
