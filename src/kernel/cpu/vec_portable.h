/*
 * Vectors of floats as plain C, for CPUs without AVX2. vec_avx2.h and
 * vec_avx512.h are the same functions in intrinsics; panel_body.h is written
 * in terms of these and compiled once with each.
 */
#ifndef ISO_VEC_PORTABLE_H
#define ISO_VEC_PORTABLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { VEC_LANES = 8 };

typedef struct vec {
    float lane[VEC_LANES];
} vec_t;
typedef uint32_t vec_mask_t; /* bit i: lane i */

static inline vec_t vec_set(float value)
{
    vec_t r;

    for (int i = 0; i < VEC_LANES; i++) {
        r.lane[i] = value;
    }
    return r;
}

static inline vec_t vec_zero(void)
{
    return vec_set(0.0F);
}

static inline vec_t vec_load(const float *from)
{
    vec_t r;

    for (int i = 0; i < VEC_LANES; i++) {
        r.lane[i] = from[i];
    }
    return r;
}

static inline void vec_store(float *to, vec_t a)
{
    for (int i = 0; i < VEC_LANES; i++) {
        to[i] = a.lane[i];
    }
}

/* Past the caches, where lines of them can be written whole; to is aligned to
 * a vector. Other threads see it after vec_stream_end. */
static inline void vec_stream(float *to, vec_t a)
{
    vec_store(to, a);
}

static inline void vec_stream_end(void)
{
}

static inline vec_mask_t vec_mask(uint32_t bits)
{
    return bits;
}

/* Lanes of the mask from memory, the others from rest; no other element is
 * touched. */
static inline vec_t vec_load_masked(vec_t rest, vec_mask_t mask,
                                    const float *from)
{
    for (int i = 0; i < VEC_LANES; i++) {
        if ((mask >> i & 1U) != 0) {
            rest.lane[i] = from[i];
        }
    }
    return rest;
}

/* As above from every second element; bit i of mask: lane i. */
static inline vec_t vec_load_masked_2(vec_t rest, uint32_t mask,
                                      const float *from)
{
    for (int i = 0; i < VEC_LANES; i++) {
        if ((mask >> i & 1U) != 0) {
            rest.lane[i] = from[2 * (int64_t)i];
        }
    }
    return rest;
}

static inline void vec_store_masked(float *to, vec_mask_t mask, vec_t a)
{
    for (int i = 0; i < VEC_LANES; i++) {
        if ((mask >> i & 1U) != 0) {
            to[i] = a.lane[i];
        }
    }
}

static inline vec_t vec_add(vec_t a, vec_t b)
{
    for (int i = 0; i < VEC_LANES; i++) {
        a.lane[i] += b.lane[i];
    }
    return a;
}

static inline vec_t vec_mul(vec_t a, vec_t b)
{
    for (int i = 0; i < VEC_LANES; i++) {
        a.lane[i] *= b.lane[i];
    }
    return a;
}

/* a b + c, rounded once. */
static inline vec_t vec_fma(vec_t a, vec_t b, vec_t c)
{
    for (int i = 0; i < VEC_LANES; i++) {
        a.lane[i] = fmaf(a.lane[i], b.lane[i], c.lane[i]);
    }
    return a;
}

/* yes where a < b (false for a NaN), else no. */
static inline vec_t vec_select_less(vec_t a, vec_t b, vec_t yes, vec_t no)
{
    for (int i = 0; i < VEC_LANES; i++) {
        no.lane[i] = a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i];
    }
    return no;
}

/* yes where a is a NaN, else no. */
static inline vec_t vec_select_nan(vec_t a, vec_t yes, vec_t no)
{
    for (int i = 0; i < VEC_LANES; i++) {
        no.lane[i] = isnan(a.lane[i]) ? yes.lane[i] : no.lane[i];
    }
    return no;
}

/* rows[i] lane j and rows[j] lane i change places. */
static inline void vec_transpose(vec_t rows[VEC_LANES])
{
    for (int i = 0; i < VEC_LANES; i++) {
        for (int j = i + 1; j < VEC_LANES; j++) {
            const float kept = rows[i].lane[j];

            rows[i].lane[j] = rows[j].lane[i];
            rows[j].lane[i] = kept;
        }
    }
}

/* The greater of 0 and x; a NaN stays what it is. x is not -0. */
static inline vec_t vec_positive(vec_t x)
{
    for (int i = 0; i < VEC_LANES; i++) {
        x.lane[i] = x.lane[i] < 0.0F ? 0.0F : x.lane[i];
    }
    return x;
}

/* Whether NaNs were met: begins as vec_no_nan(), takes two vectors. */
typedef bool vec_nan_t;

static inline vec_nan_t vec_no_nan(void)
{
    return false;
}

static inline vec_nan_t vec_find_nan(vec_nan_t found, vec_t a, vec_t b)
{
    for (int i = 0; i < VEC_LANES; i++) {
        found = found || isunordered(a.lane[i], b.lane[i]);
    }
    return found;
}

static inline bool vec_found_nan(vec_nan_t found)
{
    return found;
}

#endif
