/*
 * The contraction: sums of products of one vector, the row, with each of some
 * others, the columns, in blocks and by the tree, as arith.h says. Every
 * contraction first lays out what it multiplies, then calls this.
 *
 * Columns never meet, so that taking several at once changes no bit; it lets
 * the compiler compute them side by side.
 *
 *     ISO_TRY(REAL(iso__ref_dot_begin)(blocks, &dot));
 *     lay out dot.row and n <= dot.most columns in dot.columns
 *     REAL(iso__ref_dot)(&dot, dot.row, n, sum);
 *     REAL(iso__ref_dot_end)(&dot);
 */
#ifndef ISO_REAL_DOT_H
#define ISO_REAL_DOT_H

#include "kernel/ref/real.h"

enum {
    REAL_DOT_COLUMNS = 64,    /* at once, at most */
    REAL_DOT_SPACE = 1 << 18, /* elements of columns, unless one is longer */
};

typedef struct real_dot {
    iso_blocks_t blocks;
    int64_t most;    /* columns at once, in 1..REAL_DOT_COLUMNS */
    real_t *row;     /* (blocks.length), space to lay out a row */
    real_t *columns; /* (blocks.length, most), space to lay out columns */
    real_t *part;    /* (blocks.count, most) */
} real_dot_t;

iso_status_t REAL(iso__ref_dot_begin)(iso_blocks_t blocks, real_dot_t *dot_out);
void REAL(iso__ref_dot_end)(real_dot_t *dot);

/*
 * row  [in]   (blocks.length)
 * n    [in]   columns laid out in dot->columns, (blocks.length, n)
 * sum  [out]  (n)
 */
void REAL(iso__ref_dot)(const real_dot_t *dot, const real_t *row, int64_t n,
                        real_t *sum);

#endif
