/*
 * The functions of blocked.h in terms of vectors. The including file has
 * included its light_vec_*.h and defines BLOCKED_TABLE, the name of the table.
 */
#include "kernel/arith.h"
#include "kernel/cpu/blocked/blocked.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = ISO_BLOCK_CHANNELS,
    VECS = BLOCK / VEC_LANES, /* of a block of channels */
    POOL_TILE = 4,            /* positions */
};

#define INLINE static inline __attribute__((always_inline))

/* Mask of the first n lanes, none for n <= 0. */
INLINE vec_mask_t first_lanes(int64_t n)
{
    return vec_mask(n >= VEC_LANES ? (1U << VEC_LANES) - 1U
                    : n > 0        ? (1U << n) - 1U
                                   : 0U);
}

/* ---- Copies ---- */

/* A square of some positions and VEC_LANES channels; is_whole is a constant
 * of the callers. */
INLINE void square_from_plain(const float *from, int64_t channel_step,
                              int channels, int64_t n, bool is_whole, float *to)
{
    const vec_mask_t mask = first_lanes(n);
    vec_t rows[VEC_LANES];

#pragma GCC unroll 16
    for (int c = 0; c < VEC_LANES; c++) {
        const float *row = from + c * channel_step;

        if (is_whole) {
            rows[c] = vec_load(row);
        } else {
            rows[c] = c < channels ? vec_load_masked(vec_zero(), mask, row)
                                   : vec_zero();
        }
    }
    vec_transpose(rows);
#pragma GCC unroll 16
    for (int i = 0; i < VEC_LANES; i++) {
        if (is_whole || i < n) {
            vec_store(to + (int64_t)i * BLOCK, rows[i]);
        }
    }
}

static void from_plain(const float *from, int64_t channel_step, int channels,
                       int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        for (int c = 0; c < BLOCK; c += VEC_LANES) {
            const float *x = from + c * channel_step + i;
            float *y = to + i * BLOCK + c;

            if (n - i >= VEC_LANES && channels - c >= VEC_LANES) {
                square_from_plain(x, channel_step, VEC_LANES, VEC_LANES, true,
                                  y);
            } else {
                square_from_plain(x, channel_step, channels - c, n - i, false,
                                  y);
            }
        }
    }
}

INLINE void square_to_plain(const float *from, int64_t n, int64_t channel_step,
                            int channels, bool is_whole, float *to)
{
    const vec_mask_t mask = first_lanes(n);
    vec_t rows[VEC_LANES];

#pragma GCC unroll 16
    for (int i = 0; i < VEC_LANES; i++) {
        rows[i] = is_whole || i < n ? vec_load(from + (int64_t)i * BLOCK)
                                    : vec_zero();
    }
    vec_transpose(rows);
#pragma GCC unroll 16
    for (int c = 0; c < VEC_LANES; c++) {
        float *row = to + c * channel_step;

        if (is_whole) {
            vec_store(row, rows[c]);
        } else if (c < channels) {
            vec_store_masked(row, mask, rows[c]);
        }
    }
}

static void to_plain(const float *from, int64_t n, int64_t channel_step,
                     int channels, float *to)
{
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        for (int c = 0; c < channels; c += VEC_LANES) {
            const float *x = from + i * BLOCK + c;
            float *y = to + c * channel_step + i;

            if (n - i >= VEC_LANES && channels - c >= VEC_LANES) {
                square_to_plain(x, VEC_LANES, channel_step, VEC_LANES, true, y);
            } else {
                square_to_plain(x, n - i, channel_step, channels - c, false, y);
            }
        }
    }
}

/* ---- Norms ---- */

INLINE vec_t canonical(vec_t x)
{
    const uint32_t bits = ISO_NAN_BITS;
    float nan;

    memcpy(&nan, &bits, sizeof nan);
    return vec_select_nan(x, vec_set(nan), x);
}

static void run_norm(const iso_blocked_norm_t *norm, const float *x, float *y,
                     int64_t n)
{
    for (int v = 0; v < BLOCK; v += VEC_LANES) {
        const vec_t mean = vec_load(norm->mean + v);
        const vec_t deviation = vec_load(norm->deviation + v);
        const vec_t scale = vec_load(norm->scale + v);
        const vec_t bias = vec_load(norm->bias + v);

        for (int64_t i = v; i < n * BLOCK; i += BLOCK) {
            const vec_t d = vec_sub(vec_load(x + i), mean);
            const vec_t z = vec_mul(vec_div(d, deviation), scale);

            vec_store(y + i, canonical(vec_add(z, bias)));
        }
    }
}

/* ---- Means ---- */

/* VEC_LANES channels; the lanes of the reduction are vectors here. */
static void mean_of_some(const float *x, int64_t n, float *y)
{
    vec_t lane[ISO_LANES];
    int64_t i = 0;

#pragma GCC unroll 16
    for (int l = 0; l < ISO_LANES; l++) {
        lane[l] = vec_zero();
    }
    for (; i + ISO_LANES <= n; i += ISO_LANES) {
#pragma GCC unroll 16
        for (int l = 0; l < ISO_LANES; l++) {
            lane[l] = vec_add(lane[l], vec_load(x + (i + l) * BLOCK));
        }
    }
#pragma GCC unroll 16
    for (int l = 0; l < ISO_LANES; l++) {
        if (i + l < n) {
            lane[l] = vec_add(lane[l], vec_load(x + (i + l) * BLOCK));
        }
    }
#pragma GCC unroll 4
    for (int width = ISO_LANES / 2; width > 0; width /= 2) {
#pragma GCC unroll 8
        for (int l = 0; l < width; l++) {
            lane[l] = vec_add(lane[l], lane[l + width]);
        }
    }
    vec_store(y, canonical(vec_div(lane[0], vec_set((float)n))));
}

static void run_mean(const float *x, int64_t n, float *y)
{
    for (int v = 0; v < BLOCK; v += VEC_LANES) {
        mean_of_some(x + v, n, y + v);
    }
}

/* ---- Pools ---- */

/* As vec_max of light_math_body.h: of equal ones "and" keeps +0. */
INLINE vec_t greater_of(vec_t x, vec_t y)
{
    vec_t r = vec_select_less(x, y, y, x);

    r = vec_select_equal(x, y, vec_and(x, y), r);
    return vec_select_nan(x, x, vec_select_nan(y, y, r));
}

/* One tap of the positions of a tile. */
INLINE void pool_tap(bool is_max, const float *x, int64_t pixel_step, int count,
                     vec_t sums[POOL_TILE])
{
#pragma GCC unroll 4
    for (int p = 0; p < count; p++) {
        const vec_t some = vec_load(x + p * pixel_step);

        sums[p] = is_max ? greater_of(sums[p], some) : vec_add(sums[p], some);
    }
}

/* count positions of VEC_LANES channels; is_max and count are constants of
 * the callers. */
INLINE void pool_tile(const iso_blocked_pool_t *pool, bool is_max,
                      const float *in, int count, float *out)
{
    const int64_t *step = pool->step;
    vec_t sums[POOL_TILE];

#pragma GCC unroll 4
    for (int p = 0; p < count; p++) {
        sums[p] = is_max ? vec_set(-INFINITY) : vec_zero();
    }
    for (int64_t i = 0; i < pool->taps[0]; i++) {
        for (int64_t j = 0; j < pool->taps[1]; j++) {
            const float *row = in + i * step[0] + j * step[1];

            for (int64_t k = 0; k < pool->taps[2]; k++) {
                pool_tap(is_max, row + k * step[2], pool->pixel_step, count,
                         sums);
            }
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < count; p++) {
        if (!is_max) {
            sums[p] = vec_div(sums[p], vec_set(pool->divisor));
        }
        vec_store(out + (int64_t)p * BLOCK, canonical(sums[p]));
    }
}

INLINE void pool_with(const iso_blocked_pool_t *pool, bool is_max)
{
    for (int v = 0; v < BLOCK; v += VEC_LANES) {
        const float *in = pool->in + v;
        float *out = pool->out + v;
        int64_t p = 0;

        for (; p + POOL_TILE <= pool->count; p += POOL_TILE) {
            pool_tile(pool, is_max, in + p * pool->pixel_step, POOL_TILE,
                      out + p * BLOCK);
        }
        for (; p < pool->count; p++) {
            pool_tile(pool, is_max, in + p * pool->pixel_step, 1,
                      out + p * BLOCK);
        }
    }
}

static void run_pool(const iso_blocked_pool_t *pool)
{
    if (pool->is_max) {
        pool_with(pool, true);
    } else {
        pool_with(pool, false);
    }
}

const iso_blocked_isa_t BLOCKED_TABLE = {
    .from_plain = from_plain,
    .to_plain = to_plain,
    .norm = run_norm,
    .mean = run_mean,
    .pool = run_pool,
};
