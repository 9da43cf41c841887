/*
 * The innermost loops, once for each instruction set. panel_body.h is
 * compiled into one table for each; a context holds the one of its family.
 *
 * A panel is a strip of an operand as the micro-kernels read it: k rows of
 * `width` elements, of which the last may be padding of zeros. The wide panel
 * runs along the contiguous dim of the result, the narrow one along the other.
 */
#ifndef ISO_ISA_H
#define ISO_ISA_H

#include "isotome/op.h"

#include "kernel/coeff.h"
#include "kernel/cpu/window.h"

#include <stdbool.h>

enum {
    ISO_NARROW_MOST = 12, /* widths of panels of every micro-kernel */
    ISO_WIDE_MOST = 64,
    ISO_TILE_MOST = 384, /* elements of a tile: narrow x wide */
};

/* y = activation of x, (n); y may be x. */
typedef void iso_activate_fn(iso_op_t op, const iso__coeff_t *coeff,
                             const float *x, float *y, int64_t n);

/* What is done to a finished sum. */
typedef struct iso_finish {
    bool is_scaled;
    float scale; /* of the sum, when is_scaled */
    bool is_addend_scaled;
    float addend_scale;
    bool is_relu;
    iso_activate_fn *activate; /* after all that; NULL: nothing more */
    iso_op_t activation;
    iso__coeff_t coeff;
} iso_finish_t;

/* Sums on their way to the result; a step is the distance of neighbours in a
 * row, a row that of neighbours in a column. */
typedef struct iso_finish_tile {
    int64_t rows;
    int64_t count; /* columns */
    const float *sum;
    int64_t sum_row;
    const float *addend; /* NULL: none */
    int64_t addend_row;
    int64_t addend_step;
    float *out;
    int64_t out_row;
    int64_t out_step;
} iso_finish_tile_t;

typedef struct iso_isa {
    int lanes; /* of a vector */

    /*
     * Pack k rows of an operand with constant strides.
     * from   [in]  element (lane, k) at from[lane lane_step + k k_step]
     * count  [in]  lanes that exist, at most width
     */
    void (*pack)(const float *from, int64_t lane_step, int64_t k_step,
                 int64_t count, int64_t k, int64_t width, float *panel);

    /*
     * The same for what is not read again soon: the panel is written past the
     * caches. k_step is 1 when lane_step is not; width is a multiple of 16,
     * panel aligned to 64 bytes. Returns whether all elements are finite.
     */
    bool (*pack_weights)(const float *from, int64_t lane_step, int64_t k_step,
                         int64_t count, int64_t k, int64_t width, float *panel);

    /* Pack a range of products of a convolution; see window.h. */
    void (*pack_window)(const iso_window_panel_t *window, const float *from,
                        int64_t channels, float *panel);

    /* out = partials[n-1] + ( ... + (partials[0] + tile)); out may be tile. */
    void (*fold)(const float *tile, int64_t elements, int n,
                 const float *const *partials, float *out);

    void (*finish)(const iso_finish_t *finish, const iso_finish_tile_t *tile);

    /* tile (narrow, wide) = narrow panel times wide panel, each element a
     * chain of fused multiply-adds from +0. wide_step: elements between the
     * rows of the wide panel, so that it need not be packed. */
    void (*micro_1)(int64_t k, const float *narrow, const float *wide,
                    int64_t wide_step, float *tile); /* 1 x 4 vectors */
    void (*micro_2)(int64_t k, const float *narrow, const float *wide,
                    int64_t wide_step, float *tile); /* 2 x 4 vectors */
    void (*micro_4)(int64_t k, const float *narrow, const float *wide,
                    int64_t wide_step, float *tile); /* 4 x 2 vectors */
} iso_isa_t;

const iso_isa_t *iso__isa_avx512(void);
const iso_isa_t *iso__isa_avx2(void);
const iso_isa_t *iso__isa_portable(void);

#endif
