/*
 * The functions of tile.h in terms of vec_*.h, which the including file has
 * included; it also defines TILE_TABLE, the name of the table.
 *
 * pixels and vectors are constants of the callers, so that the accumulators
 * are registers.
 */
#include "kernel/arith.h"
#include "kernel/cpu/direct/tile.h"
#include "kernel/format.h"
#include "kernel/panels.h"

#include <stddef.h>
#include <string.h>

/* tests/bench/bench_tree_chain.c: one straight chain through all blocks. */
#ifndef TILE_CHAIN
#define TILE_CHAIN 0
#endif

enum {
    LINE = 16,  /* elements of a line of the cache */
    AHEAD = 16, /* rows of a panel that are asked for before they are met, */
    FEW_VECTORS = 4, /* but by few pixels, which read them from end to end at
                      * the memory's speed: the CPU does that better itself */
};

#define TILE_INLINE static inline __attribute__((always_inline))

typedef vec_t sums_t[ISO_TILE_PIXELS][4];

/* ---- Products ---- */

/* Element of a pixel, by base and one of three steps: what an address of
 * this machine can say, so that no pixel needs a register. */
TILE_INLINE const float *pixel_at(const float *x, int64_t step, int pixel)
{
    return x + pixel / 3 * (3 * step) + pixel % 3 * step;
}

TILE_INLINE vec_t weight_at(const float *row, int64_t panel_step, int vector)
{
    const int lane = vector * VEC_LANES;

    return vec_load(row + lane / ISO_PANEL_LANES * panel_step +
                    lane % ISO_PANEL_LANES);
}

/* A product of pixels [first, end). */
TILE_INLINE void add_product(const iso_tile_t *tile, const float *x,
                             const float *row, int first, int end, int vectors,
                             sums_t sums)
{
    vec_t weights[4];

#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const int lane = v * VEC_LANES;

        weights[v] = weight_at(row, tile->panel_step, v);
        if (lane % LINE == 0 && vectors < FEW_VECTORS) {
            __builtin_prefetch(row + (ptrdiff_t)AHEAD * ISO_PANEL_LANES +
                               lane / ISO_PANEL_LANES * tile->panel_step +
                               lane % ISO_PANEL_LANES);
        }
    }
#pragma GCC unroll 14
    for (int p = first; p < end; p++) {
        const vec_t a = vec_set(*pixel_at(x, tile->pixel_step, p));

#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sums[p][v] = vec_fma(a, weights[v], sums[p][v]);
        }
    }
}

/* A product of +0, which an infinity or a NaN turns to NaN. */
TILE_INLINE void add_zeros(const iso_tile_t *tile, const float *row, int pixels,
                           int vectors, sums_t sums)
{
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const vec_t product =
            vec_mul(vec_zero(), weight_at(row, tile->panel_step, v));

#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++) {
            sums[p][v] = vec_add(product, sums[p][v]);
        }
    }
}

/* A block whose products are not all of all pixels. */
TILE_INLINE void add_kinds(const iso_tile_t *tile, const float *in,
                           const float *weights, int64_t n, int pixels,
                           int vectors, sums_t sums)
{
    const iso_product_t *product = tile->products->list;

    for (const iso_product_t *end = product + n; product < end; product++) {
        const float *x = in + product->in;
        const float *row = weights + (ptrdiff_t)product->row * ISO_PANEL_LANES;

        if (product->kind == ISO_PRODUCT_OF_ALL) {
            add_product(tile, x, row, 0, pixels, vectors, sums);
        } else if (product->kind == ISO_PRODUCT_NOT_OF_FIRST) {
            add_product(tile, x, row, 1, pixels, vectors, sums);
        } else if (product->kind == ISO_PRODUCT_OF_ZEROS) {
            add_zeros(tile, row, pixels, vectors, sums);
        } else {
            add_product(tile, x, row, 0, pixels - 1, vectors, sums);
        }
    }
}

TILE_INLINE void clear(int pixels, int vectors, sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sums[p][v] = vec_zero();
        }
    }
}

TILE_INLINE void add_block(const iso_tile_t *tile, const float *in,
                           const float *weights, int64_t n, int pixels,
                           int vectors, sums_t sums)
{
    const iso_product_t *product = tile->products->list;

    if (tile->products->has_kinds) {
        add_kinds(tile, in, weights, n, pixels, vectors, sums);
        return;
    }
    for (const iso_product_t *end = product + n; product < end; product++) {
        add_product(tile, in + product->in,
                    weights + (ptrdiff_t)product->row * ISO_PANEL_LANES, 0,
                    pixels, vectors, sums);
    }
}

/* ---- The tree ---- */

TILE_INLINE float *partial_of(const iso_tile_t *tile, int level, int pixels,
                              int vectors)
{
    return tile->partials + (ptrdiff_t)level * pixels * vectors * VEC_LANES;
}

TILE_INLINE void store_partial(float *to, int pixels, int vectors, sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            vec_store(to + (ptrdiff_t)(p * vectors + v) * VEC_LANES,
                      sums[p][v]);
        }
    }
}

TILE_INLINE void add_partial(const float *from, int pixels, int vectors,
                             sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sums[p][v] = vec_add(
                vec_load(from + (ptrdiff_t)(p * vectors + v) * VEC_LANES),
                sums[p][v]);
        }
    }
}

/* Push the sums of a block onto the counter: it carries through the levels
 * that are full below the first empty one, the last block takes up all. */
TILE_INLINE void push(const iso_tile_t *tile, int64_t block, int pixels,
                      int vectors, sums_t sums)
{
    const bool is_last = block + 1 == tile->n_blocks;
    int level = 0;

    for (int64_t full = block; full > 0; full /= 2, level++) {
        if (full % 2 == 1) {
            add_partial(partial_of(tile, level, pixels, vectors), pixels,
                        vectors, sums);
        } else if (!is_last) {
            break;
        }
    }
    if (!is_last) {
        store_partial(partial_of(tile, level, pixels, vectors), pixels, vectors,
                      sums);
    }
}

/* ---- Finishing ---- */

TILE_INLINE uint32_t bits_of_first(int n)
{
    return n >= VEC_LANES ? (1U << VEC_LANES) - 1U
           : n > 0        ? (1U << n) - 1U
                          : 0U;
}

TILE_INLINE vec_mask_t first_lanes(int n)
{
    return vec_mask(bits_of_first(n));
}

TILE_INLINE vec_mask_t lanes_of(const iso_tile_t *tile, int vector)
{
    return first_lanes(tile->lanes - vector * VEC_LANES);
}

TILE_INLINE vec_t canonical(vec_t x)
{
    const uint32_t bits = ISO_NAN_BITS;
    float nan;

    memcpy(&nan, &bits, sizeof nan);
    return vec_select_nan(x, vec_set(nan), x);
}

TILE_INLINE vec_t relu(vec_t x)
{
    const vec_t zero = vec_zero();

    return vec_select_nan(x, x, vec_select_less(zero, x, x, zero));
}

/* Element of the output, or of the addend, that vector begins with. */
TILE_INLINE int64_t vector_at(const iso_tile_t *tile, int pixel, int vector)
{
    const int lane = vector * VEC_LANES;

    return pixel * tile->out_pixel +
           lane / ISO_BLOCK_CHANNELS * tile->out_channel +
           lane % ISO_BLOCK_CHANNELS;
}

/* Of the tile's vector. */
TILE_INLINE vec_t bias_of(const iso_tile_t *tile, int vector)
{
    return tile->finish->bias == NULL
               ? vec_zero()
               : vec_load_masked(vec_zero(), lanes_of(tile, vector),
                                 tile->finish->bias +
                                     (ptrdiff_t)vector * VEC_LANES);
}

/*
 * (sum + 0) + bias in one addition: it is sum + (bias + 0), because a sum of
 * -0 and a bias of -0 give +0 in both, and nothing else changes. So no sum is
 * -0 from here on.
 */
TILE_INLINE void add_bias(const iso_tile_t *tile, int pixels, int vectors,
                          sums_t sums)
{
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const vec_t bias = vec_add(bias_of(tile, v), vec_zero());

#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++) {
            sums[p][v] = vec_add(sums[p][v], bias);
        }
    }
}

TILE_INLINE void relu_all(int pixels, int vectors, sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sums[p][v] = vec_positive(sums[p][v]);
        }
    }
}

TILE_INLINE void make_canonical(int pixels, int vectors, sums_t sums)
{
    vec_nan_t found = vec_no_nan();

#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
        found = vec_find_nan(found, sums[p][0], sums[p][vectors - 1]);
        if (vectors > 2) {
            found = vec_find_nan(found, sums[p][1], sums[p][2]);
        }
    }
    if (!vec_found_nan(found)) {
        return;
    }
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sums[p][v] = canonical(sums[p][v]);
        }
    }
}

/* is_full: every lane of the tile exists. */
TILE_INLINE void add_addend(const iso_tile_t *tile, bool is_full, int pixels,
                            int vectors, sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const float *from = tile->finish->addend + vector_at(tile, p, v);
            const vec_t addend =
                is_full ? vec_load(from)
                        : vec_load_masked(vec_zero(), lanes_of(tile, v), from);

            sums[p][v] = vec_add(sums[p][v], addend);
        }
    }
    make_canonical(pixels, vectors, sums);
}

TILE_INLINE void store_sums(const iso_tile_t *tile, bool is_full, int pixels,
                            int vectors, sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            float *to = tile->out + vector_at(tile, p, v);

            if (is_full) {
                vec_store(to, sums[p][v]);
            } else {
                vec_store_masked(to, lanes_of(tile, v), sums[p][v]);
            }
        }
    }
}

TILE_INLINE void finish_tile(const iso_tile_t *tile, bool is_full, int pixels,
                             int vectors, sums_t sums)
{
    const iso_tile_finish_t *finish = tile->finish;

    add_bias(tile, pixels, vectors, sums);
    if (finish->is_relu) {
        relu_all(pixels, vectors, sums);
    }
    make_canonical(pixels, vectors, sums);
    if (finish->addend != NULL) {
        add_addend(tile, is_full, pixels, vectors, sums);
        if (finish->is_relu_after) {
            relu_all(pixels, vectors, sums);
        }
    }
    store_sums(tile, is_full, pixels, vectors, sums);
}

/* ---- Finishing in general ---- */

static void activate(const iso_finish_t *how, float *row, int64_t n)
{
    if (how != NULL && how->is_relu) {
        for (int64_t i = 0; i < n; i += VEC_LANES) {
            vec_store(row + i, relu(vec_load(row + i)));
        }
    } else if (how != NULL && how->activate != NULL) {
        how->activate(how->activation, &how->coeff, row, row, n);
    }
}

/* Of a lane of the output, from the tile's first one. */
static int64_t lane_at(const iso_tile_t *tile, int lane)
{
    const int at = tile->offset + lane;

    return tile->finish->is_spread
               ? lane * tile->out_channel
               : at / ISO_BLOCK_CHANNELS * tile->out_channel +
                     at % ISO_BLOCK_CHANNELS - tile->offset;
}

/* The addend of one pixel. */
static void load_addend(const iso_tile_t *tile, int pixel, float *row)
{
    const float *from = tile->finish->addend + pixel * tile->out_pixel;

    for (int i = 0; i < tile->lanes; i++) {
        row[i] = from[lane_at(tile, i)];
    }
}

/* Sum, with bias, to what is stored; lanes is a multiple of VEC_LANES. */
static void finish_pixel(const iso_tile_t *tile, int pixel, int lanes,
                         float *row)
{
    const iso_tile_finish_t *how = tile->finish;

    activate(how->before, row, lanes);
    if (how->addend != NULL) {
        float addend[ISO_TILE_LANES] = {0};

        load_addend(tile, pixel, addend);
        for (int i = 0; i < lanes; i += VEC_LANES) {
            vec_store(row + i, canonical(vec_add(vec_load(row + i),
                                                 vec_load(addend + i))));
        }
    }
    activate(how->after, row, lanes);
}

/* Pixels that are no neighbours in the output's lanes. */
static void store_apart(const iso_tile_t *tile, int pixels, int lanes,
                        const float *sums)
{
    for (int lane = 0; lane < tile->lanes; lane++) {
        float *out = tile->out + lane * tile->out_channel;

        for (int p = 0; p < pixels; p++) {
            out[p * tile->out_pixel] = sums[(ptrdiff_t)p * lanes + lane];
        }
    }
}

/* A square of sums to neighbouring pixels of the output's lanes. */
static void store_spread(const iso_tile_t *tile, int pixels, int lanes,
                         const float *sums)
{
    for (int lane = 0; lane < tile->lanes; lane += VEC_LANES) {
        for (int p = 0; p < pixels; p += VEC_LANES) {
            const vec_mask_t mask = first_lanes(pixels - p);
            float *out = tile->out + lane * tile->out_channel + p;
            vec_t rows[VEC_LANES];

            for (int i = 0; i < VEC_LANES; i++) {
                rows[i] =
                    p + i < pixels
                        ? vec_load(sums + (ptrdiff_t)(p + i) * lanes + lane)
                        : vec_zero();
            }
            vec_transpose(rows);
            for (int i = 0; i < VEC_LANES && lane + i < tile->lanes; i++) {
                vec_store_masked(out + i * tile->out_channel, mask, rows[i]);
            }
        }
    }
}

/* Lanes [first, first + VEC_LANES) of a pixel: up to the end of their block,
 * and the others. */
static void store_lanes(const iso_tile_t *tile, int first, vec_t sums,
                        float *out)
{
    const int rest =
        ISO_BLOCK_CHANNELS - (tile->offset + first) % ISO_BLOCK_CHANNELS;
    const uint32_t lanes = bits_of_first(tile->lanes - first);
    const uint32_t head = lanes & bits_of_first(rest);

    vec_store_masked(out + lane_at(tile, first), vec_mask(head), sums);
    if (lanes != head) {
        vec_store_masked(out + lane_at(tile, first + rest) - rest,
                         vec_mask(lanes & ~head), sums);
    }
}

static void store_vectors(const iso_tile_t *tile, int pixels, int lanes,
                          const float *sums)
{
    for (int p = 0; p < pixels; p++) {
        for (int lane = 0; lane < tile->lanes; lane += VEC_LANES) {
            store_lanes(tile, lane,
                        vec_load(sums + (ptrdiff_t)p * lanes + lane),
                        tile->out + p * tile->out_pixel);
        }
    }
}

/* sums (pixels, lanes), with bias. */
static void finish_general(const iso_tile_t *tile, int pixels, int lanes,
                           float *sums)
{
    for (int p = 0; p < pixels; p++) {
        finish_pixel(tile, p, lanes, sums + (ptrdiff_t)p * lanes);
    }
    if (tile->finish->is_spread && tile->out_pixel != 1) {
        store_apart(tile, pixels, lanes, sums);
    } else if (tile->finish->is_spread) {
        store_spread(tile, pixels, lanes, sums);
    } else {
        store_vectors(tile, pixels, lanes, sums);
    }
}

/* ---- Tiles ---- */

/* Element of in that a block begins with. */
TILE_INLINE int64_t block_at(const iso_tile_t *tile, int64_t block)
{
    const int64_t channel = block * tile->block_channels;

    return channel / ISO_BLOCK_CHANNELS * tile->channels_step +
           channel % ISO_BLOCK_CHANNELS;
}

TILE_INLINE void run(const iso_tile_t *tile, int pixels, int vectors)
{
    const int lanes = vectors * VEC_LANES;
    int64_t block = tile->first_block;
    sums_t sums;

    if (TILE_CHAIN) {
        clear(pixels, vectors, sums);
        if (block > 0) {
            add_partial(partial_of(tile, 0, pixels, vectors), pixels, vectors,
                        sums);
        }
    }
    do { /* there is one at least */
        if (!TILE_CHAIN) {
            clear(pixels, vectors, sums);
        }
        add_block(tile, tile->in + block_at(tile, block),
                  tile->weights + block * tile->block_rows * ISO_PANEL_LANES,
                  block + 1 == tile->n_blocks ? tile->products->n_last
                                              : tile->products->n,
                  pixels, vectors, sums);
        if (!TILE_CHAIN) {
            push(tile, block, pixels, vectors, sums);
        }
        block++;
    } while (block < tile->end_block);
    if (block < tile->n_blocks) {
        if (TILE_CHAIN) {
            store_partial(partial_of(tile, 0, pixels, vectors), pixels, vectors,
                          sums);
        }
        return;
    }
    if (tile->finish->is_general) {
        float values[ISO_TILE_PIXELS * ISO_TILE_LANES];

        add_bias(tile, pixels, vectors, sums);
        make_canonical(pixels, vectors, sums);
        store_partial(values, pixels, vectors, sums);
        finish_general(tile, pixels, lanes, values);
    } else if (tile->lanes == lanes) {
        finish_tile(tile, true, pixels, vectors, sums);
    } else {
        finish_tile(tile, false, pixels, vectors, sums);
    }
}

#define TILE(pixels, vectors)                                    \
    static void run_##pixels##x##vectors(const iso_tile_t *tile) \
    {                                                            \
        run(tile, pixels, vectors);                              \
    }
#define ENTRY(pixels, vectors) [pixels] = run_##pixels##x##vectors
