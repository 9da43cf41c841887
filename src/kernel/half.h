/*
 * The 16-bit floating-point types in plain integer code: f16 (IEEE binary16)
 * and bf16. Every conversion rounds once, to nearest even; a NaN becomes the
 * canonical one of its type.
 */
#ifndef ISO_HALF_H
#define ISO_HALF_H

#include <stdint.h>

float iso__f16_to_f32(uint16_t bits);
float iso__bf16_to_f32(uint16_t bits);

/* From f64, so that a conversion from any type rounds once (an f32 is
 * exact as an f64). */
uint16_t iso__f16_of_f64(double value);
uint16_t iso__bf16_of_f64(double value);

#endif
