/*
 * The functions of light_isa.h in terms of vectors. The including file has
 * included its light_vec_*.h and defines LIGHT_TABLE, the name of the table.
 *
 * The last elements of a row go through the same vector functions as the
 * others: lanes behind the end are loaded as what changes nothing and are
 * not stored.
 */
#include "kernel/arith.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/cpu/light_lot_body.h"
#include "kernel/cpu/light_math_body.h"
#include "kernel/ref/ref_impl.h"

#include <math.h>

#define ROW_INLINE static inline __attribute__((always_inline))

/* Vectors that make up the lanes of a reduction. */
enum { LANE_VECTORS = ISO_LANES / VEC_LANES };

/* Those of a lot are whole rounds of the lanes. */
enum { LOT_ELEMENTS = VEC_LOT * VEC_LANES };

enum {
    ERF_PART = 512, /* elements of a row */
    ROWS_AT_ONCE = 8,
    SHORT_ROW = 512, /* so many of them stay in the nearest cache */
};

_Static_assert(LOT_ELEMENTS % ISO_LANES == 0, "lanes of a lot");

/* Mask of the first n lanes; all for more. */
static inline vec_mask_t first_lanes(int64_t n)
{
    return vec_mask(n >= VEC_LANES ? (1U << VEC_LANES) - 1U : (1U << n) - 1U);
}

/* n elements, at most a vector of them; the rest from `rest`. */
static inline vec_t load_some(vec_t rest, const float *from, int64_t n)
{
    return n >= VEC_LANES ? vec_load(from)
                          : vec_load_masked(rest, first_lanes(n), from);
}

static inline void store_some(float *to, vec_t x, int64_t n)
{
    if (n >= VEC_LANES) {
        vec_store(to, x);
    } else {
        vec_store_masked(to, first_lanes(n), x);
    }
}

/* ---- Elementwise ---- */

typedef lot_t lot_fn(lot_t x);

/* Several vectors at once, but for the last ones. Returns how many elements
 * were done. */
ROW_INLINE int64_t unary_lots(lot_fn *function, const float *x, float *y,
                              int64_t n)
{
    int64_t done = 0;

    for (; done + LOT_ELEMENTS <= n; done += LOT_ELEMENTS) {
        lot_t lot;

        for (int i = 0; i < VEC_LOT; i++) {
            lot.v[i] = vec_load(x + done + (int64_t)i * VEC_LANES);
        }
        lot = function(lot);
        for (int i = 0; i < VEC_LOT; i++) {
            vec_store(y + done + (int64_t)i * VEC_LANES,
                      vec_canonical(lot.v[i]));
        }
    }
    return done;
}

/* Elements whose erf takes the long way, gathered from a part of a row. */
typedef struct erf_rest {
    int64_t count;
    float x[ERF_PART + LOT_ELEMENTS];
    uint32_t lanes[ERF_PART / VEC_LANES];
} erf_rest_t;

/* The short way for all of n (a multiple of a lot's); the others into rest. */
ROW_INLINE void erf_short(const float *x, float *y, int64_t n, erf_rest_t *rest)
{
    const vec_t from = vec_set(erf_large_from);
    uint32_t lanes;

    rest->count = 0;
    for (int64_t at = 0; at < n; at += LOT_ELEMENTS) {
        lot_t lot;

        for (int i = 0; i < VEC_LOT; i++) {
            lot.v[i] = vec_load(x + at + (int64_t)i * VEC_LANES);
            lanes = vec_at_least(vec_abs(lot.v[i]), from);
            rest->lanes[at / VEC_LANES + i] = lanes;
            rest->count += vec_pack(rest->x + rest->count, lanes, lot.v[i]);
        }
        lot = erf_small(lot);
        for (int i = 0; i < VEC_LOT; i++) {
            vec_store(y + at + (int64_t)i * VEC_LANES, vec_canonical(lot.v[i]));
        }
    }
    for (int i = 0; i < VEC_LOT; i++) { /* what fills up the last lot */
        vec_store(rest->x + rest->count + (int64_t)i * VEC_LANES, vec_zero());
    }
}

static void erf_part(const float *x, float *y, int64_t n)
{
    erf_rest_t rest;
    const float *from = rest.x;

    erf_short(x, y, n, &rest);
    for (int64_t at = 0; at < rest.count; at += LOT_ELEMENTS) {
        lot_t lot;

        for (int i = 0; i < VEC_LOT; i++) {
            lot.v[i] = vec_load(rest.x + at + (int64_t)i * VEC_LANES);
        }
        lot = erf_large(lot);
        for (int i = 0; i < VEC_LOT; i++) {
            vec_store(rest.x + at + (int64_t)i * VEC_LANES, lot.v[i]);
        }
    }
    for (int64_t at = 0; rest.count > 0 && at < n; at += VEC_LANES) {
        from += vec_unpack(y + at, rest.lanes[at / VEC_LANES], from);
    }
}

/* As unary_lots. */
static int64_t erf_lots(const float *x, float *y, int64_t n)
{
    const int64_t all = n / LOT_ELEMENTS * LOT_ELEMENTS;

    for (int64_t done = 0; done < all; done += ERF_PART) {
        erf_part(x + done, y + done,
                 all - done < ERF_PART ? all - done : ERF_PART);
    }
    return all;
}

static void unary(iso_op_t op, const iso__coeff_t *coeff, const float *x,
                  float *y, int64_t n)
{
    vec_unary_fn *function = unary_function(op);
    const vec_t a = vec_set((float)coeff->a);
    const vec_t b = vec_set((float)coeff->b);
    int64_t done = 0;

    if (op == ISO_OP_ERF) {
        done = erf_lots(x, y, n);
    } else if (op == ISO_OP_EXP) {
        done = unary_lots(lot_exp, x, y, n);
    } else if (op == ISO_OP_SIGMOID) {
        done = unary_lots(lot_sigmoid, x, y, n);
    }
    x += done;
    y += done;
    n -= done;
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        const vec_t v = load_some(vec_one(), x + i, n - i);

        store_some(y + i, vec_canonical(function(v, a, b)), n - i);
    }
}

static inline vec_t load_operand(const float *x, int64_t step, int64_t i,
                                 int64_t n)
{
    return step == 0 ? vec_set(*x) : load_some(vec_one(), x + i, n - i);
}

/* One row; inlined with each function and with steps that are known. */
ROW_INLINE void binary_row(vec_binary_fn *function, const float *x,
                           int64_t x_step, const float *y, int64_t y_step,
                           float *z, int64_t n)
{
    int64_t i = 0;

    for (; i + VEC_LANES <= n; i += VEC_LANES) {
        const vec_t v = load_operand(x, x_step, i, n);
        const vec_t w = load_operand(y, y_step, i, n);

        vec_store(z + i, vec_canonical(function(v, w)));
    }
    if (i < n) {
        const vec_t v = load_operand(x, x_step, i, n);
        const vec_t w = load_operand(y, y_step, i, n);

        store_some(z + i, vec_canonical(function(v, w)), n - i);
    }
}

ROW_INLINE void binary_rows_of(vec_binary_fn *function, const iso__plane_t *x,
                               const iso__plane_t *y, float *z, int64_t z_row,
                               int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *v = x->data + r * x->row;
        const float *w = y->data + r * y->row;

        if (x->step != 0 && y->step != 0) {
            binary_row(function, v, 1, w, 1, z + r * z_row, n);
        } else if (x->step != 0) {
            binary_row(function, v, 1, w, 0, z + r * z_row, n);
        } else if (y->step != 0) {
            binary_row(function, v, 0, w, 1, z + r * z_row, n);
        } else {
            binary_row(function, v, 0, w, 0, z + r * z_row, n);
        }
    }
}

static void binary_rows(iso_op_t op, const iso__plane_t *x,
                        const iso__plane_t *y, float *z, int64_t z_row,
                        int64_t rows, int64_t n)
{
    switch (op) {
    case ISO_OP_ADD:
        binary_rows_of(vec_add, x, y, z, z_row, rows, n);
        break;
    case ISO_OP_SUB:
        binary_rows_of(vec_sub, x, y, z, z_row, rows, n);
        break;
    case ISO_OP_MUL:
        binary_rows_of(vec_mul, x, y, z, z_row, rows, n);
        break;
    case ISO_OP_DIV:
        binary_rows_of(vec_div, x, y, z, z_row, rows, n);
        break;
    case ISO_OP_POW:
        binary_rows_of(binary_pow, x, y, z, z_row, rows, n);
        break;
    case ISO_OP_MIN:
        binary_rows_of(vec_min, x, y, z, z_row, rows, n);
        break;
    case ISO_OP_MAX:
        binary_rows_of(vec_max, x, y, z, z_row, rows, n);
        break;
    default:
        binary_rows_of(binary_prelu, x, y, z, z_row, rows, n);
        break;
    }
}

static void binary(iso_op_t op, const float *x, int64_t x_step, const float *y,
                   int64_t y_step, float *z, int64_t n)
{
    const iso__plane_t v = {.data = x, .step = x_step};
    const iso__plane_t w = {.data = y, .step = y_step};

    binary_rows(op, &v, &w, z, n, 1, n);
}

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
            acc[i % LANE_VECTORS] = vec_add(
                acc[i % LANE_VECTORS],
                n - at < VEC_LANES ? load_some(vec_zero(), y + at, n - at)
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
    const iso__plane_t powers = {.data = y, .row = n, .step = 1};
    const iso__plane_t sums = {.data = sum, .row = 1};

    for (int64_t r = 0; r < rows; r++) {
        most[r] =
            reduce_with(vec_most, ISO_OP_REDUCE_MAX, x->data + r * x->row, n);
    }
    for (int64_t r = 0; r < rows; r++) {
        sum[r] = exp_row(x->data + r * x->row, most[r], y + r * n, n);
    }
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
