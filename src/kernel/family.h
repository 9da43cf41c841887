/*
 * Kernel families: which instructions the fast kernels use. All families
 * give the same bits; they differ in speed alone.
 *
 * Debian's BLIS falls back to kernels without FMA (or with AVX2 alone) on
 * CPUs whose name it does not know, so the family is chosen here by CPUID
 * and handed to BLIS before its first call.
 */
#ifndef ISO_FAMILY_H
#define ISO_FAMILY_H

#include "kernel/features.h"

/* X(NAME, text): all but scalar, which is plain C and no BLIS, are BLIS's
 * names. */
#define ISO_FAMILY_MAP(X) \
    X(SCALAR, "scalar")   \
    X(HASWELL, "haswell") \
    X(ZEN, "zen")         \
    X(ZEN2, "zen2")       \
    X(ZEN3, "zen3")       \
    X(SKX, "skx")

typedef enum iso_family {
#define X(name, text) ISO_FAMILY_##name,
    ISO_FAMILY_MAP(X)
#undef X
        ISO_FAMILY_COUNT
} iso_family_t;

const char *iso_family_string(iso_family_t family);

bool iso_family_runs_on(iso_family_t family, const iso_features_t *features);

/* Can this CPU run it? */
bool iso_family_supported(iso_family_t family);

/*
 * The best family of a CPU, or the one that is wanted (NULL or empty: none).
 * Errors: ISO_UNSUPPORTED for a CPU without FMA; ISO_INVAL for an unknown
 * name or one that the CPU cannot run, with the list of those it can.
 */
iso_status_t iso_family_choose_for(const iso_features_t *features,
                                   const char *wanted,
                                   iso_family_t *family_out);

/* As above for this CPU and what the environment variable ISOTOME_KERNELS
 * names. */
iso_status_t iso_family_choose(iso_family_t *family_out);

#endif
