/*
 * What the files of symbolic.h share; private to src/graph.
 */
#ifndef ISO_SYMBOLIC_IMPL_H
#define ISO_SYMBOLIC_IMPL_H

#include "graph/symbolic.h"

/*
 * Room for a result. Errors: ISO_INVAL for a rank over ISO_MAX_RANK or dims
 * over 2^24 together, even beside a 0; ISO_NOMEM.
 *
 * dims  [in]  (rank)
 */
iso_status_t iso__ints_create(iso_arena_t *arena, iso_dtype_t dtype, int rank,
                              const int64_t *dims, iso_ints_t *ints_out);

/* Axis in [-rank, rank) to [0, rank); what names the op. */
iso_status_t iso__ints_axis(const iso_ints_t *ints, int axis, const char *what,
                            int *axis_out);

/* Elements before and behind an axis: count = outer * dims[axis] * inner. */
typedef struct iso_ints_split {
    int64_t outer;
    int64_t inner;
} iso_ints_split_t;

iso_ints_split_t iso__ints_split(const iso_ints_t *ints, int axis);

#endif
