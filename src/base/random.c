#include "base/random.h"

uint64_t iso_random_next(iso_random_t *random)
{
    random->state += ISO_RANDOM_STEP;
    return iso_random_mix(random->state);
}

uint64_t iso_random_below(iso_random_t *random, uint64_t count)
{
    return iso_random_next(random) % count;
}

float iso_random_float(iso_random_t *random)
{
    /* 24 bits, which a float holds exactly. */
    return (float)(iso_random_next(random) >> 40) * 0x1p-23F - 1.0F;
}
