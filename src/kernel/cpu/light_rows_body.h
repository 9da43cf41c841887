/*
 * The functions of light_isa.h in terms of vectors. The including file has
 * included its light_vec_*.h and defines LIGHT_TABLE, the name of the table.
 */
#include "kernel/arith.h"
#include "kernel/cpu/light_elementwise_body.h"
#include "kernel/ref/ref_impl.h"

#include <math.h>

/* Vectors that make up the lanes of a reduction; a lot is whole rounds. */
enum { LANE_VECTORS = ISO_LANES / VEC_LANES };

_Static_assert(LOT_ELEMENTS % ISO_LANES == 0, "lanes of a lot");

enum {
    ROWS_AT_ONCE = 8,
    SHORT_ROW = 512, /* so many of them stay in the nearest cache */
};

/* ---- Reductions ---- */

static float neutral_of(iso_op_t op)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return 1.0F;
    case ISO_OP_REDUCE_MAX:
        return -INFINITY;
    case ISO_OP_REDUCE_MIN:
        return INFINITY;
    default:
        return 0.0F;
    }
}

/* The op on two numbers that reduces. */
static iso_op_t joining_op(iso_op_t op)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return ISO_OP_MUL;
    case ISO_OP_REDUCE_MAX:
        return ISO_OP_MAX;
    case ISO_OP_REDUCE_MIN:
        return ISO_OP_MIN;
    default:
        return ISO_OP_ADD;
    }
}

/* Lanes joined in halves: what lies behind the first half changes nothing
 * before it. */
static inline float fold_lanes(vec_binary_fn *join, vec_t acc[LANE_VECTORS])
{
    for (int half = LANE_VECTORS / 2; half > 0; half /= 2) {
        for (int v = 0; v < half; v++) {
            acc[v] = join(acc[v], acc[v + half]);
        }
    }
#pragma GCC unroll 4
    for (int by = VEC_LANES / 2; by > 0; by /= 2) {
        acc[0] = join(acc[0], vec_down(acc[0], by));
    }
    return vec_first(vec_canonical(acc[0]));
}

/* Inlined with each function, so that the chain stays in registers. */
static inline float reduce_with(vec_binary_fn *join, iso_op_t op,
                                const float *x, int64_t n)
{
    const vec_t neutral = vec_set(neutral_of(op));
    vec_t acc[LANE_VECTORS];

    for (int v = 0; v < LANE_VECTORS; v++) {
        acc[v] = neutral;
    }
    for (int64_t i = 0; i < n; i += ISO_LANES) {
        for (int v = 0; v < LANE_VECTORS; v++) {
            const int64_t at = i + (int64_t)v * VEC_LANES;

            if (at < n) {
                acc[v] = join(acc[v], load_some(neutral, x + at, n - at));
            }
        }
    }
    return fold_lanes(join, acc);
}

static float reduce_row(iso_op_t op, const float *x, int64_t n)
{
    switch (op) {
    case ISO_OP_REDUCE_PROD:
        return reduce_with(vec_mul, op, x, n);
    case ISO_OP_REDUCE_MAX:
        return reduce_with(vec_max, op, x, n);
    case ISO_OP_REDUCE_MIN:
        return reduce_with(vec_min, op, x, n);
    default:
        return reduce_with(vec_add, op, x, n);
    }
}

/* Lane vectors of a few columns, folded as the lanes of a row are. */
static vec_t fold_columns(vec_binary_fn *join, vec_t acc[ISO_LANES])
{
    for (int width = ISO_LANES / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) {
            acc[i] = join(acc[i], acc[i + width]);
        }
    }
    return acc[0];
}

static void reduce_columns(iso_op_t op, const float *x,
                           const iso__columns_t *columns, float *y)
{
    vec_binary_fn *join = binary_function(joining_op(op));
    const vec_t neutral = vec_set(neutral_of(op));

    for (int64_t i = 0; i < columns->n; i += VEC_LANES) {
        const int64_t left = columns->n - i;
        vec_t acc[ISO_LANES];

        for (int lane = 0; lane < ISO_LANES; lane++) {
            acc[lane] = neutral;
        }
        for (int64_t r = 0; r < columns->rows; r++) {
            const float *row = x + r * columns->step + i;
            vec_t *lane = &acc[r % ISO_LANES];

            *lane = join(*lane, load_some(neutral, row, left));
        }
        store_some(y + i, vec_canonical(fold_columns(join, acc)), left);
    }
}

/* ---- Softmax ---- */

/* exp(x - most) of up to a vector, stored and returned; +0 behind the end. */
static inline vec_t exp_some(const float *x, vec_t most, float *y, int64_t n)
{
    const vec_t e = vec_exp(vec_sub(load_some(most, x, n), most));

    store_some(y, e, n);
    return n < VEC_LANES ? load_some(vec_zero(), y, n) : e;
}

/* exp(x - most) of the vectors of a lot that begin before n, and their sums
 * onto the lanes; behind the end nothing is added. */
ROW_INLINE void exp_lot(const float *x, vec_t most, float *y, int64_t n,
                        vec_t acc[LANE_VECTORS])
{
    lot_t lot;

    for (int i = 0; i < VEC_LOT; i++) {
        const int64_t at = (int64_t)i * VEC_LANES;

        lot.v[i] =
            vec_sub(at < n ? load_some(most, x + at, n - at) : most, most);
    }
    lot = lot_exp(lot);
    for (int i = 0; i < VEC_LOT; i++) {
        const int64_t at = (int64_t)i * VEC_LANES;

        if (at < n) {
            store_some(y + at, lot.v[i], n - at);
            vec_t *sum = &acc[i & (LANE_VECTORS - 1)];

            *sum = vec_add(*sum, n - at < VEC_LANES
                                     ? load_some(vec_zero(), y + at, n - at)
                                     : lot.v[i]);
        }
    }
}

ROW_INLINE float exp_row(const float *x, float most, float *y, int64_t n)
{
    const vec_t most_v = vec_set(most);
    vec_t acc[LANE_VECTORS];
    int64_t i = 0;

    for (int v = 0; v < LANE_VECTORS; v++) {
        acc[v] = vec_zero();
    }
    for (; i + LOT_ELEMENTS <= n; i += LOT_ELEMENTS) {
        exp_lot(x + i, most_v, y + i, LOT_ELEMENTS, acc);
    }
    if (i < n) {
        exp_lot(x + i, most_v, y + i, n - i, acc);
    }
    return fold_lanes(vec_add, acc);
}

static void log_softmax_row(const float *x, float *y, int64_t n)
{
    const float most = reduce_row(ISO_OP_REDUCE_MAX, x, n);
    const float log_sum = Sleef_finz_logf1_u10purecfma(exp_row(x, most, y, n));

    binary(ISO_OP_SUB, x, 1, &most, 0, y, n);
    binary(ISO_OP_SUB, y, 1, &log_sum, 0, y, n);
}

/* A few rows, so that they need not wait for the folds of each. */
static void softmax_some_rows(const iso__plane_t *x, float *y, int64_t rows,
                              int64_t n)
{
    float most[ROWS_AT_ONCE];
    float sum[ROWS_AT_ONCE];

    for (int64_t r = 0; r < rows; r++) {
        most[r] =
            reduce_with(vec_most, ISO_OP_REDUCE_MAX, x->data + r * x->row, n);
    }
    for (int64_t r = 0; r < rows; r++) {
        sum[r] = exp_row(x->data + r * x->row, most[r], y + r * n, n);
    }
    const iso__plane_t powers = {.data = y, .row = n, .step = 1};
    const iso__plane_t sums = {.data = sum, .row = 1};

    binary_rows(ISO_OP_DIV, &powers, &sums, y, n, rows, n);
}

static void softmax_rows(bool is_log, const iso__plane_t *x, float *y,
                         int64_t rows, int64_t n)
{
    const int64_t at_once = n < SHORT_ROW ? ROWS_AT_ONCE : 1;

    for (int64_t r = 0; r < rows; r += at_once) {
        const iso__plane_t some = {.data = x->data + r * x->row, .row = x->row};

        if (is_log) {
            for (int64_t i = r; i < rows && i < r + at_once; i++) {
                log_softmax_row(x->data + i * x->row, y + i * n, n);
            }
        } else {
            softmax_some_rows(&some, y + r * n,
                              rows - r < at_once ? rows - r : at_once, n);
        }
    }
}

/* Up to a vector of columns. */
static void softmax_some(bool is_log, const float *x,
                         const iso__columns_t *columns, float *y, int64_t n)
{
    const int64_t step = columns->step;
    vec_t most = vec_set(-INFINITY);
    vec_t acc[ISO_LANES];

    for (int64_t r = 0; r < columns->rows; r++) {
        most = vec_max(most, load_some(most, x + r * step, n));
    }
    for (int lane = 0; lane < ISO_LANES; lane++) {
        acc[lane] = vec_zero();
    }
    for (int64_t r = 0; r < columns->rows; r++) {
        const vec_t e = exp_some(x + r * step, most, y + r * step, n);

        acc[r % ISO_LANES] = vec_add(acc[r % ISO_LANES], e);
    }

    const vec_t sum = fold_columns(vec_add, acc);
    const vec_t log_sum = is_log ? vec_log(sum) : sum;

    for (int64_t r = 0; r < columns->rows; r++) {
        const vec_t v = load_some(vec_zero(), (is_log ? x : y) + r * step, n);
        const vec_t z =
            is_log ? vec_sub(vec_sub(v, most), log_sum) : vec_div(v, sum);

        store_some(y + r * step, vec_canonical(z), n);
    }
}

static void softmax_columns(bool is_log, const float *x,
                            const iso__columns_t *columns, float *y)
{
    for (int64_t i = 0; i < columns->n; i += VEC_LANES) {
        softmax_some(is_log, x + i, columns, y + i, columns->n - i);
    }
}

/* ---- Norms ---- */

static float squares_row(const float *x, float mean, int64_t n)
{
    const vec_t mean_v = vec_set(mean);
    vec_t acc[LANE_VECTORS];

    for (int v = 0; v < LANE_VECTORS; v++) {
        acc[v] = vec_zero();
    }
    for (int64_t i = 0; i < n; i += ISO_LANES) {
        for (int v = 0; v < LANE_VECTORS; v++) {
            const int64_t at = i + (int64_t)v * VEC_LANES;

            if (at < n) {
                const vec_t some = load_some(mean_v, x + at, n - at);
                const vec_t d = vec_sub(some, mean_v);

                acc[v] = vec_fma(d, d, acc[v]);
            }
        }
    }
    return fold_lanes(vec_add, acc);
}

static void norm_row(const iso__norm_row_t *norm, const float *x, float *y,
                     int64_t n)
{
    const vec_t mean = vec_set(norm->mean);
    const vec_t deviation = vec_set(norm->deviation);

    for (int64_t i = 0; i < n; i += VEC_LANES) {
        const vec_t d = vec_sub(load_some(mean, x + i, n - i), mean);
        vec_t z = vec_mul(vec_div(d, deviation),
                          load_operand(norm->scale, norm->step, i, n));

        if (norm->bias != NULL) {
            z = vec_add(z, load_operand(norm->bias, norm->step, i, n));
        }
        store_some(y + i, vec_canonical(z), n - i);
    }
}

static void lrn_row(const iso__lrn_row_t *lrn, const float *x, float *y,
                    int64_t n)
{
    const vec_t beta = vec_set(lrn->beta);

    for (int64_t i = 0; i < n; i += VEC_LANES) {
        vec_t sum = vec_zero();

        for (int64_t k = 0; k < lrn->count; k++) {
            const float *row = lrn->first + k * lrn->step + i;
            const vec_t v = load_some(vec_zero(), row, n - i);

            sum = vec_fma(v, v, sum);
        }
        sum = vec_add(vec_set(lrn->bias), vec_mul(vec_set(lrn->alpha), sum));

        const vec_t v = load_some(vec_zero(), x + i, n - i);
        const vec_t z = vec_div(v, vec_canonical(binary_pow(sum, beta)));

        store_some(y + i, vec_canonical(z), n - i);
    }
}

/* ---- Pools ---- */

static void pool_tap(bool is_max, const float *x, int64_t step, float *y,
                     int64_t n)
{
    float rest[VEC_LANES] = {0};

    for (int64_t i = 0; i < n; i += VEC_LANES) {
        const int64_t left = n - i;
        const vec_t sum = load_some(vec_zero(), y + i, left);
        vec_t v;

        if (step == 1) {
            v = load_some(vec_zero(), x + i, left);
        } else if (left >= VEC_LANES) {
            v = vec_load_step(x + i * step, step);
        } else {
            for (int64_t k = 0; k < left; k++) {
                rest[k] = x[(i + k) * step];
            }
            v = vec_load(rest);
        }
        store_some(y + i, is_max ? vec_max(sum, v) : vec_add(sum, v), left);
    }
}

const iso__light_isa_t LIGHT_TABLE = {
    .unary = unary,
    .binary = binary,
    .binary_rows = binary_rows,
    .reduce_row = reduce_row,
    .reduce_columns = reduce_columns,
    .softmax_rows = softmax_rows,
    .softmax_columns = softmax_columns,
    .squares_row = squares_row,
    .norm_row = norm_row,
    .lrn_row = lrn_row,
    .pool_tap = pool_tap,
};
