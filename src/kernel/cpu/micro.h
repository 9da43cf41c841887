/*
 * Micro-kernels: the product of one narrow and one wide panel, at most
 * ISO_BLOCK_MOST products long. BLIS's where the family has them, else (and
 * for results of few rows) our own.
 */
#ifndef ISO_MICRO_H
#define ISO_MICRO_H

#include "kernel/cpu/isa.h"
#include "kernel/family.h"

/* Arguments as of iso_isa_t's micro-kernels. */
typedef void iso_micro_fn(int64_t k, const float *narrow, const float *wide,
                          int64_t wide_step, float *tile);

typedef struct iso_micro {
    int64_t narrow;     /* rows of a tile */
    int64_t wide;       /* columns of a tile */
    bool takes_step;    /* reads a wide operand that is not packed */
    iso_micro_fn *call; /* NULL: BLIS's, by iso__micro_blis_call */
} iso_micro_t;

/*
 * BLIS's kernel of a family. BLIS is told the family here, so this must be
 * its first use in the process; a family that it took before stays.
 * Errors: ISO_INVAL when BLIS has taken another family already, ISO_INTERNAL
 * when its kernel does not give the bits that arith.h wants.
 */
iso_status_t iso__micro_blis(iso_family_t family, iso_micro_t *micro_out);

void iso__micro_blis_call(const iso_micro_t *micro, int64_t k,
                          const float *narrow, const float *wide, float *tile);

static inline void iso__micro_run(const iso_micro_t *micro, int64_t k,
                                  const float *narrow, const float *wide,
                                  int64_t wide_step, float *tile)
{
    if (micro->call != NULL) {
        micro->call(k, narrow, wide, wide_step, tile);
    } else {
        iso__micro_blis_call(micro, k, narrow, wide, tile);
    }
}

#endif
