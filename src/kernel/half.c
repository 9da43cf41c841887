#include "kernel/half.h"

#include "kernel/arith.h"

#include <string.h>

enum {
    F64_FRACTION = 52,
    F64_BIAS = 1023,
    F64_MOST_EXPONENT = 2047,
};

/* A 16-bit format: bits of its fraction and of its exponent. */
typedef struct narrow {
    int fraction;
    int exponent;
} narrow_t;

static const narrow_t f16_format = {.fraction = 10, .exponent = 5};
static const narrow_t bf16_format = {.fraction = 7, .exponent = 8};

/* value / 2^shift to nearest even; 0 < shift < 64. */
static uint64_t shift_rounded(uint64_t value, int shift)
{
    const uint64_t half = UINT64_C(1) << (shift - 1);
    const uint64_t rest = value & ((half << 1) - 1);
    const uint64_t whole = value >> shift;

    return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

static uint16_t narrow_of(double value, narrow_t to)
{
    const int bias = (1 << (to.exponent - 1)) - 1;
    const uint64_t infinity = ((UINT64_C(1) << to.exponent) - 1) << to.fraction;
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);

    const uint64_t sign = bits >> 63 << 15;
    const int exponent = (int)(bits >> F64_FRACTION & F64_MOST_EXPONENT);
    uint64_t fraction = bits & ((UINT64_C(1) << F64_FRACTION) - 1);

    if (exponent == F64_MOST_EXPONENT) {
        const uint64_t quiet = UINT64_C(1) << (to.fraction - 1);

        return (uint16_t)(fraction != 0 ? infinity | quiet : sign | infinity);
    }
    if (exponent == 0) {
        return (uint16_t)sign; /* far below half of the least subnormal */
    }

    /* A carry out of the fraction moves into the exponent, as it should. */
    const int narrowed = exponent - F64_BIAS + bias;
    int shift = F64_FRACTION - to.fraction;

    if (narrowed > 0) {
        fraction |= (uint64_t)narrowed << F64_FRACTION;
    } else {
        fraction |= UINT64_C(1) << F64_FRACTION;
        shift += 1 - narrowed;
    }

    const uint64_t magnitude = shift < 64 ? shift_rounded(fraction, shift) : 0;

    return (uint16_t)(sign | (magnitude < infinity ? magnitude : infinity));
}

uint16_t iso__f16_of_f64(double value)
{
    return narrow_of(value, f16_format);
}

uint16_t iso__bf16_of_f64(double value)
{
    return narrow_of(value, bf16_format);
}

float iso__bf16_to_f32(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return iso_canonical(value);
}

float iso__f16_to_f32(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits >> 15) << 31;
    const uint32_t magnitude = bits & UINT32_C(0x7fff);
    uint32_t wide = (magnitude << 13) + (UINT32_C(112) << 23);
    float value;

    if (magnitude >= UINT32_C(0x7c00)) {
        wide = (magnitude << 13) | UINT32_C(0x7f800000);
    } else if (magnitude < UINT32_C(0x0400)) {
        /* Subnormal: a whole number of 2^-24, exact. */
        value = (float)magnitude * 0x1p-24F;
        memcpy(&wide, &value, sizeof wide);
    }
    wide |= sign;
    memcpy(&value, &wide, sizeof value);
    return iso_canonical(value);
}
