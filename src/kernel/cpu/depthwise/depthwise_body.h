/*
 * The functions of depthwise.h in terms of vec_*.h, which the including file
 * has included. It also defines DEPTHWISE_TABLE, the name of the table,
 * DEPTHWISE_TILE, the output positions of the largest tile (14, 8 or 2), and
 *
 *     vec_most(a, b)     a > b ? a : b, so b when they are equal or NaN
 *     vec_least(a, b)    a < b ? a : b
 *     vec_hold(a)        a, which the compiler may not load again
 *     vec_choice(depth, c)  for each lane, lane c of its group of depth lanes
 *     vec_choose(a, choice) those lanes of a
 *
 * A tile is some output positions of a row by one vector of channels. For the
 * usual kernels it goes through a row of the operand column by column: each
 * is loaded once and multiplied by every tap that reads it, the weights of
 * the row being registers. The taps of a position still come in their order.
 * Of groups, what is loaded is spread over the lanes of each group, for one
 * channel after the other.
 */
#include "kernel/arith.h"
#include "kernel/cpu/depthwise/depthwise.h"

#include <stddef.h>
#include <string.h>

enum {
    BLOCK = ISO_BLOCK_CHANNELS,
    TAPS_MOST = 7, /* of a row, by columns */
    TILE_FEW = 4,  /* positions of a tile that goes tap by tap */
};

#define INLINE static inline __attribute__((always_inline))

typedef vec_t sums_t[DEPTHWISE_TILE > TILE_FEW ? DEPTHWISE_TILE : TILE_FEW];

/* A row of the output, of one vector of channels. */
typedef struct row {
    int64_t n;            /* rows of taps that lie inside, of each plane */
    const float *in;      /* of the first one, at column 0 */
    const float *weights; /* of the first one */
    float *out;
    vec_t bias;
} row_t;

/* How a row is gone through: constants of the callers. */
typedef struct way {
    bool is_grouped;
    int taps; /* those of columns; 0: tap by tap */
    int stride;
} way_t;

/* Which channel of its group every lane reads. */
typedef struct channel {
    vec_choice_t choice;
    const float *weights; /* of the first row of taps */
    bool is_chosen;       /* a constant of the callers; else its own */
} channel_t;

INLINE vec_t load_channel(const channel_t *channel, const float *x)
{
    const vec_t all = vec_load(x);

    return channel->is_chosen ? vec_choose(all, channel->choice) : all;
}

/* ---- Column by column ---- */

/* Column c of a tile, counted from what tap 0 of position 0 reads. */
INLINE void add_column(vec_t some, const vec_t weights[TAPS_MOST], int c,
                       int taps, int stride, int count, sums_t sums)
{
#pragma GCC unroll 7
    for (int t = 0; t < taps; t++) {
        const int p = (c - t) / stride;

        if (c >= t && (c - t) % stride == 0 && p < count) {
            sums[p] = vec_fma(some, weights[t], sums[p]);
        }
    }
}

/* Which columns of a tile exist, counted likewise. */
typedef struct columns {
    int64_t begin;
    int64_t end;
} columns_t;

/* A row of taps for all positions of a tile; x is its column 0. taps, stride
 * and count are constants of the callers. No position may lack all of its
 * taps. */
INLINE void add_columns(const channel_t *channel, const float *x,
                        const float *w, const columns_t *columns, way_t way,
                        int count, sums_t sums)
{
    const int taps = way.taps;
    const int all = (count - 1) * way.stride + taps;
    vec_t weights[TAPS_MOST];

    /* Else it keeps the address of every column, which are too many. */
    __asm__("" : "+r"(x));
#pragma GCC unroll 7
    for (int t = 0; t < taps; t++) {
        weights[t] = vec_load(w + (ptrdiff_t)t * BLOCK);
    }
#pragma GCC unroll 40
    for (int c = 0; c < all; c++) {
        const bool is_outside = (c < taps - 1 && c < columns->begin) ||
                                (c > all - taps && c >= columns->end);

        if (!is_outside) {
            add_column(
                vec_hold(load_channel(channel, x + (ptrdiff_t)c * BLOCK)),
                weights, c, taps, way.stride, count, sums);
        }
    }
}

/* ---- Tap by tap ---- */

/* A row of taps for neighbouring positions that have all of them, or for one
 * position. */
INLINE void add_taps(const channel_t *channel, const iso_depthwise_axis_t *axis,
                     const float *x, const float *w, int64_t column, int count,
                     sums_t sums)
{
    for (int64_t t = 0; t < axis->taps; t++) {
        const int64_t at = column + t * axis->dilation;
        const vec_t weights = vec_load(w + t * BLOCK);

        if (count == 1 && (at < 0 || at >= axis->in)) {
            continue;
        }
#pragma GCC unroll 4
        for (int p = 0; p < count; p++) {
            const float *from = x + (at + p * axis->stride) * BLOCK;

            sums[p] = vec_fma(load_channel(channel, from), weights, sums[p]);
        }
    }
}

/* ---- Finishing ---- */

INLINE vec_t canonical(vec_t x)
{
    const uint32_t bits = ISO_NAN_BITS;
    float nan;

    memcpy(&nan, &bits, sizeof nan);
    return vec_select_nan(x, vec_set(nan), x);
}

/* A sum plus +0 plus a bias is never -0, so that of two equal numbers the
 * later one is right; it is what stays beside a NaN, too. */
INLINE vec_t clipped(const iso_depthwise_finish_t *finish, vec_t x)
{
    x = vec_most(vec_set(finish->least), x);
    return finish->has_most ? vec_least(vec_set(finish->most), x) : x;
}

INLINE void finish_sums(const iso_depthwise_finish_t *finish, vec_t bias,
                        int count, sums_t sums)
{
#pragma GCC unroll 14
    for (int p = 0; p < count; p++) {
        sums[p] = vec_add(sums[p], bias);
    }
    if (finish->is_clipped) {
#pragma GCC unroll 14
        for (int p = 0; p < count; p++) {
            sums[p] = clipped(finish, sums[p]);
        }
    }
}

/* A NaN is rare: look for one among all sums before any is made canonical. */
INLINE void store_sums(float *out, int count, sums_t sums)
{
    vec_nan_t nan = vec_no_nan();

#pragma GCC unroll 14
    for (int p = 0; p < count; p += 2) {
        nan = vec_find_nan(nan, sums[p], sums[p + 1 < count ? p + 1 : p]);
    }
    if (vec_found_nan(nan)) {
#pragma GCC unroll 14
        for (int p = 0; p < count; p++) {
            sums[p] = canonical(sums[p]);
        }
    }
#pragma GCC unroll 14
    for (int p = 0; p < count; p++) {
        vec_store(out + (ptrdiff_t)p * BLOCK, sums[p]);
    }
}

/* ---- Tiles ---- */

/* The products of one channel of each group. */
INLINE void add_planes(const iso_depthwise_run_t *run, const row_t *row,
                       const channel_t *channel, way_t way, int64_t column,
                       int count, sums_t sums)
{
    const int64_t next = run->columns.taps * BLOCK;
    const int64_t step = run->rows.dilation * run->in_row;
    const columns_t columns = {-column, run->columns.in - column};
    const float *plane = row->in;
    const float *weights = channel->weights;

    for (int64_t i = 0; i < run->n_planes; i++) {
        const float *x = plane;
        const float *w = weights;

        for (int64_t j = 0; j < row->n; j++) {
            if (way.taps > 0) {
                add_columns(channel, x + column * BLOCK, w, &columns, way,
                            count, sums);
            } else {
                add_taps(channel, &run->columns, x, w, column, count, sums);
            }
            x += step;
            w += next;
        }
        plane += run->in_plane;
        weights += run->rows.taps * next;
    }
}

/* Some positions of a row, of which the first one reads column at tap 0.
 */
INLINE void tile(const iso_depthwise_run_t *run, const row_t *row, way_t way,
                 int64_t column, float *out, int count)
{
    const int64_t depth = way.is_grouped ? run->depth : 1;
    sums_t sums;

#pragma GCC unroll 14
    for (int p = 0; p < count; p++) {
        sums[p] = vec_zero();
    }
    for (int64_t c = 0; c < depth; c++) {
        const channel_t channel = {
            .is_chosen = way.is_grouped,
            .choice = vec_choice((int)depth, (int)c),
            .weights = row->weights + c * run->weights_channel,
        };

        add_planes(run, row, &channel, way, column, count, sums);
    }
    finish_sums(&run->finish, row->bias, count, sums);
    store_sums(out, count, sums);
}

/* Groups or not. */
#define TAP_BY_TAP ((way_t){true, 0, 1})

static void one_by_one(const iso_depthwise_run_t *run, const row_t *row,
                       int64_t column, float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        tile(run, row, TAP_BY_TAP, column + i * run->columns.stride,
             out + i * BLOCK, 1);
    }
}

/* A tile of 1 to DEPTHWISE_TILE positions. */
INLINE void tile_of(const iso_depthwise_run_t *run, const row_t *row, way_t way,
                    int64_t column, float *out, int64_t count)
{
    switch (count) {
#define CASE(n)                              \
    case n:                                  \
        tile(run, row, way, column, out, n); \
        break;
        CASE(1)
#if DEPTHWISE_TILE > 2
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
#endif
#if DEPTHWISE_TILE > 8
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
#endif
#undef CASE
    default:
        tile(run, row, way, column, out, DEPTHWISE_TILE);
    }
}

/* A row in tiles of nearly equal size. */
INLINE void run_columns(const iso_depthwise_run_t *run, const row_t *row,
                        way_t way)
{
    const iso_depthwise_axis_t *axis = &run->columns;
    int64_t tiles = (axis->out + DEPTHWISE_TILE - 1) / DEPTHWISE_TILE;
    int64_t column = axis->shift;
    int64_t left = axis->out;
    float *out = row->out;

    for (; tiles > 0; tiles--) {
        const int64_t count = tiles == 1 ? left : (left + tiles - 1) / tiles;

        if (column > -way.taps &&
            column + (count - 1) * way.stride < axis->in) {
            tile_of(run, row, way, column, out, count);
        } else {
            one_by_one(run, row, column, out, count);
        }
        column += count * way.stride;
        out += count * BLOCK;
        left -= count;
    }
}

typedef void row_fn(const iso_depthwise_run_t *run, const row_t *row);

#define ROW(taps, stride)                                             \
    static void run_##taps##_##stride(const iso_depthwise_run_t *run, \
                                      const row_t *row)               \
    {                                                                 \
        run_columns(run, row, (way_t){false, taps, stride});          \
    }
#define GROUP_ROW(taps, stride)                                         \
    static void group_##taps##_##stride(const iso_depthwise_run_t *run, \
                                        const row_t *row)               \
    {                                                                   \
        run_columns(run, row, (way_t){true, taps, stride});             \
    }
ROW(3, 1)
ROW(3, 2)
ROW(5, 1)
ROW(5, 2)
ROW(7, 1)
GROUP_ROW(3, 1)
GROUP_ROW(3, 2)
#undef ROW
#undef GROUP_ROW

/* Any kernel. */
static void run_taps(const iso_depthwise_run_t *run, const row_t *row)
{
    const iso_depthwise_axis_t *axis = &run->columns;
    const int64_t reach =
        (axis->taps - 1) * axis->dilation + (TILE_FEW - 1) * axis->stride;

    for (int64_t first = 0; first < axis->out; first += TILE_FEW) {
        const int64_t left = axis->out - first;
        const int64_t column = axis->shift + first * axis->stride;
        float *out = row->out + first * BLOCK;

        if (left >= TILE_FEW && column >= 0 && column + reach < axis->in) {
            tile(run, row, TAP_BY_TAP, column, out, TILE_FEW);
        } else {
            one_by_one(run, row, column, out,
                       left < TILE_FEW ? left : TILE_FEW);
        }
    }
}

static row_fn *function_of(const iso_depthwise_run_t *run)
{
    static row_fn *const own[][2] = {
        [3] = {run_3_1, run_3_2},
        [5] = {run_5_1, run_5_2},
        [TAPS_MOST] = {run_7_1, NULL},
    };
    static row_fn *const grouped[TAPS_MOST + 1][2] = {
        [3] = {group_3_1, group_3_2},
    };
    const iso_depthwise_axis_t *axis = &run->columns;
    row_fn *function = NULL;

    if (axis->taps <= TAPS_MOST && axis->dilation == 1 && axis->stride <= 2) {
        function =
            (run->depth > 1 ? grouped : own)[axis->taps][axis->stride - 1];
    }
    return function != NULL ? function : run_taps;
}

/* ---- Rows ---- */

/* Row number `number` of the first channel block; no bias yet. */
static row_t row_of(const iso_depthwise_run_t *run, int64_t number)
{
    const iso_depthwise_axis_t *axis = &run->rows;
    int64_t at = number * axis->stride + axis->shift;
    int64_t first = 0;
    row_t row = {.out = run->out + number * run->out_row};

    while (at < 0 && first < axis->taps) {
        at += axis->dilation;
        first++;
    }
    row.in = run->in + at * run->in_row;
    row.weights = run->weights + first * run->columns.taps * BLOCK;
    while (first + row.n < axis->taps && at < axis->in) {
        at += axis->dilation;
        row.n++;
    }
    return row;
}

/* Bias of a vector of channels, +0 where there is none. A bias of -0 becomes
 * +0: then adding it does to every sum what adding +0 and the bias does. */
INLINE vec_t bias_of(const iso_depthwise_run_t *run, int64_t channel)
{
    const int64_t n = run->channels - channel;
    vec_t bias = vec_zero();

    if (run->bias != NULL && n >= VEC_LANES) {
        bias = vec_load(run->bias + channel);
    } else if (run->bias != NULL && n > 0) {
        bias = vec_load_masked(bias, vec_mask((1U << n) - 1U),
                               run->bias + channel);
    }
    return vec_add(bias, vec_zero());
}

static void run_rows(const iso_depthwise_run_t *run)
{
    row_fn *function = function_of(run);

    for (int64_t r = 0; r < run->rows.out; r++) {
        const row_t first = row_of(run, r);

        for (int64_t b = 0; b < run->n_blocks; b++) {
            for (int v = 0; v < BLOCK; v += VEC_LANES) {
                const row_t row = {
                    .n = first.n,
                    .in = first.in + b * run->in_block + v,
                    .weights = first.weights + b * run->weights_block + v,
                    .out = first.out + b * run->out_block + v,
                    .bias = bias_of(run, b * BLOCK + v),
                };

                function(run, &row);
            }
        }
    }
}

const iso_depthwise_isa_t DEPTHWISE_TABLE = {.run = run_rows};
