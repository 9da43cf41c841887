/*
 * Tiles: the innermost loops of the direct kernels. A tile is a few pixels
 * (rows of a matrix product, output positions of a convolution) by a few
 * vectors of lanes (columns, output channels). Its whole reduction is done at
 * once: a block in registers, the tree in a small stack of partial sums, then
 * bias, activation and addend on the way out.
 *
 * tile_body.h is compiled once for each instruction set.
 */
#ifndef ISO_TILE_H
#define ISO_TILE_H

#include "kernel/cpu/isa.h"
#include "kernel/family.h"

enum {
    ISO_TILE_PIXELS = 14, /* at most */
    ISO_TILE_LANES = 64,  /* at most */
};

/* Pixels for which a product exists. The others read +0 there, so that they
 * may take part just as well where the weights are finite. */
typedef enum iso_product_kind {
    ISO_PRODUCT_OF_ALL,
    ISO_PRODUCT_NOT_OF_FIRST,
    ISO_PRODUCT_NOT_OF_LAST,
    ISO_PRODUCT_OF_ZEROS, /* all read +0, of no place */
} iso_product_kind_t;

/* One product of a block. */
typedef struct iso_product {
    int32_t in;    /* where pixel 0 reads it, elements from the block's place */
    uint16_t row;  /* of the panel, from the block's first */
    uint16_t kind; /* iso_product_kind_t */
} iso_product_t;

/* The products of every block of a reduction, in their order. The last block
 * may have fewer: the first n_last ones. */
typedef struct iso_products {
    const iso_product_t *list;
    int64_t n;
    int64_t n_last;
    bool has_kinds; /* not all are of all pixels */
} iso_products_t;

/* What follows the sum: + 0, + bias, activation, + addend, activation. */
typedef struct iso_tile_finish {
    const float *bias;   /* of lane 0 of the tile; NULL: none */
    const float *addend; /* of pixel 0, lane 0, in the steps of the output */
    bool is_relu;        /* before the addend */
    bool is_relu_after;
    bool is_general; /* activations that are no relu, or an output whose
                      * lanes are not neighbours or begin within a block;
                      * then also: */
    bool is_spread;  /* lanes are out_channel apart, pixels neighbours */
    const iso_finish_t *before; /* NULL: no activation */
    const iso_finish_t *after;
} iso_tile_finish_t;

typedef struct iso_tile {
    const float *in;    /* of pixel 0 */
    int64_t pixel_step; /* elements to the next pixel's */
    const iso_products_t *products;
    int64_t n_blocks;
    /* Blocks [first_block, end_block) are done now. What is to be kept until
     * the next ones is in partials; the last block's tile is finished. */
    int64_t first_block;
    int64_t end_block;
    int64_t block_channels; /* of the reduction in a block */
    int64_t channels_step;  /* elements of in to the next 16 channels */
    int64_t block_rows;     /* of the panel in a block */
    const float *weights;   /* panel, at the tile's first lane */
    int64_t panel_step;     /* elements to the next panel */
    float *partials;        /* (levels of the tree, tile) */
    int lanes;              /* that exist in the output, >= 1 */
    int offset; /* lanes of the output's block before lane 0: > 0 only where
                 * the finish is general and not spread */
    const iso_tile_finish_t *finish;
    float *out;          /* of pixel 0, lane 0 */
    int64_t out_pixel;   /* elements to the next pixel */
    int64_t out_channel; /* elements to the next 16 lanes; to the next lane
                          * where the finish is spread */
} iso_tile_t;

typedef void iso_tile_fn(const iso_tile_t *tile);

/* Tiles of so many vectors, of 1 to most pixels. */
typedef struct iso_tile_shape {
    int vectors;
    int most;
    iso_tile_fn *run[ISO_TILE_PIXELS + 1]; /* by pixels */
} iso_tile_shape_t;

typedef struct iso_tile_isa {
    int lanes; /* of a vector */
    /* For many pixels, for few, and for few lanes. */
    iso_tile_shape_t many;
    iso_tile_shape_t few;
    iso_tile_shape_t narrow;
} iso_tile_isa_t;

const iso_tile_isa_t *iso__tile_isa_of(iso_family_t family);

extern const iso_tile_isa_t iso__tile_avx512;
extern const iso_tile_isa_t iso__tile_avx2;
extern const iso_tile_isa_t iso__tile_portable;

/* Levels of the tree that are kept between blocks. */
int iso__tree_levels(int64_t n_blocks);

#endif
