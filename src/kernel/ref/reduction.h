/*
 * A reduction: for each index of the kept axes, the elements over the reduced
 * axes in row-major order.
 *
 *     iso__reduction_t reduction;
 *     ISO_TRY(iso__reduction_of(node, x, &reduction));
 *     for (i = 0; i < count; i++, iso__walk_next(&reduction.kept)) {
 *         y[i] = f(x + reduction.kept.offset[0], &reduction.reduced);
 *     }
 */
#ifndef ISO_REDUCTION_H
#define ISO_REDUCTION_H

#include "kernel/ref/ref_impl.h"

typedef struct iso__reduction {
    iso__walk_t kept;    /* follows the first element of each group */
    iso__walk_t reduced; /* follows the elements of one group from 0 */
} iso__reduction_t;

/* For reduce_* and arg_*. */
iso_status_t iso__reduction_of(const iso_node_t *node, const iso_tensor_t *x,
                               iso__reduction_t *reduction_out);

#endif
