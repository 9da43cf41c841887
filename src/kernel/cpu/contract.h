/*
 * Contraction: one description for matmul, gemm and every convolution, and
 * one driver for them.
 *
 * The result has rows and columns; columns are (nearly always) contiguous in
 * memory. The narrow operand belongs to the rows, the wide one to the
 * columns. A convolution's columns are the output positions of all images.
 */
#ifndef ISO_CONTRACT_H
#define ISO_CONTRACT_H

#include "kernel/cpu/cpu_impl.h"

/* Where the matrices of a batch (or the groups of a convolution) begin. */
typedef struct iso_batch {
    int rank;
    int64_t dims[ISO_MAX_RANK];
    int64_t narrow[ISO_MAX_RANK]; /* elements for one step along each dim */
    int64_t wide[ISO_MAX_RANK];
    int64_t addend[ISO_MAX_RANK];
    int64_t out[ISO_MAX_RANK];
} iso_batch_t;

/*
 * An element is at [lane lane_step + k k_step] where a channel has one
 * product; else at [lane lane_step + channel channel_step + tap k_step].
 */
typedef struct iso_operand {
    const float *data;
    int64_t lane_step;
    int64_t channel_step;
    int64_t k_step;
} iso_operand_t;

typedef struct iso_contraction {
    iso_blocks_t blocks;
    int64_t rows;
    int64_t columns;       /* of all images */
    int64_t image_columns; /* of one image */
    iso_operand_t narrow;
    iso_operand_t wide;
    const iso_geometry_t *geometry; /* NULL: wide is a plain matrix, of
                                     * channel_step = taps k_step */
    iso_batch_t batch;
    const float *addend; /* NULL: none */
    int64_t addend_row;  /* steps; a column's is within its image */
    int64_t addend_column;
    float *out;
    int64_t out_row;
    int64_t out_column;
    int64_t out_image;
    iso_finish_t finish;
    const iso__chain_t *chain; /* what follows, of matrices that are side by
                                * side in out; NULL: nothing */
} iso_contraction_t;

/* Set what a finish does after the sum. */
void iso__set_activation(const iso_cpu_t *cpu,
                         const iso_activation_param_t *activation,
                         iso_finish_t *finish);

void iso__contract(const iso_cpu_t *cpu, const iso_contraction_t *c);

/* As above for plain matrices, of which either may be the wide one. */
void iso__contract_plain(const iso_cpu_t *cpu, const iso_contraction_t *c);

#endif
