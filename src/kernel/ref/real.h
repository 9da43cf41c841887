/*
 * real_t: the type that a file of the reference device is compiled for, f32
 * or (with ISO_REAL_F64) f64. <tgmath.h> picks fma, sqrt and the like by
 * type; the transcendental functions are SLEEF's deterministic ones.
 */
#ifndef ISO_REAL_H
#define ISO_REAL_H

#include "kernel/arith.h"
#include "kernel/ref/ref_impl.h"
#include "kernel/sleef.h"

#include <string.h>
#include <tgmath.h>

#ifdef ISO_REAL_F64

typedef double real_t;
#define REAL(name)       name##_f64
#define REAL_SLEEF(name) Sleef_finz_##name##d1_u10purecfma

static inline double real_canonical(double value)
{
    const uint64_t bits = UINT64_C(0x7ff8000000000000);

    if (value != value) {
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

#else

typedef float real_t;
#define REAL(name)       name##_f32
#define REAL_SLEEF(name) Sleef_finz_##name##f1_u10purecfma

static inline float real_canonical(float value)
{
    return iso_canonical(value);
}

#endif

/* The greater one; +0 is greater than -0, a NaN wins. */
static inline real_t real_max(real_t x, real_t y)
{
    if (x != x || y != y) {
        return real_canonical(x + y);
    }
    if (x == y) {
        return signbit(x) ? y : x;
    }
    return x > y ? x : y;
}

static inline real_t real_min(real_t x, real_t y)
{
    if (x != x || y != y) {
        return real_canonical(x + y);
    }
    if (x == y) {
        return signbit(x) ? x : y;
    }
    return x < y ? x : y;
}

/* ---- Lanes: see arith.h ---- */

typedef struct real_lanes {
    int64_t count;
    real_t lane[ISO_LANES];
} real_lanes_t;

static inline void real_lanes_begin(real_lanes_t *lanes, real_t neutral)
{
    lanes->count = 0;
    for (int i = 0; i < ISO_LANES; i++) {
        lanes->lane[i] = neutral;
    }
}

/* The lane of the next element. */
static inline real_t *real_lanes_next(real_lanes_t *lanes)
{
    return &lanes->lane[lanes->count++ % ISO_LANES];
}

static inline real_t real_lanes_sum(real_lanes_t *lanes)
{
    for (int width = ISO_LANES / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) {
            lanes->lane[i] += lanes->lane[i + width];
        }
    }
    return lanes->lane[0];
}

#endif
