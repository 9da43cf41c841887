/*
 * Unary and binary ops on rows, a part of light_rows_body.h.
 *
 * The last elements of a row go through the same vector functions as the
 * others: lanes behind the end are loaded as what changes nothing and are
 * not stored.
 */
#ifndef ISO_LIGHT_ELEMENTWISE_H
#define ISO_LIGHT_ELEMENTWISE_H

#include "kernel/cpu/light_isa.h"
#include "kernel/cpu/light_lot_body.h"
#include "kernel/cpu/light_math_body.h"

#define ROW_INLINE static inline __attribute__((always_inline))

enum { LOT_ELEMENTS = VEC_LOT * VEC_LANES };

enum { ERF_PART = 512 }; /* elements of a row */

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

#endif
