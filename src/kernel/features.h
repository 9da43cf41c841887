/*
 * What a CPU can do, as far as the arithmetic and the choice of kernels
 * depend on it. The decisions take the facts as an argument, so that they
 * can be made for a CPU that is not there.
 *
 *     const iso_features_t features = iso_features_of_cpu();
 *     ISO_TRY(iso_features_check(&features));
 */
#ifndef ISO_FEATURES_H
#define ISO_FEATURES_H

#include "isotome/status.h"

#include <stdbool.h>

typedef struct iso_features {
    bool fma;
    bool avx2;
    bool avx512; /* f, dq, bw and vl */
} iso_features_t;

/* Of this CPU, by CPUID; what the system does not save is not there. */
iso_features_t iso_features_of_cpu(void);

/*
 * Can the arithmetic be computed at all, on any device? SLEEF's functions
 * hold FMA instructions, which a CPU without them would die of.
 * Errors: ISO_UNSUPPORTED.
 */
iso_status_t iso_features_check(const iso_features_t *features);

#endif
