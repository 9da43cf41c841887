/*
 * The innermost loops of light ops, once for each instruction set:
 * light_rows_body.h is compiled into one table for each. Operands and results
 * are contiguous floats that do not overlap (in unary and binary a result may
 * be an operand); n may be 0.
 */
#ifndef ISO_LIGHT_ISA_H
#define ISO_LIGHT_ISA_H

#include "kernel/coeff.h"
#include "kernel/cpu/light.h"

/* Operands of a norm: y = (x - mean) / deviation * scale + bias. */
typedef struct iso__norm_row {
    float mean;
    float deviation;
    const float *scale; /* element i at i * step */
    const float *bias;  /* NULL: none */
    int64_t step;       /* 0 or 1 */
} iso__norm_row_t;

/* y = x / (bias + alpha * (sum of squares of `count` rows))^beta. */
typedef struct iso__lrn_row {
    const float *first; /* first row of the window */
    int64_t step;       /* elements between rows */
    int64_t count;
    float alpha;
    float beta;
    float bias;
} iso__lrn_row_t;

/* Many columns, each reduced or normalised over rows. */
typedef struct iso__columns {
    int64_t rows;
    int64_t step; /* elements between rows */
    int64_t n;    /* columns */
} iso__columns_t;

/* An operand of some rows. */
typedef struct iso__plane {
    const float *data;
    int64_t row;  /* elements to the next row */
    int64_t step; /* to the next element of a row, 0 or 1 */
} iso__plane_t;

struct iso__light_isa {
    /* Any unary op but cast. */
    void (*unary)(iso_op_t op, const iso__coeff_t *coeff, const float *x,
                  float *y, int64_t n);

    /* Any binary op but mod; operands step by 0 or 1. */
    void (*binary)(iso_op_t op, const float *x, int64_t x_step, const float *y,
                   int64_t y_step, float *z, int64_t n);

    /* As binary for rows of n, those of z z_row elements apart; z may be an
     * operand that lies just so. */
    void (*binary_rows)(iso_op_t op, const iso__plane_t *x,
                        const iso__plane_t *y, float *z, int64_t z_row,
                        int64_t rows, int64_t n);

    /* reduce_*, of a row and of columns; a mean is not yet divided. */
    float (*reduce_row)(iso_op_t op, const float *x, int64_t n);
    void (*reduce_columns)(iso_op_t op, const float *x,
                           const iso__columns_t *columns, float *y);

    /* softmax and log_softmax; y is (rows, n). */
    void (*softmax_rows)(bool is_log, const iso__plane_t *x, float *y,
                         int64_t rows, int64_t n);
    void (*softmax_columns)(bool is_log, const float *x,
                            const iso__columns_t *columns, float *y);

    /* Sum of (x - mean)^2 in lanes. */
    float (*squares_row)(const float *x, float mean, int64_t n);
    void (*norm_row)(const iso__norm_row_t *norm, const float *x, float *y,
                     int64_t n);
    void (*lrn_row)(const iso__lrn_row_t *lrn, const float *x, float *y,
                    int64_t n);

    /* y = y + x, or the greater one; element i of x at i * step. */
    void (*pool_tap)(bool is_max, const float *x, int64_t step, float *y,
                     int64_t n);
};

extern const iso__light_isa_t iso__light_portable;
extern const iso__light_isa_t iso__light_avx2;
extern const iso__light_isa_t iso__light_avx512;

#endif
