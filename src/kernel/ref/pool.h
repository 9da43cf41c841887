/*
 * A pool: where the taps of each window lie in one plane of the operand.
 *
 *     iso__pool_t pool;
 *     ISO_TRY(iso__pool_of(node, x, &pool));
 *     offset = iso__pool_offset(&pool, out, tap);
 */
#ifndef ISO_POOL_H
#define ISO_POOL_H

#include "kernel/ref/ref_impl.h"

typedef struct iso__pool {
    iso_pool_param_t param;
    const int64_t *in_dims; /* (n_spatial), borrowed from x */
} iso__pool_t;

/* For max_pool and avg_pool. */
iso_status_t iso__pool_of(const iso_node_t *node, const iso_tensor_t *x,
                          iso__pool_t *pool_out);

enum {
    ISO__POOL_PADDING = -1,
    ISO__POOL_BEYOND = -2, /* the padding, where the last window of ceil_mode
                              may reach */
};

/* Offset that a tap of an output position reads, or one of the above. */
int64_t iso__pool_offset(const iso__pool_t *pool, const int64_t *out,
                         const int64_t *tap);

#endif
