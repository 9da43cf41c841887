/*
 * Tables of the products of a block (tile.h) for the tiles of a region, kept
 * between rows of tiles that read alike.
 */
#ifndef ISO_PRODUCTS_H
#define ISO_PRODUCTS_H

#include "kernel/cpu/direct/direct.h"
#include "kernel/cpu/direct/tile.h"

/* How what a region reads lies: where it is, as a strip or as it came. */
typedef struct iso_reach {
    int64_t block_step; /* elements to the next 16 channels */
    int64_t tap_step[ISO_MAX_SPATIAL];
} iso_reach_t;

/* Taps of the kernel in planes and rows that exist, [begin, end). */
typedef struct iso_taps {
    int64_t begin[2];
    int64_t end[2];
} iso_taps_t;

/* A tile's place in its row. */
enum {
    ISO_PLACE_FIRST = 1,
    ISO_PLACE_LAST = 2,
    ISO_PLACES = 4,
};

typedef struct iso_product_tables {
    bool is_made[ISO_PLACES];
    iso_taps_t taps;
    iso_products_t products[ISO_PLACES];
    iso_product_t lists[ISO_PLACES][ISO_BLOCK_MOST];
} iso_product_tables_t;

/* Pixels of a tile: columns [column, column + pixels) of a row of output. */
typedef struct iso_tile_place {
    int64_t plane;
    int64_t row;
    int64_t column;
    int64_t pixels;
    unsigned place; /* ISO_PLACE_* */
} iso_tile_place_t;

/* Those of rows (ISO_SOURCE_ROWS), the same for all tiles. */
iso_products_t iso__products_of_rows(const iso_direct_t *direct);

/*
 * The products of a tile; borrowed from tables, until the next call.
 * tables  [in,out]  all zero before the first call
 */
const iso_products_t *iso__products_of(const iso_direct_t *direct,
                                       const iso_reach_t *reach,
                                       const iso_tile_place_t *tile,
                                       iso_product_tables_t *tables);

#endif
