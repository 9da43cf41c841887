/*
 * Random numbers for experiments and digests: splitmix64 (Steele, Lea and
 * Flood 2014), the same sequence for the same seed on every machine. Not for
 * secrets.
 *
 *     iso_random_t random = {.state = seed};
 *     int side = (int)iso_random_below(&random, 6);
 */
#ifndef ISO_RANDOM_H
#define ISO_RANDOM_H

#include <stdint.h>

#define ISO_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

typedef struct iso_random {
    uint64_t state; /* any value is a seed */
} iso_random_t;

/* What a state gives: every bit of it depends on every bit of the state. */
static inline uint64_t iso_random_mix(uint64_t state)
{
    state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
    return state ^ (state >> 31);
}

/* Number index (from 0) of the sequence of a seed. */
static inline uint64_t iso_random_at(uint64_t seed, uint64_t index)
{
    return iso_random_mix(seed + (index + 1) * ISO_RANDOM_STEP);
}

uint64_t iso_random_next(iso_random_t *random);

/* 0 to count - 1; count >= 1. Slightly uneven for counts near 2^64. */
uint64_t iso_random_below(iso_random_t *random, uint64_t count);

/* In [-1, 1). */
float iso_random_float(iso_random_t *random);

#endif
